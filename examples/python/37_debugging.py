"""Finding mistakes: values printed by kernels, assertions, checked indices, one path at a time, and the sample that is NaN."""
import contextlib
import io

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

# ---- A recorded program prints when it runs: also from within loops, and from the lanes that are asked for
out = io.StringIO()
with contextlib.redirect_stdout(out):
    i, x = mi.UInt32(0), dr.arange(mi.Float, 4)

    @dr.syntax
    def halve(i, x):
        while x > 1:
            x *= 0.5
            i += 1
            dr.print("after {i} steps: {x}", i=i, x=x, active=x > 1)
        return i

    dr.eval(halve(i, x))
    dr.sync_thread()
print(out.getvalue(), end="")
assert "after [1] steps: [1.5]" in out.getvalue()  # only 3 / 2 is larger than 1

# ---- Assertions are free until the flag for debugging is set; then they tell which values were wrong
radius = mi.Float(1, 2, -3)
dr.assert_true(radius > 0)
with dr.scoped_set_flag(dr.JitFlag.Debug, True):
    try:
        dr.assert_true(radius > 0, "a radius is negative: {}", radius)
        raise SystemExit("not reached")
    except AssertionError as e:
        print("assertion:", e)
        assert "-3" in str(e)

# ---- With it, indices are checked too. Without it, a wrong index reads memory that is somebody else's
    table = dr.opaque(mi.Float, 2, 5)
    read = dr.gather(mi.Float, table, mi.UInt32(1, 7))
    assert np.all(np.array(read) == [2, 0])  # a warning tells the position and the size

# ---- One path at a time, with Python's own debugger if need be: variants named scalar_ have numbers in place of arrays
mi.set_variant("scalar_rgb")
scene = mi.load_dict(mi.cornell_box())
sampler = scene.sensors()[0].sampler()
sampler.seed(0)
ray, _ = scene.sensors()[0].sample_ray(time=0, sample1=0.5, sample2=[0.5, 0.4], sample3=[0.5, 0.5])
for depth in range(4):
    si = scene.ray_intersect(ray)
    if not si.is_valid():
        break
    print(f"{depth}: met {si.shape.id() or 'a shape'} at {np.round(np.array(si.p).ravel(), 2)}")
    bs, weight = si.bsdf().sample(mi.BSDFContext(), si, sampler.next_1d(), sampler.next_2d())
    ray = si.spawn_ray(si.to_world(bs.wo))
assert depth > 0

# ---- A material that divides by zero in a few places: the image knows, and so can you
mi.set_variant("llvm_ad_rgb")


class Faulty(mi.BSDF):
    def __init__(self, props):
        super().__init__(props)
        self.m_components = [mi.BSDFFlags.DiffuseReflection | mi.BSDFFlags.FrontSide]
        self.m_flags = self.m_components[0]

    def sample(self, ctx, si, sample1, sample2, active):
        bs = mi.BSDFSample3f()
        bs.wo = mi.warp.square_to_cosine_hemisphere(sample2)
        bs.pdf = mi.warp.square_to_cosine_hemisphere_pdf(bs.wo)
        bs.eta = 1
        bs.sampled_type = mi.UInt32(+mi.BSDFFlags.DiffuseReflection)
        bs.sampled_component = 0
        return bs, mi.Color3f(0.5) & active

    def eval(self, ctx, si, wo, active):
        hole = dr.maximum(dr.abs(si.uv.x - 0.5) - 0.1, 0)
        value = dr.inv_pi * dr.maximum(wo.z, 0) * hole / hole  # 0 / 0 around the middle
        return mi.Color3f(value) & active

    def pdf(self, ctx, si, wo, active):
        return dr.select(active, mi.warp.square_to_cosine_hemisphere_pdf(wo), 0)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


mi.register_bsdf("faulty", Faulty)
scene = mi.load_dict({
    "type": "scene", "integrator": {"type": "direct"}, "light": {"type": "point", "position": [0, 0, 3]},
    "wall": {"type": "rectangle", "material": {"type": "faulty"}},
    "sensor": {"type": "perspective", "fov": 30, "to_world": mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]),
               "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}}}})
image = np.array(mi.render(scene, spp=16))  # a warning names the first such sample: pixel, number and seed
bad = np.argwhere(~np.isfinite(image).all(axis=2))
print("pixels that are not finite:", len(bad), "first:", bad[0], "columns:", sorted(set(bad[:, 1].tolist())))
assert 0 < len(bad) < image.shape[0] * image.shape[1] / 2

# ---- From the pixel to its surface: the same ray again, by hand
y, x = bad[len(bad) // 2].tolist()
ray, _ = scene.sensors()[0].sample_ray(0, 0.5, mi.Point2f((x + 0.5) / 16, (y + 0.5) / 16), mi.Point2f(0.5))
si = scene.ray_intersect(ray)
print("there, uv is", np.round(np.array(si.uv).ravel(), 2))
assert abs(np.array(si.uv.x).item() - 0.5) < 0.15
