"""Scenes before they are loaded: a list of nodes with their properties, from XML or dictionaries, to be changed and
written.

    config = ParserConfig(umbel.variant())
    state = parse_file(config, "scene.xml")
    transform_all(config, state)
    scene = instantiate(config, state)
"""
import os
import shutil

from . import _core
from . import jit as dr
from ._logging import LogLevel, file_resolver, set_file_resolver, FileResolver
from ._properties import ObjectType, PluginManager, Properties, Spectrum, Type, _colour, _host
from ._system import Version
from ._transform import Transform4f

Reference, ResolvedReference = Properties.Reference, Properties.ResolvedReference


class ParserConfig:
    """How scenes are read and loaded."""

    def __init__(self, variant):
        self.variant = variant
        self.unused_parameters = self.unused_properties = LogLevel.Error
        self.max_include_depth, self.parallel, self.merge_equivalent, self.merge_meshes = 15, True, True, True


class SceneNode:
    """An object of the scene: its kind, its properties, and where it stood."""

    def __init__(self, other=None):
        self.type, self.file_index, self.offset, self.props = ObjectType.Unknown, 0, 0, Properties()
        if other is not None:
            self.type, self.file_index, self.offset, self.props = (
                other.type, other.file_index, other.offset, Properties(other.props))

    # Names are no part of what an object is
    def _key(self):
        props = Properties(self.props)
        props.set_id("")
        return self.type, props

    def __eq__(self, other): return isinstance(other, SceneNode) and self._key() == other._key()
    __hash__ = None


class SceneNodeList(list):
    """All nodes, the root first."""


class ParserState:
    """What was read."""

    def __init__(self, other=None):
        self._nodes, self.node_paths, self.files, self.id_to_index, self.versions = SceneNodeList(), [], [], {}, []
        self.resources = []  # folders in which the scene's files are
        if other is not None:
            self._nodes = SceneNodeList(SceneNode(n) for n in other._nodes)
            self.node_paths, self.files, self.versions = list(other.node_paths), list(other.files), list(other.versions)
            self.id_to_index, self.resources = dict(other.id_to_index), list(other.resources)

    @property
    def nodes(self):
        """All nodes."""
        return self._nodes

    @nodes.setter
    def nodes(self, nodes): self._nodes = SceneNodeList(nodes)

    @property
    def root(self):
        """The first node."""
        return self._nodes[0]

    def __eq__(self, other): return isinstance(other, ParserState) and list(self._nodes) == list(other._nodes)
    __hash__ = None

    def _children(self, node): return [(k, v.index()) for k, v in node.props.items() if isinstance(v, ResolvedReference)]


def file_location(state, node):
    """Where a node stands, for people to read."""
    if not state.files and state.node_paths:
        index = next((i for i, n in enumerate(state.nodes) if n is node), None)
        return f'dictionary node "{state.node_paths[index]}"' if index is not None else f'node "{node.props.id()}"'
    if node.file_index >= len(state.files):
        return f'node "{node.props.id()}"'
    from ._parser_xml import location
    return location(state, node.file_index, node.offset)


def _fail(state, node, message): raise RuntimeError(f"Error while loading {file_location(state, node)}: {message}")


# ---- reading

def parse_file(config, filename, **kwargs):
    """Reads a scene file; keyword arguments replace `$name` in it."""
    from ._parser_xml import read_file
    return read_file(config, filename, kwargs)


def parse_string(config, string, **kwargs):
    """The same of a text."""
    from ._parser_xml import read_string
    return read_string(config, string, kwargs)


def parse_dict(config, dict):
    """The same of a dictionary."""
    state = ParserState()
    _read_dict(state, dict, "", "")
    return state


def _read_dict(state, d, path, key):
    """Appends an object and all that is in it; its index."""
    where = f"[{path}] " if path else ""
    if "type" not in d:
        raise RuntimeError(f"{where}missing 'type' attribute")
    node, index = SceneNode(), len(state.nodes)
    node.props.set_plugin_name(d["type"])
    node.props.set_id(d.get("id", key))
    node.type = PluginManager.instance().plugin_type(d["type"])
    state.nodes.append(node)
    state.node_paths.append(path or "root")
    for name in {d.get("id"), path} - {None, ""}:
        if name in state.id_to_index:
            raise RuntimeError(f'{where}node has duplicate ID "{name}"')
        state.id_to_index[name] = index
    for name, value in d.items():
        if name in ("type", "id"):
            continue
        if "." in name:
            raise RuntimeError(f"{where}The object key '{name}' contains a '.' character, which is reserved as a delimiter in "
                               "object paths. Please use '_' instead.")
        inner = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value.get("type") == "resources":
            _add_resources(state, value, path)
            continue
        try:
            node.props[name] = _value(state, value, inner, name)
        except RuntimeError as e:
            text = str(e).removeprefix("Properties.__setitem__(): ")
            raise RuntimeError(text if text.startswith("[") else f"[{inner}] {text}") from None
    return index


