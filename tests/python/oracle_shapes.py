# tests/python/oracle_shapes.py: rays meet shapes where they meet them in Mitsuba 3.
import sys

try:
    import mitsuba
    mitsuba.set_variant("llvm_ad_rgb")
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import numpy as np

import umbel

umbel.set_variant("llvm_rgb")

N = 4000
rng = np.random.default_rng(1)
failures = 0


def compare(label, description, centre, names, tolerance):
    """Hits of random rays towards places around the centre; `description` makes the shape of a module, or several by name."""
    global failures
    origins = rng.normal(size=(3, N))
    origins = origins * (4 / np.linalg.norm(origins, axis=0)) + np.array(centre)[:, None]
    directions = rng.uniform(-0.6, 0.6, size=(3, N)) + np.array(centre)[:, None] - origins
    directions /= np.linalg.norm(directions, axis=0)

    def seen(mi):
        shapes = description(mi)
        scene = mi.load_dict({"type": "scene"} | (shapes if "type" not in shapes else {"shape": shapes}))
        ray = mi.Ray3f(mi.Point3f(*origins.astype(np.float32)), mi.Vector3f(*directions.astype(np.float32)))
        si = scene.ray_intersect(ray)
        parts = {"t": si.t, "n": si.n, "sh_n": si.sh_frame.n, "uv": si.uv, "prim": si.prim_index}
        return {name: np.array(parts[name], dtype=float).reshape(-1, N) for name in ["t"] + names}

    ours, theirs = seen(umbel), seen(mitsuba)
    hit = np.isfinite(ours["t"][0]) & np.isfinite(theirs["t"][0])
    missed = np.isfinite(ours["t"][0]) != np.isfinite(theirs["t"][0])
    assert hit.sum() > 500, (hit.sum(), np.isfinite(ours["t"]).sum(), np.isfinite(theirs["t"]).sum())
    for name in ours:
        error = np.abs(ours[name][:, hit] - theirs[name][:, hit])
        bad = np.quantile(error, 0.99) > tolerance or np.median(error) > tolerance / 100
        failures += bad
        print(f"{label} {name}: {np.median(error):.2g}, {np.quantile(error, 0.99):.2g} in 99 %", "FAILED" if bad else "")
    failures += missed.sum() > 8  # at outlines
    print(f"{label}: {hit.sum()} hits, {missed.sum()} by one of them alone")


# A ball with bumps, which does not reach the faces of the grid. In Mitsuba 3.9.1, grids of unequal sides are not met
z, y, x = np.meshgrid(*[np.linspace(0, 1, 13)] * 3, indexing="ij")
grid = np.sqrt((x - 0.5)**2 + (y - 0.48)**2 + (z - 0.52)**2) - 0.36 + 0.03 * np.sin(9 * x) * np.sin(11 * y + 1)
for normals in ("smooth", "analytic"):
    compare(f"sdfgrid {normals}",
            lambda mi: {"type": "sdfgrid", "grid": mi.TensorXf(grid[..., None].astype(np.float32)), "normals": normals,
                        "to_world": mi.ScalarTransform4f().translate([0.3, 0, -0.2]).scale([1, 1.5, 1.2])},
            (0.8, 0.72, 0.4), ["n", "sh_n"], 2e-3)

# Ellipsoids that overlap. Where their radii are 1, Mitsuba computes in single precision, and rays begin far away
count = 40
data = np.concatenate([rng.uniform(-0.8, 0.8, (count, 3)), rng.uniform(0.05, 0.3, (count, 3)), rng.normal(size=(count, 4))], axis=1)
data[:, 6:] /= np.linalg.norm(data[:, 6:], axis=1)[:, None]
data = data.astype(np.float32)
opacities = rng.uniform(0.1, 1, (count, 1)).astype(np.float32)
compare("ellipsoids",
        lambda mi: {"type": "ellipsoids", "centers": mi.TensorXf(data[:, :3]), "scales": mi.TensorXf(data[:, 3:6]),
                    "quaternions": mi.TensorXf(data[:, 6:]), "opacities": mi.TensorXf(opacities), "extent": 1.2},
        (0, 0, 0), ["n", "uv", "prim"], 0.05)
compare("ellipsoids, adaptive",
        lambda mi: {"type": "ellipsoids", "data": mi.TensorXf(data), "opacities": mi.TensorXf(opacities), "extent": 1.5,
                    "extent_adaptive_clamping": True}, (0, 0, 0), ["n", "prim"], 0.05)
for shell in ("ico_sphere", "uv_sphere", "box"):
    compare(f"ellipsoidsmesh {shell}",
            lambda mi: {"type": "ellipsoidsmesh", "data": mi.TensorXf(data), "extent": 1.0, "shell": shell},
            (0, 0, 0), ["n", "prim"], 2e-3)

# Surfaces given by formulas, moved, turned and scaled unequally where that is possible
def turned(mi, scale):
    return mi.ScalarTransform4f().translate([0.1, -0.2, 0.3]).rotate([0.6, 0, 0.8], 40).scale(scale)


for shape in ("rectangle", "disk", "cube"):
    compare(shape, lambda mi: {"type": shape, "to_world": turned(mi, [0.8, 1.2, 0.6])}, (0.1, -0.2, 0.3), ["n", "sh_n", "uv", "prim"], 1e-4)
for shape in ("sphere", "cylinder"):
    compare(shape, lambda mi: {"type": shape, "to_world": turned(mi, 0.7), "flip_normals": shape == "cylinder"}, (0.1, -0.2, 0.3),
            ["n", "sh_n", "uv"], 1e-4)
compare("instance",
        lambda mi: {"group": {"type": "shapegroup", "cube": {"type": "cube", "to_world": mi.ScalarTransform4f().scale(0.5)}},
                    "instance": {"type": "instance", "to_world": turned(mi, [0.8, 1.2, 0.6]), "shape": {"type": "ref", "id": "group"}}},
        (0.1, -0.2, 0.3), ["n", "sh_n", "uv"], 1e-4)

sys.exit(int(failures > 0))
