# tests/oracle/image_test.py: do two renderers estimate the same image?
#
# Each gives several independent images. Pixel by pixel, Welch's t-test compares their means; the smallest p-value counts,
# corrected for the number of pixels, and so does the sum of all t-values, in which small differences of many pixels add up.
import math

import numpy as np


def incomplete_beta(a, b, x):
    """Regularized, by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny, c, d, f = 1e-300, 1.0, 0.0, 1.0
    for i in range(400):
        m = i // 2
        if i == 0:
            t = 1.0
        elif i % 2 == 0:
            t = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            t = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + t * d or tiny)
        c = 1 + t / c or tiny
        f *= c * d
        if abs(1 - c * d) < 1e-12:
            break
    return front * (f - 1)


def t_tail(t, degrees):
    """Two-sided probability of a t-value at least as large."""
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def compare(a, b, significance=0.001):
    """a, b: arrays of images. Returns (accepted, a line that says why)."""
    n, m = len(a), len(b)
    va, vb = a.var(0, ddof=1) / n, b.var(0, ddof=1) / m
    spread = va + vb
    used = spread > 0  # pixels without any noise agree, or say nothing
    difference = (a.mean(0) - b.mean(0))[used]
    va, vb, spread = va[used], vb[used], spread[used]
    t = difference / np.sqrt(spread)
    degrees = spread**2 / (va**2 / (n - 1) + vb**2 / (m - 1))

    # The most different pixel
    worst = max(range(t.size), key=lambda i: -t_tail(abs(t[i]), degrees[i]))
    p_pixel = 1 - (1 - t_tail(abs(t[worst]), degrees[worst])) ** t.size
    # All together: each t-value has variance d / (d - 2); channels of a pixel move together
    channels = a.shape[-1]
    total = t.sum() / math.sqrt((degrees / (degrees - 2)).sum() * channels)
    p_total = math.erfc(abs(total) / math.sqrt(2))
    line = f"largest |t| {abs(t[worst]):.2f} (p {p_pixel:.3g}), sum {total:+.2f} (p {p_total:.3g}), {t.size} values"
    return min(p_pixel, p_total) > significance / 2, line


def compare_blocks(a, b):
    """a, b: one image of 3840 x 2160 pixels each. Means of their difference over blocks, by its spread in the block."""
    d = (a - b).reshape(24, 90, 32, 120, 3).mean(-1).transpose(0, 2, 1, 3).reshape(24 * 32, -1)
    spread = d.std(1, ddof=1)
    z = d.mean(1)[spread > 0] / (spread[spread > 0] / np.sqrt(d.shape[1]))
    # 768 blocks of 10,800 pixels: normal; the largest of them is beyond 5 once in 2,000 runs, the sum's beyond 4 in 15,000
    total = z.sum() / np.sqrt(z.size)
    return max(abs(z)) < 5 and abs(total) < 4, f"largest |z| {max(abs(z)):.2f}, sum {total:+.2f}, {z.size} blocks"
