"""Jobs: optimizations that a file describes, which show how they get on and go on after they were stopped.

    umbel optimize job.toml
    umbel optimize job.py

docs/ad.md has the format of both. A job's folder has loss.png, views.png and index.html, parameters.npz with what was found, and
state.npz: all that the next iteration depends on, so that a job that is started again ends with the same bits.
"""
import argparse
import difflib
import io
import json
import math
import os
import runpy
import sys
import time

import umbel as mi

from .. import _core
from .. import jit as dr
from . import losses as loss_functions
from . import regularizers, schedules
from .report import Report, replace

_OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "rmsprop": "RMSProp", "lbfgs": "LBFGS"}
_SETTINGS = {"lr": None, "min": None, "max": None, "outside": "project", "start": None, "total_variation": 0.0, "smoothness": 0.0}


def _known(what, given, known):
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise dr.UserError(f'{what}: unknown entry "{name}"; ' +
                               (f'did you mean "{near[0]}"?' if near else "there are " + ", ".join(known)))


class Job:
    """Parameters of a scene, images that they should lead to, and how to get there.

    `parameters`: their names, or a dictionary of names and settings: `lr`, `min`, `max`, `outside` ("project" or "refuse"),
    `start` (a number, a list or an array), `total_variation`, `smoothness` (weights). `views`: pairs of a sensor, by number or as an
    object, and the image that it should see, as a tensor or a file. `optimizer`: an optimizer without parameters. `loss`:
    one of umbel.ad.losses by name, or any function of an image and its target. `extra`: a function of the parameters whose value
    is added to the loss. `batch`: how many views an iteration looks at, in turn; 0: all.
    """

    def __init__(self, scene, parameters, views, *, optimizer=None, loss="l2", iterations=100, spp=16, spp_grad=0, seed=0,
                 integrator=None, batch=0, every=10, title="", extra=None):
        self.scene, self.optimizer = scene, optimizer if optimizer is not None else mi.ad.Adam(lr=0.02)
        self.iterations, self.spp, self.spp_grad, self.seed = int(iterations), int(spp), int(spp_grad), int(seed)
        self.integrator = mi.load_dict(integrator) if isinstance(integrator, dict) else integrator
        self.every, self.title, self.extra = max(int(every), 1), title or "An optimization", extra
        if isinstance(loss, str):
            _known("loss", [loss], loss_functions.__all__)
        self.loss_name = loss if isinstance(loss, str) else getattr(loss, "__name__", "a function")
        self.loss = getattr(loss_functions, loss) if isinstance(loss, str) else loss
        if self.iterations < 1 or self.spp < 1:
            raise dr.UserError(f"a job has {self.iterations} iterations of {self.spp} samples; both must be at least 1")
        if not views:
            raise dr.UserError("a job has no views: name at least one image that a sensor should see")
        self.views = [(sensor, _image(target)) for sensor, target in views]
        self.batch = int(batch) or len(self.views)
        self.params = mi.traverse(scene)
        self._register(parameters if isinstance(parameters, dict) else {key: {} for key in parameters})
        self.losses = []

    def _register(self, parameters):
        if not parameters:
            raise dr.UserError("a job has no parameters: name at least one; umbel.traverse(scene) lists them")
        self.settings = {}
        for key, given in parameters.items():
            _known(f'parameter "{key}"', given, list(_SETTINGS))
            s = self.settings[key] = {**_SETTINGS, **given}
            if self.params.flags(key) & 1:  # complains of names that there are not
                raise dr.UserError(f'parameter "{key}" has no derivatives')
            if not isinstance(self.params[key], dr.ArrayBase):
                raise dr.UserError(f'parameter "{key}" is a {type(self.params[key]).__name__}, which is made of other numbers: a '
                                   "script optimizes these, as examples/python/36_pose_from_an_image.py does")
            if s["start"] is not None:
                self.params[key] = _start(self.params[key], s["start"], key)
            self.optimizer[key] = self.params[key]
            if s["lr"] is not None:
                self.optimizer.set_learning_rate({key: float(s["lr"])})
            if s["min"] is not None or s["max"] is not None:
                self.optimizer.set_constraint(key, (s["min"], s["max"]), outside=s["outside"])

    # ---- iterations
    def _chosen(self, i):
        n = len(self.views)
        return [(i * self.batch + k) % n for k in range(min(self.batch, n))]

    def step(self):
        """One iteration; returns its loss."""
        i = len(self.losses)
        self.params.update(self.optimizer)
        total, chosen = 0, self._chosen(i)
        for v in chosen:
            sensor, target = self.views[v]
            seed = mi.sample_tea_32((self.seed << 16) ^ v, i)[0]
            image = mi.render(self.scene, self.params, sensor=sensor, integrator=self.integrator, spp=self.spp,
                              spp_grad=self.spp_grad, seed=int(seed))
            total += self.loss(image, target) / len(chosen)
        for key, s in self.settings.items():
            for name in ("total_variation", "smoothness"):
                if s[name]:
                    total += float(s[name]) * getattr(regularizers, name)(self.optimizer[key])
        if self.extra is not None:
            total += self.extra(self.optimizer)
        dr.backward(total)
        self.optimizer.step()
        loss = float(dr.detach(total).numpy().reshape(-1)[0])
        if not math.isfinite(loss):
            raise dr.UserError(f"the loss of iteration {i} is {loss}: a lower rate, or a range of the parameters, may help")
        self.losses.append(loss)
        return loss

    # ---- files
    def _facts(self):
        """What a state is good for, besides its own parameters."""
        return {"loss": self.loss_name, "spp": self.spp, "spp_grad": self.spp_grad, "seed": self.seed, "views": len(self.views),
                "batch": self.batch, "variant": mi.variant()}

    def save(self, folder):
        """All that the next iteration depends on, in one file."""
        import numpy as np
        inner, outer = io.BytesIO(), io.BytesIO()
        self.optimizer.save(inner)
        np.savez(outer, optimizer=np.frombuffer(inner.getvalue(), np.uint8), losses=np.array(self.losses, np.float64),
                 job=json.dumps(self._facts()))
        replace(os.path.join(folder, "state.npz"), outer.getvalue())

    def load(self, folder):
        """What save() wrote."""
        import numpy as np
        path = os.path.join(folder, "state.npz")
        try:
            with np.load(path, allow_pickle=False) as data:
                facts, losses, inner = json.loads(str(data["job"])), data["losses"], data["optimizer"].tobytes()
            if not isinstance(facts, dict):
                raise ValueError("it does not say of which one")
        except (ValueError, KeyError, EOFError, OSError) as error:
            raise dr.UserError(f"{path} is not the state of a job ({error}); --restart begins anew") from None
        other = [f"{k} was {facts.get(k)} and is {v}" for k, v in self._facts().items() if facts.get(k) != v]
        if other:
            raise dr.UserError(f"{path} is the state of another job: {', '.join(other)}; --restart begins anew")
        self.optimizer.load(io.BytesIO(inner))
        self.losses = [float(v) for v in losses]

    def _rows(self, first):
        self.params.update(self.optimizer)
        with dr.suspend_grad():
            now = [mi.render(self.scene, sensor=s, integrator=self.integrator, spp=self.spp, seed=self.seed) for s, _ in self.views[:4]]
        return [[f, n, t] for f, n, (_, t) in zip(first or now, now, self.views)]

    def run(self, folder, *, restart=False, progress=None):
        """All iterations that are left. `progress(i, loss, job)` is called after each."""
        import numpy as np
        os.makedirs(folder, exist_ok=True)
        report, state, beginning = Report(folder, self.title), os.path.join(folder, "state.npz"), os.path.join(folder, "first.npz")
        first = [row[1] for row in self._rows(None)]
        if os.path.exists(state) and not restart:
            self.load(folder)
            if os.path.exists(beginning):
                with np.load(beginning, allow_pickle=False) as data:
                    first = [data[f"image{i}"] for i in range(len(data.files))]
        else:
            out = io.BytesIO()
            np.savez(out, **{f"image{i}": np.array(f) for i, f in enumerate(first)})
            replace(beginning, out.getvalue())
        begin, already = time.perf_counter(), len(self.losses)

        def show(done):
            spent = (time.perf_counter() - begin) / max(len(self.losses) - already, 1)
            report.write(self.losses, self._rows(first), facts={**self._facts(), "seconds an iteration": f"{spent:.3g}"}, done=done)
        try:
            while len(self.losses) < self.iterations:
                loss = self.step()
                if progress:
                    progress(len(self.losses), loss, self)
                if len(self.losses) % self.every == 0 and len(self.losses) < self.iterations:
                    self.save(folder)
                    show(False)
        except KeyboardInterrupt:
            self.save(folder)
            raise
        self.save(folder)
        show(True)
        found = io.BytesIO()
        np.savez(found, **{k: np.array(dr.detach(v)) for k, v in self.optimizer.items()})
        replace(os.path.join(folder, "parameters.npz"), found.getvalue())
        return self.losses


