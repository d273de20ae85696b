"""umbel.ad: optimizers, those of umbel.jit.opt."""
import sys as _sys

from .jit import opt as optimizers
from .jit.opt import Adam, AdamW, GradScaler, Optimizer, RMSProp, SGD

__path__ = []  # so that `import umbel.ad.optimizers` finds the module
_sys.modules[__name__ + ".optimizers"] = optimizers
