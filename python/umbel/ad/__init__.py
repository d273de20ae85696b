"""umbel.ad: optimizers, and integrators that are differentiated."""
from . import optimizers
from .optimizers import *


def __getattr__(name):
    if name in ("integrators", "common"):  # rarely needed, so loaded when asked for
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"umbel.ad has no attribute '{name}'")
