"""Grains: how a single particle scatters light, measured by sending rays at it, as a phase function for clouds of them."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")


@dr.syntax
def scatter(scene, ray, active, rng):
    """Where light goes in the end, from surface to surface of the grain, and how much is left of it."""
    weight, direction, bounces = mi.Float(1), mi.Vector3f(ray.d), mi.UInt32(0)
    while active:
        si = scene.ray_intersect(ray, active)
        active &= si.is_valid() & (bounces < 16)
        sample = mi.Point2f(rng.next_float32(), rng.next_float32())
        bs, w = si.bsdf().sample(mi.BSDFContext(), si, rng.next_float32(), sample, active)
        weight = dr.select(active, weight * dr.mean(w), weight)
        ray = si.spawn_ray(si.to_world(bs.wo))
        direction = dr.select(active, ray.d, direction)
        bounces += 1
    return direction, weight


def phase_function(grain, bins=24, count=1 << 17, seed=1):
    """The density of the angle by which light is turned, per solid angle, and the share that is not absorbed."""
    scene = mi.load_dict({"type": "scene", "grain": grain})
    bounds = scene.bbox()
    radius = 0.5 * float(np.array(dr.norm(bounds.max - bounds.min)).item())
    rng = mi.PCG32(size=count, initstate=seed)
    draw = lambda: mi.Point2f(rng.next_float32(), rng.next_float32())

    # Rays in all directions, spread over a disk that is wider than the grain: any side of it is hit
    d = mi.warp.square_to_uniform_sphere(draw())
    disk = radius * mi.warp.square_to_uniform_disk_concentric(draw())
    frame = mi.Frame3f(d)
    ray = mi.Ray3f(mi.Point3f(frame.to_world(mi.Vector3f(disk.x, disk.y, -3 * radius))), d)
    hit_once = scene.ray_test(ray)
    out, weight = scatter(scene, mi.Ray3f(ray), mi.Bool(hit_once), rng)
    cosine = dr.clip(dr.dot(d, out), -1, 1)
    number = dr.minimum(mi.UInt32((cosine + 1) * (bins / 2)), bins - 1)
    histogram = dr.zeros(mi.Float, bins)
    dr.scatter_add(histogram, weight, number, hit_once)
    hits = np.array(dr.count(hit_once)).item()
    total = np.array(histogram) / hits
    return total / (4 * np.pi / bins), total.sum()


# ---- A white diffuse ball, whose phase function is known: (8 / 3) (sin a - a cos a) / (4 pi^2), a the angle to the light. It throws
# light back to where it came from.
bins = 24
measured, albedo = phase_function({"type": "sphere", "bsdf": {"type": "diffuse", "reflectance": 1.0}}, bins)
cosine = (np.arange(bins) + 0.5) / bins * 2 - 1  # of the angle of turning
turn = np.arccos(cosine)
theory = 8 / 3 * (np.sin(turn) - turn * np.cos(turn)) / (4 * np.pi ** 2)
print("backwards:", measured[0], "in theory:", theory[0], "forwards:", measured[-1], theory[-1])
assert np.isclose(albedo, 1, atol=1e-3)
assert np.allclose(measured, theory, atol=0.01)

# ---- A grey one absorbs half, and scatters the rest alike
grey, albedo = phase_function({"type": "sphere", "bsdf": {"type": "diffuse", "reflectance": 0.5}}, bins)
assert np.isclose(albedo, 0.5, atol=1e-3) and np.allclose(grey / albedo, theory, atol=0.02)

# ---- A bead of glass sends it on: refracted twice, most of the light is turned a little
glass, albedo = phase_function({"type": "sphere", "bsdf": {"type": "dielectric", "int_ior": 1.5, "ext_ior": 1.0}}, bins)
g = (glass * cosine).sum() * 4 * np.pi / bins
print("mean cosine of glass:", g, "of the ball:", (measured * cosine).sum() * 4 * np.pi / bins)
assert g > 0.6 and (measured * cosine).sum() * 4 * np.pi / bins < -0.4

# ---- Any shape will do: a cube turns light otherwise than a ball does
cube, albedo = phase_function({"type": "cube", "bsdf": {"type": "diffuse", "reflectance": 1.0}}, bins)
assert np.isclose(albedo, 1, atol=1e-3) and np.isclose(cube.sum() * 4 * np.pi / bins, 1, atol=1e-3)
