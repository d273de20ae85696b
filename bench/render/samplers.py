# bench/render/samplers.py: the error of each sampler in shared scenes, by which the default is chosen.
#
#     PYTHONPATH=build/release/python python bench/render/samplers.py [--scenes cbox,…] [--samplers sobol,…] [--spp 16,…]
#
# Each number is the squared error of an image relative to the squared brightness, a mean over pixels and seeds, and in brackets
# the same over that of `independent`. Samplers that take more samples than they are asked for are charged for them. The
# truth is an image of `--reference` samples. Only samplers that `resume` may be the default: their samples are the same however
# many there will be, so that a checkpoint goes on to more of them, and a render that is stopped early is as good as a short one.
import argparse
import os

import numpy as np
import umbel as mi

SHARED = os.environ.get("UMBEL_SCENES", "../shared/scenes")
SCENES = {"cbox": ("cbox/cbox-rgb.xml", {"res": "48"}),
          "matpreview": ("matpreview/matpreview.xml", {"width": "64", "height": "48"}),
          "staircase": ("staircase/scene-v3.xml", {"width": "36", "height": "64"})}
SAMPLERS = ["independent", "stratified", "multijitter", "orthogonal", "ldsampler", "halton",
            "hammersley", "sobol"]
RESUMES = {"independent", "halton", "sobol"}


def load(name, sampler, spp):
    """The scene at a small size, with another sampler."""
    path, size = SCENES[name]
    config = mi.parser.ParserConfig(mi.variant())
    file = os.path.join(SHARED, path)
    state = mi.parser.parse_file(config, file, spp=str(spp), **size)
    mi.parser.transform_all(config, state)
    for node in state.nodes:
        if node.type == mi.ObjectType.Sampler:
            node.props.set_plugin_name(sampler)
    return mi.parser.instantiate(config, state)


def error(image, reference):
    image, reference = np.array(image)[..., :3], reference[..., :3]
    brightness = np.mean(reference, axis=2, keepdims=True)
    return float(np.mean((image - reference) ** 2 / (brightness ** 2 + 1e-2)))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--scenes", default=",".join(SCENES))
    options.add_argument("--samplers", default=",".join(SAMPLERS))
    options.add_argument("--spp", default="16,64,100,256")
    options.add_argument("--seeds", type=int, default=4)
    options.add_argument("--reference", type=int, default=8192)
    o = options.parse_args()
    mi.set_variant("llvm_rgb")
    counts = [int(n) for n in o.spp.split(",")]
    totals = {}
    for scene in o.scenes.split(","):
        truth = load(scene, "sobol", o.reference)
        reference = np.array(mi.render(truth, spp=o.reference, seed=12345))
        rows = {}
        for sampler in ["independent"] + [s for s in o.samplers.split(",") if s != "independent"]:
            rows[sampler] = []
            for spp in counts:
                loaded = load(scene, sampler, spp)
                errors = [error(mi.render(loaded, spp=spp, seed=s), reference)
                          for s in range(o.seeds)]
                taken = loaded.sensors()[0].sampler().sample_count()
                rows[sampler].append(np.mean(errors) * taken / spp)
            ratios = [e / i for e, i in zip(rows[sampler], rows["independent"])]
            totals.setdefault(sampler, []).extend(ratios)
            numbers = "  ".join(f"{e:.5f} ({r:.2f})" for e, r in zip(rows[sampler], ratios))
            print(f"{scene:12} {sampler:12} {numbers}", flush=True)
    print("\nsampler       mean  resumes")
    for sampler, ratios in sorted(totals.items(), key=lambda kv: np.mean(np.log(kv[1]))):
        print(f"{sampler:12} {np.exp(np.mean(np.log(ratios))):5.2f}  {'yes' if sampler in RESUMES else 'no'}")


if __name__ == "__main__":
    main()
