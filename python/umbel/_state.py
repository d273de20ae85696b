# umbel/_state.py: what scripts attach to an object of a scene, for as long as it lives.
from . import _core


def state_of(o):
    """A dictionary that belongs to the object, not to the Python object that stands for it now."""
    own = getattr(o, "__dict__", None)
    if own is not None and "_umbel_state" in own:
        return own["_umbel_state"]
    if own is None or not o._is_python():
        return _core.state_of(o)
    return own.setdefault("_umbel_state", {})  # a plugin written in Python: that is the object itself
