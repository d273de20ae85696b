"""umbel.ad: optimizers, those of umbel.jit.opt, and integrators that are differentiated."""
import sys as _sys

from ..jit import opt as optimizers
from ..jit.opt import Adam, AdamW, GradScaler, Optimizer, RMSProp, SGD

_sys.modules[__name__ + ".optimizers"] = optimizers


def __getattr__(name):
    if name in ("integrators", "common"):  # rarely needed, so loaded when asked for
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"umbel.ad has no attribute '{name}'")
