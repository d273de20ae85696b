# bench/diff/rival.py: Mitsuba's side of the diff suite.
import os
import sys

import drjit as dr
import mitsuba

here = os.path.dirname(os.path.abspath(__file__))
sys.path = [os.path.dirname(here)] + [p for p in sys.path if os.path.abspath(p) != here] + [here]  # bench/rival.py, not this file
from rival import about, row, serve  # noqa: E402
from rows import answer_in_process, define  # noqa: E402

if sys.argv[1:]:
    answer_in_process(mitsuba, dr, sys.argv[1:])
else:
    about.update(name="mitsuba", version=mitsuba.__version__)
    define(mitsuba, dr, row)
    serve()
