"""A mesh from NumPy arrays: a wavy sheet, rendered, measured, bent, written to a file and read again."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

# ---- A grid of n x n vertices over [-1, 1]^2, and two triangles for each of its cells
n = 64
x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
z = 0.1 * np.sin(6 * x) * np.cos(6 * y)
positions = np.stack([x, y, z], axis=-1).reshape(-1, 3)
texcoords = (positions[:, :2] + 1) / 2
corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
a, b, c, d = corner, corner + 1, corner + n + 1, corner + n
faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])

# ---- Room for it, with a material; then its arrays, flat, by name
props = mi.Properties()
props["material"] = mi.load_dict({"type": "twosided", "bsdf": {"type": "diffuse",
                                  "reflectance": {"type": "rgb", "value": [0.8, 0.5, 0.2]}}})
mesh = mi.Mesh("sheet", vertex_count=n * n, face_count=len(faces), has_vertex_normals=False,
               has_vertex_texcoords=True, props=props)
params = mi.traverse(mesh)
params["vertex_positions"] = mi.Float(positions.ravel().astype(np.float32))
params["vertex_texcoords"] = mi.Float(texcoords.ravel().astype(np.float32))
params["faces"] = mi.UInt32(faces.ravel().astype(np.uint32))
params.update()

assert mesh.vertex_count() == n * n and mesh.face_count() == len(faces)
e1, e2 = positions[faces[:, 1]] - positions[faces[:, 0]], positions[faces[:, 2]] - positions[faces[:, 0]]
area = np.linalg.norm(np.cross(e1, e2), axis=-1).sum() / 2
assert np.isclose(np.array(mesh.surface_area()).item(), area, rtol=1e-4)

# ---- A mesh goes into a dictionary like any other object
def scene_with(shape):
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 3},
        "sensor": {"type": "perspective", "fov": 40,
                   "to_world": mi.ScalarTransform4f().look_at([0, -3, 2], [0, 0, 0], [0, 0, 1]),
                   "film": {"type": "hdrfilm", "width": 64, "height": 64}},
        "sky": {"type": "constant", "radiance": 0.5},
        "sheet": shape,
    })

scene = scene_with(mesh)
image = mi.render(scene, spp=32)
mi.util.write_bitmap("build/sheet.png", image, write_async=False)

# ---- Rays from above find the surface where the arrays say it is
rng = np.random.default_rng(1)
px, py = rng.uniform(-0.9, 0.9, (2, 1000)).astype(np.float32)
si = scene.ray_intersect(mi.Ray3f(mi.Point3f(mi.Float(px), mi.Float(py), 5), mi.Vector3f(0, 0, -1)))
assert dr.all(si.is_valid())
assert np.allclose(np.array(si.p.z), 0.1 * np.sin(6 * px) * np.cos(6 * py), atol=5e-3)
assert np.allclose(np.array(si.uv).reshape(2, -1)[0], (px + 1) / 2, atol=1e-4)

# ---- A file has the same mesh
mesh.write_ply("build/sheet.ply")
from_file = mi.load_dict({"type": "ply", "filename": "build/sheet.ply", "face_normals": True,
                          "bsdf": mi.load_dict({"type": "twosided", "bsdf": {"type": "diffuse",
                                   "reflectance": {"type": "rgb", "value": [0.8, 0.5, 0.2]}}})})
assert np.allclose(mi.render(scene_with(from_file), spp=32), image, atol=1e-4)

# ---- Vertices of a mesh in a scene can be moved: flat, it is smaller
params = mi.traverse(scene)
moved = dr.unravel(mi.Point3f, params["sheet.vertex_positions"])
moved.z = 0
params["sheet.vertex_positions"] = dr.ravel(moved)
params.update()
si = scene.ray_intersect(mi.Ray3f(mi.Point3f(mi.Float(px), mi.Float(py), 5), mi.Vector3f(0, 0, -1)))
assert np.allclose(np.array(si.t), 5, atol=1e-5)
