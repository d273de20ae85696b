# tests/python/oracle_examples.py: the tutorials hold in Mitsuba 3, too, with two imports changed.
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

if importlib.util.find_spec("mitsuba") is None:
    print("skipped: no Mitsuba")
    sys.exit(77)

# All but long optimizations, and those that use losses, constraints and pages that Mitsuba does not have
examples = sorted(p for p in pathlib.Path(__file__).resolve().parents[2].glob("examples/python/*.py")
                  if not p.name.startswith(("13", "36")) and "mi.ad.report" not in p.read_text())
imports = {"import umbel as mi": "import mitsuba as mi", "import umbel.jit as dr": "import drjit as dr"}
failed = []

with tempfile.TemporaryDirectory() as folder:
    for example in examples:
        text = example.read_text()
        for ours, theirs in imports.items():
            text = text.replace(ours, theirs)
        copy = pathlib.Path(folder) / example.name
        copy.write_text(text)
        run = subprocess.run([sys.executable, copy], cwd=folder, capture_output=True, text=True)
        word = {0: "passed", 77: "skipped"}.get(run.returncode, "failed")
        print(example.stem, word)
        if word == "failed":
            print(run.stdout[-1000:], run.stderr[-2000:])
            failed.append(example.stem)

assert examples and not failed, failed
