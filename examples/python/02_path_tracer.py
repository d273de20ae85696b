"""A path tracer written in Python: the same image as the built-in one."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")


def mis_weight(a, b):
    """Power heuristic of two densities [Veach 1997]."""
    a, b = dr.square(a), dr.square(b)
    return dr.select(a > 0, a / (a + b), 0)


class PythonPath(mi.SamplingIntegrator):
    """Light is found twice, by sampling lights and by chance, and both are weighted."""

    def __init__(self, props):
        super().__init__(props)
        self.max_depth = props.get("max_depth", 8)

    @dr.syntax  # turns `while` over arrays into a recorded loop: one kernel for the whole image
    def sample(self, scene, sampler, ray, medium=None, active=True):
        ctx = mi.BSDFContext()
        ray = mi.Ray3f(ray)
        active = mi.Bool(active)
        L, throughput = mi.Spectrum(0), mi.Spectrum(1)
        depth = mi.UInt32(0)
        valid = mi.Bool(False)
        previous = dr.zeros(mi.SurfaceInteraction3f)
        previous_pdf, previous_delta = mi.Float(1), mi.Bool(True)

        while active:
            si = scene.ray_intersect(ray, active)

            # Light that the ray has met
            ds = mi.DirectionSample3f(scene, si, previous)
            light_pdf = scene.pdf_emitter_direction(previous, ds, ~previous_delta)
            weight = mis_weight(previous_pdf, light_pdf)
            L += throughput * weight * ds.emitter.eval(si, active)
            valid |= si.is_valid()

            # Light from a point on a lamp
            active &= (depth + 1 < self.max_depth) & si.is_valid()
            bsdf = si.bsdf(ray)
            active_light = active & mi.has_flag(bsdf.flags(), mi.BSDFFlags.Smooth)
            ds, light = scene.sample_emitter_direction(si, sampler.next_2d(), True, active_light)
            active_light &= ds.pdf != 0
            wo = si.to_local(ds.d)
            value, pdf = bsdf.eval_pdf(ctx, si, wo, active_light)
            weight = dr.select(ds.delta, 1, mis_weight(ds.pdf, pdf))
            L += dr.select(active_light, throughput * weight * value * light, 0)

            # Onwards
            bs, bsdf_weight = bsdf.sample(ctx, si, sampler.next_1d(), sampler.next_2d(), active)
            ray = si.spawn_ray(si.to_world(bs.wo))
            throughput *= bsdf_weight
            previous = dr.detach(si, True)
            previous_pdf = bs.pdf
            previous_delta = mi.has_flag(bs.sampled_type, mi.BSDFFlags.Delta)
            depth += 1
            active &= dr.any(throughput != 0)

        return L, valid, []


mi.register_integrator("python_path", PythonPath)

description = mi.cornell_box()
description["sensor"]["film"] |= {"width": 32, "height": 32, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
ours = mi.load_dict({"type": "python_path", "max_depth": 6})
theirs = mi.load_dict({"type": "path", "max_depth": 6, "rr_depth": 100})  # ours has no Russian roulette

# Estimates of both with their standard errors, from independent renders
def estimate(integrator, first_seed, n=16):
    images = [np.array(mi.render(scene, integrator=integrator, seed=first_seed + i, spp=64)) for i in range(n)]
    return np.mean(images, axis=0), np.var(images, axis=0, ddof=1) / n

(a, var_a), (b, var_b) = estimate(ours, 0), estimate(theirs, 100)
z = (a - b) / np.sqrt(var_a + var_b + 1e-12)
mean_z = (a.mean() - b.mean()) / np.sqrt((var_a + var_b).sum()) * a.size
print(f"mean {a.mean():.4f} and {b.mean():.4f}, z = {mean_z:.2f}; z^2 of pixels: {np.mean(z ** 2):.3f}")
assert abs(mean_z) < 4
# z follows Student's distribution with 30 degrees of freedom, whose variance is 30 / 28.
assert abs(np.mean(z ** 2) - 30 / 28) < 0.25
