"""Umbel, a retargetable differentiable renderer: the names are those of Mitsuba 3."""
from . import _core
from . import jit
from . import _empty
from .jit import DeviceError, InternalError, UserError
from ._logging import *
from ._transform import *
from ._geometry import *
from ._optics import *
from ._colour import *
from ._random import *
from ._struct import Struct
from ._constants import *
from ._properties import ObjectType, PluginManager, Properties
from ._bitmap import Bitmap, FilterBoundaryCondition
from . import chi2, detail, math, mueller, quad, spline, util, warp
from . import _lazy
from .jit import while_loop
from ._variants import public_type as _public_type, set_device, set_variant, variant, variants
from ._variant_types import type_names as _type_names
from .util import cornell_box, scoped_set_variant, variant_context

__version__ = "0.1.0"

from ._core import (BSDF, BSDFContext, ContinuousDistribution, DiscreteDistribution, DiscreteDistribution2D, Emitter, Film,
                    Integrator, IrregularContinuousDistribution, Medium, Mesh, Object, PhaseFunction, ReconstructionFilter,
                    Sampler, Scene, Sensor, Shape, Texture, Volume)
from ._records import (BSDFSample3f, DirectionSample3f, Interaction3f, MediumInteraction3f, PositionSample3f,
                       PreliminaryIntersection3f, Ray2d, Ray2f, Ray3d, Ray3f, RayDifferential3f, SurfaceInteraction3f)
from ._scene import BSDFFlags, RayFlags, TransportMode, has_flag, load_dict, load_file, load_string
from ._plugins import (ParamFlags, TraversalCallback, cast_object, register_bsdf, register_emitter,
                       register_film, register_integrator, register_medium, register_phase, register_phasefunction,
                       register_rfilter, register_sampler, register_sensor, register_shape, register_texture,
                       register_volume)
from ._shape import DiscontinuityFlags, MeshPtr, ShapePtr, ShapeType
from ._silhouette import SilhouetteSample3f
from . import _mesh, _sampler, _textures
from ._endpoints import EmitterFlags, Endpoint, ProjectiveCamera, parse_fov
from ._film import FilmFlags, ImageBlock
from ._integrators import render
from ._pointers import BSDFPtr, EmitterPtr, MediumPtr, PhaseFunctionPtr, SensorPtr, TexturePtr
SamplingIntegrator = MonteCarloIntegrator = AdjointIntegrator = CppADIntegrator = Integrator  # one interface for all
from ._params import SceneParameters, traverse
from . import ad
from . import _end, notebook

ScalarRay2f, ScalarRay2d, ScalarRay3f, ScalarRay3d = Ray2f, Ray2d, Ray3f, Ray3d  # scalars are arrays of one lane
math_py, BitmapReconstructionFilter = math, ReconstructionFilter


def __getattr__(name):
    found = _lazy.find(name)
    return _public_type(name) if found is None else found


def __dir__():
    return sorted({*globals(), *_type_names(), *_lazy.names()})
