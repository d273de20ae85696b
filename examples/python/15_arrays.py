"""Arrays: recorded, computed when asked for, with loops, memory and derivatives. All that the other lessons build on."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
Float, UInt = mi.Float, mi.UInt32

# ---- An array has a number for each lane. Operations are recorded; printing one computes all that it needs, in one kernel.
x = dr.linspace(Float, 0, 1, 5)
y = dr.square(x) + 1
print("y =", y)
assert np.allclose(y, [1, 1.0625, 1.25, 1.5625, 2])

# ---- Vectors are arrays of arrays: three numbers for each lane. One lane stands for as many as it meets.
v = mi.Vector3f(x, 0, 1)
length = dr.norm(v)
assert dr.width(v) == 5 and np.allclose(length, np.sqrt(np.square(np.array(x)) + 1))

# ---- Decisions are made lane by lane: masks, and what is selected by them
above = x > 0.4
assert dr.count(above)[0] == 3 and np.allclose(dr.select(above, x, 0), [0, 0, 0.5, 0.75, 1])

# ---- Memory: gather reads by index, scatter writes; several lanes may add to one place
squares = dr.square(dr.arange(Float, 10))
assert np.allclose(dr.gather(Float, squares, UInt(3, 1, 4)), [9, 1, 16])
histogram = dr.zeros(Float, 4)
dr.scatter_add(histogram, 1., UInt(0, 1, 1, 3, 1))
assert np.allclose(histogram, [1, 3, 0, 1])


# ---- A loop is part of the kernel, and each lane leaves it in its own time: Newton's square root
@dr.syntax
def square_root(a):
    guess, steps = dr.maximum(a, 1), UInt(0)
    while dr.abs(guess * guess - a) > 1e-5 * a:
        guess = 0.5 * (guess + a / guess)
        steps += 1
    return guess, steps


numbers = Float(1, 2, 100, 10000)
roots, steps = square_root(numbers)
print("square roots:", roots, "after", steps, "steps")
assert np.allclose(roots, np.sqrt(np.array(numbers)), rtol=1e-4) and steps[3] > steps[1]

# ---- Derivatives: of one number with respect to many, in reverse; of many with respect to one, forward
a = Float(1, 2, 3)
dr.enable_grad(a)
dr.backward(dr.sum(a * a * a))
assert np.allclose(dr.grad(a), [3, 12, 27])

t = Float(0.5)
dr.enable_grad(t)
circle = mi.Point2f(dr.cos(t * mi.Float(0, 1, 2)), dr.sin(t))
dr.forward(t)
assert np.allclose(np.array(dr.grad(circle.y)).ravel()[0], np.cos(0.5))

# ---- NumPy sees the same memory, and what comes from it needs no copy
assert isinstance(roots.numpy(), np.ndarray) and dr.sum(Float(np.arange(5)))[0] == 10
