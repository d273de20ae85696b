# python/tools/scene_files.py: the volumes and meshes of scenes/plume.xml, milk.xml and knit.xml.
#
#     python3 python/tools/scene_files.py [FOLDER]     # needs NumPy; FOLDER is scenes/ if absent
import os
import struct
import sys

import numpy as np


def write_volume(path, encoding, values, box):
    """Bytes: 3, of numbers between 0 and 1; 4, of directions as two angles. Values lie as z, y, x and channels."""
    depth, height, width = values.shape[:3]
    with open(path, "wb") as f:
        f.write(b"VOL\x03" + struct.pack("<5i6f", encoding, width, height, depth, 3 if encoding == 4 else 1, *box))
        f.write(np.ascontiguousarray(values, dtype=np.uint8).tobytes())


def middles(n, low, high): return low + (np.arange(n) + 0.5) * (high - low) / n


# ---- smoke

def plume(path, nx=28, ny=72, nz=28):
    """Puffs that rise, spread and are carried away by a wind, wrinkled by waves."""
    z, y, x = np.meshgrid(middles(nz, -1, 1), middles(ny, 0, 5), middles(nx, -1, 1), indexing="ij")
    rng, density = np.random.default_rng(5), np.zeros_like(x)
    for i in range(90):
        h = 4.9 * ((i + rng.random()) / 90) ** 1.1
        wide = 0.08 + 0.19 * h ** 0.8
        centre = np.array([0.05 * h * h - 0.35 * h / 5 + 0.22 * np.sin(2.1 * h), h, 0.2 * np.cos(1.7 * h) - 0.2])
        centre[[0, 2]] += rng.normal(size=2) * 0.45 * wide
        r = wide * (0.5 + 0.5 * rng.random())
        d2 = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2
        density += (0.5 + 0.5 * rng.random()) * np.exp(-1.4 * d2 / r ** 2) / (0.6 + h)
    for k in (7.0, 13.0):
        wrinkles = np.sin(k * x + 3 * np.sin(2 * y)) * np.sin(0.9 * k * y) * np.sin(1.1 * k * z + 2 * np.sin(3 * x))
        density *= 1 + 0.45 * wrinkles
    edge = np.clip(np.minimum(1 - np.abs(x), 1 - np.abs(z)) / 0.15, 0, 1) * np.clip((5 - y) / 0.8, 0, 1)
    density = np.clip(density * edge - 0.02, 0, None)
    write_volume(path, 3, np.round(255 * density / density.max()), [-1, 0, -1, 1, 5, 1])


# ---- a glass of milk

def lathe(path, profile, segments=40):
    """A profile of radius and height, turned about y; normals point to the right of its way."""
    profile = np.array(profile, dtype=float)
    along = np.gradient(profile, axis=0)
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    normal[profile[:, 0] == 0] = [0, 0]  # on the axis
    angle = 2 * np.pi * np.arange(segments) / segments
    turn = lambda r, y: np.stack([np.outer(r, np.cos(angle)), np.repeat(y[:, None], segments, 1), np.outer(r, np.sin(angle))], -1)
    positions, normals = turn(*profile.T), turn(*normal.T)
    ends = np.sign(along[:, 0])
    normals[profile[:, 0] == 0] = [[[0, -ends[i], 0]] * segments for i in np.flatnonzero(profile[:, 0] == 0)]
    i, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(segments), indexing="ij")
    p, q = i * segments + j, i * segments + (j + 1) % segments
    r, s = p + segments, q + segments
    faces = np.concatenate([np.stack([p, r, q], -1)[profile[:-1, 0] > 0], np.stack([q, r, s], -1)[profile[1:, 0] > 0]])
    faces = faces.reshape(-1, 3)
    vertices = np.concatenate([positions, normals], axis=-1).reshape(-1, 6).astype("<f4")
    with open(path, "wb") as f:
        names = "".join(f"property float {n}\n" for n in "x y z nx ny nz".split())
        f.write((f"ply\nformat binary_little_endian 1.0\nelement vertex {len(vertices)}\n{names}element face {len(faces)}\n"
                 "property list uchar int vertex_indices\nend_header\n").encode())
        f.write(vertices.tobytes())
        rows = np.zeros(len(faces), dtype=[("n", "u1"), ("v", "<i4", 3)])
        rows["n"], rows["v"] = 3, faces
        f.write(rows.tobytes())


