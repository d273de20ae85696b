# jit/_event.py: points in the queue of kernels, to wait for and to measure between.
import time

from .. import _core
from ._hooks import UserError


class Event:
    """A point in the queue of kernels: record() sets it, wait() waits until all before it has run."""

    def __init__(self, enable_timing=True):
        self._timing, self._time, self._recorded = enable_timing, None, False

    def record(self):
        """Sets the event behind what is queued now."""
        self._recorded = True
        self._time = None
        if self._timing:  # the time at which the work before it was done
            _core.synchronize()
            self._time = time.perf_counter()

    def query(self):
        """Whether all that was queued before the event has run."""
        if self._recorded and self._time is None:
            _core.synchronize()
        return True

    def wait(self):
        """Waits for what was queued before the event."""
        if self._recorded:
            _core.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds from this event to another one."""
        for e in (self, end_event):
            if not e._timing:
                raise UserError("Event.elapsed_time(): made without timing; pass enable_timing=True")
            if e._time is None:
                raise UserError("Event.elapsed_time(): the event was not recorded; timing needs record() of both")
        return (end_event._time - self._time) * 1e3

    @property
    def handle(self):
        """A number of the event's own."""
        return id(self)
