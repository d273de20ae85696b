# umbel/_params.py: the parameters of a scene: read, changed and differentiated by name.
import fnmatch
import re

from . import _core
from . import jit as dr
from ._integrators import live_parameters
from ._properties import MissingProperty
from ._state import state_of


class SceneParameters:
    """A dictionary of what can be changed in a scene; changes take effect with update().

        params = umbel.traverse(scene)
        params["red.reflectance.value"] = umbel.Color3f(.9, .1, .1)
        params.update()
    """

    _umbel_frozen_fields = ("root", "_values", "_keys")

    def __init__(self, root, keys=None, core=None):
        self.root = root
        self._core = core or _core._Parameters(root)
        self._keys = list(self._core.keys()) if keys is None else keys
        self._values = {}  # what the script has been given, or has set
        self._given = {}  # copies of the former, as they were then
        self._tables = {}  # by newer names: what it has been given, and what that and the buffer were then
        live_parameters.add(self)

    # ---- a dictionary
    def __contains__(self, key): return self._named(key) in self._keys or self._buffer_of(key) in self._keys
    def __len__(self): return len(self._keys)
    def __iter__(self): return iter(self.items())  # pairs, as in Mitsuba 3
    def keys(self): return list(self._keys)
    def values(self): return [self[k] for k in self._keys]
    def items(self): return [(k, self[k]) for k in self._keys]
    def _umbel_items(self): return [(k, self[k]) for k in self._keys if self.flags(k) == 0]

    def _named(self, key):
        """The key of a parameter, also where it is named by what objects are in each other, whatever their own names:
        `ball.emitter.radiance.value` is `lamp.radiance.value` if the emitter has the id `lamp`."""
        return self._found(key) or self._scale_of(key) or key

    def _found(self, key): return key if key in self._keys else self._core.by_path(key) or self._listed(key)

    def _scale_of(self, key):
        """The `scale` of a `d65` without a colour, which Mitsuba calls `value`."""
        owner, dot, name = key.rpartition(".")
        scale = self._found(f"{owner}{dot}scale") if name == "value" else None
        return scale if scale and self._core.describe(scale)[1] == "d65" else None

    def _listed(self, key):
        """The key of a parameter of one of several objects, by the name that this has in the dictionary, or by its id: in a
        group `g`, `g.ball.radius` is `g.shape_0.radius`, or `ball.radius` if the shape has this id."""
        for name, own in state_of(self.root).get("listed", {}).items():
            if key.startswith(name + "."):
                key = own + key[len(name):]
                return key if key in self._keys else self._core.by_path(key)
        rest = key.partition(".")[2]
        return rest if rest in self._keys else None

    def _buffer_of(self, key):
        """The flat buffer of a mesh that a newer name shows as a table: `mesh.positions` is `mesh.vertex_positions`."""
        owner, dot, name = key.rpartition(".")
        buffer = f"{owner}{dot}vertex_{name}"
        return buffer if name in _mesh_tables and key not in self._keys and buffer in self._keys else None

    def __getitem__(self, key):
        buffer = self._buffer_of(key)
        if buffer is not None:
            return self._table(key, buffer)
        key = self._named(key)
        if key not in self._values:
            if key not in self._keys:
                self._complain(key)
            self._values[key] = self._core.get(key)
            self._given[key] = _copy(self._values[key])
        return self._values[key]

    def _complain(self, key):
        try:
            self._core.describe(key)  # complains, with the nearest key
        except dr.UserError as e:
            raise MissingProperty(str(e)) from None
        raise KeyError(key)  # dropped by keep()

    def _table(self, key, buffer):
        """What is seen under that name, as long as the buffer is what it was made of."""
        flat = self[buffer]
        known = self._tables.get(key)
        if known is None or known[1] != _identity(flat):
            columns = _mesh_tables[key.rpartition(".")[2]]
            self._keep_table(key, flat, dr.tensor_t(type(flat))(flat, (len(flat) // columns, columns)))
        return self._tables[key][0]

    def _keep_table(self, key, flat, table): self._tables[key] = table, _identity(flat), _identity(table.array)

    def copy(self):
        """The same parameters; what is kept and dropped in one does not affect the other."""
        out = SceneParameters(self.root, list(self._keys), self._core)
        out._values, out._given = dict(self._values), dict(self._given)
        return out

    def _ipython_key_completions_(self): return self.keys()

    def get(self, key, default=None): return self[key] if key in self else default

    def __setitem__(self, key, value):
        buffer = self._buffer_of(key)
        if buffer is not None:
            table = _as_table(dr.tensor_t(type(self[buffer])), value)
            self[buffer] = dr.ravel(table)
            self._keep_table(key, self[buffer], table)
            return
        key = self._named(key)
        current = self[key]
        if isinstance(value, str) and not isinstance(current, str):
            raise dr.UserError(f"parameter \"{key}\" is of type {type(current).__name__}; the text \"{value}\" cannot take its "
                               "place: give numbers")
        if isinstance(current, dr.ArrayBase) and type(value) is not type(current):
            value = type(current)(value)
        self._values[key] = value
        self._given.pop(key, None)

    def __delitem__(self, key):
        key = self._named(key)
        self._keys.remove(key)
        self._values.pop(key, None)

    def flags(self, key):
        """ParamFlags of a parameter: 0 where it is differentiable."""
        return self._core.describe(self._buffer_of(key) or self._named(key))[0]

    def set_dirty(self, key):
        """update() will pass this parameter on, whether it has changed or not."""
        self[key]
        self._dirty = getattr(self, "_dirty", set()) | {self._buffer_of(key) or self._named(key)}

    def keep(self, keys):
        """Drops all parameters but these: a list of names, or a pattern such as "*.reflectance.value"."""
        if isinstance(keys, str):
            pattern = re.compile(fnmatch.translate(keys) if _is_glob(keys) else keys)
            self._keys = [k for k in self._keys if pattern.match(k)]
        else:
            keys = {self._named(k) for k in keys}
            for k in keys:
                self._core.describe(k)
            self._keys = [k for k in self._keys if k in keys]
        self._values = {k: v for k, v in list(self._values.items()) if k in self._keys}

    # ---- changes. Other threads may ask for further parameters meanwhile: what is walked through is a list.
    def _sync(self):
        for key, (table, _, before) in list(self._tables.items()):  # changed in place, as by enable_grad()
            if _identity(table.array) != before:
                self[key] = table
        changed = []
        for k, v in list(self._values.items()):
            try:
                if not self._is_as_given(k, v) and self._core.set(k, v):
                    changed.append(k)
            except Exception:  # what cannot be set is as it was, and the rest is for the next update()
                self._values.pop(k, None)
                self._dirty = getattr(self, "_dirty", set()).union(changed)
                raise
        for k, v in list(self._values.items()):
            dr._grad.unfollowed.discard(k)
            if self.flags(k) & 1 and dr.grad_enabled(v):
                dr._grad.unfollowed.add(k)
        for k in changed:
            if k in dr._grad.unfollowed:
                from . import Log, LogLevel
                Log(LogLevel.Warn, f"Parameter '{k}' is marked as non-differentiable but has gradients enabled, unexpected "
                                   "results may occur!")
        dirty = getattr(self, "_dirty", set())
        self._dirty = set()
        changed += [k for k in dirty if k not in changed]
        if changed:
            try:
                self._core.update(changed)
            except Exception:  # an object refuses what it has: all are told again when that is repaired
                self._dirty = set(changed)
                raise
            self._take_up(changed)
        return changed

    def _is_as_given(self, key, value):
        """Whether the script has left alone what it has been given: then it is no change, whatever the object has now."""
        return _is_same(value, self._given.get(key))

    def _take_up(self, changed):
        """What has followed from changes: a film's crop_size from its size, the normals of a mesh from its positions."""
        owners, values = {k.rpartition(".")[0] for k in changed}, {}
        for key, value in list(self._values.items()):
            if self._is_number(key, value):
                continue  # read anew when it is asked for
            if key.rpartition(".")[0] in owners and isinstance(value, dr.ArrayBase) and key not in changed:
                now = self._core.get(key)
                if type(now) is type(value) and not _is_same(value, now):
                    _core.assign(value, now)
            values[key] = value
        self._values = values
        self._given = {k: _copy(v) for k, v in values.items()}

    def _is_number(self, key, value):
        """Whether the object has it as numbers of the host, which the script has been given a copy of."""
        if not isinstance(value, dr.ArrayBase):
            return type(value) is float
        return not dr.is_tensor_v(value) and dr.depth_v(value) > 1 and self.flags(key) & 1 != 0

    def _pass_on(self, owner):
        """Changes of one object, which is asked for them before update(); that will tell of them all the same."""
        changed = [k for k, v in list(self._values.items())
                   if self._core.owner(k).ptr == owner.ptr and not self._is_as_given(k, v) and self._core.set(k, v)]
        if changed:
            self._core.update(changed)
            self._dirty = getattr(self, "_dirty", set()).union(changed)

    def update(self, values=None):
        """Passes changes on to the scene. Returns [(object, set of its parameters that changed)], the innermost first; what
        changed inside of an object counts as a change of it."""
        if values is not None:
            for k in values.keys():
                if k in self:
                    self[k] = values[k]
        found = {}  # by address: depth, object, names
        for key in self._sync():
            chain = self._core.chain(key)
            for i, (o, name) in enumerate(chain):
                found.setdefault(o.ptr, (len(chain) - i, o, set()))[2].add(name)
        return [(o, names) for _, o, names in sorted(found.values(), key=lambda entry: -entry[0])]

    def __repr__(self):
        rows = []
        for k in self._keys:
            flags = self.flags(k)
            shown = ", ".join(["∂"] * (not flags & 1) + ["D"] * bool(flags & 2) + ["R"] * bool(flags & 4))
            rows.append((k, shown, type(self[k]).__name__, self._core.owner(k).class_name()))
        widths = [max([len(r[i]) for r in rows] + [4]) + 2 for i in range(4)]
        line = lambda r: "  " + "".join(c.ljust(w) for c, w in zip(r, widths)).rstrip()
        head = line(("Name", "Flags", "Type", "Parent"))
        rule = "  " + "-" * (sum(widths))
        return "SceneParameters[\n" + "\n".join([rule, head, rule] + [line(r) for r in rows] + [rule]) + "\n]"


_mesh_tables = {"positions": 3, "normals": 3, "texcoords": 2}  # columns


def _identity(array): return array.index, array.index_ad


def _copy(value):
    """The same arrays, to compare with; None where that is not known."""
    if isinstance(value, dr.ArrayBase):
        return type(value)(value)
    return value if type(value) in (float, int, bool, str) else None


def _is_same(a, b):
    """Whether both are the same arrays, or equal numbers."""
    if type(a) is not type(b) or dr.is_host_v(a):
        return False
    if not isinstance(a, dr.ArrayBase):
        return type(a) in (float, int, bool, str) and a == b
    if dr.is_tensor_v(a):
        return a.shape == b.shape and _identity(a.array) == _identity(b.array)
    if dr.depth_v(a) > 1:
        return all(_is_same(x, y) for x, y in zip(_core.entries(a), _core.entries(b)))
    return _identity(a) == _identity(b)


def _as_table(cls, value):
    """Rows of a tensor, of a NumPy array, or of an array of points."""
    if isinstance(value, dr.ArrayBase) and not dr.is_tensor_v(value):
        return cls(dr.ravel(value), (dr.width(value), len(value)))
    return value if type(value) is cls else cls(value)


def _is_glob(text):
    """Whether a star stands for any text, as in file names; else the pattern is a regular expression."""
    return "*" in text and not re.search(r"[\\()\[\]|+^$]|\.\*", text)


def traverse(node):
    """The parameters of a scene, or of any object of one."""
    return SceneParameters(node)
