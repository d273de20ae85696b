# python/tools/gallery_files.py: the files that plugins' examples name, made for pictures.
#
# Tests try examples with files of the same names, which are as small as can be: see tests/support/registry.h.
import base64
import json
import os
import struct
import sys
import zlib

import numpy as np
import umbel as mi

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "python"))
import measured_files


def knot(along=240, around=20):
    """Positions, normals, texture coordinates, colours and triangles of a trefoil knot."""
    t, a = np.meshgrid(np.linspace(0, 2 * np.pi, along + 1), np.linspace(0, 2 * np.pi, around + 1), indexing="ij")
    curve = lambda t: 0.36 * np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=-1)
    unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)
    tangent = unit(curve(t + 1e-4) - curve(t - 1e-4))
    side = unit(np.cross(tangent, curve(t) + [0, 0, 3]))
    normal = np.cos(a)[..., None] * side + np.sin(a)[..., None] * np.cross(tangent, side)
    colour = 0.5 + 0.45 * np.cos(t[..., None] + np.array([0, 2.1, 4.2]))
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    corner = (i * (around + 1) + j).ravel()
    p, q, r, s = corner, corner + around + 1, corner + around + 2, corner + 1
    faces = np.concatenate([np.stack([p, q, r], axis=-1), np.stack([p, r, s], axis=-1)])
    flat = lambda v: v.reshape(-1, v.shape[-1])
    uv = np.stack([8 * t / (2 * np.pi), a / (2 * np.pi)], axis=-1)
    return flat(curve(t) + 0.26 * normal), flat(normal), flat(uv), flat(colour), faces


def write_meshes(folder):
    positions, normals, uvs, colours, faces = knot()
    rows = lambda tag, values: "".join(tag + " ".join(f"{x:.5g}" for x in v) + "\n" for v in values)
    with open(f"{folder}/mesh.obj", "w") as f:
        f.write(rows("v ", positions) + rows("vt ", uvs) + rows("vn ", normals))
        f.write("".join("f " + " ".join(f"{i}/{i}/{i}" for i in face) + "\n" for face in faces + 1))
    with open(f"{folder}/mesh.ply", "w") as f:
        properties = "".join(f"property float {p}\n" for p in "x y z nx ny nz u v r g b".split())
        f.write(f"ply\nformat ascii 1.0\nelement vertex {len(positions)}\n{properties}element face {len(faces)}\n"
                "property list uchar int vertex_indices\nend_header\n")
        f.write(rows("", np.concatenate([positions, normals, uvs, colours], axis=1)) + rows("3 ", faces))
    with open(f"{folder}/mesh.serialized", "wb") as f:
        flags = 0x1000 | 1 | 2 | 8  # single precision; normals, texture coordinates, colours
        data = struct.pack("<I", flags) + b"knot\0" + struct.pack("<QQ", len(positions), len(faces))
        data += b"".join(a.astype("<f4").tobytes() for a in (positions, normals, uvs, colours))
        mesh = struct.pack("<HH", 0x041c, 4) + zlib.compress(data + faces.astype("<u4").tobytes())
        f.write(2 * mesh + struct.pack("<QQI", 0, len(mesh), 2))
    parts = [positions.astype("<f4"), normals.astype("<f4"), uvs.astype("<f4"), faces.astype("<u4")]
    begins = np.cumsum([0] + [a.nbytes for a in parts]).tolist()
    bounds = {"min": parts[0].min(0).tolist(), "max": parts[0].max(0).tolist()}
    accessors = [{"bufferView": i, "componentType": 5126, "count": len(positions), "type": f"VEC{a.shape[1]}"}
                 for i, a in enumerate(parts[:3])]
    accessors[0] |= bounds
    accessors += [{"bufferView": 3, "componentType": 5125, "count": faces.size, "type": "SCALAR"}]
    uri = "data:application/octet-stream;base64," + base64.b64encode(b"".join(a.tobytes() for a in parts)).decode()
    with open(f"{folder}/scene.gltf", "w") as f:
        json.dump({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
                   "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2},
                                               "indices": 3, "material": 0}]}],
                   "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.45, 0.2, 1], "metallicFactor": 1,
                                                           "roughnessFactor": 0.3}}],
                   "accessors": accessors,
                   "bufferViews": [{"buffer": 0, "byteOffset": b, "byteLength": a.nbytes} for b, a in zip(begins, parts)],
                   "buffers": [{"byteLength": begins[-1], "uri": uri}]}, f)


def write_curves(folder):
    rng, t = np.random.default_rng(3), np.linspace(0, 1, 9)
    with open(f"{folder}/curves.txt", "w") as curves, open(f"{folder}/hair.txt", "w") as hair:
        for i in range(60):
            phi, lean = 2.4 * i, 0.25 + 0.75 * np.sqrt(i / 60)
            bend = lean * t ** 1.5 + 0.05 * np.sin(9 * t + 6 * rng.random())
            strand = np.stack([bend * np.cos(phi), 1.9 * t * (1.2 - 0.35 * lean) - 1, bend * np.sin(phi)], axis=-1)
            for p, r in zip(strand, 0.05 - 0.04 * t):
                curves.write(" ".join(f"{x:.4g}" for x in (*p, r)) + "\n")
            for p in strand * [1.3, 1, 1.3]:
                hair.write(" ".join(f"{x:.4g}" for x in p) + "\n")
            curves.write("\n")
            hair.write("\n")