def _add_resources(state, d, path):
    if path:
        raise RuntimeError("Declarations of resource folders must be done at the root")
    if "path" not in d:
        raise RuntimeError("missing 'path' attribute")
    if not os.path.isdir(file_resolver().resolve(d["path"])):
        raise RuntimeError(f"Folder \"{d['path']}\" not found")
    state.resources.insert(0, str(file_resolver().resolve(d["path"])))


def _value(state, value, path, name):
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if isinstance(value, dr.ArrayBase) and type(value).__name__.startswith("Color") or not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "ref":
        return Reference(value["id"])
    if kind == "rgb":
        v = value["value"]
        return _colour(*[[v] * 3 if isinstance(v, (int, float)) else [float(e) for e in _numbers(v)]])
    if kind == "spectrum" and "filename" in value:
        from ._colour import spectrum_from_file
        wavelengths, values = spectrum_from_file(value["filename"])
        return Spectrum(values, wavelengths)
    if kind == "spectrum" and "value" in value:
        v = value["value"]
        return Spectrum([v]) if isinstance(v, (int, float)) else Spectrum([p[1] for p in v], [p[0] for p in v])
    return ResolvedReference(_read_dict(state, value, path, name))


def _numbers(v): return _host(v) if isinstance(v, dr.ArrayBase) else v


# ---- changes

def transform_upgrade(config, state):
    """Gives properties of older scenes their names of today."""
    for node in state.nodes:
        version = state.versions[node.file_index] if node.file_index < len(state.versions) else Version(3, 0, 0)
        if version >= Version(2, 0, 0):
            continue
        renamed = Properties(node.props.plugin_name())
        renamed.set_id(node.props.id())
        for key in node.props.keys():
            new = key if key.startswith("_arg_") else _snake_case(key)
            if (node.props.plugin_name(), new) == ("diffuse", "diffuse_reflectance"):
                new = "reflectance"
            renamed[new] = node.props._entry(key)[1]
        _upgrade_uv(renamed)
        node.props = renamed


def _snake_case(name):
    out = ""
    for i, c in enumerate(name):
        if c.isupper() and i and not name[i - 1].isupper():
            out += "_"
        out += c.lower()
    return out


def _upgrade_uv(props):
    names = ("uscale", "vscale", "uoffset", "voffset")
    if not any(n in props for n in names):
        return
    su, sv, u, v = (props.get(n, 1.0 if "scale" in n else 0.0) for n in names)
    for n in names:
        del props[n]
    props["to_uv"] = Transform4f().scale([su, sv, 1.0]) @ Transform4f().translate([u, v, 0.0])


def transform_resolve(config, state):
    """Replaces names of other objects by their places in the list."""
    for node in state.nodes:
        for key, name in node.props.references():
            if name not in state.id_to_index:
                _fail(state, node, f'unresolved reference to "{name}" in property "{key}". Make sure the object with id="{name}" '
                                   "exists.")
            node.props[key] = ResolvedReference(state.id_to_index[name])
    _check_cycles(state)


transform_resolve_references = transform_resolve


def _check_cycles(state):
    done, path = set(), []

    def visit(i):
        if i in path:
            names = [state.nodes[j].props.id() or str(j) for j in path[path.index(i):] + [i]]
            _fail(state, state.nodes[i], "circular reference detected: " + " -> ".join(names))
        if i in done:
            return
        path.append(i)
        for _, j in state._children(state.nodes[i]):
            visit(j)
        done.add(path.pop())
    for i in range(len(state.nodes)):
        visit(i)


_mergeable = (ObjectType.BSDF, ObjectType.Texture, ObjectType.Volume, ObjectType.Medium, ObjectType.PhaseFunction,
              ObjectType.ReconstructionFilter)


def transform_merge_equivalent(config, state):
    """Lets references to equal materials and textures share one of them."""
    first, place = [], {}
    for i in reversed(range(len(state.nodes))):  # what is inside comes after what it is inside of
        node = state.nodes[i]
        for key, j in state._children(node):
            node.props[key] = ResolvedReference(place.get(j, j))
        kind = PluginManager.instance().plugin_type(node.props.plugin_name()) if node.type is ObjectType.Unknown else node.type
        if kind not in _mergeable and not _is_material(state, node):
            continue
        same = next((j for j, other in first if other == node), None)
        if same is None:
            first.append((i, node))
        else:
            place[i] = same
    for node in state.nodes:
        for key, j in state._children(node):
            node.props[key] = ResolvedReference(place.get(j, j))


def _is_material(state, node): return node.type is ObjectType.Unknown and bool(state._children(node))


