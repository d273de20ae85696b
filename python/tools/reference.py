# python/tools/reference.py: the Python reference in Markdown, from the package's stubs and the docstrings of its sources.
#
# Nothing is imported or run: names are followed from the module that offers them to the file that defines them.
import ast
import importlib.util
import os
import re

PACKAGE = importlib.util.find_spec("umbel").submodule_search_locations[0]  # as built: stubs lie there
# Modules that scripts import, in the order of the manual.
MODULES = ["umbel", "umbel.util", "umbel.math", "umbel.warp", "umbel.mueller", "umbel.quad", "umbel.spline", "umbel.chi2",
           "umbel.testing", "umbel.parser", "umbel.xml", "umbel.filesystem", "umbel.misc", "umbel.tensor_io",
           "umbel.ad", "umbel.ad.integrators.common", "umbel.jit", "umbel.jit.auto", "umbel.jit.opt", "umbel.jit.nn",
           "umbel.jit.random", "umbel.jit.dda", "umbel.jit.hashgrid", "umbel.jit.interop"]
ARRAY = re.compile(r"(Scalar)?(ArrayX?|Vector|Point|Normal|Matrix|Color|Complex|Quaternion|Tensor|Texture|Float|U?Int|Bool|Mask)"
                   r"[0-9X]*[a-z]?[0-9]*[a-z]?$")


def source_of(module):
    """The stub of a module, its source where it has none, or None."""
    path = os.path.join(PACKAGE, *module.split(".")[1:])
    for candidate in (path + ".pyi", os.path.join(path, "__init__.pyi"), path + ".py", os.path.join(path, "__init__.py")):
        if os.path.exists(candidate):
            return candidate
    return None


class Modules:
    """Parsed files, and what their names mean."""

    def __init__(self): self._trees = {}

    def tree(self, module):
        if module not in self._trees:
            path = source_of(module)
            with open(path or os.devnull) as f:
                self._trees[module] = (ast.parse(f.read()), bool(path) and os.path.basename(path).startswith("__init__."))
        return self._trees[module][0]

    def _target(self, module, node):
        """The module that `from X import` names."""
        if not node.level:
            return node.module
        self.tree(module)
        parts = module.split(".")
        parts = parts[:len(parts) - node.level + (1 if self._trees[module][1] else 0)]
        return ".".join(parts + ([node.module] if node.module else []))

    def names(self, module, depth=0):
        """Public names of a module: {name: (module, name) of where it is defined}."""
        out, tree = {}, self.tree(module)
        offers = self._trees[module][1] or module == "umbel.jit.auto"
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                out[node.name] = (module, node.name)
            elif isinstance(node, ast.ImportFrom) and depth < 8:
                target = self._target(module, node)
                if not (target or "").startswith("umbel"):
                    continue
                for a in node.names:
                    if a.name == "*":
                        out |= self.names(target, depth + 1)
                    elif offers or target == "umbel._core":  # others import for their own use
                        out[a.asname or a.name] = (target, a.name)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and isinstance(node.targets[0], ast.Name):
                if isinstance(node.value.value, ast.Name) and node.value.value.id == "_core":
                    out[node.targets[0].id] = ("umbel._core", node.value.attr)
        return {k: v for k, v in out.items() if not k.startswith("_")}

    def definitions(self, module, name, depth=0):
        """The nodes that define a name: one, or a function's overloads."""
        tree = self.tree(module)
        found = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name]
        if found or depth > 8:
            return found
        place = self.names(module).get(name)
        return self.definitions(*place, depth + 1) if place and place != (module, name) else []


def paragraphs(node):
    """A docstring as Markdown: what is indented is code already. Without the name of a module that it may begin with."""
    text = re.sub(r"^umbel[\w.]*: (\w)", lambda m: m[1].upper(), (ast.get_docstring(node) or "").strip())
    escape = lambda part: part if part[0] == "`" else part.replace("<", "&lt;").replace("](", "]\\(").replace("*", "\\*")
    return "\n".join(line if line.startswith("    ") else "".join(map(escape, re.findall(r"`[^`]*`|[^`]+|`", line)))
                     for line in text.split("\n"))


