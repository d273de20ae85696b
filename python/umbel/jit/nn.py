"""umbel.jit.nn: small neural networks inside recorded programs.

    net = nn.Sequential(nn.Linear(-1, 32), nn.ReLU(), nn.Linear(-1, 3))
    net = net.alloc(TensorXf16, 2)                  # weights, for 2 inputs
    net = nn.pack(net, layout="training")           # all of them in one buffer
    rgb = Array3f16(net(nn.CoopVec(u, v)))          # evaluated lane by lane

A module that is not packed takes tensors of shape (channels, samples).
"""
from collections.abc import MutableMapping
from typing import TypeVar

from ._math import abs as absolute, cos, exp2, fma, maximum, minimum, pi, round as nearest, sin, sincos, tanh
from ._create import zeros
from ._tensor import reshape, stack
from ._types import ArrayBase, float32_array_t, is_tensor_v, tensor_t
from .coop import CoopVec, MatrixView, cast, matvec, pack, unpack, view
from . import coop, hashgrid
from .hashgrid import HashGridEncoding, PermutoEncoding

T = TypeVar("T")


class Module(MutableMapping):
    """A part of a network, and a dictionary of its parameters: "layers.0.weights", "layers.0.bias" …

        opt = Adam(lr=1e-3, params=net)
        net.update(opt)                 # after each step

    A packed module has one parameter, "weights". Subclasses define `__call__`, list their fields in DRJIT_STRUCT, and
    override `_alloc` where they have weights or change the number of entries.
    """

    def __call__(self, arg, /):
        """The output for a CoopVec or a tensor of shape (channels, samples)."""
        raise NotImplementedError(f"{type(self).__name__}.__call__() implementation is missing.")

    def _alloc(self, dtype, size, rng, /):
        """The module with weights for `size` inputs, and its number of outputs."""
        return self, size

    def alloc(self, dtype, size=-1, rng=None):
        """A copy with random weights of type `dtype`, a tensor type; `size` is the number of inputs. A generator of
        the same seed gives the same weights."""
        if rng is None:
            from .random import rng as generator
            rng = generator(seed=0x100000000)  # not the default: samples of that one should not meet the weights
        return self._alloc(dtype, size, rng)[0]

    def __repr__(self): return f"{type(self).__name__}()"

    # ---- a dictionary of parameters
    def _parameters(self):
        """{key: (owner, attribute)}; of a packed module, the attribute is None."""
        out = {}

        def visit(value, key, owner, name):
            prefix = key + "." if key else ""
            if isinstance(value, Module):
                if getattr(value, "_packed", False):
                    out[prefix + "weights"] = (value, None)
                    return
                for n in getattr(type(value), "DRJIT_STRUCT", ()):
                    visit(getattr(value, n, None), prefix + n, value, n)
            elif isinstance(value, (tuple, list)):
                for i, v in enumerate(value):
                    visit(v, f"{prefix}{i}", None, None)
            elif isinstance(value, ArrayBase) and owner is not None:
                out[key] = (owner, name)
        visit(self, getattr(self, "prefix", ""), None, None)
        return out

    def __getitem__(self, key):
        owner, name = self._parameters()[key]
        return getattr(owner, name) if name else _views(owner)[0].buffer

    def __setitem__(self, key, value):
        from .. import _core
        owner, name = self._parameters()[key]
        if name is None:  # views refer to the buffer: it changes in place
            for v in _views(owner):
                _core.assign(v.buffer, type(v.buffer)(value))
            return
        current = getattr(owner, name)
        setattr(owner, name, value if type(value) is type(current) else type(current)(value))

    def __delitem__(self, key):
        raise TypeError("nn.Module: parameters cannot be deleted")

    def __iter__(self): return iter(self._parameters())
    def __len__(self): return len(self._parameters())
    def __contains__(self, key): return key in self._parameters()
    def __bool__(self): return True


def _views(tree):
    if isinstance(tree, MatrixView):
        return [tree]
    from ._tree import children
    return [v for _, child in children(tree) or () for v in _views(child)]


