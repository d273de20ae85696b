# jit/llvm.pyi: the classes of umbel.jit.auto.
from .auto import *
