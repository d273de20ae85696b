"""A BSDF on its own: values over the hemisphere, samples, and what both must have in common."""
import math

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

bsdf = mi.load_dict({"type": "roughplastic", "alpha": 0.15, "diffuse_reflectance": {"type": "rgb", "value": [0.1, 0.3, 0.6]}})
assert bsdf.component_count() == 2 and mi.has_flag(bsdf.flags(0), mi.BSDFFlags.GlossyReflection)

# ---- All that a BSDF wants to know of the surface: where light goes (wi), in the frame of its normal
theta_i = math.radians(40)
si = dr.zeros(mi.SurfaceInteraction3f)
si.t, si.wi = 1, mi.Vector3f(math.sin(theta_i), 0, math.cos(theta_i))
ctx = mi.BSDFContext()

# ---- A slice through the lobe, in the plane of incidence: the highlight is near the mirror's direction
theta = dr.linspace(mi.Float, -np.pi / 2, np.pi / 2, 181)
wo = mi.Vector3f(dr.sin(theta), 0, dr.cos(theta))
value = np.array(bsdf.eval(ctx, si, wo)).reshape(3, -1) / np.maximum(np.cos(np.array(theta)), 1e-6)
peak = np.degrees(np.array(theta)[value[0][5:-5].argmax() + 5])
print("the highlight is at", peak, "degrees")
assert -50 < peak < -35

# ---- Over the whole hemisphere: a grid of cells of equal solid angle. The sum is the albedo, and never above 1.
n = 512
u, phi = dr.meshgrid((dr.arange(mi.Float, n) + 0.5) / n, (dr.arange(mi.Float, n) + 0.5) * (2 * np.pi / n))
s = dr.sqrt(1 - u * u)
wo = mi.Vector3f(s * dr.cos(phi), s * dr.sin(phi), u)
value, pdf = bsdf.eval_pdf(ctx, si, wo)
cell = 2 * np.pi / (n * n)
albedo = np.array(value).reshape(3, -1).sum(axis=1) * cell
print("albedo:", albedo)
assert np.all(albedo < 1) and albedo[0] < albedo[1] < albedo[2]
assert np.isclose(np.array(pdf).sum() * cell, 1, atol=0.02)  # densities integrate to 1

# ---- The same by sampling: the mean weight of samples is the albedo
rng = mi.PCG32(size=200000)
bs, weight = bsdf.sample(ctx, si, rng.next_float32(), mi.Point2f(rng.next_float32(), rng.next_float32()))
sampled = np.array(weight).reshape(3, -1).mean(axis=1)
print("by sampling:", sampled)
assert np.allclose(sampled, albedo, rtol=0.02)

# ---- Each sample has the density and the value that the BSDF has in its direction
again, density = bsdf.eval_pdf(ctx, si, bs.wo)
good = np.array(bs.pdf) > 0
assert np.allclose(np.array(bs.pdf)[good], np.array(density)[good], rtol=1e-2)

# ---- Helmholtz: light takes a path in both directions alike
other = dr.zeros(mi.SurfaceInteraction3f)
other.t, other.wi = 1, mi.Vector3f(0.3, 0.4, 0.8660254)
there = np.array(bsdf.eval(ctx, si, other.wi)).ravel() / np.array(other.wi.z)
back = np.array(bsdf.eval(ctx, other, si.wi)).ravel() / np.array(si.wi.z)
assert np.allclose(there, back, rtol=0.02)
