# jit/interop.py: functions of one library as differentiable functions of another.
#
#     @wrap(source="torch", target="umbel")      # called with PyTorch's tensors, written with Umbel's
#     def f(x): return umbel.jit.sin(x)
import functools

from .. import _core
from ._grad import CustomOp, backward_to, custom, detach, enable_grad, forward_to, grad, set_grad
from ._tree import children, leaves, map_leaves, rebuild
from ._types import ArrayBase, describe, is_float_v, is_tensor_v, leaf_t, tensor_t

_umbel = ("umbel", "drjit", "dr", "mi")
_types = {"float16": "TensorXf16", "float32": "TensorXf", "float64": "TensorXf64", "int8": "TensorXi8",
          "int16": "TensorXi16", "int32": "TensorXi", "int64": "TensorXi64", "uint8": "TensorXu8",
          "uint16": "TensorXu16", "uint32": "TensorXu", "uint64": "TensorXu64", "bool": "TensorXb"}


def _name(library):
    name = library if isinstance(library, str) else library.__name__
    name = name.split(".")[0]
    if name in _umbel:
        return "umbel"
    if name not in ("torch", "jax", "numpy"):
        raise TypeError(f"wrap(): \"{name}\" is unknown; source and target are umbel, torch or jax")
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


# ---- PyTorch

def _torch_to_umbel(x):
    import torch
    if not isinstance(x, torch.Tensor):
        return x
    kind = str(x.dtype).split(".")[-1]
    if kind not in _types:
        raise TypeError(f"wrap(): tensors of {x.dtype} have no counterpart")
    return _core.classes[_types[kind]](x.detach().cpu().contiguous().numpy())


def _umbel_to_torch(x):
    import torch
    return torch.from_numpy(x.numpy().copy()) if isinstance(x, ArrayBase) else x


def _is_torch(x):
    import torch
    return isinstance(x, torch.Tensor)


def _torch_function(f):
    """f of Umbel's arrays as a function of PyTorch's tensors."""
    import torch

    class Wrapped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, call, *tensors):
            inputs = [_torch_to_umbel(t) for t in tensors]
            followed = [i for i, t in enumerate(tensors) if t.requires_grad and t.is_floating_point()]
            enable_grad([inputs[i] for i in followed])
            result = call(inputs)
            ctx.inputs, ctx.followed, ctx.outputs = inputs, followed, leaves(result)
            ctx.result = result
            _core.eval([a for a in ctx.outputs if _core.state(a) in (2, 4, 6)])
            out = tuple(_umbel_to_torch(detach(a)) for a in ctx.outputs)
            ctx.mark_non_differentiable(*(t for t in out if not t.is_floating_point()))
            call.result = result
            return out

        @staticmethod
        def backward(ctx, *gradients):
            for a, g in zip(ctx.outputs, gradients):
                if g is not None and is_float_v(a) and _core.grad_enabled(a):
                    set_grad(a, _like(a, g.detach().cpu().contiguous().numpy()))
            values = [ctx.inputs[i] for i in ctx.followed]
            from ._grad import ADFlag
            backward_to(*values, flags=ADFlag.Default | ADFlag.AllowNoGrad) if values else None
            grads = [None] * len(ctx.inputs)
            for i in ctx.followed:
                grads[i] = _umbel_to_torch(grad(ctx.inputs[i]))
            return (None, *grads)

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        tensors = _flat((args, kwargs), _is_torch, [])

        def call(arrays):
            values = iter(arrays)
            a, k = _map(lambda x: next(values) if _is_torch(x) else x, (args, kwargs))
            return f(*a, **k)
        out = iter(Wrapped.apply(call, *tensors))
        return _map(lambda x: next(out) if isinstance(x, ArrayBase) else x, call.result)
    return wrapper


def _like(array, data):
    """A gradient with the class and shape of an array."""
    if is_tensor_v(array):
        return type(array)(data.reshape(tuple(array.shape)))
    if not describe(type(array))[3]:
        return type(array)(data.reshape(-1))
    rows = data.reshape(len(_core.entries(array)), -1)
    return _core.from_entries(type(array), [leaf_t(array)(r.copy()) for r in rows])


