# python/tools/make_stubs.py: writes the package's stubs, which editors and type checkers read.
#
#     python python/tools/make_stubs.py FOLDER             # into a package's folder; the build does so
#
# A stub is needed where Python's own files do not tell: for the compiled module (_core.pyi), for the array
# classes that it makes from a table (jit/auto.pyi), for names whose type is the variant's (__init__.pyi), for functions
# whose types are those of types_table.py (jit/__init__.pyi), and for modules that take all functions of a compiled one (warp.pyi,
# mueller.pyi).
import ast
import enum
import inspect
import os
import re
import sys
import types

import types_table
from array_stubs import array_stub

CORE_HEADER = """# umbel/_core.pyi: the compiled module. Written by python/tools/make_stubs.py.
from typing import Any, Callable, Sequence, Union, overload

import numpy

from .jit.auto import ArrayBase

ArrayLike = Union[ArrayBase, float, Sequence[Any], numpy.ndarray]
"""
TYPES = """import os
from typing import Any, Callable, ContextManager, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, overload

"""
NAMES = """
A = TypeVar("A", bound=Union[ArrayBase, float])
S = TypeVar("S")
MaskLike = Union[ArrayBase, bool]
Sizes = Union[int, Sequence[int]]
Path = Union[str, "os.PathLike[str]"]
"""
INIT_HEADER = """# umbel/__init__.pyi: the names of the package. Written by python/tools/make_stubs.py.
""" + TYPES
LOADED = """

class LoadedObject(Scene, BSDF, Emitter, Film, Integrator, Medium, PhaseFunction, ReconstructionFilter, Sampler, Sensor, Shape, Texture, Volume):  # type: ignore
    \"\"\"What a dictionary or a file describes: one of these.\"\"\"
"""
JIT_HEADER = """# umbel/jit/__init__.pyi: the names of the array library. Written by python/tools/make_stubs.py.
""" + TYPES


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


def is_valid(text):
    try:
        ast.parse(text)
        return True
    except SyntaxError:
        return False


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
        signature = annotation(signature)
        while not is_valid(signature + ": ..."):  # a default before a parameter that has none: there it means nothing
            signature = re.sub(r" = [^,]*", "", signature, count=1)
        taken, _, given = signature.rpartition(" -> ")
        out.append(" " * indent + taken.replace("ArrayBase", "ArrayLike") + f" -> {given}:" + document(doc, indent))
    return out


def plain(name, f, indent, types=None):
    """A function of Python; `types` are those of its parameters and of its result."""
    given, result = types or ({}, "Any")
    known = types_table.PARAMETERS if types else {}
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        signature = None
    doc = f.__doc__
    if hasattr(f, "__nb_signature__") and types:  # the table knows its parameters better
        doc = f.__nb_signature__[0][1]
        text = f"({', '.join(f'{n}: {t}' for n, t in given.items())}, /, **kwargs: Any)"
    elif signature is None:
        text = "(self, *args: Any, **kwargs: Any)" if indent else "(*args: Any, **kwargs: Any)"
    else:
        unknown = set(given) - set(signature.parameters)
        if unknown:
            sys.exit(f"types_table.py: {name}() has no parameter {', '.join(unknown)}; it has {', '.join(signature.parameters)}")
        parameters = []
        for p in signature.parameters.values():
            value = p.default if p.default is p.empty or default(p.default) != "..." else Ellipsis
            kind = given.get(p.name) or known.get(p.name) or ("Any" if types else None)
            if p.default is None and kind and not kind.startswith(("Any", "Optional")):
                kind = f"Optional[{kind}]"
            parameters.append(p.replace(annotation=Literal(kind) if kind else p.empty, default=value))
        text = str(signature.replace(parameters=parameters, return_annotation=signature.empty)).replace("Ellipsis", "...")
    return [" " * indent + f"def {name}{text} -> {result}:" + document(doc, indent)]


class Literal:
    """An annotation that is printed as it is."""
    __module__ = "builtins"

    def __init__(self, text): self._text = text
    def __repr__(self): return self._text


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


def class_stub(name, value, base="object"):
    out = [f"class {name}{f'({base})' if base != 'object' else ''}:"]
    if value.__doc__:
        out.append("    " + document(value.__doc__, 0).strip())
    members = [line for key, v in sorted(vars(value).items()) if not HIDDEN.match(key) for line in member(key, v)]
    return out + (members or ["    ..."] * (not value.__doc__))


