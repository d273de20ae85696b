# umbel/_parser_write.py: the nodes of umbel.parser as XML.
import math
from xml.sax.saxutils import quoteattr

from ._properties import ObjectType, Properties, Type, _host
from ._constants import MI_VERSION

_tags = {ObjectType.Scene: "scene", ObjectType.ReconstructionFilter: "rfilter", ObjectType.PhaseFunction: "phase",
         ObjectType.Unknown: "shape"}
_defaults = {"sample_count": "spp", "width": "resx", "height": "resy"}
_headers = {ObjectType.Sensor: "Camera and Rendering Parameters", ObjectType.Integrator: "Camera and Rendering Parameters",
            ObjectType.BSDF: "Materials", ObjectType.Texture: "Materials", ObjectType.Emitter: "Emitters",
            ObjectType.Shape: "Shapes", ObjectType.Medium: "Participating media", ObjectType.Volume: "Volumes"}


def _number(v):
    v = float(v)
    return str(int(v)) if v == int(v) and abs(v) < 1e15 else repr(v)


def _attributes(**pairs): return "".join(f" {k}={quoteattr(str(v))}" for k, v in pairs.items() if v is not None)


class _Writer:
    def __init__(self, state, headers):
        self.state, self.headers = state, headers
        self.referenced = {name for node in state.nodes for _, name in node.props.references()}
        self.defaults, self.written = {}, set()
        for node in state.nodes:
            for key in node.props.keys():
                kind, value = node.props._entry(key)
                if key in _defaults and kind is Type.Integer:
                    self.defaults.setdefault(_defaults[key], value)

    def tag(self, node): return _tags.get(node.type, node.type.name.lower())

    def object(self, index, name, indent):
        """Lines of an object."""
        if index in self.written:  # a shared one: its name must do
            return [f"{indent}<ref{_attributes(name=name, id=self.state.nodes[index].props.id())}/>"]
        self.written.add(index)
        node = self.state.nodes[index]
        tag, scene = self.tag(node), node.type is ObjectType.Scene
        id_ = node.props.id() if node.props.id() in self.referenced or self.is_shared(index) else None
        head = f"{indent}<{tag}" + _attributes(type=None if scene else node.props.plugin_name(), id=id_, name=name)
        if index == 0:
            head += _attributes(version=self.state.versions[0] if self.state.versions else MI_VERSION)
        lines = self.content(node, indent + "    ", index == 0)
        return [head + ">", *lines, f"{indent}</{tag}>"] if lines else [head + "/>"]

    def is_shared(self, index):
        return sum(j == index for node in self.state.nodes for _, j in self.state._children(node)) > 1

    def content(self, node, indent, is_root):
        blocks = []  # (lines, whether it stands alone)
        if is_root and self.defaults:
            blocks.append(([f"{indent}<default{_attributes(name=k, value=v)}/>" for k, v in self.defaults.items()], True))
        last = None
        for key in node.props.keys():
            kind, value = node.props._entry(key)
            name = None if key.startswith("_arg_") else key
            if kind is Type.ResolvedReference:
                lines = self.object(value.index(), name, indent)
                header = _headers.get(self.category(value.index()))
                if is_root and self.headers and header and header != last:
                    lines = [f"{indent}<!-- {header} -->", *lines]
                    last = header
                blocks.append((lines, True))
            elif kind is Type.Transform:
                lines = self.transform(node, value, indent + "    ")
                if lines:
                    blocks.append(([f"{indent}<transform{_attributes(name=key)}>", *lines, f"{indent}</transform>"], True))
            else:
                blocks.append(([indent + self.simple(key, name, kind, value)], False))
        lines, before = [], None
        for block, alone in blocks:
            if before is not None and (alone or before):
                lines.append("")
            lines += block
            before = alone
        return lines

    def category(self, index):
        node = self.state.nodes[index]
        lit = node.type is ObjectType.Shape and any(
            self.state.nodes[j].type is ObjectType.Emitter for _, j in self.state._children(node))
        return ObjectType.Emitter if lit else node.type

    def simple(self, key, name, kind, value):
        if kind is Type.Reference:
            return f"<ref{_attributes(name=name, id=value.id())}/>"
        if kind is Type.Vector:
            return f"<vector{_attributes(name=key, **dict(zip('xyz', map(_number, _host(value)))))}/>"
        if kind is Type.Integer and self.defaults.get(_defaults.get(key)) == value:
            return f"<integer{_attributes(name=key, value='$' + _defaults[key])}/>"
        tag, text = {Type.Integer: ("integer", value), Type.Bool: ("boolean", "true" if value is True else "false"),
                     Type.Float: ("float", _number(value) if kind is Type.Float else ""),
                     Type.String: ("string", str(value).replace("$", "\\$")),
                     Type.Color: ("rgb", " ".join(map(_number, _host(value))) if kind is Type.Color else ""),
                     Type.Spectrum: ("spectrum", self.spectrum(value) if kind is Type.Spectrum else "")}.get(kind, (None, None))
        if tag is None:
            raise RuntimeError(f"write: the property \"{key}\" is {kind.name.lower()}, which XML has no place for")
        return f"<{tag}{_attributes(name=key, value=text)}/>"

    @staticmethod
    def spectrum(s):
        if s.is_uniform():
            return _number(s.values[0])
        return ", ".join(f"{_number(w)}:{_number(v)}" for w, v in zip(s.wavelengths, s.values))

    # ---- transforms: as steps that can be read, where there are few
    def transform(self, node, t, indent):
        import numpy as np
        m = t.numpy().reshape(4, 4)
        linear, move = m[:3, :3], m[:3, 3]
        if np.allclose(m, np.eye(4), atol=1e-9):
            return []
        steps = _steps_of(linear) if np.allclose(m[3], [0, 0, 0, 1]) else None
        if steps is None and node.type is ObjectType.Sensor and np.allclose(linear @ linear.T, np.eye(3), atol=1e-5):
            text = {n: " ".join(_number(e) for e in v) for n, v in (
                ("origin", move), ("target", move + linear[:, 2]), ("up", linear[:, 1]))}
            return [f"{indent}<lookat{_attributes(**text)}/>"]
        if steps is None:
            return [f"{indent}<matrix{_attributes(value=' '.join(map(_number, m.ravel())))}/>"]
        if np.abs(move).max() > 1e-12:
            steps.append("<translate" + _attributes(**{a: _number(e) for a, e in zip("xyz", move) if abs(e) > 1e-12}) + "/>")
        return [indent + s for s in steps]


