"""Two polarizing filters in front of a lamp: Malus's law, its derivative, and the angle at which no light passes."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_spectral_polarized")
T = mi.ScalarTransform4f

scene = mi.load_dict({
    "type": "scene",
    "first": {"type": "rectangle", "to_world": T().translate([0, 0, 1]), "bsdf": {"type": "polarizer", "theta": 0.0}},
    "second": {"type": "rectangle", "to_world": T().translate([0, 0, 2]), "bsdf": {"type": "polarizer", "theta": 20.0}},
    "lamp": {"type": "rectangle", "to_world": T().translate([0, 0, -1]), "emitter": {"type": "area", "radiance": 1.0}},
})
params = mi.traverse(scene)
filters = {shape.id(): shape.bsdf() for shape in scene.shapes()}
key = next(k for k in params.keys() if k.startswith("second") and "theta" in k)


def passed():
    """The share of the lamp's light that arrives: a ray against the light, times the Mueller matrix of all that it meets."""
    ray = mi.Ray3f([0.1, 0.2, 5], [0, 0, -1], 0.0, mi.UnpolarizedSpectrum(550))
    matrix = mi.Spectrum(1)
    for name in ("second", "first"):
        si = scene.ray_intersect(ray)
        bs, weight = filters[name].sample(mi.BSDFContext(), si, 0.5, [0.5, 0.5])
        matrix = matrix @ si.to_world_mueller(weight, -bs.wo, si.wi)
        ray = si.spawn_ray(si.to_world(bs.wo))
    lamp = scene.ray_intersect(ray)
    light = matrix @ lamp.emitter(scene).eval(lamp)
    alone = lamp.emitter(scene).eval(lamp)
    entry = lambda m: m[0, 0][0]
    return entry(light) / dr.detach(entry(alone))


def angle(degrees):
    params[key] = type(params[key])(degrees)
    params.update()


# ---- Half of unpolarized light passes the first filter, cos^2 of the angle between both the second
for degrees in (0, 30, 60, 90):
    angle(degrees)
    share, law = np.array(passed()).item(), 0.5 * np.cos(np.radians(degrees)) ** 2
    print(f"{degrees:3d} degrees: {share:.4f}, by Malus's law {law:.4f}")
    assert np.isclose(share, law, atol=1e-4)

# ---- How fast it falls, by derivatives: -sin(2 theta) / 2, per radian
angle(30)
dr.enable_grad(params[key])
params.update()
dr.backward(passed())
slope = np.array(dr.grad(params[key])).sum() * 180 / np.pi
print("slope:", slope)
assert np.isclose(slope, -0.5 * np.sin(np.radians(60)), rtol=1e-3)

# ---- Darkness, found by descent
opt = mi.ad.Adam(lr=2.0)
opt[key] = type(params[key])(20.0)
for _ in range(120):
    params.update(opt)
    dr.backward(dr.sum(passed()))
    opt.step()
found = np.array(opt[key]).ravel()[0]
print("dark at", found, "degrees")
assert abs(found - 90) < 2