class _TorchOp(CustomOp):
    """A function of PyTorch's as an operation of Umbel's."""

    def eval(self, call, inputs):
        import torch
        self.tensors = [torch.from_numpy(a.numpy().copy()).requires_grad_(is_float_v(a)) for a in inputs]
        self.result = call(self.tensors)
        self.produced = _flat(self.result, _is_torch, [])
        return [_torch_to_umbel(t) for t in self.produced]

    def backward(self):
        import torch
        pairs = [(t, torch.from_numpy(g.numpy().copy())) for t, g in zip(self.produced, self.grad_out())
                 if t.requires_grad]
        wanted = [t for t in self.tensors if t.requires_grad]
        grads = iter(torch.autograd.grad([t for t, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True))
        inputs = leaves(self._args[1])
        self.set_grad_in("inputs", [_like(a, (g if (g := next(grads)) is not None else torch.zeros_like(t)).numpy())
                                    if t.requires_grad else 0 for a, t in zip(inputs, self.tensors)])

    def forward(self):
        raise NotImplementedError("a PyTorch function under wrap() has derivatives in reverse only")

    def name(self): return "torch"


def _from_torch(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        arrays = leaves((args, kwargs))
        kept = {}

        def call(tensors):
            values = iter(tensors)
            a, k = _map(lambda x: next(values) if isinstance(x, ArrayBase) else x, (args, kwargs))
            kept["result"] = f(*a, **k)
            return kept["result"]
        out = iter(custom(_TorchOp, call, arrays))
        return _map(lambda x: next(out) if _is_torch(x) else x, kept["result"])
    return wrapper


# ---- JAX

def _jax_function(f):
    """f of Umbel's arrays as a function of JAX's, differentiable in reverse; computed on the host."""
    import jax
    import numpy as np

    def is_jax(x): return isinstance(x, (jax.Array, np.ndarray))

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        flat = _flat((args, kwargs), is_jax, [])
        kept = {}

        def run(arrays):
            inputs = [_core.classes[_types[str(a.dtype)]](np.array(a)) for a in arrays]
            enable_grad(inputs)
            values = iter(inputs)
            a, k = _map(lambda x: next(values) if is_jax(x) else x, (args, kwargs))
            kept["result"] = f(*a, **k)
            return inputs, leaves(kept["result"])

        @jax.custom_vjp
        def g(*arrays): return tuple(jax.numpy.asarray(detach(o).numpy()) for o in run(arrays)[1])

        def forward(*arrays):
            inputs, outputs = run(arrays)
            kept["trace"] = (inputs, outputs)
            return tuple(jax.numpy.asarray(detach(o).numpy()) for o in outputs), ()

        def backward(_, gradients):
            inputs, outputs = kept["trace"]
            for o, d in zip(outputs, gradients):
                if is_float_v(o) and _core.grad_enabled(o):
                    set_grad(o, _like(o, np.array(d)))
            floats = [i for i in inputs if is_float_v(i)]
            if floats:
                backward_to(*floats)
            return tuple(jax.numpy.asarray(grad(i).numpy()) if is_float_v(i) else
                         np.zeros(i.shape, jax.dtypes.float0) for i in inputs)
        g.defvjp(forward, backward)
        out = iter(g(*flat))
        return _map(lambda x: next(out) if isinstance(x, ArrayBase) else x, kept["result"])
    return wrapper


class _JaxOp(CustomOp):
    """A function of JAX's as an operation of Umbel's."""

    def eval(self, call, inputs):
        import jax
        import jax.numpy as jnp
        self.inputs_ = [jnp.asarray(a.numpy()) for a in inputs]
        out, self.vjp = jax.vjp(call, *self.inputs_)
        self.produced = out
        import numpy as np
        return [_core.classes[_types[str(o.dtype)]](np.array(o)) for o in out]

    def backward(self):
        import jax.numpy as jnp
        import numpy as np
        grads = self.vjp(tuple(jnp.asarray(g.numpy()) for g in self.grad_out()))
        inputs = leaves(self._args[1])
        self.set_grad_in("inputs", [_like(a, np.array(g)) if is_float_v(a) else 0 for a, g in zip(inputs, grads)])

    def forward(self):
        raise NotImplementedError("a JAX function under wrap() has derivatives in reverse only")

    def name(self): return "jax"


def _from_jax(f):
    import jax

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        arrays = leaves((args, kwargs))
        kept = {}

        def call(*values):
            it = iter(values)
            a, k = _map(lambda x: next(it) if isinstance(x, ArrayBase) else x, (args, kwargs))
            kept["result"] = f(*a, **k)
            return tuple(_flat(kept["result"], lambda x: isinstance(x, jax.Array), []))
        out = iter(custom(_JaxOp, call, arrays))
        return _map(lambda x: next(out) if isinstance(x, jax.Array) else x, kept["result"])
    return wrapper


def wrap(source, target):
    """Decorator: a function written for `target`'s arrays is called with `source`'s; gradients pass in reverse. One
    of the two is umbel, the other torch or jax."""
    source, target = _name(source), _name(target)
    table = {("torch", "umbel"): _torch_function, ("umbel", "torch"): _from_torch,
             ("jax", "umbel"): _jax_function, ("umbel", "jax"): _from_jax}
    if source == target:
        return lambda f: f
    if (source, target) not in table:
        raise TypeError(f"wrap(): from {source} to {target} is not possible; one of them must be umbel")
    return table[source, target]
