# jit/_grad.py: derivatives: following values, traversals, scopes, custom operations.
import builtins
import enum

from .. import _core
from ._tree import children, leaves, map_leaves, rebuild, replace_leaves
from ._types import ArrayBase, describe, is_float_v


class ADMode(enum.IntEnum):
    """Direction of a traversal."""
    Primal, Forward, Backward = range(3)


class ADFlag(enum.IntFlag):
    """What a traversal clears behind itself."""
    ClearNone = 0
    ClearEdges = 1
    ClearInput = 2
    ClearInterior = 4
    ClearVertices = 6
    AllowNoGrad = 8
    Default = 7


def _floats(args):
    return [a for a in leaves(args) if is_float_v(a)]


def enable_grad(*args):
    """Follows the floats in the arguments from now on."""
    for a in leaves(args, None, "_umbel_no_leaf"):
        if is_float_v(a):
            _core.enable_grad(a)


def disable_grad(*args):
    """No longer follows the arguments."""
    for a in _floats(args):
        _core.disable_grad(a)


def set_grad_enabled(arg, value):
    enable_grad(arg) if value else disable_grad(arg)


def grad_enabled(*args):
    """Whether any of the arguments is followed."""
    return builtins.any(_core.grad_enabled(a) for a in _floats(args))


def grad(arg, preserve_type=True):
    """The gradient (or tangent) of a value or structure; zeros where none has arrived."""
    if isinstance(arg, (int, float)):
        return type(arg)(0)
    return map_leaves(_core.grad, arg)


def _spread(target, value, add):
    if isinstance(target, ArrayBase):
        if is_float_v(target) and _core.grad_enabled(target):
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


def replace_grad(arg0, arg1):
    """The value of one with the derivatives of the other."""
    def one(a, b):
        if not isinstance(b, ArrayBase):
            b = type(a)(b)
        if type(a) is not type(b):
            from ._types import expr_t
            tp = expr_t(a, b)
            a, b = tp(a), tp(b)
        return _core.replace_grad(a, b)
    if not isinstance(arg0, ArrayBase) and isinstance(arg1, ArrayBase):
        arg0 = type(arg1)(arg0)
    return map_leaves(one, arg0, arg1)


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


def _check(what, args, flags):
    if not isinstance(flags, (int, ADFlag)):
        raise TypeError(f"{what}(): flags must be of type ADFlag")
    if not grad_enabled(*args):
        if flags & ADFlag.AllowNoGrad:
            return False
        from ._hooks import UserError
        raise UserError(f"{what}(): the argument depends on nothing that is followed; call enable_grad() on an input "
                        "before it is used, or pass ADFlag.AllowNoGrad if that is intended")
    return True


def _ones(arg):
    for a in _floats((arg,)):
        if _core.grad_enabled(a):
            _core.set_grad(a, 1, False)


def forward_from(arg, flags=ADFlag.Default):
    """Sets the tangent of `arg` to 1 and propagates it to all that depends on it."""
    if _check("forward_from", (arg,), flags):
        _ones(arg)
        enqueue(ADMode.Forward, arg)
        traverse(ADMode.Forward, flags)


def forward_to(*args, flags=ADFlag.Default):
    """Propagates tangents that were set on inputs to the arguments; returns theirs."""
    if not _check("forward_to", args, flags):
        return grad(args[0] if len(args) == 1 else list(args))
    enqueue(ADMode.Backward, args)
    traverse(ADMode.Forward, flags)
    return grad(args[0] if len(args) == 1 else list(args))


def forward(arg, flags=ADFlag.Default):
    """forward_from()"""
    forward_from(arg, flags)


def backward_from(arg, flags=ADFlag.Default):
    """Sets the gradient of `arg` to 1 and propagates it to all that it depends on."""
    if _check("backward_from", (arg,), flags):
        _ones(arg)
        enqueue(ADMode.Backward, arg)
        traverse(ADMode.Backward, flags)


def backward_to(*args, flags=ADFlag.Default):
    """Propagates gradients that were set on results to the arguments; returns theirs."""
    if not _check("backward_to", args, flags):
        return grad(args[0] if len(args) == 1 else list(args))
    enqueue(ADMode.Forward, args)
    traverse(ADMode.Backward, flags)
    return grad(args[0] if len(args) == 1 else list(args))


