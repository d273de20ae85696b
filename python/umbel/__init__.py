"""Umbel, a retargetable differentiable renderer: the names are those of Mitsuba 3."""
from . import _core
from . import jit
from .jit import DeviceError, InternalError, UserError
from ._logging import *
from ._transform import *
from ._geometry import *
from ._optics import *
from ._colour import *
from ._random import *
from ._distributions import *
from ._struct import Struct
from ._bitmap import Bitmap, FilterBoundaryCondition
from . import chi2, math, mueller, quad, spline, util, warp, xml
from .jit import while_loop
from .util import cornell_box, scoped_set_variant, variant_context

__version__ = "0.1.0"


class _Variant:
    """What set_variant returns: in a `with` statement the variant before comes back at the end."""

    def __init__(self, before): self._before = before
    def __enter__(self): return self
    def __exit__(self, *exc): _core.choose_variant(self._before)


def set_variant(*names):
    """Chooses a variant, the first of those that exist."""
    before = _core.variant()
    known = _core.variants()
    _core.choose_variant(next((n for n in names if n in known), names[0]))
    return _Variant(before)


def variant():
    """The variant in use."""
    return _core.variant()


def variants():
    """All variants."""
    return _core.variants()


from ._core import (BSDF, BSDFContext, Emitter, Film, Integrator, Mesh, Object, ReconstructionFilter, Sampler, Scene, Sensor,
                    Shape, Texture, load_file, load_string)
from ._records import (BSDFSample3f, DirectionSample3f, Interaction3f, PositionSample3f, PreliminaryIntersection3f,
                       Ray3f, RayDifferential3f, SurfaceInteraction3f)
from ._scene import (BSDFFlags, BSDFPtr, EmitterPtr, ParamFlags, Properties, RayFlags, TransportMode, has_flag, load_dict,
                     register_bsdf, register_emitter, register_integrator, register_sensor, register_texture, render)
from ._shape import DiscontinuityFlags, MeshPtr, ShapePtr, ShapeType
from . import _mesh
SamplingIntegrator = MonteCarloIntegrator = Integrator  # one interface for all
from ._params import SceneParameters, traverse
from . import ad

ScalarRay3f, math_py = Ray3f, math  # scalars are arrays of one lane


def __getattr__(name):
    from ._variant_types import resolve
    return resolve(name)
