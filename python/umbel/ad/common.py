"""The same as umbel.ad.integrators.common."""
from .integrators.common import *
