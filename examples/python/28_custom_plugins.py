"""Plugins of other kinds in Python: a texture and a camera, used in a scene as if they had always been there."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f


class Rings(mi.Texture):
    """Rings around the middle: light where the sine of the distance is positive."""

    def __init__(self, props):
        mi.Texture.__init__(self, props)
        self.colour = mi.Color3f(props.get("colour", mi.ScalarColor3f(1.0, 1.0, 1.0)))
        self.count = mi.Float(props.get("count", 4.0))

    def eval(self, si, active=True):
        distance = dr.norm(si.uv - 0.5)
        return dr.select(dr.sin(distance * self.count * (4 * np.pi)) > 0, self.colour, 0.05)

    def mean(self): return 0.5

    def is_spatially_varying(self): return True

    def traverse(self, callback):
        callback.put("colour", self.colour, mi.ParamFlags.Differentiable)
        callback.put("count", self.count, mi.ParamFlags.NonDifferentiable)


class Scanner(mi.Sensor):
    """Looks straight down from a height, everywhere at once: parallel rays over [-1, 1]^2."""

    def __init__(self, props):
        mi.Sensor.__init__(self, props)
        self.height = props.get("height", 5.0)

    def sample_ray(self, time, sample1, sample2, sample3, active=True):
        ray = dr.zeros(mi.Ray3f, dr.width(sample2))
        ray.o = mi.Point3f(2 * sample2.x - 1, 1 - 2 * sample2.y, self.height)
        ray.d, ray.maxt, ray.time = mi.Vector3f(0, 0, -1), dr.largest(mi.Float), time
        return ray, mi.Color3f(1)

    def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
        ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
        return mi.RayDifferential3f(ray), weight


mi.register_texture("rings", Rings)
mi.register_sensor("scanner", Scanner)

scene = mi.load_dict({
    "type": "scene",
    "integrator": {"type": "prb", "max_depth": 2},
    "sensor": {"type": "scanner", "height": 3.0,
               "film": {"type": "hdrfilm", "width": 64, "height": 64, "rfilter": {"type": "box"}}},
    "sky": {"type": "constant"},
    "page": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {"type": "rings", "count": 3.0}}},
})
image = np.array(mi.render(scene, spp=16))

# ---- The page is white where the rings are, and dark between them: seen from above, whole
y, x = np.mgrid[0:64, 0:64] / 64 - 0.5 + 0.5 / 64
phase = np.sin(np.hypot(x, y) * 3 * 4 * np.pi)
light, dark = image[phase > 0.5].mean(), image[phase < -0.5].mean()
print("rings:", light, "between them:", dark)
assert np.isclose(light, 1, atol=0.02) and np.isclose(dark, 0.05, atol=0.002)

# ---- Their parameters are those of the scene: read, changed and differentiated by name
params = mi.traverse(scene)
key = "page.bsdf.reflectance.colour"
assert key in params
params[key] = mi.Color3f(0.2, 0.4, 0.8)
dr.enable_grad(params[key])
params.update()
image = mi.render(scene, params, spp=16)
assert np.allclose(np.array(image)[phase > 0.5].mean(axis=0), [0.2, 0.4, 0.8], rtol=0.02)
dr.backward(dr.mean(image, axis=None))
share = (phase > 0).mean() / 3  # of the image that a channel of the colour fills
print("gradient:", dr.grad(params[key]), "share of the rings:", share)
assert np.allclose(np.array(dr.grad(params[key])).ravel(), share, rtol=0.03)
