"""umbel.ad: optimizers, those of umbel.jit.opt, integrators that are differentiated, and what helps with inverse problems."""
import sys as _sys

from ..jit import opt as optimizers
from ..jit.opt import Adam, AdamW, GradScaler, LBFGS, Optimizer, RMSProp, SGD

_sys.modules[__name__ + ".optimizers"] = optimizers


def __getattr__(name):
    import importlib
    if name in ("integrators", "common", "jobs", "largesteps", "loaders", "losses", "regularizers", "report", "schedules"):  # rarely needed, so loaded when asked for
        return importlib.import_module(f"{__name__}.{name}")
    if name == "LargeSteps":
        return importlib.import_module(f"{__name__}.largesteps").LargeSteps
    raise AttributeError(f"umbel.ad has no attribute '{name}'")