def _steps_of(linear):
    """[<scale/>], [<rotate/>] or both about one axis, of a matrix; None where it is more than that."""
    import numpy as np
    if np.allclose(linear, np.diag(np.diag(linear)), atol=1e-9):
        d = np.diag(linear)
        if np.allclose(d, 1, atol=1e-9):
            return []
        if np.allclose(d, d[0]):
            return [f"<scale{_attributes(value=_number(d[0]))}/>"]
        return ["<scale" + _attributes(**dict(zip("xyz", map(_number, d)))) + "/>"]
    scale = np.cbrt(abs(np.linalg.det(linear)))
    if scale < 1e-12:
        return None
    r = linear / scale
    for axis in range(3):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        angle = math.atan2(r[k, j], r[j, j])
        turn = np.eye(3)
        turn[j, j] = turn[k, k] = math.cos(angle)
        turn[k, j], turn[j, k] = math.sin(angle), -math.sin(angle)
        if np.allclose(turn, r, atol=1e-6):
            size = [] if abs(scale - 1) < 1e-6 else [f"<scale{_attributes(value=_number(scale))}/>"]
            return size + ["<rotate" + _attributes(**{"xyz"[axis]: 1}, angle=_number(math.degrees(angle))) + "/>"]
    return None


def write(state, headers):
    return "\n".join(_Writer(state, headers).object(0, None, "")) + "\n"
