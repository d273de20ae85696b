# tests/python/measured_files.py: files of measured materials, made up of smooth functions and some noise.
import struct

import numpy as np

TYPES = {"uint8": 1, "uint16": 3, "float32": 10, "float64": 11}


def write_tensors(path, fields):
    """A tensor file: a table of contents, then the arrays."""
    names = {name: np.ascontiguousarray(a) for name, a in fields.items()}
    at = 18 + sum(2 + len(n) + 2 + 1 + 8 + 8 * a.ndim for n, a in names.items())
    head, body = b"tensor_file\0" + bytes([1, 0]) + struct.pack("<I", len(names)), b""
    for name, a in names.items():
        body += b"\0" * (-(at + len(body)) % 8)
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<HB", a.ndim, TYPES[str(a.dtype)])
        head += struct.pack("<Q", at + len(body)) + struct.pack(f"<{a.ndim}Q", *a.shape)
        body += a.tobytes()
    with open(path, "wb") as f:
        f.write(head + body)


def measured(path, phi_i=(0.0,), jacobian=1, seed=1, rgb=False, noise=1):
    """Light is reflected as by GGX facets, in a colour that is noise; without it, a reddish one."""
    rng = np.random.default_rng(seed)
    theta_i, n, wavelengths = np.linspace(0, 1.5, 5), 6, np.linspace(400, 700, 4)
    theta = lambda u: u * u * np.pi / 2
    phi = lambda u: (2 * u - 1) * np.pi
    d = lambda t: 1 / (0.25 + 0.75 * np.sin(t) ** 2) ** 2
    x, y = np.linspace(0, 1, 9), np.linspace(0, 1, 7)
    tm, pm = theta(x)[None, :], phi(y)[:, None]
    vndf = np.empty((len(phi_i), len(theta_i), len(y), len(x)))
    for i, p in enumerate(phi_i):
        for j, t in enumerate(theta_i):
            towards = np.sin(t) * np.sin(tm) * np.cos(pm - (p if len(phi_i) > 2 else 0)) + np.cos(t) * np.cos(tm)
            vndf[i, j] = d(tm) * np.maximum(towards, 0) * np.sin(tm) * x + 1e-3
    f32 = lambda a: np.asarray(a, dtype=np.float32)
    shape = (len(phi_i), len(theta_i))
    channels = 3 if rgb else len(wavelengths)
    tint = 0.2 + (1 - noise) * np.linspace(-0.18, -0.06, channels)[:, None, None]
    colours = {"rgb" if rgb else "spectra": f32(tint + 0.3 * noise * rng.random(shape + (channels, n, n)))}
    write_tensors(path, colours | ({} if rgb else {"wavelengths": f32(wavelengths)}) | {
        "description": np.frombuffer(b"made up", dtype=np.uint8), "jacobian": np.array([jacobian], dtype=np.uint8),
        "phi_i": f32(phi_i), "theta_i": f32(theta_i),
        "ndf": f32(np.broadcast_to(d(theta(x)), (2, len(x)))), "sigma": f32(np.broadcast_to(np.cos(theta(x)) + 0.3, (2, len(x)))),
        "vndf": f32(vndf), "luminance": f32(1 + 0.5 * noise * rng.random(shape + (n, n)))})


def measured_polarized(path, seed=1, noise=1):
    """Mueller matrices that are noise, not quite depolarizing."""
    rng = np.random.default_rng(seed)
    phi_d, theta_d, theta_h = np.linspace(-np.pi, np.pi, 9), np.linspace(0, np.pi / 2, 5), np.linspace(0, np.pi / 2, 6)
    m = noise * rng.uniform(-0.05, 0.05, (len(phi_d), len(theta_d), len(theta_h), 5, 4, 4))
    m[..., 0, 0] += 0.15
    f32 = lambda a: np.asarray(a, dtype=np.float32)
    write_tensors(path, {"phi_d": f32([phi_d]), "theta_d": f32([theta_d]), "theta_h": f32([theta_h]),
                         "wvls": np.array([450, 500, 550, 600, 650], dtype=np.uint16), "M": f32(m)})
