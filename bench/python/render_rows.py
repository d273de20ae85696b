# bench/python/render_rows.py: rendering from Python, on both sides: the same scenes, the same calls.
import time

import numpy as np


def cornell_box(mi, size, integrator):
    """A Cornell box with four materials, paths of at most 8 segments."""
    T = mi.ScalarTransform4f

    def wall(transform, bsdf):
        return {"type": "rectangle", "to_world": transform, "bsdf": {"type": "ref", "id": bsdf}}

    def diffuse(*rgb):
        return {"type": "diffuse", "reflectance": {"type": "rgb", "value": list(rgb)}}

    def block(transform):
        return {"type": "cube", "to_world": transform, "bsdf": {"type": "ref", "id": "grey"}}

    light = wall(T().translate([0, .99, .01]).rotate([1, 0, 0], 90).scale([.23, .19, .19]), "white")
    light["emitter"] = {"type": "area", "radiance": {"type": "rgb", "value": [18.387, 13.9873, 6.75357]}}
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": integrator, "max_depth": 8, "rr_depth": 100},
        "sensor": {"type": "perspective", "fov": 39.3077,
                   "to_world": T().look_at(origin=[0, 0, 3.9], target=[0, 0, 0], up=[0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": 16}},
        "white": diffuse(.885809, .698859, .666422), "green": diffuse(.105421, .37798, .076425),
        "red": diffuse(.570068, .0430135, .0443706), "grey": diffuse(.5, .5, .5),
        "light": light,
        "floor": wall(T().translate([0, -1, 0]).rotate([1, 0, 0], -90), "white"),
        "ceiling": wall(T().translate([0, 1, 0]).rotate([1, 0, 0], 90), "white"),
        "back": wall(T().translate([0, 0, -1]), "white"),
        "right": wall(T().translate([1, 0, 0]).rotate([0, 1, 0], -90), "green"),
        "left": wall(T().translate([-1, 0, 0]).rotate([0, 1, 0], 90), "red"),
        "low": block(T().translate([.335, -.7, .38]).rotate([0, 1, 0], -17).scale(.3)),
        "tall": block(T().translate([-.33, -.4, -.28]).rotate([0, 1, 0], 18.25).scale([.3, .61, .3])),
    })


def plume(mi, size, integrator):
    """Smoke in a grid of 64 x 64 x 64 voxels under a sky and a lamp."""
    T = mi.ScalarTransform4f
    n = 64
    z, y, x = (np.mgrid[0:n, 0:n, 0:n] + .5) / n * 2 - 1
    density = np.clip(1.2 - 2 * np.hypot(x - .3 * np.sin(2.5 * z), y + .2 * z), .01, 1)[..., None].astype(np.float32)
    grid = {"type": "gridvolume", "grid": mi.VolumeGrid(density), "to_world": T().translate([-1, -1, -1]).scale(2)}
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": integrator, "max_depth": 8, "rr_depth": 100},
        "sensor": {"type": "perspective", "fov": 35, "to_world": T().look_at([5, 0, 2], [0, 0, 0], [0, 0, 1]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
        "sky": {"type": "constant", "radiance": .5}, "lamp": {"type": "point", "position": [2, 3, 4], "intensity": 20.},
        "cube": {"type": "cube", "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "albedo": .8, "scale": 8., "sigma_t": grid}},
    })


VOXELS = ["cube.interior_medium.sigma_t.data"]
COLOURS = [c + ".reflectance.value" for c in ("white", "green", "red", "grey")]


def define_render(mi, dr, row):
    mi.set_variant("llvm_ad_rgb")

    def finish(*values):
        dr.eval(*values)
        dr.sync_thread()

    def best(once, count):
        once(0)
        times = []
        for k in range(count):
            begin = time.perf_counter()
            once(k + 1)
            times.append(time.perf_counter() - begin)
        return min(times)

    @row("100 small renders")
    def loop():
        scene = cornell_box(mi, 64, "path")

        def once(round):
            for k in range(100):
                finish(mi.render(scene, spp=1, seed=100 * round + k))
        return best(once, 3)

    @row("100 frozen renders")
    def frozen():
        scene = cornell_box(mi, 64, "path")
        f = dr.freeze(lambda scene, seed: mi.render(scene, spp=1, seed=seed))

        def once(round):
            for k in range(100):
                finish(f(scene, dr.opaque(mi.UInt32, 100 * round + k)))
        return best(once, 3)

    def primal_of(scene):
        return best(lambda k: finish(mi.render(scene, spp=16, seed=k)), 3)

    def gradient_of(scene, keys=COLOURS):
        params = mi.traverse(scene)

        def once(k):
            for key in keys:
                value = type(params[key])(dr.detach(params[key]))
                dr.enable_grad(value)
                params[key] = value
            params.update()
            image = mi.render(scene, params, spp=16, seed=k)
            dr.backward(dr.mean(dr.square(image), axis=None))
            finish(*[dr.grad(params[key]) for key in keys])
        return best(once, 3)

    @row("gradient iteration")
    def gradient():
        return gradient_of(cornell_box(mi, 480, "prb"))

    @row("gradient over primal", "x")
    def relative():
        scene = cornell_box(mi, 480, "prb")
        primal = primal_of(scene)
        return (gradient_of(scene) - primal) / primal

    @row("smoke, gradient iteration")
    def gradient_of_smoke():
        return gradient_of(plume(mi, 256, "prbvolpath"), VOXELS)

    @row("load 1000 shapes")
    def load():
        scene = {"type": "scene"}
        for i in range(1000):
            scene[f"shape{i}"] = {"type": "sphere", "center": [i, 0, 0], "radius": .3, "bsdf": {
                "type": "diffuse", "reflectance": {"type": "rgb", "value": [.1, .2, .3]}}}
        return best(lambda k: mi.load_dict(scene), 3)
