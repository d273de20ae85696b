# bench/ad/rival.py: Dr.Jit's side of the ad suite; README.md says what each row measures.
import os
import sys

import drjit as dr
import numpy as np
from drjit.llvm.ad import Float, UInt32

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rival import about, row, seconds, serve  # noqa: E402

about.update(name="drjit", version=dr.__version__)


def owned(x):
    # Memory borrowed from NumPy is not aligned, and Dr.Jit quietly gives up packet gathers on it.
    x = x + dr.opaque(type(x), 0)
    dr.eval(x)
    dr.sync_thread()
    return x


# ---- Inputs: the same on both sides


def random_bits(n, seed):
    with np.errstate(over="ignore"):
        h = np.arange(n, dtype=np.uint32) * np.uint32(2654435769) + np.uint32(seed * 40503 + 1)
        for factor in (2246822519, 3266489917):
            h = (h ^ (h >> np.uint32(15))) * np.uint32(factor)
        return h ^ (h >> np.uint32(16))


def random_floats(n, seed, low=0.0, high=1.0):
    unit = (random_bits(n, seed) >> np.uint32(8)).astype(np.float64) * 2.0**-24
    return owned(Float((low + (high - low) * unit).astype(np.float32)))


# ---- Timing


def timed(step, variables, want):
    """Time of tracing a step, launching it and waiting for it, with warm kernels.

    `step()` gives the result; its gradients go to `variables`, whose checksum must be `want`.
    """

    def once():
        for v in variables:
            dr.clear_grad(v)
        result = step()
        dr.backward(result)
        gradients = [dr.grad(v) for v in variables]
        dr.eval(result, gradients)
        dr.sync_thread()
        return gradients

    gradients = [g.numpy().astype(np.float64) for g in once()]
    got = sum(float((np.abs(g) * ((np.arange(len(g)) % 7) + 1)).sum()) for g in gradients)
    if abs(got - want) > 1e-3 * abs(want):
        raise RuntimeError(f"the gradients' checksum is {got!r} and should be {want}")
    return seconds(once)


# ---- Element-wise arithmetic


def expression(x, y):
    for _ in range(20):  # ten operations each
        b = x * y + 0.4
        g = dr.sin(b) / dr.sqrt(b * b + 1)
        x = x + dr.exp(g) * 0.1
    return x


@row("expression")
def expression_row():
    x, y = random_floats(1 << 22, 1), random_floats(1 << 22, 2)
    dr.enable_grad(x, y)
    return timed(lambda: expression(x, y), [x, y], 39362220)


@row("expression primal")
def expression_primal():
    x, y = random_floats(1 << 22, 1), random_floats(1 << 22, 2)

    def once():
        dr.eval(expression(x, y))
        dr.sync_thread()

    return seconds(once)


# ---- A perceptron


def layer(inputs, weights, biases):
    outputs = []
    for j in range(len(biases)):
        total = dr.gather(Float, biases, j)
        for i, x in enumerate(inputs):
            total = dr.fma(dr.gather(Float, weights, j * len(inputs) + i), x, total)
        outputs.append(total)
    return outputs


@row("perceptron")
def perceptron():
    inputs = [random_floats(1 << 18, 10 + i, -1, 1) for i in range(16)]
    w1, b1 = random_floats(512, 3, -0.5, 0.5), random_floats(32, 4, -0.1, 0.1)
    w2, b2 = random_floats(128, 5, -0.5, 0.5), random_floats(4, 6, -0.1, 0.1)
    variables = [w1, b1, w2, b2]
    dr.enable_grad(*variables)

    def step():
        hidden = [dr.maximum(h, 0) for h in layer(inputs, w1, b1)]
        y = layer(hidden, w2, b2)
        return y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3]

    return timed(step, variables, 77054524)


# ---- A texture


def texture(channels, want):
    resolution, points = 1024, 1 << 22
    texels = random_floats(resolution * resolution * channels, 7)
    u, v = random_floats(points, 8), random_floats(points, 9)
    dr.enable_grad(texels)

    def step():
        fx, fy = u * (resolution - 1), v * (resolution - 1)
        ix, iy = UInt32(fx), UInt32(fy)
        tx, ty = fx - Float(ix), fy - Float(iy)
        corner = iy * resolution + ix
        total = 0
        for c in range(channels):

            def fetch(offset):
                return dr.gather(Float, texels, (corner + offset) * channels + c)

            top = dr.lerp(fetch(0), fetch(1), tx)
            bottom = dr.lerp(fetch(resolution), fetch(resolution + 1), tx)
            value = dr.lerp(top, bottom, ty)
            total = total + value * value
        return total

    return timed(step, [texels], want)


@row("texture")
def texture_1():
    return texture(1, 16772737)


@row("texture 3 channels")
def texture_3():
    return texture(3, 50339872)


# ---- A call


class Item:
    def __init__(self, k):
        self.k = k
        self.scale, self.shift = dr.opaque(Float, 0.5 + 0.01 * k), dr.opaque(Float, 0.25 + 0.02 * k)

    def apply(self, x):
        for _ in range(5 + self.k // 2):  # five operations each
            x = dr.sqrt(x * self.scale + float(self.k + 1)) * self.shift + x * 0.5
        return x


@row("call")
def call():
    items = [Item(k) for k in range(20)]
    n = 1 << 20
    index = owned(UInt32(random_bits(n, 30) >> np.uint32(8)) % 20)
    x = random_floats(n, 31)
    variables = [x] + [m for item in items for m in (item.scale, item.shift)]
    dr.enable_grad(*variables)
    return timed(lambda: dr.switch(index, [item.apply for item in items], x), variables, 8112470)


# ---- Optimization


@row("step")
def step():
    # Each lane looks for an x of its own with f(x) = target, by gradient descent with momentum.
    n = 4096
    x, momentum, target = random_floats(n, 40), dr.zeros(Float, n), random_floats(n, 41, 0.2, 0.8)
    dr.make_opaque(momentum)

    def once():
        nonlocal x, momentum
        dr.enable_grad(x)
        error = dr.sin(x) * x + 0.1 * x - target
        loss = error * error
        dr.backward(loss)
        momentum = 0.9 * momentum + dr.grad(x) + 1e-12  # no subnormal numbers
        x = dr.detach(x) - 0.01 * momentum
        dr.eval(x, momentum)
        dr.sync_thread()

    return seconds(once, least=1000)


serve()
