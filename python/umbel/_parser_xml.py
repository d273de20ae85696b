# umbel/_parser_xml.py: XML into the nodes of umbel.parser, with the place of each for messages.
import os
from xml.parsers import expat

from ._logging import LogLevel, Log, file_resolver
from ._properties import _colour, _kinds, ObjectType, Properties, Spectrum
from ._system import Version
from ._transform import Transform4f
from . import parser

_objects = {**{k: v for k, v in _kinds.items() if k != "filter"}, "spectrum": ObjectType.Texture}
_simple = {"float", "integer", "boolean", "string", "vector", "point", "rgb", "spectrum", "ref", "transform"}
_steps = {"translate", "rotate", "scale", "lookat", "matrix"}
_others = {"include", "alias", "default", "path"}


class _Element:
    """A tag with its attributes, children and place."""

    def __init__(self, tag, attributes, offset): self.tag, self.attributes, self.offset, self.children = tag, attributes, offset, []


def _tree(text):
    """The root element of a text."""
    root, stack, p = [], [], expat.ParserCreate()

    def start(tag, attributes):
        e = _Element(tag, dict(attributes), p.CurrentByteIndex + 1)
        (stack[-1].children if stack else root).append(e)
        stack.append(e)
    p.StartElementHandler, p.EndElementHandler = start, lambda tag: stack.pop()
    try:
        p.Parse(text, True)
    except expat.ExpatError as e:
        names = {4: "Error parsing start element tag", 3: "No document element found", 7: "Start-end tags mismatch"}
        where = "" if e.code == 3 else f" (line {e.lineno}, col {e.offset + 1})"
        raise RuntimeError(f"XML parsing failed: {names.get(e.code, expat.ErrorString(e.code))}{where}") from None
    return root[0]


def location(state, index, offset):
    """File, line and column of a place."""
    name = str(state.files[index])
    if name == "<string>":
        name, text = "string", getattr(state, "_text", "")
    else:
        with open(name, encoding="utf-8") as f:
            text = f.read()
    before = text.encode()[:offset]
    return f"{name} (line {before.count(10) + 1}, col {offset - before.rfind(10) if 10 in before else offset + 1})"


