# bench/run.py: runs both sides of a suite in turn, keeps the best of each, reports the rows.
#
# Called by `./umbel bench`; README.md describes the protocol, the bars and what is written.
import argparse
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading

import agreement

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class Side:
    """One of the two programs: started on demand, and again after a crash."""

    def __init__(self, name, command, env, log, timeout):
        self.name, self.command, self.env, self.log = name, command, env, log
        self.timeout, self.process, self.about = timeout, None, {}
        reply = self.ask("list")
        if "rows" not in reply:
            sys.exit(f"bench: {name} does not start: {reply['error']}")
        self.rows, self.about = reply["rows"], reply.get("about", {})

    def ask(self, line, patience=1):
        if self.process is None or self.process.poll() is not None:
            with open(self.log, "a") as log:
                self.process = subprocess.Popen(
                    self.command, env=self.env, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        process = self.process
        timer = threading.Timer(self.timeout * patience, process.kill)
        timer.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            for reply in process.stdout:
                if reply.startswith("@bench "):
                    return json.loads(reply[7:])
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        status = process.wait()
        why = "timed out or was killed" if status == -9 else f"ended with status {status}"
        return {"error": f"{why}; see {os.path.relpath(self.log, ROOT)}"}

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()


# ---- Starting the sides


def libllvm():
    """The shared LLVM that Dr.Jit loads at run time; ours is linked statically."""
    for pattern in ("/usr/lib/llvm-19/lib/libLLVM.so*", "/usr/lib/*/libLLVM.so.19*",
                    "/usr/lib/*/libLLVM-19.so*"):
        for path in sorted(glob.glob(pattern)):
            if os.path.exists(path):
                return path
    return None


def start(options):
    home = os.path.join(ROOT, "build", "bench", options.suite)
    shutil.rmtree(home, ignore_errors=True)  # both sides start with empty kernel caches
    os.makedirs(home)
    os.environ["UMBEL_BENCH_FOLDER"] = home
    prepare = os.path.join(HERE, options.suite, "prepare.py")
    if os.path.exists(prepare):  # what both sides read
        subprocess.run([sys.executable, "-B", prepare, os.path.join(home, "scenes")], check=True)
    umbel_env = dict(os.environ, UMBEL_CACHE=os.path.join(home, "umbel-cache"))
    program = [options.program]
    if options.program.endswith(".py"):  # a suite of Python's: with the interpreter that its package was built for
        program = [os.environ["UMBEL_PYTHON"], "-B", options.program]
    umbel = Side("umbel", program, umbel_env, os.path.join(home, "umbel.log"),
                 options.timeout)
    script = os.path.join(HERE, options.suite, "rival.py")
    if options.no_rival or not os.path.exists(script):
        return umbel, None
    rival_env = dict(os.environ, HOME=home)
    if "DRJIT_LIBLLVM_PATH" not in rival_env and libllvm():
        rival_env["DRJIT_LIBLLVM_PATH"] = libllvm()
    rival = Side("rival", [sys.executable, "-B", script], rival_env,
                 os.path.join(home, "rival.log"), options.timeout)
    return umbel, rival


# ---- Measuring


def expanded(bar, rows):
    """A bar by name as it is; one for all rows that match an expression, once for each."""
    if "rows" not in bar:
        return [bar]
    return [dict(bar, name=name) for name in rows if re.search(bar["rows"], name)]


def measure(name, sides, rounds, patience=1):
    """Best value of each side over interleaved rounds: {side: (value, unit, error)}. A row may take `patience` times the limit."""
    best = {}
    for _ in range(rounds):
        for side in sides:
            value, unit, error = best.get(side.name, (None, "s", None))
            if name not in side.rows or error:
                continue
            reply = side.ask("run " + name, patience)
            if "error" in reply:
                best[side.name] = (None, unit, reply["error"])
                continue
            better = max if higher_is_better(reply["unit"]) else min
            value = reply["value"] if value is None else better(value, reply["value"])
            best[side.name] = (value, reply["unit"], None)
    return best


def higher_is_better(unit):
    return unit.endswith("/s")


def quotient(bar, rows, side):
    """A derived row: the quotient of two others' best values."""
    top, bottom = (rows.get(name, {}).get(side) for name in bar["quotient"])
    return top / bottom if top is not None and bottom else None


def geometric_mean(bar, rows):
    """A derived row: the mean of the ratios of others."""
    ratios = [row["ratio"] for name, row in rows.items() if re.search(bar["mean"], name)]
    if not ratios or None in ratios:
        return None
    return math.prod(ratios) ** (1 / len(ratios))


def make_row(bar, rows, measured):
    name = bar["name"]
    if "mean" in bar:
        row = {"name": name, "umbel": None, "rival": None, "ratio": geometric_mean(bar, rows), "unit": "x"}
        reached = None if row["ratio"] is None else row["ratio"] >= bar["ratio"]
        return {**row, "bar": f"ratio >= {bar['ratio']:g}", "ok": reached}
    if "quotient" in bar:
        umbel, rival = quotient(bar, rows, "umbel"), quotient(bar, rows, "rival")
        unit, errors = bar.get("unit", "x"), {}
    else:
        umbel, unit, _ = measured.get("umbel", (None, None, None))
        rival, rival_unit, _ = measured.get("rival", (None, None, None))
        unit = unit or rival_unit or bar.get("unit", "s")
        errors = {side: m[2] for side, m in measured.items() if m[2]}
    ratio = None
    if umbel and rival:
        up = "min" in bar or higher_is_better(unit)
        ratio = umbel / rival if up else rival / umbel
    row = {"name": name, "umbel": umbel, "rival": rival, "ratio": ratio, "unit": unit}
    if errors:
        row["errors"] = errors
    row["bar"], row["ok"] = judge(bar, row, rows)
    if "images" in bar:
        row["bar"] = "the same image"
        if umbel is not None and rival is not None:
            row["ok"], row["remark"] = agreement.compare_folder(
                os.path.join(os.environ["UMBEL_BENCH_FOLDER"], "images", name))
    return row


def judge(bar, row, rows):
    """What the row must reach, in words, and whether it does: null where that cannot be told."""
    value, ratio, unit = row["umbel"], row["ratio"], row["unit"]
    words, met = [], []
    if "max" in bar:
        words.append(f"<= {bar['max']:g} {unit}")
        met.append(value is not None and value <= bar["max"])
    if "min" in bar:
        words.append(f">= {bar['min']:g} {unit}")
        met.append(value is not None and value >= bar["min"])
    if "ratio" in bar:
        words.append(f"ratio >= {bar['ratio']:g}")
        reached = None if ratio is None and value is not None else (ratio or 0) >= bar["ratio"]
        # Nine tenths of the bandwidth, as measured or as the rival proves it, is as good.
        bandwidth = rows.get("memory bandwidth", {}).get("umbel")
        if "bytes" in bar and bandwidth and value:
            words[-1] += " or at memory bandwidth"
            most = max(bandwidth * 1e9, bar["bytes"] / (row["rival"] or float("inf")))
            reached = bar["bytes"] / value >= 0.9 * most or reached
        met.append(reached)
    failed = False in met or "umbel" in row.get("errors", {})
    unknown = None in met or not met
    return " and ".join(words) or None, False if failed else None if unknown else True


# ---- Reporting


def show(value, unit):
    if value is None:
        return "-"
    if unit == "s":
        for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
            if abs(value) >= scale or name == "ns":
                return f"{value / scale:.3g} {name}"
    if unit == "B":
        for scale, name in ((1e9, "GB"), (1e6, "MB"), (1, "B")):
            if abs(value) >= scale or name == "B":
                return f"{value / scale:.4g} {name}"
    return f"{value:.4g} {unit}"


def print_row(row):
    ok = {True: "ok", False: "MISSED", None: ""}[row["ok"]]
    ratio = f"{row['ratio']:.2f}" if row["ratio"] is not None else "-"
    print(f"{row['name']:<40}{show(row['umbel'], row['unit']):>12}"
          f"{show(row['rival'], row['unit']):>12}{ratio:>8}  {row['bar'] or '':<38}{ok}",
          flush=True)
    if "remark" in row:
        print(f"    {row['remark']}", flush=True)
    for side, error in row.get("errors", {}).items():
        print(f"    {side}: {error}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./umbel bench")
    parser.add_argument("suite")
    parser.add_argument("--program", required=True)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--filter", default="")
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one measurement")
    options = parser.parse_args()

    # bars.json gives the order; rows that it does not name come last.
    with open(os.path.join(HERE, options.suite, "bars.json")) as file:
        bars = json.load(file)
    umbel, rival = start(options)
    sides = [side for side in (umbel, rival) if side]
    bars = [named for bar in bars for named in expanded(bar, umbel.rows)]
    known = {bar["name"] for bar in bars}
    for side in sides:
        bars += [{"name": name} for name in side.rows if name not in known]
        known.update(side.rows)
    # A derived row needs the rows it is derived from, and a bar by bandwidth needs the bandwidth.
    chosen = [bar for bar in bars if re.search(options.filter, bar["name"])]
    needed = {bar["name"] for bar in chosen}
    needed |= {name for bar in chosen for name in bar.get("quotient", [])}
    needed |= {bar["name"] for bar in bars for other in chosen
               if "mean" in other and re.search(other["mean"], bar["name"])}
    if any("bytes" in bar for bar in chosen):
        needed.add("memory bandwidth")

    print(f"{options.suite}, best of {options.rounds}; a ratio above 1: Umbel is better")
    if rival:
        print("rival: " + " ".join(str(v) for v in rival.about.values()))
    print(f"{'':<40}{'umbel':>12}{'rival':>12}{'ratio':>8}")
    rows = {}
    for bar in bars:
        name = bar["name"]
        if name not in needed:
            continue
        # Images to compare are many, and how long they take says nothing; others say for how many limits they may take
        rounds, patience = (1, 10) if "images" in bar else (options.rounds, bar.get("patience", 1))
        measured = {} if "quotient" in bar or "mean" in bar else measure(name, sides, rounds, patience)
        rows[name] = make_row(bar, rows, measured)
        print_row(rows[name])
    for side in sides:
        side.stop()

    if options.json:
        report = {"suite": options.suite, "rounds": options.rounds,
                  "rival": rival.about if rival else None, "rows": list(rows.values())}
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    return 1 if any(row["ok"] is False for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
