"""Mappings from the unit square to other domains (square_to_X), their densities (_pdf) and inverses (X_to_square)."""
from . import _core

globals().update({k: f for k, f in vars(_core.warp).items() if not k.startswith("_")})
