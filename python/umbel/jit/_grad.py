# jit/_grad.py: derivatives: following values, traversals, scopes, custom operations.
import builtins

from .. import _core
from ._enum import NamedFlags, NamedInt
from ._tree import children, leaves, map_leaves, rebuild, replace_leaves
from ._types import ArrayBase, Complex, Matrix, Quaternion, describe, is_float_v


class ADMode(NamedInt):
    """Direction of a traversal."""
    Primal, Forward, Backward = range(3)


class ADFlag(NamedFlags):
    """What a traversal clears behind itself."""
    ClearNone = 0
    ClearEdges = 1
    ClearInput = 2
    ClearInterior = 4
    ClearVertices = 6
    AllowNoGrad = 8
    Default = 7


def _floats(args):
    try:
        return [a for a in leaves(args) if is_float_v(a)]
    except RecursionError as e:
        raise RuntimeError("the structure contains itself") from e


_nothing = []  # arrays of size zero that were followed, if any: they have no node of the graph


def enable_grad(*args):
    """Follows the floats in the arguments from now on."""
    for a in leaves(args, None, "_umbel_no_leaf"):
        if is_float_v(a):
            _core.enable_grad(a)
            if not _nothing and _core.width(a) == 0:
                _nothing.append(True)


def of_nothing(a):
    """What was reduced from an array of size zero: followed, as it may have been."""
    if _nothing and is_float_v(a) and not _core.is_recording():
        _core.enable_grad(a)
    return a


def disable_grad(*args):
    """No longer follows the arguments."""
    for a in _floats(args):
        _core.disable_grad(a)


def set_grad_enabled(arg, value):
    """Turns derivatives by an array on or off."""
    enable_grad(arg) if value else disable_grad(arg)


def grad_enabled(*args):
    """Whether any of the arguments is followed."""
    return builtins.any(_core.grad_enabled(a) for a in _floats(args))


def grad(arg, preserve_type=True):
    """The gradient (or tangent) of a value or structure; zeros where none has arrived."""
    if isinstance(arg, ArrayBase):
        return _core.grad(arg)
    kids = children(arg)
    return 0.0 if kids is None else rebuild(arg, [grad(v) for _, v in kids])


def _spread(target, value, add):
    if isinstance(target, ArrayBase):
        if is_float_v(target) and _core.grad_enabled(target):
            if isinstance(value, ArrayBase) and not _core.valid(value):
                return None if add else _core.clear_grad(target)
            if isinstance(value, ArrayBase) and value.shape != () and _is_tensor(target) != _is_tensor(value):
                value = type(target)(value, target.shape) if _is_tensor(target) else value
            _core.set_grad(target, _core.detach(value) if isinstance(value, ArrayBase) else value, add)
        return
    kids = children(target)
    if kids is None:
        return
    other = children(value)
    for i, (_, v) in enumerate(kids):
        _spread(v, value if other is None else other[i][1], add)


def _is_tensor(a):
    return describe(type(a))[1] == 4


def set_grad(target, value):
    """Sets the gradient."""
    _spread(target, value, False)


def accum_grad(target, value):
    """Adds to the gradient."""
    _spread(target, value, True)


def clear_grad(*args):
    """Forgets the gradients."""
    for a in _floats(args):
        _core.clear_grad(a)


def detach(arg, preserve_type=True):
    """The value without its derivatives."""
    return map_leaves(lambda a: _core.detach(a) if is_float_v(a) else a, arg)


def replace_grad(arg0, arg1, /):
    """The value of one with the derivatives of the other, array by array."""
    from ._hooks import UserError

    def refuse(what, cause=None):
        raise UserError(f"replace_grad(): error encountered while processing arguments of type '{type(arg0).__name__}' and "
                        f"'{type(arg1).__name__}': {what}.") from cause
    if not isinstance(arg0, ArrayBase) and not isinstance(arg1, ArrayBase):
        x, y = children(arg0), children(arg1)
        if x is None:
            return arg0
        if type(arg0) is not type(arg1) or y is None:
            refuse("incompatible input types")
        if len(x) != len(y):
            refuse(f"incompatible input lengths ({len(x)} and {len(y)})")
        out = []
        for (_, v), (_, w) in zip(x, y):
            if isinstance(v, ArrayBase) and type(v) is type(w) and not is_float_v(v):
                out.append(v)  # numbers and masks of records have no derivatives
                continue
            try:
                out.append(replace_grad(v, w))
            except UserError as e:
                refuse("see above", e)
        return rebuild(arg0, out)
    from ._types import expr_t
    tp = expr_t(arg0, arg1)
    if not is_float_v(arg1) or not is_float_v(tp):
        refuse("incompatible input types")
    a, b = (x if type(x) is tp else tp(x) for x in (arg0, arg1))
    sizes = {n for n in (_core.width(a), _core.width(b)) if n != 1}
    if len(sizes) > 1:
        refuse(f"incompatible input sizes ({_core.width(a)} and {_core.width(b)})")
    return _core.replace_grad(a, b)


