"""`umbel` and `python -m umbel`: the command line, a program of the package."""
import os
import sys

from .config import program


def main():
    """Becomes that program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
