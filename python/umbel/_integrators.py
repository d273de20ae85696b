# umbel/_integrators.py: integrators as scripts use them, and images.
import sys
import time
import weakref

from . import _core
from . import jit as dr
from ._random import sample_tea_32
from ._records import _mi

Integrator = _core.Integrator
_named = {}  # see _integrator_named
live_parameters = weakref.WeakSet()  # what traverse() has returned, to find changes that have not been passed on


class Progress:
    """A bar for work that takes more than a second: on terminals, and in notebooks, where the image so far is below it."""

    def __init__(self, what):
        from .notebook import Live
        self._what, self._begin, self._shown, self._live = what, time.perf_counter(), False, Live(what, every=1)

    def __call__(self, fraction, picture=None):
        """`picture` is a function that returns the image so far."""
        spent = time.perf_counter() - self._begin
        if spent < 1:
            return
        left = spent / max(fraction, 1e-6) - spent
        if fraction >= 1:
            self._live.done()
        else:
            self._live(picture, f"{100 * fraction:.0f} %, {left:.0f} s left", fraction)
        if not sys.stderr.isatty():
            return
        done = int(30 * fraction)
        self._shown = True
        print(f"\r{self._what} |{'#' * done}{' ' * (30 - done)}| {100 * fraction:3.0f} %, {left:.0f} s left ",
              end="" if fraction < 1 else "\n", file=sys.stderr, flush=True)

    def stop(self):
        """When it is given up."""
        self._live.done()
        if self._shown:
            print(file=sys.stderr)


def _seed(seed):
    """A seed: a number, or an array of one lane, which is data of the program, so that a frozen function can change it."""
    return _mi("UInt")(seed) if isinstance(seed, dr.ArrayBase) else int(seed) & 0xffffffff


def _integrator_named(name):
    """One with a plugin's defaults; the same each time, as launches are kept for it."""
    from ._variants import variant
    from ._scene import load_dict
    key = variant(), name
    if key not in _named:
        _named[key] = load_dict({"type": name})
    return _named[key]


def render(scene, params=None, sensor=0, integrator=None, seed=0, seed_grad=0, spp=0, spp_grad=0, skip_invalid=False):
    """An image of the scene, a tensor of rows, columns and channels; differentiable in `params`.

    `sensor` is one of the scene's, by number, or any other; `integrator` is the scene's unless given: an object, or the name
    of a plugin. The derivative is computed with `spp_grad` samples a pixel (as many as `spp` unless given) of another seed,
    `seed_grad`. With `skip_invalid`, samples that are NaN or infinite count as black; `film.invalid_samples()` tells how many
    there were. Where parameters are followed they do in any case.
    """
    from ._params import SceneParameters
    seed = _seed(seed)
    seed_grad = sample_tea_32(seed, 1)[0] if isinstance(seed_grad, int) and seed_grad == 0 else _seed(seed_grad)
    if not isinstance(scene, _core.Scene):
        raise TypeError("render: the first argument must be a scene")
    if isinstance(integrator, str):
        integrator = _integrator_named(integrator)
    if isinstance(params, SceneParameters):
        params._sync()
        pointer = params._core.pointer()
    else:
        pointer = 0
        if params is not None and not hasattr(params, "keys"):
            raise TypeError("render: params must be what umbel.traverse() returns, or an optimizer")
        if params is not None and dr._tree.leaves(dict(params.items())):
            parameters = _core._Parameters(scene)  # the scene holds what an optimizer has passed on
            pointer = parameters.pointer()
    image = _core.render(scene, pointer, sensor, integrator, seed, seed_grad, int(spp), int(spp_grad), bool(skip_invalid))
    if image is None:  # the integrator's render() is Python's
        _refuse_skipping(skip_invalid)
        return _render_in_python(scene, params, sensor, integrator or scene.integrator(), (seed, seed_grad),
                                 (int(spp), int(spp_grad or spp)))
    return _computed(integrator or scene.integrator(), image)


def _refuse_skipping(skip_invalid):
    if skip_invalid:
        raise dr.UserError("skip_invalid: this image is made by an integrator or a film written in Python, which is to leave out "
                           "samples that are not finite itself")


def _computed(integrator, image):
    """The channels that the integrator computes: an `aov` with none inside has no colour."""
    return image if integrator._has_colour() else image[:, :, image.shape[2] - len(integrator.aov_names()):]