def relative_grad(x):
    """1, with the derivative of x / detach(x): gradients by the relative change of x. None where x is 0."""
    value = detach(x)
    safe = _core.select(value == 0, 1, value)
    return replace_grad(type(x)(1), x * _core.select(value == 0, 0, 1 / safe))


def enqueue(mode, *args):
    """Marks where the next traversal begins."""
    any_ = False
    for a in _floats(args):
        any_ |= _core.enqueue(mode == ADMode.Forward, a)
    return any_


def traverse(mode, flags=ADFlag.Default):
    """Propagates gradients from what was enqueued."""
    _core.traverse(mode == ADMode.Forward, int(flags) & 7)


unfollowed = set()  # names of scene parameters whose gradients are enabled, though images have no derivative by them


def _check(what, args, flags):
    if not isinstance(flags, (int, ADFlag)):
        raise TypeError(f"{what}(): flags must be of type ADFlag, not '{type(flags).__name__}'")
    if not grad_enabled(*args):
        floats = _floats(args)
        if flags & ADFlag.AllowNoGrad or floats and builtins.all(_core.width(a) == 0 for a in floats):
            return False  # arrays of size zero have derivatives of that size
        from ._hooks import UserError
        raise UserError(f"{what}(): the argument does not depend on the input variable(s) being differentiated; call "
                        "enable_grad() on an input before it is used, or add ADFlag.AllowNoGrad to the flags if that is "
                        "intended" + ("; images have no derivative by " + ", ".join(sorted(unfollowed)) if unfollowed else ""))
    return True


def _split_flags(args, flags):
    """Flags may be the last argument."""
    if args and isinstance(args[-1], ADFlag):
        return args[:-1], args[-1]
    return args, flags


def _ones(arg, unless_set=False):
    """Sets gradients to 1, in every entry of matrices and complex numbers; if asked, only those that are not set, or 0."""
    for a in _floats((arg,)):
        if _core.grad_enabled(a) and not (unless_set and _is_set(a)):
            special = describe(type(a))[1] in (Matrix, Complex, Quaternion)
            _core.set_grad(a, _core.from_entries(type(a), [type(e)(1) for e in _core.entries(a)]) if special else 1, False)


def _is_set(a):
    gradient = _core.grad(a)
    entries = [_core.tensor_array(gradient)] if _is_tensor(gradient) else _core.entries(gradient)
    return builtins.any(_core.state(e) != 1 or _core.element(e, 0, 0) != 0 for e in entries if len(e))  # 1: a literal


def forward_from(arg, flags=ADFlag.Default):
    """Propagates the tangent of `arg`, 1 where none is set, to all that depends on it."""
    if _check("forward_from", (arg,), flags):
        _ones(arg, unless_set=True)
        enqueue(ADMode.Forward, arg)
        traverse(ADMode.Forward, flags)


def forward_to(*args, flags=ADFlag.Default):
    """Propagates tangents that were set on inputs to the arguments; returns theirs."""
    args, flags = _split_flags(args, flags)
    if _check("forward_to", args, flags):
        enqueue(ADMode.Backward, args)
        traverse(ADMode.Forward, flags)
    return grad(args[0] if len(args) == 1 else args)


def forward(arg, flags=ADFlag.Default):
    """Sets the tangent of `arg` to 1 and propagates it to all that depends on it."""
    if _check("forward", (arg,), flags):
        _ones(arg)
        forward_from(arg, flags)


def backward_from(arg, flags=ADFlag.Default):
    """Propagates the gradient of `arg`, 1 where none is set, to all that it depends on."""
    if _check("backward_from", (arg,), flags):
        _ones(arg, unless_set=True)
        enqueue(ADMode.Backward, arg)
        traverse(ADMode.Backward, flags)


def backward_to(*args, flags=ADFlag.Default):
    """Propagates gradients that were set on results to the arguments; returns theirs."""
    args, flags = _split_flags(args, flags)
    if _check("backward_to", args, flags):
        enqueue(ADMode.Forward, args)
        traverse(ADMode.Backward, flags)
    return grad(args[0] if len(args) == 1 else args)


def backward(arg, flags=ADFlag.Default):
    """Sets the gradient of `arg` to 1 and propagates it to all that it depends on."""
    if _check("backward", (arg,), flags):
        _ones(arg)
        backward_from(arg, flags)


# ---- gradients with derivatives of their own

