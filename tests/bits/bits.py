# tests/bits/bits.py: `./umbel bits FILE`: whether images are the same to the bit as they were.
#
#     bits.py FILE [--scenes REGEX] [--variants REGEX] [--jobs N]
#
# Renders the project's scenes, small, in every variant. Checksums of the images go to FILE; where it exists, they are compared with
# what it says. Bits belong to a machine (Embree rounds as its instructions do): write FILE before a change, compare after it, in one place.
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ["UMBEL_PROGRAM"]
SCENES = pathlib.Path(__file__).parents[2] / "scenes"
HOW = ["--size", "24x18", "--spp", "4", "-p", "1", "-q"]


def checksum(scene, variant, folder):
    """Of the pixels, or what went wrong: a scene may ask for what a variant does not have."""
    image = pathlib.Path(folder) / f"{scene}-{variant}.pfm"
    run = subprocess.run([PROGRAM, "render", SCENES / f"{scene}.xml", "-m", variant, "-o", image, *HOW],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    if run.returncode:
        return "error: " + (run.stderr.strip().splitlines() or ["?"])[0]
    digest = hashlib.sha256(image.read_bytes()).hexdigest()[:32]
    image.unlink()
    return digest


def read(file):
    return dict(line.rstrip("\n").split("\t", 1) for line in file.open() if "\t" in line)


def matches(pattern, names):
    return [name for name in names if re.search(pattern, name)]


def main():
    parser = argparse.ArgumentParser(prog="umbel bits", description="Checksums of small images of all scenes in all variants.")
    parser.add_argument("file", type=pathlib.Path, help="written if it is not there, and compared with otherwise")
    parser.add_argument("--scenes", default="", help="only those whose names match")
    parser.add_argument("--variants", default="^(llvm|interp)_", help="likewise; by default all of the CPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="renders at a time")
    options = parser.parse_args()

    variants = matches(options.variants, subprocess.run([PROGRAM, "variants"], capture_output=True, text=True, check=True).stdout.split())
    scenes = matches(options.scenes, sorted(f.stem for f in SCENES.glob("*.xml")))
    pairs = [(scene, variant) for scene in scenes for variant in variants]
    if not pairs:
        parser.error("no scene in any variant is left; see --scenes and --variants")
    known = read(options.file) if options.file.exists() else None

    now, changed = {}, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for pair, found in zip(pairs, pool.map(lambda p: checksum(*p, folder), pairs)):
            name = " ".join(pair)
            now[name] = found
            if known is not None and known.get(name) != found:
                changed.append(name)
                print(f"{name}: {found}, was {known.get(name, 'not there')}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{len(now)} of {len(pairs)}", end="", file=sys.stderr, flush=True)
    errors = sum(found.startswith("error") for found in now.values())
    if errors:
        print(f"{errors} of {len(now)} could not be rendered: those have no bits to keep")
    if known is None:
        options.file.write_text("".join(f"{name}\t{found}\n" for name, found in now.items()))
        print(f"{len(now)} checksums are in {options.file}")
    else:
        print(f"{len(now) - len(changed)} of {len(now)} images have their bits" + (f", {len(changed)} have not" if changed else ""))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