class _RenderOp(dr.CustomOp):
    """An image by an integrator that is written in Python, with its render_forward() and render_backward()."""

    def eval(self, scene, sensor, params, integrator, seed, spp):
        self.call = scene, sensor, params, integrator, seed, spp
        with dr.suspend_grad():
            return integrator.render(scene=scene, sensor=sensor, seed=seed[0], spp=spp[0], develop=True, evaluate=False)

    def forward(self):
        scene, sensor, params, integrator, seed, spp = self.call
        self.set_grad_out(integrator.render_forward(scene, params, sensor=sensor, seed=seed[1], spp=spp[1]))

    def backward(self):
        scene, sensor, params, integrator, seed, spp = self.call
        integrator.render_backward(scene, params, self.grad_out(), sensor=sensor, seed=seed[1], spp=spp[1])

    def name(self): return "render"


def _render_in_python(scene, params, sensor, integrator, seed, spp):
    if type(integrator).render is Integrator.render:  # a film that collects in Python
        from .ad.integrators.common import render_blocks
        return render_blocks(integrator, scene, sensor, seed[0], spp[0])
    return dr.custom(_RenderOp, scene, sensor, params, integrator, seed, spp)


# ---- methods of integrators

def sample(self, scene, sampler, ray, medium=None, active=True):
    """Radiance along rays, whether they met anything, and further channels."""
    return self._sample(scene, sampler, ray, medium, active)


def _pass_changes_on(scene):
    for p in list(live_parameters):
        if p.root is scene:
            p._sync()


def render_with(self, scene, sensor=0, seed=0, spp=0, develop=True, evaluate=True, skip_invalid=False):
    """An image by this method, differentiable in all parameters of the scene whose gradients are enabled; with the samples of
    the image itself. `skip_invalid`: as render() has it."""
    _pass_changes_on(scene)
    parameters = _core._Parameters(scene)
    seed = _seed(seed)
    image = _core.render(scene, parameters.pointer(), sensor, self, seed, seed, int(spp), int(spp), bool(skip_invalid))
    if image is None:
        _refuse_skipping(skip_invalid)
        image = _render_in_python(scene, None, sensor, self, (seed, seed), (int(spp), int(spp)))
    else:
        image = _computed(self, image)
    if evaluate:
        dr.schedule(image)
        dr.eval()
    return image if develop else dr.zeros(type(image), (0,))


def render_forward(self, scene, params=None, sensor=0, seed=0, spp=0):
    """The image's tangent, given those of the scene's parameters."""
    _pass_changes_on(scene)
    return _computed(self, _core.render_forward(scene, sensor, self, _seed(seed), int(spp)))


def render_backward(self, scene, params=None, grad_in=None, sensor=0, seed=0, spp=0):
    """Adds the derivatives of sum(grad_in * image) to the gradients of the scene's parameters."""
    _pass_changes_on(scene)
    if grad_in is None:
        raise TypeError("render_backward: grad_in, the gradient of the image, is missing")
    if not self._has_colour():
        film = (sensor if isinstance(sensor, _core.Sensor) else scene.sensors()[sensor]).film()
        height, width, _ = grad_in.shape
        grad_in = dr.concat((dr.zeros(type(grad_in), (height, width, film.base_channels_count())), grad_in), axis=2)
    flat = dr.ravel(grad_in) if dr.is_tensor_v(grad_in) else grad_in
    _core.render_backward(scene, flat, sensor, self, _seed(seed), int(spp))


def skip_area_emitters(self, scene, ray, coherent=False, active=True):
    """The first hits that are not with surfaces that shine: what is seen where lights are hidden."""
    beyond = scene._past_lights(ray, active)
    pi = scene.ray_intersect_preliminary(beyond, coherent, active)
    pi.t += dr.norm(beyond.o - ray.o)
    return pi


# ---- settings: numbers, switches and words that an integrator was loaded with

def get_setting(self, name):
    """Where it has no attribute of this name: `integrator.max_depth` is what the plugin was loaded with."""
    found = _core.settings(self) if type(self) is Integrator and not name.startswith("_") else {}
    if name not in found:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    return found[name]


def set_attribute(self, name, value):
    """A setting takes effect with the next image."""
    if type(self) is Integrator and not hasattr(Integrator, name) and name in _core.settings(self):
        _core.set_setting(self, name, value)
    else:
        _set_plain_attribute(self, name, value)


_set_plain_attribute = Integrator.__setattr__
Integrator.__getattr__, Integrator.__setattr__ = get_setting, set_attribute

for _name, _f in dict(sample=sample, skip_area_emitters=skip_area_emitters, render=render_with, render_forward=render_forward,
                      render_backward=render_backward).items():
    _f.__name__ = _name
    setattr(Integrator, _name, _f)
