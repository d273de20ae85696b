# jit/interop.py: functions of one library as differentiable functions of another.
#
#     @wrap(source="torch", target="umbel")      # called with PyTorch's tensors, written with Umbel's
#     def f(x): return umbel.jit.sin(x)
#
# Arrays become tensors on the way, and structures of them (lists, dictionaries, classes with DRJIT_STRUCT) stay what they
# are. Both directions are differentiable forward and in reverse, save that JAX's own functions around Umbel's are
# differentiated in reverse only.
import functools
import types

from .. import _core
from ._grad import (ADFlag, CustomOp, backward_to, clear_grad, custom, detach, enable_grad, forward_to, grad,
                    grad_enabled, set_grad)
from ._tree import children, leaves, rebuild
from ._types import ArrayBase, describe, is_float_v, is_tensor_v, leaf_t, tensor_t

_umbel = ("umbel", "drjit", "dr", "mi")
_types = {"float16": "TensorXf16", "float32": "TensorXf", "float64": "TensorXf64", "int8": "TensorXi8",
          "int16": "TensorXi16", "int32": "TensorXi", "int64": "TensorXi64", "uint8": "TensorXu8",
          "uint16": "TensorXu16", "uint32": "TensorXu", "uint64": "TensorXu64", "bool": "TensorXb"}
_quiet = ADFlag.Default | ADFlag.AllowNoGrad


def _name(role, library):
    name = (library if isinstance(library, str) else library.__name__).split(".")[0]
    if name in _umbel:
        return "umbel"
    if name not in ("torch", "jax"):
        raise ValueError(f"wrap(): unknown '{role}' argument \"{name}\"; it is umbel, torch or jax")
    return name


def _map(f, tree):
    """f of everything that is no structure."""
    kids = None if isinstance(tree, ArrayBase) else children(tree)
    return f(tree) if kids is None else rebuild(tree, [_map(f, v) for _, v in kids])


def _flat(tree, wanted, out):
    kids = None if isinstance(tree, ArrayBase) else children(tree)
    if kids is None:
        if wanted(tree):
            out.append(tree)
    else:
        for _, v in kids:
            _flat(v, wanted, out)
    return out


def _replace(tree, wanted, values):
    """The structure with `values`, an iterator, in the places that are wanted."""
    return _map(lambda x: next(values) if wanted(x) else x, tree)


def _is_array(x): return isinstance(x, ArrayBase)


def _as_tensor(x):
    return x if is_tensor_v(x) else tensor_t(type(x))(x)


def _from_numpy(data):
    kind = str(data.dtype)
    if kind not in _types:
        raise TypeError(f"wrap(): tensors of {kind} have no counterpart")
    return _core.classes[_types[kind]](data)


def _like(array, tensor):
    """A gradient with the class and shape of an array."""
    data = tensor.numpy() if _is_array(tensor) else tensor
    if is_tensor_v(array):
        return type(array)(data.reshape(tuple(array.shape)))
    if not describe(type(array))[3]:
        return type(array)(data.reshape(-1))
    rows = data.reshape(len(_core.entries(array)), -1)
    return _core.from_entries(type(array), [leaf_t(array)(r.copy()) for r in rows])


# ---- PyTorch

def _is_torch(x):
    import torch
    return isinstance(x, torch.Tensor)


def _torch_to_umbel(x): return _from_numpy(x.detach().cpu().contiguous().numpy().copy())


def _umbel_to_torch(x):
    import torch
    return torch.from_numpy(_as_tensor(x).numpy().copy())


