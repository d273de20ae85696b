"""Paths and files, as the names of C++'s std::filesystem have them. Strings are accepted for paths."""
import os
import shutil

preferred_separator = os.sep


class path:
    """A name of a file or folder."""

    def __init__(self, p=""):
        p = str(p) if isinstance(p, path) else os.fspath(p)
        self._absolute = p.startswith(os.sep)
        self._parts = [part for part in p.split(os.sep) if part]

    @classmethod
    def _of(cls, parts, absolute):
        made = cls()
        made._parts, made._absolute = parts, absolute
        return made

    def clear(self): self._parts, self._absolute = [], False
    def empty(self): return not self._parts
    def is_absolute(self): return self._absolute
    def is_relative(self): return not self._absolute
    def native(self): return str(self)

    def parent_path(self):
        """The folder around it."""
        if not self._parts and not self._absolute:
            return path("..")
        return self._of(self._parts[:-1], self._absolute)

    def filename(self):
        """The last part."""
        return path(self._parts[-1]) if self._parts else path()

    def extension(self):
        """From the last dot on; of a hidden file, all of it."""
        name = str(self.filename())
        return path(name[name.rfind("."):] if "." in name and name not in (".", "..") else "")

    def replace_extension(self, replacement):
        """The path with another extension."""
        name, replacement = str(self.filename()), str(replacement)
        if name in ("", ".", ".."):
            return path(self)
        if replacement and not replacement.startswith("."):
            replacement = "." + replacement
        stem = name[:name.rfind(".")] if "." in name else name
        return self._of(self._parts[:-1] + [stem + replacement], self._absolute)

    def __truediv__(self, other):
        other = path(other)
        if other._absolute:
            raise RuntimeError(f"path: \"{other}\" is absolute and cannot follow another path")
        return self._of(self._parts + other._parts, self._absolute)

    def __eq__(self, other):
        if isinstance(other, (str, os.PathLike)) and not isinstance(other, path):
            other = path(other)
        return isinstance(other, path) and (self._parts, self._absolute) == (other._parts, other._absolute)

    def __hash__(self): return hash(str(self))
    def __fspath__(self): return str(self)
    def __str__(self): return os.sep * self._absolute + os.sep.join(self._parts)
    __repr__ = __str__
    def __add__(self, text): return str(self) + text


def current_path():
    """The working folder."""
    return path(os.getcwd())


def absolute(p):
    """The path from the root on."""
    return path(os.path.abspath(path(p)))


def exists(p):
    """Whether there is such a file or folder."""
    return os.path.exists(path(p))


def is_directory(p):
    """Whether the path is that of a folder."""
    return os.path.isdir(path(p))


def is_regular_file(p):
    """Whether the path is that of a file."""
    return os.path.isfile(path(p))


def file_size(p):
    """In bytes."""
    return os.path.getsize(path(p))


def equivalent(a, b):
    """Whether both name the same existing file or folder."""
    return exists(a) and exists(b) and os.path.samefile(path(a), path(b))


def create_directory(p):
    """Makes a folder; whether it is there afterwards."""
    try:
        os.makedirs(path(p), exist_ok=True)
    except OSError:
        return False
    return True


def remove(p):
    """Deletes a file or an empty folder; whether there was one."""
    try:
        (os.rmdir if is_directory(p) else os.remove)(path(p))
    except OSError:
        return False
    return True


def resize_file(p, size):
    """Makes a file that long; whether that worked."""
    try:
        os.truncate(path(p), size)
    except OSError:
        return False
    return True


def copy_file(source, target):
    """Copies a file; whether that worked."""
    if equivalent(source, target):
        return True
    try:
        shutil.copyfile(path(source), path(target))
    except OSError:
        return False
    return True