def write_images(folder):
    y, x = (np.mgrid[0:256, 0:256] + 0.5) / 256
    rings = 0.5 + 0.5 * np.cos(14 * np.hypot(x - 0.5, y - 0.5) * np.pi)
    petals = 0.5 + 0.5 * np.cos(6 * np.arctan2(y - 0.5, x - 0.5) + 8 * np.hypot(x - 0.5, y - 0.5))
    image = np.stack([0.15 + 0.8 * rings, 0.2 + 0.5 * petals, 0.25 + 0.45 * (1 - rings) * petals], axis=-1)
    write = lambda name, a: mi.Bitmap(np.ascontiguousarray(a)).write(f"{folder}/{name}")
    write("image.png", np.round(255 * image).astype(np.uint8))

    # A sky, the ground, a large window and a lamp
    v, u = (np.mgrid[0:128, 0:256] + 0.5) / [[[128]], [[256]]]
    up = np.cos(np.pi * v)[..., None]
    sky = np.where(up > 0, np.array([0.55, 0.65, 0.8]) * (0.45 + 0.5 * up), [0.25, 0.22, 0.2])
    box = lambda u0, u1, v0, v1: ((u > u0) & (u < u1) & (v > v0) & (v < v1))[..., None]
    sky = sky + box(0.12, 0.3, 0.14, 0.4) * [7.0, 6.6, 6.0] + box(0.62, 0.67, 0.25, 0.42) * [10.0, 8.0, 5.0]
    write("environment.exr", sky.astype(np.float32))


def write_materials(folder):
    measured_files.measured(f"{folder}/measured.bsdf", noise=0)
    measured_files.measured(f"{folder}/measured_anisotropic.bsdf", phi_i=np.linspace(-np.pi, 0, 5), noise=0)
    measured_files.measured_polarized(f"{folder}/measured.pbsdf", noise=0)


def write_volumes(folder):
    z, y, x = (np.mgrid[0:32, 0:32, 0:32] + 0.5) / 32 - 0.5
    waves = 0.5 + 0.5 * np.sin(17 * x) * np.sin(17 * y) * np.sin(17 * z)
    grey = np.clip(1.3 * waves, 0.05, 0.98)[..., None]
    colour = 0.5 + 0.45 * np.sin(9 * np.stack([x, y, z], axis=-1) + [0, 1, 2])
    mi.VolumeGrid(grey.astype(np.float32)).write(f"{folder}/grey.vol")
    mi.VolumeGrid(colour.astype(np.float32)).write(f"{folder}/colour.vol")


def write_weaves(folder):
    scenes = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes")
    with open(f"{scenes}/twill.wv") as f:
        weave = f.read().replace("$weft_kd", "{0.55, 0.5, 0.42}").replace("$warp_ks", "$gloss").replace("$weft_ks", "$gloss")
    with open(f"{folder}/staple.wv", "w") as f:
        f.write(weave)


def write_ellipsoids(folder):
    """A ring of beads, as programs for Gaussians write them."""
    names = "x y z nx ny nz f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3".split()
    with open(f"{folder}/gaussians.ply", "w") as f:
        count = 24
        f.write(f"ply\nformat ascii 1.0\nelement vertex {count}\n" + "".join(f"property float {n}\n" for n in names) + "end_header\n")
        for i in range(count):
            a = 2 * np.pi * i / count
            row = [0.8 * np.cos(a), 0.8 * np.sin(a), 0.2 * np.cos(3 * a), 0, 0, 0, *(np.cos(a + np.array([0, 2.1, 4.2]))), 2,
                   *np.log([0.03, 0.08, 0.05]), np.cos(a / 2), 0, 0, np.sin(a / 2)]
            f.write(" ".join(f"{x:.5g}" for x in row) + "\n")


def write_distances(folder):
    """Two balls that grow together, at points that reach the faces of the unit cube."""
    z, y, x = np.mgrid[0:48, 0:48, 0:48] / 47 - 0.5
    balls = [np.sqrt((x - c) ** 2 + (y - 0.6 * c) ** 2 + z ** 2) - 0.24 for c in (-0.16, 0.16)]
    mi.VolumeGrid((-np.logaddexp(*(-24 * b for b in balls)) / 24)[..., None].astype(np.float32)).write(f"{folder}/ball.vol")


def write_files(folder):
    os.makedirs(folder, exist_ok=True)
    for write in (write_meshes, write_curves, write_images, write_materials, write_volumes, write_weaves, write_ellipsoids,
                  write_distances):
        write(str(folder))
