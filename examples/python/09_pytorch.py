"""PyTorch in the loop: a network chooses the wall's colour, the renderer shows it, gradients flow back to the weights."""
import sys
import numpy as np
import umbel as mi
import umbel.jit as dr

try:
    import torch
except ImportError:
    print("PyTorch is not installed: skipped")
    sys.exit(77)

mi.set_variant("llvm_ad_rgb")
torch.manual_seed(0)

description = mi.cornell_box()
description["integrator"] = {"type": "prb", "max_depth": 4}
description["sensor"]["film"] |= {"width": 24, "height": 24}
scene = mi.load_dict(description)
params = mi.traverse(scene)
key = "green.reflectance.value"
target = mi.render(scene, spp=256, seed=1000).torch()


# A function of arrays becomes one of tensors: PyTorch calls it and differentiates it.
@dr.wrap(source="torch", target="drjit")
def render(albedo, seed):
    params[key] = dr.unravel(mi.Color3f, dr.ravel(albedo))
    params.update()
    return mi.render(scene, params, spp=16, seed=seed)


# From a fixed code to a colour between 0 and 1
network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3), torch.nn.Sigmoid())
code = torch.randn(8)
optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.985)

for i in range(200):
    optimizer.zero_grad()
    image = render(network(code), i)
    loss = (((image - target) / (target + 0.1)) ** 2).mean()  # relative: else the lamp outweighs all
    loss.backward()
    if i == 0:
        first = loss.item()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())
    optimizer.step()
    schedule.step()

found = network(code).detach().numpy()
print(f"loss {first:.5f} -> {loss.item():.5f}; colour {found}, wanted [0.105 0.378 0.076]")
assert np.allclose(found, [0.105421, 0.37798, 0.076425], atol=0.02)
