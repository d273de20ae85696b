# bench/agreement.py: whether both sides have rendered the same image; run.py asks.
#
# Each side has written several images of the same scene with seeds of its own: SIDE-0.pfm, SIDE-1.pfm, ... in one folder.
# Means of blocks of pixels are compared by the t-test of the tests' oracles: single pixels are too far from normal.
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "oracle"))
BLOCK = 8  # pixels


def read_pfm(path):
    import numpy as np  # only there beside the rival
    with open(path, "rb") as file:
        data = file.read()
    kind, width, height, scale = re.match(rb"(P[Ff])\s+(\d+)\s+(\d+)\s+(\S+)\s", data).groups()
    channels = 3 if kind == b"PF" else 1
    shape = int(height), int(width), channels
    at = len(data) - 4 * shape[0] * shape[1] * channels
    return np.frombuffer(data, "<f4" if float(scale) < 0 else ">f4", offset=at).reshape(shape).astype(float)


def blocks(image):
    height, width, channels = image.shape
    h, w = height // BLOCK, width // BLOCK
    return image[:h * BLOCK, :w * BLOCK].reshape(h, BLOCK, w, BLOCK, channels).mean((1, 3))


def compare_folder(folder):
    """Whether both sides estimate the same image, and a line that says why."""
    import numpy as np
    from image_test import compare
    sides = [np.array([blocks(read_pfm(path)) for path in sorted(glob.glob(f"{glob.escape(folder)}/{side}-*.pfm"))])
             for side in ("umbel", "rival")]
    accepted, line = compare(*sides)
    means = [side.mean((1, 2, 3)) for side in sides]
    error = np.hypot(*(m.std(ddof=1) / len(m) ** 0.5 for m in means))
    difference = means[0].mean() - means[1].mean()
    return bool(accepted), f"{line}; means differ by {difference / means[1].mean():+.2%}, {difference / error:+.1f} standard errors"
