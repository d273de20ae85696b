"""Schedules: factors of a learning rate by the number of steps taken, for Optimizer.set_schedule().

    opt.set_schedule(schedules.exponential(steps=200, factor=0.01))
"""
import math


def _positive(name, steps):
    if steps <= 0:
        raise ValueError(f"{name}: steps is {steps}; it must be positive")


def exponential(steps, factor):
    """From 1, `factor` after so many steps, its square after twice as many, and so on."""
    _positive("exponential", steps)
    return lambda i: factor ** (i / steps)


def linear(steps, factor=0.0):
    """From 1 to `factor` in a straight line, which then stays."""
    _positive("linear", steps)
    return lambda i: 1 + (factor - 1) * min(i / steps, 1)


def cosine(steps, factor=0.0):
    """From 1 to `factor` along half a wave."""
    _positive("cosine", steps)
    return lambda i: factor + (1 - factor) * (1 + math.cos(math.pi * min(i / steps, 1))) / 2


def piecewise(steps, factor):
    """Times `factor` after every so many steps."""
    _positive("piecewise", steps)
    return lambda i: factor ** (i // steps)


def warmup(steps, then=None):
    """From 1 / steps to 1, then what another schedule says of the steps that follow."""
    _positive("warmup", steps)
    return lambda i: (i + 1) / steps if i < steps else 1 if then is None else then(i - steps)


__all__ = ["cosine", "exponential", "linear", "piecewise", "warmup"]