def core_stub():
    import umbel
    out = []
    for name, value in sorted(vars(umbel._core).items()):
        if isinstance(value, type) and name != "ArrayBase":
            out += ["", *class_stub(name, value, value.__bases__[0].__name__)]
        elif isinstance(value, types.ModuleType):
            out.append(f"{name}: Any")
        elif callable(value) and not isinstance(value, type) and not name.startswith("__"):
            out += function(name, value, 0)
        elif not name.startswith("__") and name != "ArrayBase":
            out.append(f"{name}: Any")
    return CORE_HEADER + "\n".join(out) + "\n"


def typed(name, f, types):
    """A function of types_table.py; one that takes arrays and numbers says so twice, as numbers become floats."""
    if types[1] != "A" or types[0] != {"x": "A"}:
        return plain(name, f, 0, types)
    return ["@overload", f"def {name}(x: float, /) -> float:{document(f.__doc__, 0)}", "@overload",
            f"def {name}(x: A, /) -> A: ..."]


def jit_stub():
    import umbel.jit as dr
    table, out = types_table.read(), []
    for name, value in sorted(vars(dr).items()):
        if name.startswith("_") and name != "__version__":
            continue
        home, own = getattr(value, "__module__", None) or "", getattr(value, "__name__", name)
        if isinstance(value, types.ModuleType):
            inside = value.__name__ == f"umbel.jit.{name}"
            out.append(f"from . import {name} as {name}" if inside and name not in ("cuda", "metal") else f"{name}: Any")
        elif name in table and not isinstance(value, type):
            out += typed(name, value, table[name])
        elif name == "ArrayBase":
            continue
        elif isinstance(value, type) and home.startswith("umbel.jit.") and hasattr(sys.modules[home], own):
            out.append(f"from .{home.removeprefix('umbel.jit.')} import {own} as {name}")
        else:
            out.append(f"{name}: {type(value).__name__ if type(value) in (bool, int, float, str) else 'Any'}")
    imports = [line for line in out if line.startswith("from ")]
    rest = [line for line in out if not line.startswith("from ")]
    return JIT_HEADER + "from .auto import ArrayBase as ArrayBase\n" + "\n".join(imports) + "\n" + NAMES + "\n" + "\n".join(rest) + "\n"


def init_stub():
    import umbel
    import umbel.jit.auto as auto
    table, out = types_table.read(), []
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
        if f"umbel.{name}" in table:
            out += plain(name, value, 0, table[f"umbel.{name}"])
        elif hasattr(umbel._core, own) and getattr(umbel._core, own) is value:
            out.append(f"from ._core import {own} as {name}")
        elif hasattr(auto, own) and getattr(auto, own) is value:
            out.append(f"from .jit.auto import {own} as {name}")
        elif home == "umbel" and inspect.isfunction(value):
            out += plain(name, value, 0)
        elif home.startswith("umbel.") and isinstance(value, (type, types.FunctionType)):
            written = re.search(rf"\b{own}\b", inspect.getsource(sys.modules[home]))  # else it was made by a loop
            source = home.removeprefix("umbel.")
            if written:
                out.append(f"from .{source} import {own} as {name}")
            elif isinstance(value, type):
                base = value.__base__.__name__
                out += [f"from .{source} import {base}", *class_stub(name, value, base)]
            else:
                out += plain(name, value, 0)
        elif isinstance(value, type):
            out.append(f"{name} = {own}" if own != name else f"{name}: Any")
        else:
            out.append(f"{name}: {type(value).__name__ if type(value) in (bool, int, float, str) else 'Any'}")
    imports = [line for line in out if line.startswith("from ")]
    rest = [line for line in out if not line.startswith("from ")]
    return (INIT_HEADER + "from .jit.auto import ArrayBase\n" + "\n".join(imports) + "\n" + NAMES + LOADED + "\n" +
            "\n".join(rest) + "\n")


def module_stub(name):
    import importlib
    module = importlib.import_module("umbel." + name)
    functions = [(n, f) for n, f in sorted(vars(module).items()) if not n.startswith("_") and callable(f)
                 and not isinstance(f, type) and getattr(f, "__module__", None) in (module.__name__, f"umbel._core.{name}")]
    head = CORE_HEADER.replace("umbel/_core.pyi: the compiled module", f"umbel/{name}.pyi: functions of umbel.{name}")
    return head + "\n" + "\n".join(line for n, f in functions for line in function(n, f, 0)) + "\n"


def stubs():
    """{path: text}"""
    import umbel
    with umbel.set_variant("llvm_ad_rgb"):
        return {"jit/auto.pyi": array_stub(), "_core.pyi": core_stub(), "__init__.pyi": init_stub(), "jit/__init__.pyi": jit_stub(),
                **{f"{name}.pyi": module_stub(name) for name in ("warp", "mueller")}}


if __name__ == "__main__":
    for name, text in stubs().items():
        path = os.path.join(sys.argv[1], name)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.replace(path + ".new", path)
