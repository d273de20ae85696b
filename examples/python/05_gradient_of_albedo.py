"""Derivatives of an image: reverse mode, forward mode, and differences, which must agree."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

# `prb` computes derivatives by replaying paths: its memory does not grow with their length.
description = mi.cornell_box()
description["integrator"] = {"type": "prb", "max_depth": 6, "rr_depth": 100}
description["sensor"]["film"] |= {"width": 24, "height": 24, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
params = mi.traverse(scene)
key = "red.reflectance.value"
albedo = mi.Color3f(params[key])


def loss(image):
    return dr.mean(image, axis=None)


# ---- Reverse mode: the derivatives of one number with respect to all parameters
def reverse(seed):
    params[key] = mi.Color3f(albedo)
    dr.enable_grad(params[key])
    params.update()
    dr.backward(loss(mi.render(scene, params, spp=64, seed=seed)))
    return np.array(dr.grad(params[key])).ravel()


# ---- Forward mode: the derivative of every pixel with respect to one number
def forward(seed):
    t = mi.Float(0)
    dr.enable_grad(t)
    params[key] = albedo + mi.Color3f(t, 0, 0)
    params.update()
    image = mi.render(scene, params, spp=64, seed=seed)
    dr.forward(t)
    return np.array(dr.grad(image))


# ---- Differences: the same random numbers on both sides, so that most of the noise cancels
def difference(seed, channel, h=0.02):
    losses = []
    for sign in (-1, 1):
        shifted = np.array(albedo).ravel()
        shifted[channel] += sign * h
        params[key] = mi.Color3f(*[float(v) for v in shifted])
        params.update()
        losses.append(np.array(mi.render(scene, spp=64, seed=seed)).mean())
    return (losses[1] - losses[0]) / (2 * h)


seeds = range(16)
def mean_and_error(values):
    return np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values))

r, r_error = mean_and_error([reverse(s) for s in seeds])
d, d_error = mean_and_error([[difference(s, c) for c in range(3)] for s in seeds])
f, f_error = mean_and_error([forward(s).mean() for s in seeds])
print("reverse:    ", r, "+-", r_error)
print("differences:", d, "+-", d_error)
print("forward:    ", f, "+-", f_error)
assert np.all(np.abs(r - d) < 4 * np.hypot(r_error, d_error) + 1e-4)
assert abs(r[0] - f) < 4 * np.hypot(r_error[0], f_error)
assert np.all(r > 0)  # a lighter wall makes a lighter room
