"""Optimizers: dictionaries of unknowns that step downhill; rates, momentum, masks, and going on from where one was."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")


def valley(p):
    """Rosenbrock's: a narrow curved valley, with its lowest point at (1, 1)."""
    x, y = p[0], p[1]
    return dr.square(1 - x) + 20 * dr.square(y - x * x)


def descend(opt, steps):
    for _ in range(steps):
        loss = valley((opt["x"], opt["y"]))
        dr.backward(loss)
        opt.step()
    return loss


# ---- Plain steps, steps with momentum, and steps that are scaled by the size of past gradients
losses = {}
for name, opt in {"SGD": mi.ad.SGD(lr=5e-3), "momentum": mi.ad.SGD(lr=5e-3, momentum=0.8), "Adam": mi.ad.Adam(lr=0.05)}.items():
    opt["x"], opt["y"] = mi.Float(-0.5), mi.Float(1)
    losses[name] = np.array(descend(opt, 150)).item()
print("after 150 steps:", losses)
assert losses["momentum"] < losses["SGD"] and losses["Adam"] < losses["SGD"]

# ---- Each unknown may have a rate of its own; a rate of zero holds it
opt = mi.ad.Adam(lr=0.05)
opt["x"], opt["y"] = mi.Float(-0.5), mi.Float(1)
opt.set_learning_rate({"y": 0.0})
descend(opt, 20)
assert opt["y"][0] == 1 and opt["x"][0] != -0.5

# ---- An unknown that is set anew starts without a past
opt["x"] = mi.Float(0.25)
assert opt["x"][0] == 0.25 and dr.grad_enabled(opt["x"])

# ---- The same for images: an optimizer holds the parameters of a scene, and passes them on
scene = mi.load_dict({
    "type": "scene", "integrator": {"type": "direct"},
    "sensor": {"type": "perspective", "fov": 40, "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}},
               "to_world": mi.ScalarTransform4f().look_at([0, 0, 3], [0, 0, 0], [0, 1, 0])},
    "sky": {"type": "constant"},
    "card": {"type": "rectangle", "to_world": mi.ScalarTransform4f().scale(3),
             "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.2, 0.2, 0.2]}}}})
params, key = mi.traverse(scene), "card.bsdf.reflectance.value"
wanted = mi.Color3f(0.7, 0.4, 0.1)
opt = mi.ad.Adam(lr=0.05, params={key: params[key]})
for i in range(100):
    params.update(opt)
    image = mi.render(scene, params, spp=4, seed=i)
    dr.backward(dr.mean(dr.square(image - mi.TensorXf(np.broadcast_to(np.array(wanted).ravel(), (8, 8, 3)).copy())), axis=None))
    opt.step()
    opt[key] = dr.clip(opt[key], 0, 1)  # after a step, whatever a colour must obey
print("found:", opt[key])
assert np.allclose(np.array(opt[key]).ravel(), np.array(wanted).ravel(), atol=0.02)
