"""`umbel` and `python -m umbel`: the command line, a program of the package; `optimize` is Python's own."""
import os
import sys

from .config import program


def main():
    """Becomes that program."""
    if sys.argv[1:2] == ["optimize"]:
        from .ad.jobs import main as optimize
        sys.exit(optimize(sys.argv[2:]))
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
