"""A material written in Python: the moon's, which looks flat at its rim.

The law of Lommel and Seeliger: f(wi, wo) = albedo / (4 pi (cos_i + cos_o)).
"""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")


class Lunar(mi.BSDF):
    def __init__(self, props):
        super().__init__(props)
        self.albedo = mi.Color3f(props.get("albedo", 0.5))
        flags = mi.BSDFFlags.DiffuseReflection | mi.BSDFFlags.FrontSide
        self.m_components = [flags]
        self.m_flags = flags

    def sample(self, ctx, si, sample1, sample2, active=True):
        bs = mi.BSDFSample3f()
        bs.wo = mi.warp.square_to_cosine_hemisphere(sample2)
        bs.pdf = self.pdf(ctx, si, bs.wo, active)
        bs.eta = 1.0
        bs.sampled_type = mi.UInt32(+mi.BSDFFlags.DiffuseReflection)
        bs.sampled_component = mi.UInt32(0)
        active &= bs.pdf > 0
        value = self.eval(ctx, si, bs.wo, active) / bs.pdf
        return bs, dr.select(active, value, 0)

    def eval(self, ctx, si, wo, active=True):
        cos_i, cos_o = mi.Frame3f.cos_theta(si.wi), mi.Frame3f.cos_theta(wo)
        active &= (cos_i > 0) & (cos_o > 0)
        value = self.albedo * (dr.inv_pi / 4 * cos_o / (cos_i + cos_o))
        return dr.select(active, mi.Spectrum(value), 0)

    def pdf(self, ctx, si, wo, active=True):
        above = active & (mi.Frame3f.cos_theta(si.wi) > 0) & (mi.Frame3f.cos_theta(wo) > 0)
        return dr.select(above, mi.warp.square_to_cosine_hemisphere_pdf(wo), 0)

    def eval_pdf(self, ctx, si, wo, active=True):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)

    def traverse(self, callback):
        callback.put("albedo", self.albedo, mi.ParamFlags.Differentiable)

    def parameters_changed(self, keys):
        pass

    def to_string(self):
        return f"Lunar[albedo={self.albedo}]"


mi.register_bsdf("lunar", Lunar)

# A moon and a plate in front of it, under a white sky. The plate faces the camera.
scene = mi.load_dict({
    "type": "scene",
    "integrator": {"type": "path", "max_depth": 2},
    "sensor": {"type": "perspective", "fov": 20, "to_world": mi.ScalarTransform4f().look_at([0, 0, 20], [0, 0, 0], [0, 1, 0]),
               "film": {"type": "hdrfilm", "width": 65, "height": 65, "rfilter": {"type": "box"}}},
    "sky": {"type": "constant", "radiance": 1.0},
    "moon": {"type": "sphere", "radius": 3, "bsdf": {"type": "lunar", "albedo": 0.8}},
})
image = np.array(mi.render(scene, spp=1024))

# Under a white sky its brightness is albedo / 2 (1 - mu log(1 + 1 / mu)), with mu the cosine to the camera: brighter
# towards the rim.
law = lambda albedo, mu: albedo / 2 * (1 - mu * np.log(1 + 1 / mu))
si = scene.ray_intersect(mi.Ray3f(mi.Point3f([0, 2, 2.7], 0, 20), mi.Vector3f(0, 0, -1)))
mu = np.array(si.wi.z)
print("centre:", image[32, 32], "by the law:", law(0.8, mu[0]))
assert np.allclose(image[32, 32], law(0.8, 1), rtol=0.02)
assert image[32, 32 + 26].mean() > 1.4 * image[32, 32].mean()

# Called by hand, on arrays: the mean of weights is the integral of the BSDF.
bsdf = scene.shapes()[0].bsdf()
rng = mi.PCG32(size=200000)
_, weight = bsdf.sample(mi.BSDFContext(), dr.gather(mi.SurfaceInteraction3f, si, mi.UInt32(1)), mi.Float(0),
                        mi.Point2f(rng.next_float32(), rng.next_float32()))
mean = np.array(weight).mean()
print("albedo at mu =", mu[1], "is", mean, "by the law:", law(0.8, mu[1]))
assert abs(mean / law(0.8, mu[1]) - 1) < 0.005

# Its parameters are the scene's.
params = mi.traverse(scene)
params["moon.bsdf.albedo"] = mi.Color3f(0.4, 0.2, 0.1)
params.update()
assert np.allclose(np.array(mi.render(scene, spp=1024))[32, 32], law(np.array([0.4, 0.2, 0.1]), 1), rtol=0.02)
