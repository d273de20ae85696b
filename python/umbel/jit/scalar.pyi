# jit/scalar.pyi: arrays of Python's numbers, for editors and type checkers.
from .auto import *

Bool = Mask = bool  # type: ignore
Int = UInt = Int32 = UInt32 = Int64 = UInt64 = int  # type: ignore
Float = Float32 = Float64 = float  # type: ignore
