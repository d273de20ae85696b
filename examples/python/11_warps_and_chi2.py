"""Warps turn uniform numbers into samples of other densities; Pearson's test tells whether a density is true."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

# ---- Directions around the normal with density cos(theta) / pi, and their histogram over a sphere
rng = mi.PCG32(size=100000)
directions = mi.warp.square_to_cosine_hemisphere(mi.Point2f(rng.next_float32(), rng.next_float32()))
mean_cosine = dr.mean(directions.z)
print("mean cosine:", mean_cosine, "(2/3 in theory)")
assert abs(np.array(mean_cosine).item() - 2 / 3) < 0.005


def follows(domain, sample, pdf, **options):
    """Whether samples follow a density, by a chi-square test at level 1%."""
    test = mi.chi2.ChiSquareTest(domain=domain, sample_func=sample, pdf_func=pdf, sample_dim=2, **options)
    result = test.run(0.01)
    print(f"{'accepted' if result else 'rejected'}, p = {test.p_value:.3g}")
    return result


sphere, plane = mi.chi2.SphericalDomain(), mi.chi2.PlanarDomain
square = mi.ScalarBoundingBox2f([-1, -1], [1, 1])
assert follows(sphere, mi.warp.square_to_cosine_hemisphere,
               lambda d: dr.maximum(mi.warp.square_to_cosine_hemisphere_pdf(d), 0))
assert follows(sphere, lambda u: mi.warp.square_to_von_mises_fisher(u, 10.0),
               lambda d: mi.warp.square_to_von_mises_fisher_pdf(d, 10.0))
assert follows(plane(square), mi.warp.square_to_tent, mi.warp.square_to_tent_pdf)

# ---- A warp of one's own: a cone around the normal whose density grows towards its rim, p(z) ~ 1 - z
def square_to_rim(u):
    z = 1 - dr.sqrt(u.x)
    r, phi = dr.safe_sqrt(1 - z * z), dr.two_pi * u.y
    return mi.Vector3f(r * dr.cos(phi), r * dr.sin(phi), z)

def square_to_rim_pdf(d):
    return dr.select((d.z >= 0) & (d.z <= 1), (1 - d.z) * dr.inv_pi, 0)

assert follows(sphere, square_to_rim, square_to_rim_pdf)

# ---- A wrong density is found out, even if it is off by little
assert not follows(sphere, square_to_rim, lambda d: square_to_rim_pdf(d) * (0.97 + 0.09 * d.z))

# ---- Every BSDF claims a density, too
metal = mi.load_dict({"type": "roughconductor", "alpha": 0.3})
si = dr.zeros(mi.SurfaceInteraction3f)
si.wi = mi.Vector3f(0.6, 0, 0.8)
ctx = mi.BSDFContext()

def sample_bsdf(u):
    bs, weight = metal.sample(ctx, si, mi.Float(0), mi.Point2f(u.x, u.y))
    return bs.wo, dr.select(weight[0] > 0, mi.Float(1), 0)  # below the surface nothing is reflected

assert follows(sphere, sample_bsdf, lambda wo: metal.pdf(ctx, si, wo), ires=16)