def _derivatives(name, forward, of, by, weights):
    if weights is None:
        given = []
    else:
        given = _floats((weights,)) if isinstance(of, (tuple, list)) else [weights]
        if len(given) != len(_floats((of,))):
            from ._hooks import UserError
            raise UserError(f"{name}(): {len(given)} arrays are given for {len(_floats((of,)))}")
    found = iter(_core.derivatives(forward, _floats((of,)), _floats((by,)), given))
    return map_leaves(lambda v: next(found) if is_float_v(v) else v, by)


def gradient(y, x, weights=None):
    """Gradients by `x`, an array or a structure of arrays, of the sum of all of `y`, or of it with weights. They are
    followed: of `f + squared_norm(gradient(f, x))` both terms have derivatives."""
    return _derivatives("gradient", False, y, x, weights)


def tangent(x, y, directions=None):
    """Tangents of `y` for those of `x`, 1 where none are given; they are followed, too."""
    return _derivatives("tangent", True, x, y, directions)


def hvp(f, x, v):
    """The product of the matrix of second derivatives of `f` (of the sum of all that it returns) at the array `x` with
    `v`: forward through the gradient, at the cost of a few evaluations of `f`."""
    at = _core.detach(x)
    enable_grad(at)
    return _core.detach(tangent(at, gradient(f(at), at), v))


# ---- scopes

class _Scope:
    def __init__(self, kind, args, when=True):
        self._args, self._kind, self._when = args, kind, when

    def __enter__(self):
        self._scope = None
        if self._when:
            arrays = leaves(self._args)
            if self._args and not arrays:
                return None
            self._scope = _core.GradScope(self._kind, arrays)
            self._scope.enter()

    def __exit__(self, error, *rest):
        if self._scope is not None:
            self._scope.exit(error is not None)


def suspend_grad(*args, when=True):
    """with suspend_grad(): nothing is followed; with arguments, all but these are."""
    return _Scope("suspend", args, when)


def resume_grad(*args, when=True):
    """with resume_grad(): everything is followed again; with arguments, these as well."""
    return _Scope("resume", args, when)


def isolate_grad(when=True):
    """with isolate_grad(): traversals go one step beyond what was made inside; the rest follows at the end."""
    return _Scope("isolate", (), when)


# ---- custom operations

