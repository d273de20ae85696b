# tests/fuzzer/dictionaries.py: damaged dictionaries, loaded and rendered: an error that is ours, or an image.
#
#     dictionaries.py --corpus FOLDER [--minutes N] [--count N] [--seed N] [--share X]
#     dictionaries.py --replay FILE...
#
# A dictionary is written as a literal, in which strings that begin with @ stand for what has no literal (see `realize`). It is
# tried in a process of its own, some hundred one after the other; one that ends, hangs or takes too much memory leaves its
# dictionary in the corpus as dictionary.NUMBER.
import argparse
import copy
import hashlib
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time
import types
import unittest.mock

SECONDS, GROWTH = 10, 512 << 20  # of computing for one of them; bytes that a hundred of them may leave behind
BATCH = 200
VARIANTS = ["interp_rgb", "interp_spectral", "interp_mono_polarized_double"]

FILM = {"type": "hdrfilm", "width": 4, "height": 3, "rfilter": {"type": "gaussian"}}
SENSOR = {"type": "perspective", "fov": 40, "to_world": "@transform", "film": FILM,
          "sampler": {"type": "independent", "sample_count": 1}}
SCENES = [
    {"type": "scene", "integrator": {"type": "path", "max_depth": 3}, "sensor": SENSOR,
     "paint": {"type": "twosided", "id": "paint", "inner": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.1, .2, .3]}}},
     "ball": {"type": "sphere", "center": [0, 0, 0], "radius": 1.0, "bsdf": {"type": "ref", "id": "paint"}},
     "light": {"type": "point", "position": [0, 4, 0], "intensity": {"type": "spectrum", "value": 5.0}}},
    {"type": "scene", "integrator": {"type": "volpath"}, "sensor": SENSOR,
     "box": {"type": "cube", "to_world": "@transform", "bsdf": {"type": "null"},
             "interior": {"type": "homogeneous", "albedo": 0.5, "sigma_t": 1.5, "phase": {"type": "hg", "g": 0.2}}},
     "sky": {"type": "constant", "radiance": 1.0}},
    {"type": "scene", "integrator": {"type": "aov", "aovs": "d:depth,n:sh_normal", "inner": {"type": "direct"}}, "sensor": SENSOR,
     "floor": {"type": "rectangle", "emitter": {"type": "area", "radiance": {"type": "blackbody", "temperature": 5000.0}},
               "bsdf": {"type": "principled", "base_color": {"type": "bitmap", "bitmap": "@bitmap"}, "roughness": 0.3}},
     "grid": {"type": "sdfgrid", "grid": "@tensor"}},
    {"type": "scene", "integrator": {"type": "ptracer", "samples_per_pass": 4}, "sensor": SENSOR,
     "group": {"type": "shapegroup", "id": "group", "one": {"type": "disk"}},
     "there": {"type": "instance", "shapegroup": {"type": "ref", "id": "group"}, "to_world": "@transform"},
     "spot": {"type": "spot", "intensity": 3.0, "cutoff_angle": 20.0, "to_world": "@transform"}},
]
VALUES = [0, -1, 1, 2**31, 2**32, 2**63, 2**70, -2**70, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), True, None, "",
          "abc", "a.b", "\x1b[31m", "\0", "$x", "../../etc", "é", "sphere", "path", [], [1], [1, 2], [1, 2, 3], [[1, 2], [3, 4]],
          (1, 2, 3, 4), {}, {"type": "diffuse"}, {"type": "scene"}, {"type": "ref", "id": "paint"}, {"type": "ref", "id": "ball"},
          {"type": "rgb", "value": [1, 2]}, {"type": "spectrum", "value": [(400, 1), (300, 2)]}, b"bytes", "@object", "@root",
          "@self", "@mock", "@object0d", "\ud800", "@array", "@empty", "@nan", "@bitmap", "@tensor", "@transform", "@deep", "@long",
          "@image0"]

PLUGINS = """diffuse twosided conductor roughconductor dielectric roughdielectric plastic roughplastic principled mask blendbsdf bumpmap
normalmap null mixturebsdf coating phong ward hk hair measured irawan sphere rectangle cube disk cylinder obj ply serialized instance
shapegroup merge sdfgrid ellipsoids heightfield linearcurve motion gltf constant envmap point spot area directional sunsky projector
perspective orthographic thinlens batch distant irradiancemeter hdrfilm ldrfilm specfilm multifilm independent sobol stratified
halton box gaussian tent lanczos path direct volpath volpathmis ptracer aov depth moment prb stokes homogeneous heterogeneous hg
isotropic sggx tabphase bitmap checkerboard rgb spectrum d65 blackbody irregular uniform volume gridvolume constvolume scene ref
dipole singlescatter""".split()


