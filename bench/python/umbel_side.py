# bench/python/umbel_side.py: Umbel's side of the python suite.
import umbel
import umbel.jit as dr
import umbel.jit.llvm as types

from long_run import define_long_run
from render_rows import define_render
from rows import define, row, serve

define(dr, types, types, "import umbel; umbel.set_variant('llvm_ad_rgb')")
define_render(umbel, dr, row)
define_long_run(umbel, dr, row)
serve()