class Sequential(Module):
    """One module after another. A `prefix` comes before the names of all parameters, so that an optimizer may serve
    several networks."""
    DRJIT_STRUCT = {"layers": tuple, "prefix": str}

    def __init__(self, *args, prefix=""):
        self.layers, self.prefix = args, prefix

    def __call__(self, arg, /):
        for layer in self.layers:
            arg = layer(arg)
        return arg

    def _alloc(self, dtype, size, rng, /):
        layers = []
        for layer in self.layers:
            layer, size = layer._alloc(dtype, size, rng)
            layers.append(layer)
        return Sequential(*layers, prefix=self.prefix), size

    def __repr__(self):
        rows = ["  " + repr(layer).replace("\n", "\n  ") for layer in self.layers]
        return "Sequential(\n" + ",\n".join(rows) + ("\n)" if rows else ")")


# ---- functions of each entry

class ReLU(Module):
    """max(x, 0)"""
    DRJIT_STRUCT = {}

    def __call__(self, arg, /): return maximum(arg, 0)


class LeakyReLU(Module):
    """x where x >= 0, else negative_slope * x"""
    DRJIT_STRUCT = {"negative_slope": float}

    def __init__(self, negative_slope=1e-2): self.negative_slope = negative_slope
    def __call__(self, arg, /): return maximum(arg, 0) + minimum(arg, 0.0) * self.negative_slope


class Exp2(Module):
    """2 to the power x"""
    DRJIT_STRUCT = {}

    def __call__(self, arg, /): return exp2(arg)


class Exp(Module):
    """e to the power x"""
    DRJIT_STRUCT = {}

    def __call__(self, arg, /): return exp2(arg * 1.4426950408889634)


class Tanh(Module):
    """tanh(x)"""
    DRJIT_STRUCT = {}

    def __call__(self, arg, /): return tanh(arg)


class Sin(Module):
    """sin(x)"""
    DRJIT_STRUCT = {}

    def __call__(self, arg, /): return sin(arg)


class ScaleAdd(Module):
    """x * scale + offset; both are constants."""
    DRJIT_STRUCT = {"scale": float, "offset": float}

    def __init__(self, scale=None, offset=None): self.scale, self.offset = scale, offset

    def __call__(self, arg, /):
        if self.scale is None or self.offset is None:
            raise Exception("nn.ScaleAdd(): you must set a scale and offset!")
        return fma(arg, self.scale, self.offset)


class Cast(Module):
    """Entries of another type: Cast(Float32)."""
    DRJIT_STRUCT = {"dtype": type}

    def __init__(self, dtype=None): self.dtype = dtype

    def __call__(self, arg, /):
        return cast(arg, self.dtype) if isinstance(arg, CoopVec) else tensor_t(self.dtype)(arg)

    def __repr__(self): return f"Cast(dtype={self.dtype.__name__})"


# ---- weights

