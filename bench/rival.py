# bench/rival.py: the rival's side of a benchmark, the counterpart of harness.h.
#
#     @row("saxpy")
#     def saxpy():
#         x = ...                               # set-up is not timed
#         return seconds(lambda: ...)           # one measurement; run.py keeps the best
#
#     serve()
import json
import sys
import time

rows = {}
about = {}  # name and version of the rival, shown in the report


def row(name, unit="s"):
    def register(function):
        rows[name] = (function, unit)
        return function

    return register


def seconds(function, least=3, budget=0.2):
    """The fastest of several calls in seconds, after one that warms up, as in harness.h."""
    function()
    best, begin, count = float("inf"), time.perf_counter(), 0
    while count < least or time.perf_counter() - begin < budget:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best


def answer(name):
    if name not in rows:
        return {"name": name, "error": "no such row"}
    function, unit = rows[name]
    try:
        return {"name": name, "value": function(), "unit": unit}
    except Exception as error:
        return {"name": name, "error": f"{type(error).__name__}: {error}"}


def serve():
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line == "quit":
            break
        if line == "list":
            reply = {"rows": list(rows), "about": about}
        elif line.startswith("run "):
            reply = answer(line[4:])
        else:
            reply = {"error": "unknown command"}
        print("@bench", json.dumps(reply), flush=True)
