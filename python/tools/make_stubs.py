# python/tools/make_stubs.py: writes the package's stubs, which editors and type checkers read.
#
#     ./umbel python python/tools/make_stubs.py            # after a change of the interface; a test compares
#
# A stub is needed where Python's own files do not tell: for the compiled module (_core.pyi), for the array
# classes that it makes from a table (jit/auto.pyi), and for names whose type is the variant's (__init__.pyi).
import enum
import inspect
import os
import re
import sys
import types

from array_stubs import array_stub

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "umbel")
CORE_HEADER = """# umbel/_core.pyi: the compiled module. Written by python/tools/make_stubs.py.
from typing import Any, Callable, Sequence, Union, overload

import numpy

from .jit.auto import ArrayBase

ArrayLike = Union[ArrayBase, float, Sequence[Any], numpy.ndarray]
"""
INIT_HEADER = """# umbel/__init__.pyi: the names of the package. Written by python/tools/make_stubs.py.
from typing import Any

"""


def annotation(text):
    """A type as nanobind writes it, with names that the stub knows."""
    text = text.replace("umbel._core.", "").replace("umbel.jit.ArrayBase", "ArrayBase").replace("umbel.Bitmap", "Bitmap")
    text = re.sub(r"\b(?:std::|umbel::)[\w:<>, *&]+", "Any", text)
    text = re.sub(r"(?:numpy\.)?ndarray(?:\[[^\]]*\])?", "numpy.ndarray", text)
    return re.sub(r"\bobject\b", "Any", re.sub(r"\bhandle\b", "Any", text)).replace("typing.", "").replace("collections.abc.", "")


def default(value):
    """A default as source: plain values as they are, the rest as an ellipsis."""
    plain = value is None or isinstance(value, (bool, int, str)) and not isinstance(value, enum.Enum)
    return repr(value) if plain or type(value) is float and value == value else "..."


def document(doc, indent):
    if not doc or doc == object.__init__.__doc__:
        return " ..."
    lines = inspect.cleandoc(doc).replace("\\", "\\\\").replace('"""', "'''").splitlines()
    pad = "\n" + " " * (indent + 4)
    body = lines[0] if len(lines) == 1 else pad.join(lines) + pad
    return f'{pad}"""{body}"""'.replace("    \n", "\n")


def compiled(name, f, indent):
    """A function of nanobind, with all of its overloads."""
    out = []
    overloads = f.__nb_signature__
    for signature, doc, defaults in overloads:
        for i, value in enumerate(defaults or ()):
            signature = signature.replace(f"\\{i}", default(value))
        signature = re.sub(r"^def \S*?\(", f"def {name}(", signature)
        if len(overloads) > 1:
            out.append(" " * indent + "@overload")
        taken, _, given = annotation(signature).rpartition(" -> ")
        out.append(" " * indent + taken.replace("ArrayBase", "ArrayLike") + f" -> {given}:" + document(doc, indent))
    return out


def plain(name, f, indent):
    """A function of Python."""
    try:
        signature = inspect.signature(f)
        parameters = []
        for p in signature.parameters.values():
            value = p.default if p.default is p.empty or default(p.default) != "..." else Ellipsis
            parameters.append(p.replace(annotation=p.empty, default=value))
        text = str(signature.replace(parameters=parameters, return_annotation=signature.empty)).replace("Ellipsis", "...")
    except (TypeError, ValueError):
        text = "(self, *args: Any, **kwargs: Any)" if indent else "(*args: Any, **kwargs: Any)"
    return [" " * indent + f"def {name}{text} -> Any:" + document(f.__doc__, indent)]


def function(name, f, indent):
    return compiled(name, f, indent) if hasattr(f, "__nb_signature__") else plain(name, f, indent)


