"""Integrators that are written in Python and differentiated: bases for your own."""
from . import common, prb, prb_basic
