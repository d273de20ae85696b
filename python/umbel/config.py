"""Where headers and libraries are, for plugins and programs in C++:

    g++ -fPIC -shared $(python -m umbel.config --cflags) my_bsdf.cpp $(python -m umbel.config --ldflags) -o my_bsdf.so
    cmake -D umbel_DIR=$(python -m umbel.config --cmakedir) ..."""
import argparse
import glob
import os
import shlex

from . import __version__


def _folder(*names):
    # In a build folder the Python files are links to the sources: the compiled module is where the rest is.
    from . import _core
    return os.path.join(os.path.dirname(os.path.abspath(_core.__file__)), *names)


def include_dir():
    """The folder of Umbel's headers."""
    return _folder("include", "umbel")


def lib_dir():
    """The folder of libumbel.so."""
    return _folder("lib")


def cmake_dir():
    """The folder that find_package(umbel) is to be told of, as umbel_DIR. Only installed packages have one."""
    return _folder("lib", "cmake", "umbel")


def program():
    """The program `umbel`, the command line."""
    return _folder("bin", "umbel")


def cflags():
    """Options of the compiler."""
    return ["-std=c++20", "-O2", "-ffp-contract=off", "-I" + include_dir()]


def ldflags():
    """Options of the linker. {fmt}, which is part of the headers, is the system's unless a wheel brought its own."""
    bundled = glob.glob(os.path.join(lib_dir(), "libfmt.so*"))
    fmt = ["-l:" + os.path.basename(bundled[0])] if bundled else ["-lfmt"]
    return ["-L" + lib_dir(), "-lumbel", *fmt, "-Wl,-rpath," + lib_dir()]


def main(arguments=None):
    """What the command line asks for, in one line."""
    parser = argparse.ArgumentParser(prog="python -m umbel.config", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    answers = {"--version": ("the version", lambda: [__version__]), "--cflags": ("options of the compiler", cflags),
               "--ldflags": ("options of the linker", ldflags),
               "--includedir": ("the folder of headers", lambda: [include_dir()]),
               "--libdir": ("the folder of libumbel.so", lambda: [lib_dir()]),
               "--cmakedir": ("the folder for umbel_DIR", lambda: [cmake_dir()]),
               "--program": ("the program", lambda: [program()])}
    for option, (text, answer) in answers.items():
        parser.add_argument(option, action="append_const", dest="asked", const=answer, help=text)
    asked = parser.parse_args(arguments).asked
    if not asked:
        parser.error("say what you need: " + ", ".join(answers))
    print(shlex.join(word for answer in asked for word in answer()))


if __name__ == "__main__":
    main()
