# umbel/_plugins.py: what all objects of a scene share, and plugins written in Python.

from . import _core
from . import jit as dr
from .jit._enum import NamedFlags

Object = _core.Object


class ParamFlags(NamedFlags):
    """Properties of a parameter."""
    Differentiable = 0x0
    NonDifferentiable = 0x1
    Discontinuous = 0x2
    ReadOnly = 0x4


class TraversalCallback:
    """What `traverse(self, cb)` of a plugin reports its parameters and the objects inside it to."""

    def __init__(self): self._found = []

    def put(self, name, value, flags=ParamFlags.Differentiable):
        """A parameter, or an object that has parameters of its own."""
        if value is not None:
            self._found.append((str(name), value, int(flags)))

    def put_value(self, name, value, flags=ParamFlags.Differentiable):
        """A parameter: an array, or a number of Python's."""
        TraversalCallback.put(self, name, value, flags)

    def put_object(self, name, obj, flags=ParamFlags.Differentiable):
        """An object that has parameters of its own."""
        TraversalCallback.put(self, name, obj, flags)

    put_parameter = put_value


# ---- objects

# Names of classes, where they are not the plugin's name; what scripts print and compare. Those of shapes are in _shape.py.
_class_names = {
    "diffuse": "SmoothDiffuse", "conductor": "SmoothConductor", "dielectric": "SmoothDielectric",
    "thindielectric": "ThinDielectric", "roughconductor": "RoughConductor", "roughdielectric": "RoughDielectric",
    "plastic": "SmoothPlastic", "roughplastic": "RoughPlastic", "pplastic": "PolarizedPlastic",
    "principled": "Principled", "principledthin": "PrincipledThin", "hair": "Hair", "measured": "Measured",
    "measured_polarized": "MeasuredPolarized", "null": "Null", "polarizer": "LinearPolarizer",
    "retarder": "LinearRetarder", "circular": "CircularPolarizer", "twosided": "TwoSidedBRDF", "mask": "MaskBSDF",
    "blendbsdf": "BlendBSDF", "bumpmap": "BumpMap", "normalmap": "NormalMap",
    "area": "AreaLight", "directionalarea": "DirectionalArea", "point": "PointLight", "spot": "SpotLight",
    "projector": "Projector", "directional": "DirectionalEmitter", "constant": "ConstantBackgroundEmitter",
    "envmap": "EnvironmentMapEmitter", "sunsky": "SunskyEmitter", "timed_sunsky": "TimedSunskyEmitter",
    "rgb": "SRGBReflectanceSpectrum", "srgb": "SRGBReflectanceSpectrum", "uniform": "UniformSpectrum",
    "d65": "D65Spectrum", "irregular": "IrregularSpectrum", "regular": "RegularSpectrum",
    "blackbody": "BlackBodySpectrum", "rawconstant": "RawConstantTexture", "bitmap": "BitmapTexture",
    "checkerboard": "Checkerboard", "mesh_attribute": "MeshAttribute", "volume": "VolumeAdapter",
    "constvolume": "ConstVolume", "gridvolume": "GridVolume",
    "homogeneous": "HomogeneousMedium", "heterogeneous": "HeterogeneousMedium", "isotropic": "IsotropicPhaseFunction",
    "hg": "HGPhaseFunction", "rayleigh": "RayleighPhaseFunction", "tabphase": "TabulatedPhaseFunction",
    "sggx": "SGGXPhaseFunction", "blendphase": "BlendPhaseFunction",
    "perspective": "PerspectiveCamera", "orthographic": "OrthographicCamera", "thinlens": "ThinLensCamera",
    "radiancemeter": "RadianceMeter", "irradiancemeter": "IrradianceMeter", "distant": "DistantSensor",
    "batch": "BatchSensor", "hdrfilm": "HDRFilm", "specfilm": "SpecFilm", "box": "BoxFilter",
    "gaussian": "GaussianFilter", "tent": "TentFilter", "mitchell": "MitchellNetravaliFilter",
    "catmullrom": "CatmullRomFilter", "lanczos": "LanczosSincFilter", "independent": "IndependentSampler",
    "stratified": "StratifiedSampler", "multijitter": "MultijitterSampler", "orthogonal": "OrthogonalSampler",
    "ldsampler": "LowDiscrepancySampler", "sobol": "SobolSampler",
    "path": "PathIntegrator", "direct": "DirectIntegrator", "depth": "DepthIntegrator", "aov": "AOVIntegrator",
    "stokes": "StokesIntegrator", "moment": "MomentIntegrator", "prb": "PRBIntegrator",
    "prb_basic": "BasicPRBIntegrator", "prbvolpath": "PRBVolpathIntegrator", "volpath": "VolumetricPathIntegrator",
    "volpathmis": "VolpathMisIntegratorImpl", "ptracer": "ParticleTracerIntegrator",
    "prb_projective": "PathProjectiveIntegrator", "direct_projective": "DirectProjectiveIntegrator",
    "volprim_rf_basic": "BasicVolumetricPrimitiveRadianceFieldIntegrator",
    "scene": "Scene"}


def class_name(self):
    """The name of its class."""
    if self._is_python():
        return type(self).__name__
    return _class_names.get(self.plugin_name(), self.plugin_name() or type(self).__name__)


def variant_name(self):
    """The variant in use."""
    from ._variants import variant
    return variant()


def expand(self):
    """Objects that stand for this one: none, as all are complete."""
    return []


def traverse(self, cb):
    """Reports its parameters to a TraversalCallback."""
    _core.report_parameters(self, cb)


def parameters_changed(self, keys=()):
    """Called after parameters have changed."""
    _core.parameters_changed(self, list(keys))


def to_string(self):
    """What repr() shows: the class and its parameters."""
    found, fixed = TraversalCallback(), []
    if not self._is_python():
        self.traverse(found)
        fixed = _core.fixed_parameters(self)
    rows = [f"  {n} = {int(v) if isinstance(v, float) and v.is_integer() else v}" for n, v in fixed]
    rows += [f"  {n} = {_shown(v)}" for n, v, _ in found._found]
    return f"{class_name(self)}[\n" + ",\n".join(rows) + "\n]" if rows else f"{class_name(self)}[]"


def _shown(value):
    text = repr(value)
    if isinstance(value, dr.ArrayBase) and text.count("\n") > 6:
        return f"{type(value).__name__} of shape {dr.shape(value)}"
    return text.replace("\n", "\n  ")


for _f in (class_name, variant_name, expand, traverse, parameters_changed, to_string):
    setattr(Object, _f.__name__, _f)
Object.__repr__ = lambda self: self.to_string()
Object.__str__ = lambda self: self.to_string()


def cast_object(o):
    """The object as what it is; all objects are."""
    return o


# ---- plugins in Python

_kinds = ("bsdf", "emitter", "texture", "sensor", "integrator", "film", "sampler", "shape", "rfilter", "phase", "volume",
          "medium")


def _register(kind):
    def register(name, constructor):
        from ._properties import Properties

        def make(core):
            props = Properties(core)
            made = constructor(props)
            props._loaded()
            return made
        _core.register_plugin(kind, name, make)
    register.__name__ = f"register_{kind}"
    register.__doc__ = f"Makes `constructor(props)`, usually a class, the {kind} plugin of that name."
    return register


register_bsdf, register_emitter, register_texture, register_sensor, register_integrator, register_film, register_sampler, \
    register_shape, register_rfilter, register_phasefunction, register_volume, register_medium = \
    (_register(k) for k in _kinds)
register_phase = register_phasefunction