def about(module):
    """A module's docstring; stubs have none."""
    path = source_of(module).removesuffix("i")
    if not os.path.exists(path):
        return "Types of arrays." if module == "umbel.jit.auto" else ""
    with open(path) as f:
        return paragraphs(ast.parse(f.read()))


def signature(node):
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, /)?(, )?", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returns}"


def members(node):
    """Methods and properties of a class, in a list."""
    lines, seen = [], set()
    for m in node.body:
        if not isinstance(m, ast.FunctionDef) or m.name.startswith("_") and m.name != "__init__":
            continue
        decorators = [ast.unparse(d) for d in m.decorator_list]
        if any(d.endswith((".setter", ".deleter")) for d in decorators):
            continue
        text = m.name if "property" in decorators else signature(m)
        text = text.replace("__init__(", node.name + "(").removesuffix(" -> None")
        if text in seen:
            continue
        seen.add(text)
        doc = " ".join(paragraphs(m).split("\n\n")[0].split())
        lines.append(f"- `{text}`" + (f"  \n  {doc}" if doc else ""))
    return "\n".join(lines)


def anchor(name): return re.sub(r"[^\w-]", "", name.lower())


def entry(name, nodes):
    out = [f"### `{name}`"]
    if isinstance(nodes[0], ast.ClassDef):
        node = nodes[0]
        bases = [ast.unparse(b) for b in node.bases if not ast.unparse(b).startswith("_")]
        out.append(f"class `{node.name}`" + (f" of {', '.join(f'`{b}`' for b in bases)}" if bases else ""))
        out += [paragraphs(node), members(node)]
    else:
        out.append("```python\n" + "\n".join(signature(n) for n in nodes) + "\n```")
        out += list(dict.fromkeys(paragraphs(n) for n in nodes))
    return "\n\n".join(part for part in out if part) + "\n"


def page(modules, module):
    """The page of one module."""
    classes, functions, arrays = [], [], []
    names = modules.names(module)
    for name, (origin, original) in sorted(names.items()):
        nodes = modules.definitions(origin, original)
        if module != "umbel.jit.auto" and (origin == "umbel.jit.auto" or module == "umbel" and ARRAY.match(name)) \
                or module == "umbel.jit.auto" and name != "ArrayBase":
            arrays.append(name)
        elif nodes and original != name and names.get(original) == (origin, original):
            (classes if isinstance(nodes[0], ast.ClassDef) else functions).append(
                f"### `{name}`\n\nThe same as [`{original}`](#{anchor(original)}).\n")
        elif nodes:
            (classes if isinstance(nodes[0], ast.ClassDef) else functions).append(entry(name, nodes))
    out = [f"# {module}", about(module)]
    for title, items in (("Classes", classes), ("Functions", functions)):
        if items:
            out += [f"## {title}", "\n".join(items)]
    if arrays:
        out += ["## Arrays", "Types of arrays, which have the members of `ArrayBase` in [umbel.jit.auto](umbel.jit.auto.md): "
                + ", ".join(f"`{a}`" for a in arrays) + "."]
    return "\n\n".join(part for part in out if part) + "\n"


def pages():
    """{file name: Markdown} of all modules, and of a page that lists them."""
    modules = Modules()
    out = {f"{m}.md": page(modules, m) for m in MODULES}
    rows = "".join(f"| [{m}]({m}.md) | {' '.join(about(m).split(chr(10) * 2)[0].split())} |\n" for m in MODULES)
    out["index.md"] = ("# Python reference\n\nMade from the package's stubs. [The manual](../python.md) tells how things belong together.\n\n"
                       "| module | what it is |\n| --- | --- |\n" + rows)
    return out
