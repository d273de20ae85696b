"""Losses: how far an image is from another one. Tensors of rows, columns and channels; all are differentiable in the first argument.

Gradients of l1, l2 and their relatives are unbiased when the image and its derivative have samples of their own, as those of
umbel.render() have; those of ssim and of other losses are not, and need more samples a pixel.
"""
from .. import jit as dr


def _checked(image, target):
    if tuple(image.shape) != tuple(target.shape):
        raise dr.UserError(f"the image is of {tuple(image.shape)} numbers, what it is compared with of {tuple(target.shape)}")
    return image, dr.detach(target)


def _mean(x): return dr.mean(x, axis=None)


def l1(image, target):
    """The mean difference."""
    image, target = _checked(image, target)
    return _mean(dr.abs(image - target))


def l2(image, target):
    """The mean squared difference."""
    image, target = _checked(image, target)
    return _mean(dr.square(image - target))


def relative_l1(image, target, epsilon=1e-2):
    """The mean of differences over what the target is, so that dark parts count as much as bright ones."""
    image, target = _checked(image, target)
    return _mean(dr.abs(image - target) / (dr.abs(target) + epsilon))


def relative_l2(image, target, epsilon=1e-2):
    """The mean of squared differences over what the target's square is."""
    image, target = _checked(image, target)
    return _mean(dr.square(image - target) / (dr.square(target) + epsilon))


def gradient_l1(image, target):
    """The mean difference of differences of neighbouring pixels: edges count, brightness does not."""
    difference = image - target
    _checked(image, target)
    h, w = difference.shape[:2]
    if h < 2 or w < 2:
        raise dr.UserError(f"an image of {w} x {h} pixels has no neighbours to compare")
    return (_mean(dr.abs(difference[1:] - difference[:h - 1])) + _mean(dr.abs(difference[:, 1:] - difference[:, :w - 1]))) / 2


def gradient_domain(image, target, weight=1.0):
    """l1 of pixels, and `weight` times that of their differences."""
    return l1(image, target) + weight * gradient_l1(image, target)


def _blurred(x, kernel):
    """Weighted sums over a window, where it fits into the image."""
    n = len(kernel)
    h = x.shape[0] - n + 1
    rows = sum(k * x[i:i + h] for i, k in enumerate(kernel))
    w = x.shape[1] - n + 1
    return sum(k * rows[:, i:i + w] for i, k in enumerate(kernel))


def ssim(image, target, peak=1.0, window=11, sigma=1.5):
    """1 minus the mean structural similarity [Wang 2004] of windows: means, contrasts and structures of images between 0 and `peak`."""
    import math
    image, target = _checked(image, target)
    if min(image.shape[:2]) < window:
        raise dr.UserError(f"an image of {image.shape[1]} x {image.shape[0]} pixels is smaller than the window of {window}: name a "
                           "smaller one")
    kernel = [math.exp(-(i - (window - 1) / 2) ** 2 / (2 * sigma ** 2)) for i in range(window)]
    kernel = [k / sum(kernel) for k in kernel]
    blurred = lambda x: _blurred(x, kernel)
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    a, b = blurred(image), blurred(target)
    spread_a, spread_b = blurred(image * image) - a * a, blurred(target * target) - b * b
    together = blurred(image * target) - a * b
    similar = (2 * a * b + c1) * (2 * together + c2) / ((a * a + b * b + c1) * (spread_a + spread_b + c2))
    return 1 - _mean(similar)


__all__ = ["gradient_domain", "gradient_l1", "l1", "l2", "relative_l1", "relative_l2", "ssim"]
