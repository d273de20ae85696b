# tests/ptx/assemble.py: has NVIDIA's assembler read kernels, which takes no GPU: `./umbel test --ptxas`.
#
#     assemble.py FOLDER --ptxas FILE [--jobs N] [--minutes M] [--arch sm_70,...]
#
# FOLDER is what UMBEL_PTX_FOLDER named while programs ran. Kernels that differ in their names alone are read once, and those that were
# read before not again: FOLDER/assembled.txt has their hashes. Where there is not time for all, those that are read are chosen by hash.
# The exit code is 0 if nothing was refused. This file, the folder and the assembler are all that another machine needs, beside Python.
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ARCHITECTURES = ("sm_70", "sm_80", "sm_90")


def distinct(folder):
    """A file for each text, by a hash that does not know kernels' names."""
    files = {}
    for file in sorted(pathlib.Path(folder).glob("*.ptx")):
        text = re.sub(rb"\b" + re.escape(file.stem.encode()) + rb"\b", b"kernel", file.read_bytes())
        files.setdefault(hashlib.sha256(text).hexdigest()[:24], file)
    return dict(sorted(files.items()))


def refusal(ptxas, file, architecture):
    """What the assembler says against a kernel; empty if nothing."""
    try:
        run = subprocess.run([ptxas, f"-arch={architecture}", "-O1", file, "-o", os.devnull], capture_output=True, text=True,
                             timeout=600)
    except subprocess.TimeoutExpired:
        return "it takes more than ten minutes"
    return "" if run.returncode == 0 else (run.stderr or run.stdout).strip() or f"exit status {run.returncode}"


def assemble(ptxas, files, architectures=ARCHITECTURES, jobs=1, seconds=None, known=(), tell=lambda item, message: None):
    """Pairs (hash, architecture) that were accepted, and messages about those that were not. `tell(pair, message)` hears of each at once;
    the message is empty for those that were accepted."""
    end = time.monotonic() + seconds if seconds else float("inf")
    work = [(h, a) for h in files for a in architectures if (h, a) not in known]

    def one(item):
        return None if time.monotonic() > end else refusal(ptxas, files[item[0]], item[1])

    accepted, refused = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(one, item): item for item in work}
        try:
            for done in concurrent.futures.as_completed(running):
                (h, a), message = running[done], done.result()
                if message == "":
                    accepted.append((h, a))
                elif message:
                    message = f"{files[h]} for {a}: {message}"
                    refused.append(message)
                if message is not None:
                    tell((h, a), message)
        except BaseException:  # Ctrl-C: those that run are waited for
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return accepted, refused


def usable(ptxas, folder):
    """The assembler, as a program that starts: one that was carried here may have lost the right to. `folder` receives a copy of it."""
    if not os.path.isfile(ptxas):
        sys.exit(f"{ptxas}: there is no such file; NVIDIA's assembler is in the package nvidia-cuda-nvcc-cu12 of pip")
    if not os.access(ptxas, os.X_OK):
        ptxas = shutil.copy(ptxas, os.path.join(folder, "ptxas"))
        os.chmod(ptxas, 0o755)
    ptxas = os.path.abspath(ptxas)
    try:
        subprocess.run([ptxas, "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{ptxas} does not start here: {error}")
    return ptxas


class Memory:
    """What was accepted before, in a file that grows line by line: a run that is ended has not run for nothing."""

    def __init__(self, path):
        self.known, self._file = set(), None
        if path.exists():
            self.known = {tuple(line.split()) for line in path.read_text().splitlines()}
        try:
            self._file = path.open("a")
        except OSError as error:
            print(f"{path}: {error.strerror}; the next run reads all kernels again", file=sys.stderr)

    def add(self, item):
        if self._file:
            print(*item, file=self._file, flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--ptxas", required=True)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--minutes", type=float)
    p.add_argument("--arch", "--architectures", dest="architectures", default=list(ARCHITECTURES), type=lambda s: s.split(","))
    o = p.parse_args()
    if o.jobs < 1:
        p.error(f"--jobs {o.jobs}: at least 1")
    files = distinct(o.folder)
    if not files:
        sys.exit(f"{o.folder}: there are no kernels; did the tests run?")
    memory = Memory(o.folder / "assembled.txt")

    def tell(item, message):
        if message:
            print(message, flush=True)
        else:
            memory.add(item)
    with tempfile.TemporaryDirectory() as folder:
        accepted, refused = assemble(usable(o.ptxas, folder), files, o.architectures, o.jobs, o.minutes and 60 * o.minutes,
                                     memory.known, tell)
    done = sum((h, a) in memory.known for h in files for a in o.architectures) + len(accepted)
    left = len(files) * len(o.architectures) - done - len(refused)
    print(f"{len(files)} kernels for {', '.join(o.architectures)}: {done} assembled, {len(refused)} refused, "
          f"{left} not tried for lack of time")
    sys.exit(bool(refused))


if __name__ == "__main__":
    main()
