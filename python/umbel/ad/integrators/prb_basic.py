"""Path replay backpropagation [Vicini 2021] at its shortest, in Python: what the plugin `prb_basic` does in C++."""
from .prb import PRBIntegrator


class BasicPRBIntegrator(PRBIntegrator):
    """A path tracer that meets lights by chance: no light is sampled, so those at points or in single directions are never
    seen, and no path ends by roulette."""
    is_basic = True


__all__ = ["BasicPRBIntegrator"]
