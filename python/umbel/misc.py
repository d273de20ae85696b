"""Numbers for people to read, and the machine's cores."""
import os


def core_count():
    """How many threads can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def time_string(time, precise=False):
    """A duration, given in milliseconds, such as "2.01s"."""
    for length, unit in ((1000, "ms"), (60, "s"), (60, "m"), (24, "h"), (7, "d"), (52.1429, "w")):
        if time < length * (1 - 1e-9):
            break
        time /= length
    else:
        unit = "y"
    return f"{time:.{5 if precise else 3}g}{unit}"


def mem_string(size, precise=False):
    """A number of bytes, such as "1.46 KiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if size < 1024 or unit == "EiB":
            break
        size /= 1024
    return f"{size:.{5 if precise else 3}g} {unit}"
