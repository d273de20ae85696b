# tests/ptx/assemble.py: has NVIDIA's assembler read kernels, which takes no GPU: `./umbel test --ptxas`.
#
#     assemble.py FOLDER --ptxas FILE [--jobs N] [--minutes M] [--architectures sm_70,...]
#
# FOLDER is what UMBEL_PTX_FOLDER named while programs ran. Kernels that differ in their names alone are read once, and those that were
# read before not again: FOLDER/assembled.txt has their hashes. Where there is not time for all, those that are read are chosen by hash.
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
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


def assemble(ptxas, files, architectures=ARCHITECTURES, jobs=1, seconds=None, known=()):
    """Pairs (hash, architecture) that were accepted, and messages about those that were not."""
    end = time.monotonic() + seconds if seconds else float("inf")
    work = [(h, a) for h in files for a in architectures if (h, a) not in known]

    def one(item):
        return None if time.monotonic() > end else refusal(ptxas, files[item[0]], item[1])

    accepted, refused = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (h, a), message in zip(work, pool.map(one, work)):
            if message == "":
                accepted.append((h, a))
            elif message:
                refused.append(f"{files[h]} for {a}: {message}")
    return accepted, refused


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--ptxas", required=True)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--minutes", type=float)
    p.add_argument("--architectures", default=",".join(ARCHITECTURES), type=lambda s: s.split(","))
    o = p.parse_args()
    files = distinct(o.folder)
    if not files:
        sys.exit(f"{o.folder}: there are no kernels; did the tests run?")
    memory = o.folder / "assembled.txt"
    known = {tuple(line.split()) for line in memory.read_text().splitlines()} if memory.exists() else set()
    accepted, refused = assemble(o.ptxas, files, o.architectures, o.jobs, o.minutes and 60 * o.minutes, known)
    with memory.open("a") as f:
        f.writelines(f"{h} {a}\n" for h, a in accepted)
    for message in refused:
        print(message)
    done = sum((h, a) in known for h in files for a in o.architectures) + len(accepted)
    left = len(files) * len(o.architectures) - done - len(refused)
    print(f"{len(files)} kernels for {', '.join(o.architectures)}: {done} assembled, {len(refused)} refused, "
          f"{left} not tried for lack of time")
    sys.exit(bool(refused))


if __name__ == "__main__":
    main()
