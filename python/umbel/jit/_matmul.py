# jit/_matmul.py: products of tensors.
import itertools

from .. import _core
from ._grad import CustomOp, custom
from ._tensor import _count, _strides, broadcast_shapes, expand_dims, squeeze
from ._types import describe, expr_t, is_tensor_v, leaf_t, tensor_t

UInt = _core.classes["UInt"]
MaxBatchAxes = 6
LargeProduct = 2**16  # multiplications
MaxBatches = 2**14


def matmul(A, B, At=False, Bt=False):
    """The product A @ B: of tensors as NumPy's matmul, with leading axes that broadcast; of matrices, vectors and other
    arrays as the operator has it. `At` and `Bt` transpose the last two axes of a tensor."""
    if not is_tensor_v(A) and not is_tensor_v(B):
        from ._hooks import matmul as general
        r = general(A, B)
        if r is NotImplemented:
            raise TypeError(f"matmul(): not defined for '{type(A).__name__}' and '{type(B).__name__}'")
        return r
    if isinstance(A, (int, float)) or isinstance(B, (int, float)):
        return A * B
    tp = tensor_t(expr_t(A, B))
    a, b = (x if type(x) is tp else tp(x) for x in (A, B))
    row, column = len(a.shape) == 1, len(b.shape) == 1
    if not a.shape or not b.shape:
        raise ValueError("matmul(): a tensor without axes is no matrix; use *")
    if row and At or column and Bt:
        raise ValueError("matmul(): a tensor with one axis cannot be transposed")
    a = expand_dims(a, 0) if row else a
    b = expand_dims(b, 1) if column else b
    if max(len(a.shape), len(b.shape)) - 2 > MaxBatchAxes:
        raise ValueError(f"matmul(): at most {MaxBatchAxes} axes may come before those of the matrices")
    n, k = a.shape[:-3:-1] if At else a.shape[-2:]
    k2, m = b.shape[:-3:-1] if Bt else b.shape[-2:]
    if k != k2:
        raise ValueError(f"matmul(): the shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit: {k} columns, {k2} rows")
    try:
        broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except Exception:
        raise ValueError(f"matmul(): the shapes {tuple(a.shape)} and {tuple(b.shape)} do not broadcast") from None
    followed = _core.grad_enabled(a) or _core.grad_enabled(b)
    if followed and not _core.is_recording():
        out = custom(_MatMul, a, b, bool(At), bool(Bt))
    else:
        out = _product(a, b, bool(At), bool(Bt))
    out = squeeze(out, -2) if row else out
    return squeeze(out, -1) if column else out


class _MatMul(CustomOp):
    """dA = dC B^T, dB = A^T dC: products again, instead of a derivative of each multiplication."""

    def eval(self, a, b, At, Bt):
        self.a, self.b, self.At, self.Bt = a, b, At, Bt
        return _product(a, b, At, Bt)

    def forward(self):
        self.set_grad_out(_product(self.grad_in("a"), self.b, self.At, self.Bt) +
                          _product(self.a, self.grad_in("b"), self.At, self.Bt))

    def backward(self):
        g = self.grad_out()
        da = _product(self.b, g, self.Bt, True) if self.At else _product(g, self.b, False, not self.Bt)
        db = _product(g, self.a, True, self.At) if self.Bt else _product(self.a, g, not self.At, False)
        self.set_grad_in("a", _sum_to(da, self.a.shape))
        self.set_grad_in("b", _sum_to(db, self.b.shape))


def _sum_to(t, shape):
    """Sums over axes along which an operand was broadcast."""
    from ._reduce import sum
    from ._tensor import reshape
    extra = len(t.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, s in enumerate(shape) if s == 1 and t.shape[extra + i] != 1)
    return reshape(sum(t, axis=axes), tuple(shape)) if axes else t


def _product(a, b, At, Bt):
    """Of tensors with at least two axes: large ones by an algorithm of the host, others recorded, with a lane for each
    element of the result."""
    tp, leaf = type(a), leaf_t(a)
    sa, sb = tuple(a.shape), tuple(b.shape)
    n, k = sa[:-3:-1] if At else sa[-2:]
    m = sb[-2] if Bt else sb[-1]
    batch = broadcast_shapes(sa[:-2], sb[:-2])
    shape = (*batch, n, m)
    total = _count(shape)
    if total == 0 or k == 0:
        return _core.tensor(tp, _core.full(leaf, 0, total) if total else leaf(), shape)
    xa, xb = _core.tensor_array(a), _core.tensor_array(b)
    if describe(leaf)[0] in (11, 12) and total * k >= LargeProduct and _count(batch) <= MaxBatches and \
            not _core.is_recording() and not (_core.grad_enabled(xa) or _core.grad_enabled(xb)):
        own = [(1,) * (len(batch) - len(s[:-2])) + s[:-2] for s in (sa, sb)]
        strides = [[0 if d == 1 else step for d, step in zip(s, _strides(s))] for s in own]
        places = itertools.product(*map(range, batch))
        batches = [(sum(i * t for i, t in zip(p, strides[0])) * n * k, sum(i * t for i, t in zip(p, strides[1])) * k * m)
                   for p in places]
        return _core.tensor(tp, _core.gemm(xa, xb, (n, k, m), At, Bt, batches), shape)
    index = _core.lane_index(total)
    column, rest = index % m, index // m
    row, block = rest % n, rest // n

    def first(own, size):  # where the matrix of a batch begins
        own = (1,) * (len(batch) - len(own)) + own
        strides, place, at = _strides(own), block, None
        for i in range(len(batch) - 1, -1, -1):
            q = place // batch[i] if i else place
            c = place - q * batch[i] if i else place
            place = q
            if own[i] != 1:
                t = c * (strides[i] * size)
                at = t if at is None else at + t
        return at

    def begin(at, step, start):
        at = at * step if step != 1 else at
        return at if start is None else at + start
    ia, step_a = begin(row, 1 if At else k, first(sa[:-2], n * k)), n if At else 1
    ib, step_b = begin(column, k if Bt else 1, first(sb[:-2], k * m)), 1 if Bt else m

    def term(i):
        return (_core.gather(leaf, xa, ia + i * step_a, None), _core.gather(leaf, xb, ib + i * step_b, None))
    if k <= 16:
        x, y = term(0)
        s = x * y
        for i in range(1, k):
            x, y = term(i)
            s = _core.fma(x, y, s)
    else:
        def body(state):
            i, s = state
            x, y = term(i)
            return [i + 1, _core.fma(x, y, s)]
        s = _core.loop("matmul", [UInt(0), _core.full(leaf, 0, total)], lambda state: state[0] < k, body)[1]
    return _core.tensor(tp, s, shape)