class Linear(Module):
    """A @ x + b. -1 for `in_features`: as many as there are; for `out_features`: as many as there are inputs.

    Weights are uniform random numbers within 1 / sqrt(out_features) of 0, biases 0.
    """
    DRJIT_STRUCT = {"config": tuple, "weights": ArrayBase, "bias": ArrayBase}

    def __init__(self, in_features=-1, out_features=-1, bias=True):
        self.config = (in_features, out_features, bias)
        self.weights = self.bias = None

    def __repr__(self):
        n, m, bias = self.config
        return f"Linear(in_features={n}, out_features={m}" + ("" if bias else ", bias=False") + ")"

    def __call__(self, arg, /):
        w, packed = self.weights, isinstance(self.weights, MatrixView)
        if w is None:
            raise RuntimeError("drjit.nn.Linear: uninitialized network. Call 'net = net.alloc(<Tensor type>)' to "
                               "initialize the weight storage first.")
        if isinstance(arg, CoopVec):
            if not packed:
                raise RuntimeError("drjit.nn.Linear: cooperative-vector evaluation requires packed weights. Call "
                                   "'drjit.nn.pack(net)' to transform the network into a cooperative-vector layout.")
            return matvec(w, arg, self.bias)
        if packed:
            raise RuntimeError("nn.Linear: the weights are packed, so the input must be a CoopVec; for tensors keep "
                               "the module that was given to nn.pack()")
        y = w @ arg
        return y if self.bias is None else y + reshape(self.bias, (self.bias.shape[0], 1))

    def _alloc(self, dtype, size, rng, /):
        if not is_tensor_v(dtype):
            raise TypeError(f"Linear layer requires a Tensor type, but got {dtype}")
        inputs, outputs, bias = self.config
        inputs = size if inputs < 0 else inputs
        outputs = inputs if outputs < 0 else outputs
        if inputs == -1 or outputs == -1:
            raise RuntimeError("The network contains layers with an unspecified size. You must specify the input size "
                               "to Module.alloc().")
        result = Linear(inputs, outputs, bias)
        samples = rng.random(float32_array_t(dtype), (outputs, inputs))
        result.weights = dtype((samples * 2 - 1) * outputs**-0.5)
        if bias:
            result.bias = zeros(dtype, outputs)
        return result, outputs


# ---- encodings: more entries, so that networks see detail

class _Encode(Module):
    """Base: for each entry and octave i two entries, of frequency 2^i and phase i * shift."""
    DRJIT_STRUCT = {"octaves": int, "shift": float, "channels": int}

    def __init__(self, octaves=0, shift=0):
        self.octaves, self.shift, self.channels = octaves, shift, -1

    def _alloc(self, dtype, size, rng, /):
        r = type(self)(self.octaves, self.shift)
        r.channels = size
        return r, size * self.octaves * 2

    def __repr__(self):
        return (f"{type(self).__name__}(octaves={self.octaves}, shift={self.shift}, in_channels={self.channels}, "
                f"out_features={self.channels * self.octaves * 2})")

    def __call__(self, arg, /):
        if isinstance(arg, CoopVec):
            parts = [e for a in arg for e in self._entries(a)]
            return CoopVec(parts) if parts else CoopVec._of([])
        channels, samples = arg.shape
        parts = self._entries(arg)
        if not parts:
            return zeros(type(arg), (0, samples))
        return reshape(stack(parts, axis=1), (channels * len(parts), samples))


class TriEncode(_Encode):
    """sin and cos of 2^i x + i * shift, in periods, as triangle waves: cos(t) = 1 - 4 |t - round(t)|."""

    def _entries(self, x):
        wave = lambda t: fma(absolute(t - nearest(t)), -4, 1)
        out = []
        for i in range(self.octaves):
            t = fma(x, 2.0**i, self.shift * i)
            out += [wave(t - 0.25), wave(t)]
        return out


class SinEncode(_Encode):
    """sin and cos of 2 pi (2^i x + i * shift)."""

    def _entries(self, x):
        # Each octave from the one before: the angle doubles, then turns by 2 pi shift (2 - i)
        if not self.octaves:
            return []
        s, c = sincos(x * (2 * pi))
        out = [s, c]
        for i in range(1, self.octaves):
            s, c = 2 * s * c, fma(-2 * s, s, 1)
            if self.shift:
                sb, cb = sincos(2 * pi * self.shift * (2 - i))
                s, c = fma(s, cb, c * sb), fma(c, cb, -s * sb)
            out += [s, c]
        return out


class HashEncodingLayer(Module):
    """A hash encoding as a layer. Its parameters are its own: they are neither packed nor listed."""

    def __init__(self, encoding): self.encoding = encoding

    def _alloc(self, dtype, size, rng, /):
        return HashEncodingLayer(self.encoding), self.encoding.n_output_features

    def __call__(self, arg, /): return CoopVec(self.encoding(list(arg)))

    @property
    def data(self):
        """The parameters of the encoding."""
        return self.encoding.data

    def __repr__(self): return repr(self.encoding)
