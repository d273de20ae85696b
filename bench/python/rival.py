# bench/python/rival.py: Dr.Jit's and Mitsuba's side of the python suite.
import importlib.util
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path = [os.path.dirname(here)] + [p for p in sys.path if os.path.abspath(p) != here]  # bench/rival.py, not this file

import drjit as dr  # noqa: E402
import drjit.llvm  # noqa: E402
import drjit.llvm.ad  # noqa: E402

import mitsuba  # noqa: E402

spec = importlib.util.spec_from_file_location("rows", os.path.join(here, "rows.py"))
rows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rows)
rows.about.update(name="drjit", version=dr.__version__)
rows.define(dr, drjit.llvm, drjit.llvm.ad, "import mitsuba; mitsuba.set_variant('llvm_ad_rgb')")
sys.path.append(here)
from render_rows import define_render  # noqa: E402
define_render(mitsuba, dr, rows.row)
rows.serve()
