# umbel/_end.py: the end of a process, in the order that it takes.
import atexit
import sys

from . import _core
from ._bitmap import wait_for_tasks
from ._shape import _alone
from .jit._print import flush


@atexit.register
def end():
    """What is left to show and to write; then kernels under way, which use what is let go afterwards. Objects that C++ and Python
    hold for each other would stay for ever, as Python's collector cannot see them."""
    try:
        flush()
        wait_for_tasks()
    finally:
        interrupted = issubclass(getattr(sys, "last_type", None) or Exception, KeyboardInterrupt)
        if _core.finish(interrupted):
            _alone.clear()
            _core.forget_states()
            _core.forget_images()
            _core.release_scenes()
            _core.clear_plugins()
            _core.release_foreign()
