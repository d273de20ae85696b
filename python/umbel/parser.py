"""Scenes before they are loaded: a list of nodes with their properties, from XML or dictionaries, to be changed and
written.

    config = ParserConfig(umbel.variant())
    state = parse_file(config, "scene.xml")
    transform_all(config, state)
    scene = instantiate(config, state)

Files are read and written by the same code as everywhere else (core/scene_file.h).
"""
import os
import shutil

from . import _core
from . import jit as dr
from ._logging import Log, LogLevel, file_resolver
from ._properties import ObjectType, Properties, Type, _kinds, to_dict
from ._scene import looking_in, split_resources
from ._system import Version

Reference, ResolvedReference = Properties.Reference, Properties.ResolvedReference
_names = {v: k for k, v in reversed(_kinds.items())}
_types = {**_kinds, "spectrum": ObjectType.Texture}


class ParserConfig:
    """How scenes are read and loaded: what happens to definitions that a file does not use, how deep files may be included,
    and whether equal materials become one. Parameters that a plugin does not know are always errors; files are read in several
    threads, and meshes are not merged (see the plugin `merge`): all triangles of a scene lie in one place anyway."""
    __slots__ = ("variant", "unused_parameters", "max_include_depth", "merge_equivalent")

    def __init__(self, variant):
        self.variant, self.unused_parameters = variant, LogLevel.Error
        self.max_include_depth, self.merge_equivalent = 15, True


class SceneNode:
    """An object of the scene: its kind, its properties, and where it stood: a file's number, and a line."""

    def __init__(self, other=None):
        self.type, self.file_index, self.line, self.props = ObjectType.Unknown, 0, 0, Properties()
        if other is not None:
            self.type, self.file_index, self.line, self.props = (
                other.type, other.file_index, other.line, Properties(other.props))

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
    known = node.file_index < len(state.files) and node.line
    return f"{state.files[node.file_index]}:{node.line}" if known else f'node "{node.props.id()}"'


# ---- nodes as the core has them: see src/python/render_nodes.cpp

def _properties(kind, id, values):
    props, count = Properties(kind), 0
    props.set_id(id)
    for name, value in values:
        if not name:
            name, count = f"_arg_{count}", count + 1
        props[name] = value
    return props


def _state(nodes, files=(), versions=(), aliases=(), folders=(), is_dict=False):
    state = ParserState()
    state.files, state.versions, state.resources = list(files), [Version(v) for v in versions], list(folders)
    for i, (kind, plugin, id, file, line, path, values) in enumerate(nodes):
        node = SceneNode()
        node.type, node.line, node.props = _types.get(kind, ObjectType.Unknown), line, _properties(plugin, id, values)
        node.file_index = files.index(file) if file else 0
        state.nodes.append(node)
        if is_dict:
            state.node_paths.append(path)
        for name in {id, path if is_dict and i else ""} - {""}:
            if name in state.id_to_index:
                raise dr.UserError(f'{file_location(state, node)}: the id "{name}" is already taken, at '
                                   f'{file_location(state, state.nodes[state.id_to_index[name]])}; choose another')
            state.id_to_index[name] = i
    for name, alias in aliases:
        if name not in state.id_to_index or alias in state.id_to_index:
            raise dr.UserError(f'alias: there is no object with the id "{name}", or one with the id "{alias}" already')
        state.id_to_index[alias] = state.id_to_index[name]
    return state


def _nodes(state):
    def entry(node):
        d = to_dict(node.props)
        file = str(state.files[node.file_index]) if node.file_index < len(state.files) else ""
        return (_names.get(node.type, ""), node.props.plugin_name(), node.props.id(), file, node.line if file else 0, "",
                [("" if k.startswith("_arg_") else k, d[k]) for k in node.props.keys()])
    return [entry(node) for node in state.nodes]


# ---- reading

def _parse(config, is_file, text, definitions):
    found = _core.parse_scene(is_file, text, definitions, config.max_include_depth)
    warnings = found.pop("warnings")
    if warnings and config.unused_parameters >= LogLevel.Error:
        raise dr.UserError("\n".join(warnings))
    for text in warnings:
        Log(config.unused_parameters, text)
    return _state(**found)


def parse_file(config, filename, **kwargs):
    """Reads a scene file; keyword arguments replace `$name` in it."""
    return _parse(config, True, str(file_resolver().resolve(str(filename))), kwargs)


def parse_string(config, string, **kwargs):
    """The same of a text."""
    return _parse(config, False, string, kwargs)


def parse_dict(config, dict):
    """The same of a dictionary."""
    dict, folders = split_resources(dict)
    with looking_in(folders):
        return _state(_core.dict_to_nodes(dict), folders=folders, is_dict=True)


# ---- changes

def transform_upgrade(config, state):
    """Gives properties of older scenes their names of today."""
    if all(v >= Version(3, 0, 0) for v in state.versions):
        return
    versions = [str(state.versions[n.file_index]) for n in state.nodes]
    for node, (_, plugin, id, *_, values) in zip(state.nodes, _core.upgrade_nodes(_nodes(state), versions)):
        node.props = _properties(plugin, id, values)
    state.versions = [Version(3, 0, 0)] * len(state.versions)


def transform_resolve(config, state):
    """Replaces names of other objects by their places in the list."""
    for node in state.nodes:
        for key, name in node.props.references():
            if name not in state.id_to_index:
                raise dr.UserError(f'{file_location(state, node)}: parameter "{key}": there is no object with the id "{name}"')
            node.props[key] = ResolvedReference(state.id_to_index[name])
    _core.check_nodes(_nodes(state))


transform_resolve_references = transform_resolve


_mergeable = (ObjectType.BSDF, ObjectType.Texture, ObjectType.Volume, ObjectType.Medium, ObjectType.PhaseFunction,
              ObjectType.ReconstructionFilter)


def transform_merge_equivalent(config, state):
    """Lets references to equal materials and textures share one of them."""
    first, place = [], {}
    for i in reversed(range(len(state.nodes))):  # what is inside comes after what it is inside of
        node = state.nodes[i]
        for key, j in state._children(node):
            node.props[key] = ResolvedReference(place.get(j, j))
        if node.type not in _mergeable:
            continue
        same = next((j for j, other in first if other == node), None)
        if same is None:
            first.append((i, node))
        else:
            place[i] = same
    for node in state.nodes:
        for key, j in state._children(node):
            node.props[key] = ResolvedReference(place.get(j, j))


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
            places = [*(os.path.join(f, value) for f in state.resources), file_resolver().resolve(value)] \
                if kind is Type.String else []
            source = next((str(f) for f in places if os.path.isfile(f)), None)
            if source is None:
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


# ---- loading and writing

def instantiate(config, state):
    """The objects that the nodes stand for; the root's is returned."""
    from ._variants import set_variant
    with set_variant(config.variant), looking_in(state.resources):
        return _core.load_nodes(_nodes(state))


def write_string(state, add_section_headers=False):
    """The scene as XML."""
    return _core.nodes_to_xml(_nodes(state), add_section_headers)


def write_file(state, filename, add_section_headers=False):
    """Writes the scene's XML to a file."""
    with open(os.fspath(filename), "w", encoding="utf-8") as f:
        f.write(write_string(state, add_section_headers))