def realize(value, root=None):
    """The dictionary that a literal stands for."""
    import numpy as np
    import umbel as mi
    if isinstance(value, dict):
        out = {}
        for k, v in value.items():
            out[k] = realize(v, out if root is None else root)
        return out
    if isinstance(value, list):
        return [realize(v, root) for v in value]
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    deep = {"type": "diffuse"}
    if value == "@deep":
        for _ in range(90):
            deep = {"type": "twosided", "inner": deep}
    loop, nested = types.SimpleNamespace(), np.empty((), object)
    loop._source, nested[()] = loop, nested
    return {"@self": loop, "@mock": unittest.mock.Mock(), "@object0d": nested, "@object": object(), "@root": root, "@deep": deep,
            "@long": "x" * 100_000,
            "@array": np.linspace(0, 1, 12, dtype=np.float32).reshape(2, 2, 3), "@empty": np.zeros((0, 3), np.float32),
            "@nan": np.full(3, np.nan), "@bitmap": mi.Bitmap(np.full((4, 4, 3), .5, np.float32)),
            "@image0": np.zeros((4, 0, 3), np.float32), "@tensor": mi.TensorXf(np.linspace(-1, 1, 27, dtype=np.float32), (3, 3, 3, 1)),
            "@transform": mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0])}.get(value, value)


def places(value, path=()):
    """All dictionaries and lists inside a literal."""
    if isinstance(value, (dict, list)):
        yield path
        for k, v in (value.items() if isinstance(value, dict) else enumerate(value)):
            yield from places(v, path + (k,))


def damaged(seed):
    rng = random.Random(seed)
    scene = copy.deepcopy(rng.choice(SCENES))
    for _ in range(rng.randint(1, 3)):
        at = scene
        for k in rng.choice(list(places(scene))):
            at = at[k]
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        what = rng.randrange(6)
        value = copy.deepcopy(rng.choice(VALUES))
        if not keys or what == 0:
            if isinstance(at, dict):
                at[rng.choice(["x", "type", "id", "to_world", "filename", "", 5, "a.b", "bsdf", "radiance"])] = value
            else:
                at.append(value)
        elif what == 1:
            del at[rng.choice(keys)]
        elif what == 2 and isinstance(at, dict):
            at["type"] = rng.choice(PLUGINS)
        elif what == 3 and isinstance(at, dict):
            at[rng.choice(keys)] = {"type": rng.choice(PLUGINS)}
        else:
            at[rng.choice(keys)] = value
    return scene


def attempt(literal, variant):
    """Whether there was nothing to object to. RuntimeError for errors that are not about the dictionary."""
    import umbel as mi
    import umbel.jit as dr
    with mi.set_variant(variant):
        try:
            scene = mi.load_dict(realize(literal))
            if isinstance(scene, mi.Scene) and scene.sensors():
                dr.eval(mi.render(scene, spp=1))
                dr.sync_thread()
            return True
        except (dr.UserError, TypeError, ValueError, OSError) as e:
            if len(str(e)) <= 10:
                raise RuntimeError(f"says nothing: {e!r}")
            return False


def worker(first, count, note):
    """Tries `count` of them, each noted before in the file `note`."""
    accepted = 0
    before = None
    for seed in range(first, first + count):
        literal, variant = damaged(seed), VARIANTS[seed % len(VARIANTS)]
        note.seek(0)
        note.write(repr(literal).encode() + b"\n")
        note.truncate()
        note.flush()
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS + 1, resource.RLIM_INFINITY))
        accepted += attempt(literal, variant)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = before or peak
        if peak > before + GROWTH:
            sys.exit(f"resident memory has grown to {peak >> 20} MiB")
    print(accepted)


def run_all(options):
    begun, done, accepted, kinds = time.monotonic(), 0, 0, dict.fromkeys(["crash", "hang", "memory", "wrong"], 0)
    count = int(options.count * options.share) if options.count else 10**12
    seconds = 60 * options.minutes * options.share if options.minutes else 1e12
    while done < count and time.monotonic() - begun < seconds and sum(kinds.values()) < 50:
        first, batch = options.seed + done, min(BATCH, count - done)
        with tempfile.NamedTemporaryFile() as note:
            run = subprocess.run([sys.executable, "-B", __file__, "--worker", str(first), str(batch), note.name],
                                 capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
            done += batch
            if run.returncode == 0:
                accepted += int(run.stdout.split()[-1])
                continue
            text = pathlib.Path(note.name).read_text()
        last = run.stderr.strip().splitlines()[-1] if run.stderr.strip() else ""
        kind = ("hang" if run.returncode == -24 else "crash" if run.returncode < 0 else
                "memory" if "resident memory" in last else "wrong")
        kinds[kind] += 1
        file = pathlib.Path(options.corpus) / f"dictionary.{hashlib.sha1(text.encode()).hexdigest()[:8]}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        print(f"fuzz: {kind}: {file}: {last or f'signal {-run.returncode}'}", file=sys.stderr)
    print(f"fuzz: {done} dictionaries in {time.monotonic() - begun:.0f} s (seed {options.seed}): {accepted} accepted; "
          f"crashes {kinds['crash']}, hangs {kinds['hang']}, over memory {kinds['memory']}, wrong {kinds['wrong']}")
    return any(kinds.values())


def replay(file):
    text = pathlib.Path(file).read_text()
    literal = eval(text, {"__builtins__": {}, "nan": float("nan"), "inf": float("inf")})  # ast knows no nan
    for variant in VARIANTS:
        attempt(literal, variant)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        with open(sys.argv[4], "r+b") as note:
            worker(int(sys.argv[2]), int(sys.argv[3]), note)
    elif sys.argv[1] == "--replay":
        for name in sys.argv[2:]:
            replay(name)
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--minutes", type=float, default=0)
        parser.add_argument("--count", type=float, default=0)
        parser.add_argument("--share", type=float, default=1)
        parser.add_argument("--seed", type=int, default=0)
        sys.exit(run_all(parser.parse_args()))