def _image(target):
    if isinstance(target, (str, os.PathLike)):
        bitmap = mi.Bitmap(str(target))
        if bitmap.channel_count() > 3:
            bitmap = bitmap.convert(mi.Bitmap.PixelFormat.RGB)
        return mi.TensorXf(bitmap.convert(component_format=mi.Struct.Type.Float32, srgb_gamma=False))
    return dr.detach(target)


def _start(value, start, key):
    import numpy as np
    if isinstance(start, (int, float)):
        return dr.full(type(value), float(start), value.shape if dr.is_tensor_v(value) else dr.width(value))
    array = np.array(start, dtype=np.float32)
    try:
        new = type(value)(array)
    except Exception as error:
        raise dr.UserError(f'start of parameter "{key}": {error}') from None
    if new.shape != value.shape and dr.is_tensor_v(value):
        raise dr.UserError(f'start of parameter "{key}" is of shape {tuple(new.shape)}; {tuple(value.shape)} is needed')
    return new


# ---- from files

_ENTRIES = ["scene", "variant", "title", "iterations", "spp", "spp_grad", "seed", "loss", "batch", "every", "define", "integrator",
            "view", "optimizer", "parameters"]


def from_toml(path):
    """The job of a file in TOML."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise dr.UserError(f"{path}: TOML is read by Python 3.11 or newer, or with the package tomli; or write the job "
                               "in Python (job.py)") from None
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise dr.UserError(f"{path}: {error}") from None
    except RecursionError:
        raise dr.UserError(f"{path}: lists or tables are nested too deep; flatten them") from None
    _known(str(path), data, _ENTRIES)
    for needed in ("scene", "view", "parameters"):
        if needed not in data:
            raise dr.UserError(f'{path}: "{needed}" is missing')
    for name, kind, what in (("scene", str, "a file's name"), ("view", list, "a list of tables: [[view]]"),
                             ("parameters", dict, 'tables: [parameters."KEY"]'), ("optimizer", dict, "a table"),
                             ("define", dict, "a table"), ("integrator", dict, "a table")):
        _of_kind(path, name, data.get(name, kind()), kind, what)
    mi.set_variant(data.get("variant", "llvm_ad_rgb"))
    here = os.path.dirname(os.path.abspath(path))
    file = os.path.join(here, data["scene"])
    _core.check_allowed(file)
    scene = _core.load_file(file, **data.get("define", {}))  # whatever the names of its definitions
    views = []
    for v in data["view"]:
        _of_kind(path, "view", v, dict, "a list of tables: [[view]]")
        _known(f"{path}: view", v, ["sensor", "target"])
        if "target" not in v:
            raise dr.UserError(f'{path}: a view has no "target", the image that it should see')
        views.append((v.get("sensor", 0), os.path.join(here, v["target"])))
    parameters = {}
    for key, s in data["parameters"].items():
        if not isinstance(s, dict):
            raise dr.UserError(f'{path}: parameter "{key}" has no settings; names are quoted: [parameters."{key}"]')
        parameters[key] = s
    numbers = {k: data[k] for k in ("iterations", "spp", "spp_grad", "seed", "loss", "batch", "every", "title", "integrator")
               if k in data}
    return Job(scene, parameters, views, optimizer=_optimizer(path, dict(data.get("optimizer", {}))), **numbers)


def _of_kind(path, name, value, kind, what):
    if not isinstance(value, kind):
        raise dr.UserError(f'{path}: "{name}" is {value!r:.60}; it must be {what}')


def _optimizer(path, s):
    kind = s.pop("type", "adam")
    _known(f"{path}: optimizer", [kind], list(_OPTIMIZERS))
    schedule = s.pop("schedule", None)
    try:
        optimizer = getattr(mi.ad, _OPTIMIZERS[kind])(**{"lr": 0.02 if kind != "lbfgs" else 1.0, **s})
    except TypeError as error:
        raise dr.UserError(f"{path}: optimizer: {error}") from None
    if schedule:
        _of_kind(path, "schedule", schedule, dict, "a table")
        name = schedule.pop("type", "exponential")
        _known(f"{path}: schedule", [name], schedules.__all__)
        try:
            optimizer.set_schedule(getattr(schedules, name)(**schedule))
        except (TypeError, ValueError) as error:
            raise dr.UserError(f"{path}: schedule: {error}") from None
    return optimizer


def from_python(path):
    """The job of a script, which leaves it in a variable `job`, or has a function of that name that makes it."""
    found = runpy.run_path(str(path)).get("job")
    found = found() if callable(found) else found
    if not isinstance(found, Job):
        raise dr.UserError(f"{path}: a script leaves its job in a variable `job`: job = umbel.ad.jobs.Job(...)")
    return found


def load(path, *, scripts=True):
    """The job of a file, by the end of its name. `scripts`: whether it may be one of Python."""
    if not os.path.exists(path):
        raise dr.UserError(f"{path}: there is no such file")
    if str(path).endswith(".toml"):
        return from_toml(path)
    if str(path).endswith(".py"):
        if not scripts:
            raise dr.UserError(f"{path}: a script is a program, which no fence holds; --untrusted and --restrict-paths are for jobs "
                               "in TOML")
        return from_python(path)
    raise dr.UserError(f"{path}: a job is a file that ends in .toml or .py")


class _Bar:
    """A bar on terminals; elsewhere a line now and then."""

    def __init__(self, stream):
        self._stream, self._begin, self._first, self._live = stream, time.perf_counter(), None, stream.isatty()

    def __call__(self, i, loss, job):
        if self._first is None:
            self._first = i - 1
        total = job.iterations
        each = (time.perf_counter() - self._begin) / (i - self._first)
        text = f"{i}/{total}, loss {loss:.5g}, {each:.3g} s each, {each * (total - i):.0f} s left"
        if self._live:
            done = 30 * i // total
            print(f"\r|{'#' * done}{' ' * (30 - done)}| {text}   ", end="\n" if i == total else "", file=self._stream, flush=True)
        elif i % job.every == 0 or i == total:
            print(text, file=self._stream, flush=True)


def _apply_limits(o):
    """Those of the command line for jobs of others, before anything is read. Returns how many pixels an image may have, or 0."""
    if o.restrict_paths is not None:
        _core.restrict_paths(o.restrict_paths.split(";"))  # complains of empty names
    elif o.untrusted:
        _core.restrict_paths([os.path.dirname(o.job) or "."])
    if not (math.isfinite(o.max_time) and o.max_time >= 0 and o.max_pixels >= 0):
        raise dr.UserError("--max-time and --max-pixels are positive, finite numbers")
    return _core.limit_process(o.untrusted, o.max_scene, o.max_image, o.max_memory, o.max_pixels, o.max_time)


def _check_pixels(job, most):
    sensors = job.scene.sensors()
    for number, _ in job.views:
        if most and isinstance(number, int) and 0 <= number < len(sensors):  # others are told of where they are rendered
            width, height = (int(n) for n in sensors[number].film().crop_size())
            if width * height > most:
                raise dr.UserError(f"the image of sensor {number} has {width} x {height} = {width * height} pixels, more than the {most} "
                                   "that are allowed; --max-pixels raises that")


def main(arguments=None):
    """`umbel optimize`."""
    parser = argparse.ArgumentParser(prog="umbel optimize", description="Finds parameters of a scene from images of it.")
    parser.add_argument("job", help="a job: .toml or .py")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where pictures and states go; the job's name without its end")
    parser.add_argument("-n", "--iterations", type=int, help="other than the job says")
    parser.add_argument("--every", type=int, help="iterations between states and pictures")
    parser.add_argument("--device", type=int, metavar="N", help="the GPU that a job in a cuda variant computes on, from 0 on")
    parser.add_argument("--restart", action="store_true", help="begin anew, although the folder has a state")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    others = parser.add_argument_group("jobs of others (docs/security.md)")
    others.add_argument("--untrusted", action="store_true", help="limits of all kinds, no plugins, and no files outside of the job's folder")
    others.add_argument("--restrict-paths", metavar="DIR;DIR", help="folders in which all files that the job and its scene name must lie")
    others.add_argument("--max-scene", metavar="SIZE", default="", help="most bytes of the scene's XML and spectra: 4G")
    others.add_argument("--max-image", metavar="SIZE", default="", help="most memory for an image that is read: 8G")
    others.add_argument("--max-memory", metavar="SIZE", default="", help="most memory for all: 4G")
    others.add_argument("--max-pixels", metavar="N", type=int, default=0, help="most pixels of the images that are rendered")
    others.add_argument("--max-time", metavar="SECONDS", type=float, default=0, help="seconds after which the command ends, come what may")
    options = parser.parse_args(arguments)
    try:
        most_pixels = _apply_limits(options)
        if options.device is not None:
            mi.set_device(options.device)
        job = load(options.job, scripts=not options.untrusted and options.restrict_paths is None)
        if options.device is not None and not mi.variant().startswith("cuda_"):
            raise dr.UserError(f"--device: {mi.variant()} computes on the host; cuda variants compute on devices")
        _check_pixels(job, most_pixels)
        for name in ("iterations", "every"):
            value = getattr(options, name)
            if value is not None:
                if value < 1:
                    raise dr.UserError(f"--{name} is {value}; it must be at least 1")
                setattr(job, name, value)
        folder = options.output or os.path.splitext(options.job)[0] + ".out"
        job.run(folder, restart=options.restart, progress=None if options.quiet else _Bar(sys.stderr))
        if not options.quiet:
            print(f"umbel: the loss is {job.losses[-1]:.6g}; see {os.path.join(folder, 'index.html')}", file=sys.stderr)
        return 0
    except KeyboardInterrupt:
        print("\numbel: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except MemoryError:
        print("umbel: out of memory; smaller images, or fewer samples and views an iteration, need less", file=sys.stderr)
        return 2
    except dr.DeviceError as error:
        print(f"umbel: {error}", file=sys.stderr)
        return 2
    except (RuntimeError, ValueError, KeyError, TypeError, OSError, ImportError) as error:
        print(f"umbel: {error.args[0] if isinstance(error, KeyError) and error.args else error}", file=sys.stderr)
        return 1


__all__ = ["Job", "from_python", "from_toml", "load", "main"]
