# python/tools/gallery_examples.py: pictures of inverse problems, for gallery.py and make_site.py: those that examples leave in build/NAME.
import functools
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDER = os.path.join(ROOT, "examples", "python")
ITERATIONS = 200  # of the long forms: seconds each, and what is found can be seen
FILES = ("views.png", "loss.png")


def content(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def scripts():
    """Examples that leave reports: their files."""
    return [f for f in sorted(os.listdir(FOLDER)) if f.endswith(".py") and "ad.report.Report(" in content(os.path.join(FOLDER, f))]


def reports(script):
    """The names of its reports."""
    return re.findall(r'"build/(\w+)"', content(os.path.join(FOLDER, script)))


def about(script):
    """What it says of itself first."""
    return re.search(r'"""(.*?)(\n\n|""")', content(os.path.join(FOLDER, script)), re.S)[1]


def picture(report, file): return f"inverse_{report}_{file}"


def ingredients(script):
    """All that its pictures are made of besides the renderer."""
    return content(os.path.join(FOLDER, script)) + content(os.path.join(ROOT, "python", "umbel", "ad", "report.py")) + str(ITERATIONS)


@functools.cache
def results(script):
    """{name of a picture: the file}: runs it."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, script), "--long", str(ITERATIONS)], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"{script} ended with exit code {done.returncode}:\n{done.stdout}")
        out = {}
        for report in reports(script):
            for file in FILES:
                with open(os.path.join(folder, "build", report, file), "rb") as f:
                    out[picture(report, file)] = f.read()
        return out


def take(script, path):
    """Writes one of its pictures."""
    with open(path, "wb") as f:
        f.write(results(script)[os.path.basename(path)])