@functools.cache
def _torch_class():
    """Umbel's computation as a function of PyTorch's automatic differentiation."""
    import torch
    from torch.autograd.function import once_differentiable

    class UmbelFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, call, *tensors):
            ctx.inputs = [_torch_to_umbel(t) for t in tensors]
            ctx.dtypes = [t.dtype for t in tensors]
            ctx.followed = [i for i, t in enumerate(tensors) if t.is_floating_point() and
                            (t.requires_grad or call.has_tangent[i])]
            enable_grad([ctx.inputs[i] for i in ctx.followed])
            with torch.enable_grad():  # the function may use PyTorch itself
                ctx.outputs = [_as_tensor(a) for a in call(ctx.inputs)]
            out = tuple(_umbel_to_torch(detach(a)) for a in ctx.outputs)
            ctx.mark_non_differentiable(*(t for t in out if not t.is_floating_point()))
            ctx.set_materialize_grads(False)
            return out

        @staticmethod
        @once_differentiable
        def backward(ctx, *gradients):
            for a, g in zip(ctx.outputs, gradients):
                if g is not None and is_float_v(a) and grad_enabled(a):
                    set_grad(a, _like(a, g.cpu().contiguous().numpy()))
            inputs = [ctx.inputs[i] for i in ctx.followed]
            result = [None] * len(ctx.inputs)
            if inputs:
                backward_to(*inputs, flags=_quiet)
            for i in ctx.followed:
                result[i] = _umbel_to_torch(grad(ctx.inputs[i]))
            clear_grad(inputs)
            return (None, *result)

        @staticmethod
        @once_differentiable
        def jvp(ctx, _, *tangents):
            for i in ctx.followed:
                if tangents[i] is not None:
                    set_grad(ctx.inputs[i], _like(ctx.inputs[i], tangents[i].cpu().contiguous().numpy()))
            floats = [a for a in ctx.outputs if is_float_v(a) and grad_enabled(a)]
            if floats:
                forward_to(*floats, flags=_quiet)
            return tuple(_umbel_to_torch(grad(a)) if is_float_v(a) else None for a in ctx.outputs)
    return UmbelFunction


def _torch_function(f):
    """f of Umbel's arrays as a function of PyTorch's tensors."""
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = []

        def call(arrays):
            a, k = _replace((args, kwargs), _is_torch, iter(arrays))
            result.append(f(*a, **k))
            return leaves(result[0])
        tensors = _flat((args, kwargs), _is_torch, [])
        from torch.autograd.forward_ad import unpack_dual
        call.has_tangent = [unpack_dual(t).tangent is not None for t in tensors]  # not to be seen from inside
        out = iter(_torch_class().apply(call, *tensors))
        return _replace(result[0], _is_array, out)
    return wrapper


class _Foreign(CustomOp):
    """A function of another library's as an operation of Umbel's. `box` takes its result as it was."""

    def eval(self, f, box, *args, **kwargs):
        self.f, self.tree = f, (args, kwargs)
        self.arrays = leaves(self.tree)
        self.tensors = [self.to(a) for a in self.arrays]
        result = self.start()
        produced = _flat(result, self.is_foreign, [])
        box.result = result
        return [self.back(t) for t in produced]

    def call(self, tensors):
        """The function's result for these tensors."""
        a, k = _replace(self.tree, _is_array, iter(tensors))
        return self.f(*a, **k)

    def _gradients(self, given):
        """Of all arguments, in the order of their arrays."""
        grads = iter([_like(a, g) if g is not None and is_float_v(a) else None for a, g in zip(self.arrays, given)])
        args, kwargs = _replace(self.tree, _is_array, grads)
        for name, value in (("args", args), ("kwargs", kwargs)):
            if name in self.inputs:
                self.set_grad_in(name, value)

    def _tangents(self):
        return leaves([self.grad_in(name) for name in ("args", "kwargs") if name in self.inputs])