def member(name, value):
    if isinstance(value, property):
        signature = getattr(value.fget, "__nb_signature__", None)
        type_name = annotation(signature[0][0].rpartition(" -> ")[2]) if signature else "Any"
        doc = value.__doc__ if not signature else signature[0][1]
        out = ["    @property", f"    def {name}(self) -> {type_name}:{document(doc, 4)}"]
        return out + ([f"    @{name}.setter", f"    def {name}(self, value: Any, /) -> None: ..."] if value.fset else [])
    if isinstance(value, (staticmethod, classmethod)):
        kind = type(value).__name__
        return [f"    @{kind}", *function(name, value.__func__, 4)]
    if isinstance(value, type):
        return [f"    {name} = {value.__name__}"] if value.__module__ == "umbel._core" else [f"    {name}: Any"]
    if isinstance(value, types.WrapperDescriptorType):  # a slot that says nothing, as __init__ of what cannot be made
        return []
    if callable(value):
        static = hasattr(value, "__nb_signature__") and "(self" not in value.__nb_signature__[0][0]
        return (["    @staticmethod"] if static else []) + function(name, value, 4)
    return [f"    {name}: Any"]


# What the language adds to a class; names with one underscore are the package's own affair.
HIDDEN = re.compile(r"_[^_]|__(module|doc|new|dict|weakref|class_getitem|annotations)__")


def core_stub():
    import umbel
    out = []
    for name, value in sorted(vars(umbel._core).items()):
        if isinstance(value, type) and name != "ArrayBase":
            base = value.__bases__[0].__name__
            out += ["", f"class {name}{f'({base})' if base != 'object' else ''}:"]
            if value.__doc__:
                out.append("    " + document(value.__doc__, 0).strip())
            members = [line for key, v in sorted(vars(value).items()) if not HIDDEN.match(key) for line in member(key, v)]
            out += members or ["    ..."] * (not value.__doc__)
        elif isinstance(value, types.ModuleType):
            out.append(f"{name}: Any")
        elif callable(value) and not isinstance(value, type) and not name.startswith("__"):
            out += function(name, value, 0)
        elif not name.startswith("__") and name != "ArrayBase":
            out.append(f"{name}: Any")
    return CORE_HEADER + "\n".join(out) + "\n"


def init_stub():
    import umbel
    import umbel.jit.auto as auto
    out = []
    for name in dir(umbel):
        if name.startswith("_") and name != "__version__":
            continue
        value = getattr(umbel, name)
        if isinstance(value, types.ModuleType):
            inside = value.__name__.startswith("umbel.")
            path = value.__name__.removeprefix("umbel.")
            parent, _, leaf = path.rpartition(".")
            out.append(f"from .{parent} import {leaf} as {name}" if inside else f"{name}: Any")
            continue
        home = getattr(value, "__module__", None) or ""
        own = getattr(value, "__name__", name)
        if hasattr(umbel._core, own) and getattr(umbel._core, own) is value:
            out.append(f"from ._core import {own} as {name}")
        elif hasattr(auto, own) and getattr(auto, own) is value:
            out.append(f"from .jit.auto import {own} as {name}")
        elif home == "umbel" and inspect.isfunction(value):
            out += plain(name, value, 0)
        elif home.startswith("umbel.") and isinstance(value, (type, types.FunctionType)):
            exists = hasattr(sys.modules[home], own)
            out.append(f"from .{home.removeprefix('umbel.')} import {own} as {name}" if exists else f"{name}: Any")
        elif isinstance(value, type):
            out.append(f"{name} = {own}" if own != name else f"{name}: Any")
        else:
            out.append(f"{name}: {type(value).__name__ if type(value) in (bool, int, float, str) else 'Any'}")
    return INIT_HEADER + "\n".join(out) + "\n"


def stubs():
    import umbel
    with umbel.set_variant("llvm_ad_rgb"):
        return {"jit/auto.pyi": array_stub(), "_core.pyi": core_stub(), "__init__.pyi": init_stub()}


if __name__ == "__main__":
    stale = []
    for name, text in stubs().items():
        path = os.path.join(PACKAGE, name)
        before = open(path).read() if os.path.exists(path) else None
        if before != text:
            stale.append(name)
            if "--check" not in sys.argv:
                with open(path, "w") as file:
                    file.write(text)
    if "--check" in sys.argv and stale:
        sys.exit("stale: " + " ".join(stale))