class _Reader:
    def __init__(self, config, state, parameters):
        self.config, self.state, self.depth = config, state, 0
        self.parameters, self.used = {k: str(v) for k, v in parameters.items()}, set()
        self.folders = []

    # ---- files
    def document(self, text, name, parent=None):
        """Reads a text; its root becomes a child of `parent`, or its content does where it is a scene."""
        root, index = _tree(text), len(self.state.files)
        self.state.files.append(name)
        if "version" not in root.attributes:
            raise RuntimeError(f"Missing version attribute in root element <{root.tag}>")
        if root.tag in _objects:
            self.state.versions.append(Version(root.attributes.pop("version")))
        if parent is not None and root.tag == "scene":
            for child in root.children:
                self.element(child, parent, index, True)
        else:
            self.element(root, parent, index, True, is_root=True)

    def fail(self, element, file, message):
        raise RuntimeError(f"Error while loading {location(self.state, file, element.offset)}: {message}")

    # ---- attributes
    def substitute(self, e, file, text):
        out, i = "", 0
        names = sorted(self.parameters, key=len, reverse=True)
        while i < len(text):
            if text.startswith("\\$", i):
                out, i = out + "$", i + 2
                continue
            if text[i] == "$":
                name = next((n for n in names if text.startswith(n, i + 1)), None)
                if name is None:
                    word = ""
                    for c in text[i + 1:]:
                        if not (c.isalnum() or c == "_"):
                            break
                        word += c
                    self.fail(e, file, f"undefined parameter: ${word}")
                self.used.add(name)
                out, i = out + self.parameters[name], i + 1 + len(name)
                continue
            out, i = out + text[i], i + 1
        return out

    def attributes(self, e, file, required=(), optional=()):
        for name in e.attributes:
            if name not in required and name not in optional:
                self.fail(e, file, f'unexpected attribute "{name}" in element <{e.tag}>')
        for name in required:
            if name not in e.attributes:
                self.fail(e, file, f'missing required attribute "{name}" in <{e.tag}>')
        return {k: self.substitute(e, file, v) for k, v in e.attributes.items()}

    def number(self, e, file, text, kind=float):
        try:
            return kind(text.strip())
        except ValueError:
            self.fail(e, file, f'could not parse {"integer" if kind is int else "floating point"} value "{text}"')

    def numbers(self, e, file, text): return [self.number(e, file, w) for w in text.replace(",", " ").split()]

    def triple(self, e, file, a, otherwise=None):
        """Of value="..." or of x, y and z."""
        if "value" in a:
            if {"x", "y", "z"} & a.keys():
                self.fail(e, file, 'Cannot mix "value" and "x"/"y"/"z" attributes')
            v = self.numbers(e, file, a["value"])
            if len(v) not in (1, 3):
                self.fail(e, file, '"value" attribute must have exactly 1 or 3 elements')
            return v * 3 if len(v) == 1 else v
        for axis in "xyz":
            if axis not in a and otherwise is None:
                self.fail(e, file, f'missing required attribute "{axis}" in <{e.tag}>')
        return [self.number(e, file, a[axis]) if axis in a else otherwise for axis in "xyz"]

    # ---- elements
    def element(self, e, parent, file, at_root, is_root=False):
        if e.tag in _objects and (e.tag != "spectrum" or "type" in e.attributes):
            return self.object(e, parent, file, is_root)
        if e.tag in _steps:
            self.fail(e, file, f"<{e.tag}> can only appear inside a <transform> tag")
        if e.tag in _others:
            return getattr(self, "tag_" + e.tag)(e, parent, file, at_root)
        if e.tag not in _simple:
            self.fail(e, file, f"encountered an unsupported XML element: <{e.tag}>")
        if parent is None:
            self.attributes(e, file, (), ("name", "value", "id"))
            self.fail(e, file, f"<{e.tag}> cannot be the root of a scene")
        self.property(e, parent, file)

    def object(self, e, parent, file, is_root):
        a = self.attributes(e, file, () if e.tag == "scene" else ("type",), ("id", "name"))
        node, index = parser.SceneNode(), len(self.state.nodes)
        node.type, node.file_index, node.offset = _objects[e.tag], file, e.offset
        node.props.set_plugin_name(a.get("type", "scene"))
        node.props.set_id(a.get("id", ""))
        if a.get("id"):
            known = self.state.id_to_index.get(a["id"])
            if known is not None:
                other = self.state.nodes[known]
                self.fail(e, file, f'duplicate ID: "{a["id"]}" (previous was at '
                                   f'{location(self.state, other.file_index, other.offset)})')
            self.state.id_to_index[a["id"]] = index
        self.state.nodes.append(node)
        if parent is not None:
            self.put(e, file, parent, a.get("name"), Properties.ResolvedReference(index))
        for child in e.children:
            self.element(child, node, file, is_root)

    def put(self, e, file, parent, name, value):
        name = name or next(f"_arg_{k}" for k in range(len(parent.props.keys()) + 1) if f"_arg_{k}" not in parent.props)
        if name in parent.props:
            self.fail(e, file, f'Property "{name}" was specified multiple times')
        parent.props[name] = value

    def property(self, e, parent, file):
        tag = e.tag
        if tag == "transform":
            a = self.attributes(e, file, ("name",))
            return self.put(e, file, parent, a["name"], self.transform(e, file))
        for child in e.children:
            self.fail(child, file, f"<{child.tag}> element cannot occur as child of a property")
        if tag == "ref":
            a = self.attributes(e, file, ("id",), ("name",))
            return self.put(e, file, parent, a.get("name"), Properties.Reference(a["id"]))
        if tag in ("vector", "point"):
            a = self.attributes(e, file, ("name",), ("value", "x", "y", "z"))
            return self.put(e, file, parent, a["name"], self.triple(e, file, a))
        if tag == "spectrum" and "filename" in e.attributes:
            from ._colour import spectrum_from_file
            a = self.attributes(e, file, ("name", "filename"))
            wavelengths, values = spectrum_from_file(self.find(e, file, a["filename"]))
            return self.put(e, file, parent, a["name"], Spectrum(values, wavelengths))
        a = self.attributes(e, file, ("name", "value"))
        self.put(e, file, parent, a["name"], self.simple(e, file, tag, a["value"]))

    def simple(self, e, file, tag, text):
        if tag == "string":
            return text
        if tag in ("float", "integer"):
            return self.number(e, file, text, int if tag == "integer" else float)
        if tag == "boolean":
            if text.strip().lower() not in ("true", "false"):
                self.fail(e, file, f'could not parse boolean value "{text}" -- must be "true" or "false"')
            return text.strip().lower() == "true"
        if tag == "spectrum":
            try:
                return Spectrum.parse(text)
            except RuntimeError as x:
                self.fail(e, file, str(x))
        if text.strip().startswith("#") and len(text.strip()) == 7:
            v = [int(text.strip()[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        else:
            v = self.numbers(e, file, text)
        if len(v) not in (1, 3):
            self.fail(e, file, f'could not parse RGB value "{text}"')
        return _colour(v * 3 if len(v) == 1 else v)

    def transform(self, e, file):
        total, T = Transform4f(), Transform4f()
        for s in e.children:
            if s.tag not in _steps:
                self.fail(s, file, f"unexpected <{s.tag}> element inside <transform>")
            total = self.step(s, file, T) @ total
        return total

    def step(self, s, file, T):
        if s.tag == "lookat":
            a = self.attributes(s, file, ("origin", "target"), ("up",))
            return T.look_at(*(self.numbers(s, file, a.get(n, "0 1 0")) for n in ("origin", "target", "up")))
        if s.tag == "matrix":
            v = self.numbers(s, file, self.attributes(s, file, ("value",))["value"])
            if len(v) == 9:
                v = [*v[0:3], 0, *v[3:6], 0, *v[6:9], 0, 0, 0, 0, 1]
            if len(v) != 16:
                self.fail(s, file, "matrix must have 9 or 16 values")
            return Transform4f([v[i:i + 4] for i in range(0, 16, 4)])
        a = self.attributes(s, file, ("angle",) if s.tag == "rotate" else (), ("value", "x", "y", "z"))
        v = self.triple(s, file, a, 1.0 if s.tag == "scale" else 0.0)
        return T.rotate(v, self.number(s, file, a["angle"])) if s.tag == "rotate" else getattr(T, s.tag)(v)

    # ---- other tags
    def find(self, e, file, name):
        for folder in (*self.folders[::-1], *self.state.resources):
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
        return str(file_resolver().resolve(name))

    def tag_include(self, e, parent, file, at_root):
        name = self.find(e, file, self.attributes(e, file, ("filename",))["filename"])
        if not os.path.exists(name):
            self.fail(e, file, f'file "{name}" not found')
        self.depth += 1
        if self.depth > self.config.max_include_depth:
            self.fail(e, file, f"Exceeded maximum include recursion depth of {self.config.max_include_depth}")
        self.folders.append(os.path.dirname(os.path.abspath(name)))
        try:
            with open(name, encoding="utf-8") as f:
                self.document(f.read(), name, parent)
        except RuntimeError as x:
            self.fail(e, file, f"while processing <include>:\n{x}")
        self.folders.pop()
        self.depth -= 1

    def tag_alias(self, e, parent, file, at_root):
        a, ids = self.attributes(e, file, ("id", "as")), self.state.id_to_index
        if a["id"] not in ids:
            self.fail(e, file, f'alias source ID "{a["id"]}" not found')
        if a["as"] in ids:
            self.fail(e, file, f'alias destination ID "{a["as"]}" already exists')
        ids[a["as"]] = ids[a["id"]]

    def tag_default(self, e, parent, file, at_root):
        a = self.attributes(e, file, ("name", "value"))
        if not a["name"]:
            self.fail(e, file, "<default>: name must be non-empty")
        if a["name"] not in self.parameters:
            self.parameters[a["name"]] = a["value"]
        self.used.add(a["name"])

    def tag_path(self, e, parent, file, at_root):
        a = self.attributes(e, file, ("value",))
        if not at_root:
            self.fail(e, file, "<path>: path can only be child of root")
        folder = self.find(e, file, a["value"])
        if not os.path.isdir(folder):
            self.fail(e, file, f'<path>: folder "{folder}" not found')
        self.state.resources.insert(0, os.path.abspath(folder))

    def finish(self):
        unused = sorted(set(self.parameters) - self.used, key=len, reverse=True)
        if unused:
            text = "Found unused parameters:" + "".join(f"\n  - ${n}={self.parameters[n]}" for n in unused)
            if self.config.unused_parameters >= LogLevel.Error:
                raise RuntimeError(text)
            Log(self.config.unused_parameters, text)
        return self.state


def read_string(config, text, parameters):
    reader = _Reader(config, parser.ParserState(), parameters)
    reader.state._text = text
    reader.document(text, "<string>")
    return reader.finish()


def read_file(config, filename, parameters):
    name = str(file_resolver().resolve(str(filename)))
    if not os.path.exists(name):
        raise RuntimeError(f'"{filename}": file does not exist')
    reader = _Reader(config, parser.ParserState(), parameters)
    folder = os.path.dirname(os.path.abspath(name))
    reader.folders.append(folder)
    with open(name, encoding="utf-8") as f:
        reader.document(f.read(), name)
    reader.state.resources.append(folder)
    return reader.finish()
