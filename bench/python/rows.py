# bench/python/rows.py: the rows of both sides; README.md says what each measures.
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rival import about, row, seconds, serve  # noqa: E402,F401


def define(dr, types, grad_types, start):
    """Rows of a library: its functions, its arrays, those with derivatives, and a program that starts it."""
    count = 2000

    def arrays(module, follow):
        a, b, c = (dr.arange(module.Float, 1000) * k + 0.5 for k in (1, 2, 3))
        dr.eval(a, b, c)
        if follow:
            dr.enable_grad(a)
        return a, b, c

    def tracing(name, module, follow):
        suffix = ", gradients" if follow else ""

        @row("a * b + c" + suffix)
        def same():
            a, b, c = arrays(module, follow)

            def once():
                for _ in range(count):
                    a * b + c
            return seconds(once) / (2 * count)

        @row("new nodes" + suffix)
        def new():
            a, b, c = arrays(module, follow)

            def once():
                x = c
                for _ in range(200):  # the rival's time an operation grows with the length
                    x = a * x + b
            return seconds(once) / 400

        @row("vectors" + suffix)
        def vectors():
            v = module.Array3f(*arrays(module, follow))

            def once():
                for _ in range(count):
                    v * v + v
            return seconds(once) / (2 * count)

    tracing("plain", types, False)
    tracing("ad", grad_types, True)

    @row("times a number")
    def literal():
        a, _, _ = arrays(types, False)

        def once():
            for _ in range(count):
                a * 2.0
        return seconds(once) / count

    @row("function")
    def function():
        a, _, _ = arrays(types, False)
        sin = dr.sin

        def once():
            for _ in range(count):
                sin(a)
        return seconds(once) / count

    @row("frozen call")
    def frozen():
        a, b, _ = arrays(types, False)
        f = dr.freeze(lambda x, y: dr.sin(x) * y + x)
        f(a, b)

        def once():
            for _ in range(200):
                f(a, b)
            dr.sync_thread()
        return seconds(once) / 200

    @row("start")
    def import_():
        best = float("inf")
        with tempfile.TemporaryDirectory() as bytecode:  # as installed packages have it, from the second run on
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            environment["PYTHONPYCACHEPREFIX"] = bytecode
            for _ in range(6):
                t = time.perf_counter()
                subprocess.run([sys.executable, "-c", start], check=True, env=environment)
                best = min(best, time.perf_counter() - t)
        return best