class CustomOp:
    """A differentiable operation with derivatives of its own: define eval, forward and backward, then
    custom(YourOp, ...). Results of eval() have no derivatives besides these."""

    def eval(self, *args, **kwargs):
        """Computes the result from arguments without derivatives."""
        raise RuntimeError(f"{self.name()}.eval(): not implemented!")

    def forward(self):
        """Reads grad_in() and calls set_grad_out()."""
        raise RuntimeError(f"{self.name()}.forward(): not implemented!")

    def backward(self):
        """Reads grad_out() and calls set_grad_in()."""
        raise RuntimeError(f"{self.name()}.backward(): not implemented!")

    def name(self):
        """How listings call it."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    # Between lists of arrays and the structures that eval() knows
    def _eval(self, arrays):
        values = replace_leaves(list(self._bound.arguments.values()), iter(arrays))
        for name, v in zip(self._bound.arguments, values):
            self._bound.arguments[name] = v
        self.inputs = dict(self._bound.arguments)
        try:
            self.outputs = self.eval(*self._bound.args, **self._bound.kwargs)
        except Exception as e:
            raise RuntimeError(f"custom(<{self.name()}>): {type(e).__name__} in eval(): {e}") from e
        self._out_places = leaves(self.outputs)
        return list(self._out_places)

    def _again(self):
        """The same operation, to be applied once more: see custom()."""
        import inspect
        op = type(self)()
        op._extra_in, op._extra_out, op._handle = [], [], None
        op._bound = inspect.BoundArguments(self._bound.signature, dict(self._bound.arguments))
        return op

    def _implicit_inputs(self): return [a for a in leaves(self._extra_in) if is_float_v(a)]
    def _implicit_outputs(self): return [a for a in leaves(self._extra_out) if is_float_v(a)]

    def _run(self, handle, f):
        self._handle = handle
        try:
            f()
        finally:
            self._handle = None

    def _forward(self, handle): self._run(handle, self.forward)
    def _backward(self, handle): self._run(handle, self.backward)

    def _place(self, what, name):
        """An input and the numbers of its arrays."""
        if isinstance(name, int) and name < len(self.inputs):
            name = list(self.inputs)[name]
        n = 0
        for key, value in self.inputs.items():
            k = len(leaves(value))
            if key == name:
                return value, range(n, n + k)
            n += k
        raise RuntimeError(f"CustomOp.{what}(): could not find an input argument named \"{name}\"; there are "
                           f"{', '.join(self.inputs)}")

    def grad_in(self, name):
        """Tangent of an argument of eval(); 0 for what is no array."""
        tree, places = self._place("grad_in", name)
        return _with_gradients(tree, iter([self._handle.get(True, i) for i in places]))

    def set_grad_in(self, name, value):
        """Adds to the gradient of an argument of eval()."""
        tree, places = self._place("set_grad_in", name)
        for i, v in zip(places, _matching(tree, value)):
            if v is not None:
                self._handle.set(True, i, _core.detach(v) if isinstance(v, ArrayBase) else v)

    def grad_out(self):
        """Gradient of the result, a structure like it."""
        return _with_gradients(self.outputs, iter([self._handle.get(False, i) for i in range(len(self._out_places))]))

    def set_grad_out(self, value):
        """Sets the tangent of the result."""
        for i, v in enumerate(_matching(self.outputs, value)):
            if v is not None:
                self._handle.set(False, i, _core.detach(v) if isinstance(v, ArrayBase) else v)

    def add_input(self, value):
        """Registers what eval() reads besides its arguments. The derivatives find its gradient by grad(), and leave
        theirs by accum_grad()."""
        self._extra_in.append(value)

    def add_output(self, value):
        """Registers a followed array that eval() writes to besides its result."""
        self._extra_out.append(value)


def _with_gradients(tree, arrays):
    if isinstance(tree, ArrayBase):
        return next(arrays)
    kids = children(tree)
    return 0.0 if kids is None else rebuild(tree, [_with_gradients(v, arrays) for _, v in kids])


def _matching(tree, value):
    """The leaves of `value` where `tree` has arrays; numbers count, too."""
    if isinstance(tree, ArrayBase):
        return [value]
    kids, other = children(tree), children(value)
    if kids is None:
        return []
    out = []
    for i, (_, v) in enumerate(kids):
        out += _matching(v, value if other is None else other[i][1])
    return out


def custom(cls, /, *args, **kwargs):
    """Applies a custom operation; the result depends on the arguments through it. A recorded loop, branch or call runs
    its body again for derivatives, with new objects of the class: __init__ takes no arguments."""
    import inspect
    if not (isinstance(cls, type) and issubclass(cls, CustomOp)):
        raise TypeError(f"custom(): the first argument must be a subclass of CustomOp, not {cls!r}")
    op = cls()
    op._extra_in, op._extra_out, op._handle = [], [], None
    try:
        op._bound = inspect.signature(op.eval).bind(*args, **kwargs)
    except TypeError as e:
        raise RuntimeError(f"custom(<{op.name()}>): {e}") from e
    out = _core.custom(op, leaves(list(op._bound.arguments.values())))
    return replace_leaves(op.outputs, iter(out))


def wrap_ad(source, target):
    """See wrap()."""
    from .interop import wrap
    return wrap(source, target)


def graphviz_ad(as_string=False):
    """The graph of derivatives as a drawing of Graphviz's, an object of the package `graphviz` or its text."""
    text = _core.ad_dot()
    if as_string:
        return text
    try:
        import graphviz
    except ImportError:
        raise RuntimeError("graphviz_ad(): the Python package 'graphviz' is missing; install it, or pass as_string=True"
                           ) from None
    return graphviz.Source(text)


def whos_ad(as_string=False):
    """Lists what is on the graph of derivatives."""
    text = _core.ad_listing()
    return text if as_string else print(text)


# ---- names of arrays

# (sequence number of the node, the name): by the place of the array, as equal constants are one node, and by node, for copies
# of the array. Places and numbers of nodes are used again.
_labels, _labels_of_copies = {}, {}


def label(arg):
    """The name that set_label() gave to an array, or None."""
    if not _core.count(arg) or not _core.valid(arg):
        return None
    for entry in (_labels.get(_core.place(arg)), _labels_of_copies.get(_core.index(arg))):
        if entry is not None and entry[0] == _core.node_sequence(arg):
            return entry[1]
    return None


def _set_label(arg, name):
    if isinstance(arg, ArrayBase):
        if describe(type(arg))[3] and not _is_tensor(arg):
            for i in range(len(arg)):
                _set_label(arg[i], f"{name}_{i}")
        elif _core.valid(arg):
            entry = _core.node_sequence(arg), name
            _labels[_core.place(arg)] = entry
            if _core.state(arg) != 1:  # no constant
                _labels_of_copies[_core.index(arg)] = entry
            _core.set_ad_label(arg, name)
        return
    for k, v in children(arg) or ():
        _set_label(v, f"{name}_{k}")


def set_label(*args, **kwargs):
    """set_label(x, "x") or set_label(x=x, y=y): names arrays; those in structures get names like x_0 and x_field."""
    if len(args) == 2 and not kwargs and isinstance(args[1], str):
        _set_label(*args)
    elif not args and kwargs:
        for name, value in kwargs.items():
            _set_label(value, name)
    else:
        raise TypeError("set_label(): incompatible function arguments; either set_label(x, \"name\"), or set_label(name=x)")


def ad_live():
    """Number of nodes of the graph of derivatives."""
    return _core.ad_live()
