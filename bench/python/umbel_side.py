# bench/python/umbel_side.py: Umbel's side of the python suite.
import umbel.jit as dr
import umbel.jit.llvm as types

from rows import define, serve

define(dr, types, types, "import umbel; umbel.set_variant('llvm_ad_rgb')")
serve()