def transform_merge_meshes(config, state):
    """Puts all shapes of the scene into one node "merge". Umbel takes them out again: it never merges meshes."""
    root, merge = state.root, SceneNode()
    merge.type = ObjectType.Shape
    merge.props.set_plugin_name("merge")
    for key, i in state._children(root):
        if state.nodes[i].type is ObjectType.Shape:
            merge.props[key] = ResolvedReference(i)
            del root.props[key]
    if merge.props.keys():
        root.props[next(f"_arg_{k}" for k in range(len(state.nodes) + 1) if f"_arg_{k}" not in root.props)] = ResolvedReference(
            len(state.nodes))
        state.nodes.append(merge)
        if state.node_paths:
            state.node_paths.append("merge")


_order = [ObjectType.Integrator, ObjectType.Sensor, ObjectType.Texture, ObjectType.BSDF, ObjectType.Emitter, ObjectType.Shape,
          ObjectType.Volume, ObjectType.Medium]


def transform_reorder(config, state):
    """Sorts what is in the scene: integrators, sensors, textures, materials, lights, shapes, the rest."""
    def rank(key):
        value = state.root.props._entry(key)[1]
        if not isinstance(value, ResolvedReference):
            return -1
        node = state.nodes[value.index()]
        kind = node.type
        if kind is ObjectType.Shape and any(state.nodes[j].type is ObjectType.Emitter for _, j in state._children(node)):
            kind = ObjectType.Emitter
        return _order.index(kind) if kind in _order else len(_order)
    props = Properties(state.root.props.plugin_name())
    props.set_id(state.root.props.id())
    for key in sorted(state.root.props.keys(), key=rank):
        props[key] = state.root.props._entry(key)[1]
    state.root.props = props


_folders = {ObjectType.Texture: "textures", ObjectType.Emitter: "textures", ObjectType.Shape: "meshes",
            ObjectType.Volume: "volumes", ObjectType.BSDF: "materials"}


def transform_relocate(config, state, output_directory):
    """Copies the scene's files into folders of that directory, and refers to them there."""
    moved = {}
    for node in state.nodes:
        for key in node.props.keys():
            kind, value = node.props._entry(key)
            source = str(file_resolver().resolve(value)) if kind is Type.String else ""
            if not os.path.isfile(source):
                continue
            source = os.path.realpath(source)
            if source not in moved:
                folder = _folders.get(node.type, "files")
                os.makedirs(os.path.join(str(output_directory), folder), exist_ok=True)
                stem, extension = os.path.splitext(os.path.basename(source))
                taken, n, name = set(moved.values()), 0, f"{folder}/{stem}{extension}"
                while name in taken:
                    n += 1
                    name = f"{folder}/{stem} ({n}){extension}"
                moved[source] = name
                shutil.copyfile(source, os.path.join(str(output_directory), name))
            node.props[key] = moved[source]


def transform_all(config, state):
    """All of them that loading needs, in order."""
    transform_upgrade(config, state)
    transform_resolve(config, state)
    if config.merge_equivalent:
        transform_merge_equivalent(config, state)
    if config.merge_meshes:
        transform_merge_meshes(config, state)


# ---- loading and writing

def instantiate(config, state):
    """The objects that the nodes stand for; the root's is returned."""
    from ._variants import set_variant
    made, before = {}, file_resolver()
    if any(node.props.references() for node in state.nodes):
        transform_resolve(config, state)
    resolver = FileResolver(before)
    for folder in reversed(state.resources):
        resolver.prepend(folder)
    set_file_resolver(resolver)
    try:
        with set_variant(config.variant):
            return _make(state, 0, made)
    finally:
        set_file_resolver(before)


def _make(state, index, made):
    from ._properties import to_dict
    from ._scene import load_dict
    if index in made:
        return made[index]
    node, values = state.nodes[index], {}
    for key in node.props.keys():
        value = node.props._entry(key)[1]
        if not isinstance(value, ResolvedReference):
            continue
        child = state.nodes[value.index()]
        if child.props.plugin_name() == "merge":
            values.update({k: _make(state, j, made) for k, j in state._children(child)})
        else:
            values[key] = _make(state, value.index(), made)
    d = to_dict(node.props)
    for key in [k for k, v in d.items() if isinstance(v, ResolvedReference)]:
        del d[key]
    kind = node.type.name.lower()
    try:
        made[index] = load_dict({**d, **values})
    except RuntimeError as e:
        raise RuntimeError(f"At {file_location(state, node)}: failed to instantiate {kind} plugin of type "
                           f"\"{node.props.plugin_name()}\": {e}") from None
    return made[index]


def write_string(state, add_section_headers=False):
    """The scene as XML."""
    from ._parser_write import write
    return write(state, add_section_headers)


def write_file(state, filename, add_section_headers=False):
    """Writes the scene's XML to a file."""
    with open(os.fspath(filename), "w", encoding="utf-8") as f:
        f.write(write_string(state, add_section_headers))
