"""umbel.ad: optimizers, those of umbel.jit.opt, integrators that are differentiated, and what helps with inverse problems."""
import sys as _sys

from ..jit import opt as optimizers
from ..jit.opt import Adam, AdamW, GradScaler, LBFGS, Optimizer, RMSProp, SGD

_sys.modules[__name__ + ".optimizers"] = optimizers


# Rarely needed, so loaded when asked for
_modules = ("integrators", "common", "guiding", "jobs", "largesteps", "loaders", "losses", "regularizers", "report",
            "schedules")
_places = {"LargeSteps": "largesteps", "FlatSensor": "loaders", "RayDataLoader": "loaders", "BaseGuidingDistr": "guiding",
           "UniformDistr": "guiding", "GridDistr": "guiding", "OcSpaceDistr": "guiding"}


def __getattr__(name):
    import importlib
    if name in _modules:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _places:
        return getattr(importlib.import_module(f"{__name__}.{_places[name]}"), name)
    raise AttributeError(f"umbel.ad has no attribute '{name}'")
