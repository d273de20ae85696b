# tools/check_package.py: whether a packed program keeps what `./umbel package` promises: its size, and where it runs.
#
#     check_package.py ARCHIVE FOLDER [--megabytes 60] [--glibc 2.36] [--libstdcxx 3.4.30]
#
# FOLDER is what was packed. The C and C++ runtimes are those of the machine that it is unpacked on: each symbol that a program or a
# library wants of them has the version since which it is there, and the largest one must be no later than what was promised.
import argparse
import os
import pathlib
import re
import subprocess
import sys

RUNTIMES = {"glibc": "GLIBC", "libstdcxx": "GLIBCXX"}


def numbers(version):
    return tuple(int(n) for n in version.split("."))


def elf_files(folder):
    """Programs and libraries; links are met where they lead to."""
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as f:
                if f.read(4) == b"\x7fELF":
                    yield file


def versions_needed(file):
    """The latest version that a file wants of each runtime, by name."""
    text = subprocess.run(["objdump", "-p", file], check=True, capture_output=True, text=True).stdout
    references = text.partition("Version References:")[2]
    found = {}
    for name, symbol in RUNTIMES.items():
        wanted = re.findall(rf"\b{symbol}_(\d+(?:\.\d+)+)\b", references)
        if symbol == "GLIBC" and "GLIBC_ABI_DT_RELR" in references:
            wanted.append("2.36")  # the loader that knows this kind of relocations
        if wanted:
            found[name] = max(wanted, key=numbers)
    return found


def problems(archive, folder, megabytes, most):
    """What is not as promised, in words, and what was found."""
    size = os.path.getsize(archive) / 1e6
    out = [f"{archive} has {size:.1f} MB, and {megabytes:g} are the most; see what takes them: du -a {folder} | sort -n"] \
        if size > megabytes else []
    latest, count = {}, 0
    for file in elf_files(folder):
        count += 1
        for name, version in versions_needed(file).items():
            latest[name] = max(latest.get(name, "0"), version, key=numbers)
            if numbers(version) > numbers(most[name]):
                out.append(f"{file} needs {name} {version}, and {most[name]} is the latest that machines can be expected to have; "
                           "pack on a system that has no later one, such as Debian 12")
    if not count:
        out.append(f"{folder} has no programs; what was packed?")
    return out, f"{size:.1f} MB, {count} programs and libraries, " + ", ".join(f"{n} {v}" for n, v in sorted(latest.items()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("archive")
    p.add_argument("folder")
    p.add_argument("--megabytes", type=float, default=60)
    p.add_argument("--glibc", default="2.36")
    p.add_argument("--libstdcxx", default="3.4.30", help="that of GCC 12")
    o = p.parse_args()
    try:
        found, facts = problems(o.archive, o.folder, o.megabytes, {"glibc": o.glibc, "libstdcxx": o.libstdcxx})
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} was not found; objdump is part of Debian's package binutils")
    except subprocess.CalledProcessError as error:
        sys.exit(f"objdump cannot read {error.cmd[-1]}: {error.stderr.strip()}")
    for problem in found:
        print(problem, file=sys.stderr)
    print(facts)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
