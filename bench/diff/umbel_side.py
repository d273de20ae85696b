# bench/diff/umbel_side.py: Umbel's side of the diff suite.
import os
import sys

import umbel
import umbel.jit as dr

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
from rows import answer_in_process, define, define_methods  # noqa: E402

if sys.argv[1:]:
    answer_in_process(umbel, dr, sys.argv[1:])
else:
    from importlib.util import module_from_spec, spec_from_file_location
    spec = spec_from_file_location("harness", os.path.join(sys.path[1], "rival.py"))
    harness = module_from_spec(spec)
    spec.loader.exec_module(harness)
    define(umbel, dr, harness.row)
    define_methods(harness.row)
    harness.serve()