class _TorchOp(_Foreign):
    is_foreign, to, back = staticmethod(_is_torch), staticmethod(_umbel_to_torch), staticmethod(_torch_to_umbel)

    def start(self):
        for a, t in zip(self.arrays, self.tensors):
            t.requires_grad_(is_float_v(a))
        result = self.call(self.tensors)
        self.produced = _flat(result, _is_torch, [])
        return result

    def backward(self):
        import torch
        pairs = [(t, self.to(g).reshape(t.shape)) for t, g in zip(self.produced, self.grad_out()) if t.requires_grad]
        wanted = [t for t in self.tensors if t.requires_grad]
        grads = iter(torch.autograd.grad([t for t, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True,
                                         retain_graph=True)) if pairs and wanted else iter([None] * len(wanted))
        given = [next(grads) if t.requires_grad else None for t in self.tensors]
        self._gradients([None if g is None else g.numpy() for g in given])

    def forward(self):
        import torch.autograd.forward_ad as fwd
        with fwd.dual_level():
            duals = [fwd.make_dual(t.detach(), self.to(g).reshape(t.shape)) if is_float_v(a) else t
                     for a, t, g in zip(self.arrays, self.tensors, self._tangents())]
            tangents = [fwd.unpack_dual(t).tangent for t in _flat(self.call(duals), _is_torch, [])]
            self.set_grad_out([None if g is None else self.back(g) for g in tangents])

    def name(self): return "torch"


# ---- JAX

def _is_jax(x):
    import jax
    return isinstance(x, jax.Array)


def _umbel_to_jax(x):
    import jax.numpy
    return jax.numpy.asarray(_as_tensor(x).numpy())


def _jax_to_umbel(x):
    import numpy
    return _from_numpy(numpy.array(x))


def _jax_function(f):
    """f of Umbel's arrays as a function of JAX's, differentiable in reverse; computed on the host."""
    import jax
    import numpy as np

    def is_input(x): return isinstance(x, (jax.Array, np.ndarray))

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        kept = {}

        def run(arrays):
            inputs = [_from_numpy(np.array(a)) for a in arrays]
            enable_grad(inputs)
            a, k = _replace((args, kwargs), is_input, iter(inputs))
            kept["result"] = f(*a, **k)
            return inputs, leaves(kept["result"])

        @jax.custom_vjp
        def g(*arrays): return tuple(_umbel_to_jax(detach(o)) for o in run(arrays)[1])

        def forward(*arrays):
            inputs, outputs = kept["trace"] = run(arrays)
            return tuple(_umbel_to_jax(detach(o)) for o in outputs), ()

        def backward(_, gradients):
            inputs, outputs = kept["trace"]
            for o, d in zip(outputs, gradients):
                if is_float_v(o) and grad_enabled(o):
                    set_grad(o, _like(o, np.array(d)))
            floats = [i for i in inputs if is_float_v(i)]
            if floats:
                backward_to(*floats, flags=_quiet)
            return tuple(_umbel_to_jax(grad(i)) if is_float_v(i) else np.zeros(i.shape, jax.dtypes.float0)
                         for i in inputs)
        g.defvjp(forward, backward)
        out = iter(g(*_flat((args, kwargs), is_input, [])))
        return _replace(kept["result"], _is_array, out)
    return wrapper


class _JaxOp(_Foreign):
    is_foreign, to, back = staticmethod(_is_jax), staticmethod(_umbel_to_jax), staticmethod(_jax_to_umbel)

    def start(self):
        import jax
        self.floats = [i for i, a in enumerate(self.arrays) if is_float_v(a)]

        def of_floats(*values):  # what is no float has no derivatives, and stays out of JAX's sight
            tensors = list(self.tensors)
            for i, v in zip(self.floats, values):
                tensors[i] = v
            self.result = self.call(tensors)
            # What goes through jax.jit comes back as arrays, numbers included
            return tuple(_flat(self.result, _is_jax, []))
        self.of_floats = of_floats
        self.primals = tuple(self.tensors[i] for i in self.floats)
        of_floats(*self.primals)
        return _map(lambda x: x, self.result)

    def backward(self):
        import jax
        import numpy as np
        out, vjp = jax.vjp(self.of_floats, *self.primals)
        grads = vjp(tuple(np.zeros(o.shape, jax.dtypes.float0) if not jax.numpy.issubdtype(o.dtype, jax.numpy.floating)
                          else self.to(g).reshape(o.shape) for o, g in zip(out, self.grad_out())))
        given = [None] * len(self.arrays)
        for i, g in zip(self.floats, grads):
            given[i] = np.array(g)
        self._gradients(given)

    def forward(self):
        import jax
        tangents = self._tangents()
        _, out = jax.jvp(self.of_floats, self.primals,
                         tuple(self.to(tangents[i]).reshape(p.shape) for i, p in zip(self.floats, self.primals)))
        self.set_grad_out([None if t.dtype == jax.dtypes.float0 else self.back(t) for t in out])

    def name(self): return "jax"


def _from(op):
    def decorator(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            box = types.SimpleNamespace()
            out = iter(custom(op, f, box, *args, **kwargs))
            return _replace(box.result, op.is_foreign, out)
        return wrapper
    return decorator


def wrap(source, target):
    """Decorator: a function written for `target`'s arrays is called with `source`'s. Gradients pass in both directions:
    forward and in reverse; from JAX to Umbel in reverse. One of the two is umbel (also called drjit), the other torch or
    jax; names or modules."""
    source, target = _name("source", source), _name("target", target)
    table = {("torch", "umbel"): _torch_function, ("umbel", "torch"): _from(_TorchOp),
             ("jax", "umbel"): _jax_function, ("umbel", "jax"): _from(_JaxOp)}
    if source == target == "umbel":
        return lambda f: f
    if (source, target) not in table:
        raise ValueError(f"wrap(): from {source} to {target} is not possible; at least one of 'source' and 'target' must "
                         "be umbel")
    return table[source, target]