def backward(arg, flags=ADFlag.Default):
    """backward_from()"""
    backward_from(arg, flags)


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

    def __exit__(self, *exc):
        if self._scope is not None:
            self._scope.exit()


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
    custom(YourOp, ...)."""

    def __init__(self):
        self._extra_in, self._extra_out = [], []
        self._handle = None
        self.inputs, self.outputs = {}, None

    def eval(self, *args, **kwargs):
        raise NotImplementedError("a custom operation defines eval()")

    def forward(self):
        raise NotImplementedError(f"{self.name()}: forward() is not defined")

    def backward(self):
        raise NotImplementedError(f"{self.name()}: backward() is not defined")

    def name(self): return type(self).__name__

    # Between lists of arrays and the structures that eval() knows
    def _eval(self, arrays):
        args, kwargs = replace_leaves((self._args, self._kwargs), iter(arrays))
        self._args, self._kwargs = args, kwargs
        with suspend_grad():
            self.outputs = self.eval(*args, **kwargs)
        self._out_places = leaves(self.outputs)
        return list(self._out_places)

    def _implicit(self): return [a for a in leaves(self._extra_in) if is_float_v(a)]

    def _run(self, handle, f):
        self._handle = handle
        try:
            f()
        finally:
            self._handle = None

    def _forward(self, handle): self._run(handle, self.forward)
    def _backward(self, handle): self._run(handle, self.backward)

    def _input(self, name):
        if isinstance(name, int):
            return name
        if name in self._kwargs:
            return name
        names = self._names
        if name not in names:
            raise KeyError(f"{self.name()}: no input is called \"{name}\"; there are {', '.join(names)}")
        return names.index(name)

    def _place(self, name):
        """Numbers of the arrays of an input."""
        key = self._input(name)
        n = 0
        for i, a in enumerate(self._args):
            k = len(leaves(a))
            if i == key:
                return a, range(n, n + k)
            n += k
        for i, a in self._kwargs.items():
            k = len(leaves(a))
            if i == key:
                return a, range(n, n + k)
            n += k
        raise KeyError(name)

    def grad_in(self, name):
        """Tangent of an input, by name or number."""
        tree, places = self._place(name)
        return replace_leaves(tree, iter([self._handle.get(True, i) for i in places]))

    def set_grad_in(self, name, value):
        """Adds to the gradient of an input."""
        tree, places = self._place(name)
        for i, v in zip(places, _matching(tree, value)):
            self._handle.set(True, i, _core.detach(v) if isinstance(v, ArrayBase) else v)

    def grad_out(self):
        """Gradient of the output."""
        return replace_leaves(self.outputs, iter([self._handle.get(False, i)
                                                  for i in range(len(self._out_places))]))

    def set_grad_out(self, value):
        """Sets the tangent of the output."""
        for i, v in enumerate(_matching(self.outputs, value)):
            self._handle.set(False, i, _core.detach(v) if isinstance(v, ArrayBase) else v)

    def add_input(self, value):
        """Registers what eval() reads besides its arguments."""
        self._extra_in.append(value)

    def add_output(self, value):
        """Registers what is written besides the result."""
        self._extra_out.append(value)


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


def custom(cls, *args, **kwargs):
    """Applies a custom operation; the result depends on the arguments through it."""
    import inspect
    op = cls()
    for name in ("_extra_in", "_extra_out"):
        if not hasattr(op, name):  # a subclass that forgot about the constructor of this class
            setattr(op, name, [])
    parameters = list(inspect.signature(op.eval).parameters)
    op._names = parameters
    op._args, op._kwargs = args, kwargs
    op.inputs = dict(zip(parameters, args)) | kwargs
    out = _core.custom(op, leaves((args, kwargs)))
    return replace_leaves(op.outputs, iter(out))


def wrap_ad(source, target):
    """See wrap()."""
    from .interop import wrap
    return wrap(source, target)


def graphviz_ad(as_string=False):
    """The graph of derivatives as a drawing of Graphviz's."""
    text = _core.ad_dot()
    if as_string:
        return text
    try:
        import graphviz
    except ImportError:
        return text
    return graphviz.Source(text)


def whos_ad():
    """Lists what is left of the graph of derivatives."""
    print(_core.ad_listing())


def ad_live():
    """Number of nodes of the graph of derivatives."""
    return _core.ad_live()