def glass_of_milk(folder):
    """Three surfaces: where glass meets air, where milk meets glass, and where milk meets air. The last two share a rim."""
    arc = lambda x, y, r, a, b: [(x + r * np.cos(t), y + r * np.sin(t)) for t in np.radians(np.linspace(a, b, 4))]
    level, inner = 1.75, 0.88
    lathe(f"{folder}/milk_glass.ply", [(0, 0), (0.5, 0)] + arc(0.85, 0.12, 0.12, -90, -15) + [(0.98, 0.3), (1, 1.3)]
          + arc(0.94, 2.4, 0.06, 0, 180) + [(inner, 2.2), (inner, level)])
    wall = [(0, 0.16), (0.5, 0.16)] + arc(inner - 0.1, 0.26, 0.1, -90, 0) + [(inner, 1.0), (inner, level)]
    lathe(f"{folder}/milk_side.ply", wall)
    lathe(f"{folder}/milk_top.ply", [(inner, level), (0.44, level), (0, level)])


# ---- knitted yarn

def knit(density_path, axis_path, loops=5, rows=6, voxels=8):
    """Loops of a plain knit; fibres are twisted about the yarn."""
    wide, high, radius = 1.6, 1.0, 0.27
    t = np.linspace(0, 2 * np.pi * loops, 70 * loops)
    course = np.stack([wide * t / (2 * np.pi) + 0.32 * np.sin(2 * t), 0.78 * -np.cos(t), 0.24 * np.cos(2 * t)], -1)
    tangent = np.gradient(course, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    low, high_corner = np.array([0, -0.2, -0.6]), np.array([wide * loops, high * rows + 0.2, 0.6])
    n = np.round((high_corner - low) * voxels).astype(int)
    z, y, x = np.meshgrid(*(middles(n[a], low[a], high_corner[a]) for a in (2, 1, 0)), indexing="ij")
    p = np.stack([x, y, z], -1).reshape(-1, 3)
    nearest, axis, out = np.full(len(p), np.inf), np.zeros_like(p), np.zeros_like(p)
    for row in range(-1, rows + 1):
        yarn = course + [0, high * (row + 0.5), 0]
        for first in range(0, len(p), 4096):
            part = slice(first, first + 4096)
            d2 = ((p[part, None] - yarn) ** 2).sum(-1)
            k = d2.argmin(1)
            d = np.sqrt(d2[np.arange(len(k)), k])
            closer = d < nearest[part]
            nearest[part] = np.where(closer, d, nearest[part])
            axis[part] = np.where(closer[:, None], tangent[k], axis[part])
            out[part] = np.where(closer[:, None], p[part] - yarn[k], out[part])
    around = np.cross(axis, out) / radius
    fibre = axis + 0.7 * around
    fibre /= np.linalg.norm(fibre, axis=1, keepdims=True)
    fibre *= np.where(fibre[:, 2:] < 0, -1, 1)  # one of two that mean the same
    solid = np.clip(1.6 * (1 - (nearest / radius) ** 2), 0, 1)
    theta, phi = np.arccos(np.clip(fibre[:, 2], -1, 1)), np.arctan2(fibre[:, 1], fibre[:, 0]) % (2 * np.pi)
    angles = np.stack([np.round(255 * theta / np.pi), np.minimum(np.round(255 * phi / (2 * np.pi)), 254)], -1)
    angles[nearest > 1.5 * radius] = 255
    box = [*low, *high_corner]
    shape = (n[2], n[1], n[0])
    write_volume(density_path, 3, np.round(255 * solid).reshape(*shape, 1), box)
    write_volume(axis_path, 4, angles.reshape(*shape, 2), box)


def main(folder=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes")):
    plume(f"{folder}/plume.vol")
    glass_of_milk(folder)
    knit(f"{folder}/knit_density.vol", f"{folder}/knit_fibres.vol")


if __name__ == "__main__":
    main(*sys.argv[1:])
