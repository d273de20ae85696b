# umbel/jit/_lbfgs.py: LBFGS, a quasi-Newton method with little memory [Nocedal 1980]; part of umbel.jit.opt.
from ._create import opaque
from ._eval import eval as evaluate, schedule
from ._grad import detach, enable_grad, suspend_grad
from ._math import select
from ._reduce import sum as sum_of
from ._types import float64_array_t, is_tensor_v, leaf_t
from .opt import Optimizer, _zeros_like


def _dot(a, b):
    """Of two lists of arrays, as a number: in double precision, so that it depends on nothing but them."""
    total = 0.0
    for x, y in zip(a, b):
        product = x * y
        wide = float64_array_t(type(product))(product)
        while True:  # vectors entry by entry
            wide = sum_of(wide)
            if type(wide) is leaf_t(wide):
                break
        total += float(wide.numpy().reshape(-1)[0])
    return total


class LBFGS(Optimizer):
    """Newton's method with a Hessian that is guessed from the last `history` steps and changes of gradients [Nocedal 1980].

    For losses without noise, or with little: images of one seed, or of many samples. `lr` is the length of a step, 1 that of Newton's;
    the first one, of which nothing is known, is as long as a step of the gradient's sum of magnitudes 1 at most. With
    `step(loss=f)`, where f() is the loss of the parameters as they are in the optimizer, steps are halved until it falls enough
    (Armijo's rule), up to `max_halvings` times. Kept: (last value, last gradient, steps, changes of gradients).
    """

    def __init__(self, lr=1.0, params=None, *, history=10, max_halvings=12, mask_updates=False, promote_fp16=True):
        if history < 1:
            raise RuntimeError("'history' must be at least 1")
        self.history, self.max_halvings = history, max_halvings
        self._curvatures = [0.0] * history  # s.y of each pair; 0: none
        self._begun = False
        super().__init__(lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16)

    def step(self, *, eval=True, grad_scale=None, active=None, loss=None):
        keys = list(self.state)
        flat = [detach(self.state[k][0]).array for k in keys]
        gradients = [self.state[k][0].grad.array for k in keys]
        if grad_scale is not None:
            gradients = [g * grad_scale for g in gradients]
        for i, k in enumerate(keys):  # what is held has no part in it
            free = self._masks.get(k)
            if free is not None:
                gradients[i] = select(free.array if is_tensor_v(free) else free, gradients[i], 0)
        evaluate(flat, gradients)
        self._remember(keys, flat, gradients)
        direction = self._direction(keys, gradients)
        slope = _dot(direction, gradients)
        if not slope < 0:  # the guess is of no use: downhill, and start anew
            self._forget(keys)
            direction, slope = [-g for g in gradients], -_dot(gradients, gradients)
        length = 1.0
        if not any(self._curvatures):
            size = sum(_dot([abs(g)], [opaque(leaf_t(g), 1)]) for g in gradients)
            length = min(1.0, 1 / size) if size > 0 else 1.0
        self._go(keys, flat, gradients, direction, length, slope, active, loss)
        self.steps += 1
        if eval:
            evaluate()

    def _go(self, keys, flat, gradients, direction, length, slope, active, loss):
        before = None if loss is None else float(_value(loss))
        for _ in range(self.max_halvings + 1 if loss else 1):
            for k, x, g, d in zip(keys, flat, gradients, direction):
                rate, factor = self._rate(k)
                self._finish(k, x, g, x + d * opaque(leaf_t(g), length * factor) * rate, self.state[k][3], active)
            if before is None or float(_value(loss)) <= before + 1e-4 * length * slope:
                return
            length /= 2
        for k, x in zip(keys, flat):  # nowhere along it: stay, and forget what led here
            value, promoted, lr, extra = self.state[k]
            new = type(value)(x, value.shape) if is_tensor_v(value) else type(value)(x)
            enable_grad(new)
            self.state[k] = new, promoted, lr, extra
        self._forget(keys)

    def _remember(self, keys, flat, gradients):
        """The step that led here, and how the gradient changed on it."""
        if self._begun:
            s = [x - self.state[k][3][0] for k, x in zip(keys, flat)]
            y = [g - self.state[k][3][1] for k, g in zip(keys, gradients)]
            evaluate(s, y)
            curvature = _dot(s, y)
            if curvature > 1e-10 * _dot(y, y):  # else the loss is not convex there
                self._curvatures = self._curvatures[1:] + [curvature]
                for k, a, b in zip(keys, s, y):
                    value, promoted, lr, (_, _, ss, ys) = self.state[k]
                    self.state[k] = value, promoted, lr, (None, None, ss[1:] + [a], ys[1:] + [b])
        for k, x, g in zip(keys, flat, gradients):
            value, promoted, lr, (_, _, ss, ys) = self.state[k]
            self.state[k] = value, promoted, lr, (x, g, ss, ys)
        self._begun = True

    def _direction(self, keys, gradients):
        """Minus the gradient times the guessed inverse of the Hessian: the recursion of two loops."""
        q, factors = list(gradients), [0.0] * self.history
        pairs = [([self.state[k][3][2][i] for k in keys], [self.state[k][3][3][i] for k in keys]) for i in range(self.history)]
        add = lambda a, b, c: [x + y * opaque(leaf_t(y), c) for x, y in zip(a, b)]
        for i in reversed(range(self.history)):
            if self._curvatures[i]:
                factors[i] = _dot(pairs[i][0], q) / self._curvatures[i]
                q = add(q, pairs[i][1], -factors[i])
                evaluate(q)
        if self._curvatures[-1]:
            scale = self._curvatures[-1] / _dot(pairs[-1][1], pairs[-1][1])
            q = [x * opaque(leaf_t(x), scale) for x in q]
        for i in range(self.history):
            if self._curvatures[i]:
                q = add(q, pairs[i][0], factors[i] - _dot(pairs[i][1], q) / self._curvatures[i])
                evaluate(q)
        return [-x for x in q]

    def _forget(self, keys):
        self._curvatures = [0.0] * self.history

    def _finish(self, key, flat, gradient, new, kept, active):
        super()._finish(key, flat, gradient, new, kept, active)
        schedule(self.state[key])

    def _reset(self, key, value, promoted, /):
        zeros = [_zeros_like(value) for _ in range(self.history)]
        self._curvatures, self._begun = [0.0] * self.history, False
        self.state[key] = value, promoted, None, (_zeros_like(value), _zeros_like(value), zeros, list(zeros))

    def _select(self, mask, extra, kept, /):
        return kept

    def _more(self): return [self._begun, *self._curvatures]

    def _set_more(self, numbers):
        self._begun, *self._curvatures = numbers

    def _facts(self): return [f"history = {self.history}"]


def _value(loss):
    with suspend_grad():
        value = loss()
    return value.numpy().reshape(-1)[0] if hasattr(value, "numpy") else value
