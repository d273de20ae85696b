"""Editing a scene: shapes are moved and bent, materials and lights replaced, without loading anything again."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f

scene = mi.load_dict({
    "type": "scene",
    "integrator": {"type": "path", "max_depth": 3},
    "sensor": {"type": "perspective", "fov": 35, "to_world": T().look_at([0, -6, 3], [0, 0, 0], [0, 0, 1]),
               "film": {"type": "hdrfilm", "width": 48, "height": 48, "rfilter": {"type": "box"}}},
    "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [0.3, 0.3, 0.4]}},
    "floor": {"type": "rectangle", "to_world": T().translate([0, 0, -1]).scale(4)},
    "block": {"type": "cube", "to_world": T().scale(0.6),
              "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.8, 0.2, 0.1]}}},
    "ball": {"type": "sphere", "to_world": T().translate([1.6, 0, -0.4]).scale(0.6),
             "bsdf": {"type": "roughconductor", "material": "Au", "alpha": 0.2}},
})
params = mi.traverse(scene)
first = mi.render(scene, spp=32)

# ---- What there is, by name. A pattern keeps what is of interest.
assert "block.vertex_positions" in params and "ball.bsdf.alpha.value" in params
colours = mi.traverse(scene)
colours.keep(r".*reflectance\.value")
print("colours:", sorted(colours.keys()))
assert "block.bsdf.reflectance.value" in colours and "block.faces" not in colours

# ---- A mesh is its vertices: the block is lifted and twisted about the vertical axis
before = dr.unravel(mi.Point3f, params["block.vertex_positions"])
angle = 40 * before.z
turned = mi.Point3f(before.x * dr.cos(dr.deg2rad(angle)) - before.y * dr.sin(dr.deg2rad(angle)),
                    before.x * dr.sin(dr.deg2rad(angle)) + before.y * dr.cos(dr.deg2rad(angle)), before.z + 0.3)
params["block.vertex_positions"] = dr.ravel(turned)
params.update()
top = scene.ray_intersect(mi.Ray3f([0, 0, 5], [0, 0, -1]))
assert np.isclose(np.array(top.t).item(), 5 - 0.9, atol=1e-4)

# ---- Other shapes have a transform: the ball rolls to the other side
params["ball.to_world"] = mi.Transform4f().translate([-1.6, 0, -0.4]).scale(0.6)
params.update()
heights = scene.ray_intersect(mi.Ray3f(mi.Point3f([1.6, -1.6], 0, 5), mi.Vector3f(0, 0, -1))).p.z
assert np.allclose(heights, [-1, 0.2], atol=1e-4)  # the floor, and the ball

# ---- Several changes at once; update() passes them on together, and says to whom
changes = params.update({"block.bsdf.reflectance.value": mi.Color3f(0.1, 0.6, 0.2), "ball.bsdf.alpha.value": 0.05,
                         "sky.radiance.value": mi.Color3f(0.6, 0.6, 0.8)})
print("changed:", len(changes), "objects")
after = mi.render(scene, spp=32)
assert not np.allclose(after, first, atol=0.05)
middle = np.array(after)[18:26, 21:27].mean(axis=(0, 1))
print("the block's colour:", middle)
assert middle[1] > 2 * middle[0]

# ---- Back to where it was: the same numbers, the same image
params["block.vertex_positions"] = dr.ravel(before)
params["ball.to_world"] = mi.Transform4f().translate([1.6, 0, -0.4]).scale(0.6)
params.update({"block.bsdf.reflectance.value": mi.Color3f(0.8, 0.2, 0.1), "ball.bsdf.alpha.value": 0.2,
               "sky.radiance.value": mi.Color3f(0.3, 0.3, 0.4)})
assert np.allclose(mi.render(scene, spp=32), first, atol=2e-3)
