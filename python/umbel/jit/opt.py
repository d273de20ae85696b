"""umbel.jit.opt: gradient-based optimizers.

An optimizer is a dictionary of the parameters that it changes:

    opt = Adam(lr=1e-2, params={"x": x})
    for i in range(100):
        dr.backward(loss(opt["x"]))
        opt.step()

Rates and step counts are data of the recorded program, so that no step but the first compiles anything.
"""
from collections.abc import Mapping, MutableMapping

from ._create import opaque, width
from ._eval import eval as evaluate, make_opaque, schedule
from ._grad import detach, enable_grad
from ._math import fma, isfinite, lerp, maximum, minimum, rcp, rsqrt, select, sqrt, square
from ._memory import ReduceMode, ravel, scatter, unravel
from ._reduce import all as all_of, max as max_of
from ._matmul import matmul
from ._tensor import concat
from ._types import (ArrayBase, VarType, array_t, float16_array_t, float32_array_t, float64_array_t, is_array_v, is_float_v,
                     is_tensor_v, leaf_t, mask_t, tensor_t, type_v, uint32_array_t)


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


class Optimizer(MutableMapping):
    """Base class: a dictionary of parameters, with a rate for all and rates for some.

    `state[key]` is (value, whether it was promoted from half precision, its own rate or None, what the method keeps).
    Subclasses define `_step`, which returns a new value and what is kept, and `_reset`.
    """
    DRJIT_STRUCT = {"lr": float, "state": dict}

    def __init__(self, lr, params=None, *, mask_updates=False, promote_fp16=True):
        """`mask_updates` leaves entries alone whose gradient is 0. `promote_fp16` keeps parameters of half precision
        in single precision, where small steps do not vanish; reading them gives half precision."""
        if isinstance(lr, (int, float)) and lr < 0:
            raise RuntimeError("'lr' must be >0")
        self.lr, self.mask_updates, self.promote_fp16 = lr, mask_updates, promote_fp16
        self.state = {}
        self.steps = 0  # taken so far
        self._schedules, self._masks, self._constraints = {}, {}, {}
        if params:
            self.update(params)

    # ---- a dictionary
    def __contains__(self, key): return key in self.state
    def __len__(self): return len(self.state)
    def __iter__(self): return iter(self.state.keys())
    def __delitem__(self, key): del self.state[key]
    def keys(self): return iter(self.state.keys())
    def values(self): return (v[0] for v in self.state.values())
    def items(self): return ((k, v[0]) for k, v in self.state.items())

    def __getitem__(self, key):
        value, promoted = self.state[key][:2]
        return float16_array_t(value)(value) if promoted else value

    def __setitem__(self, key, value):
        """Starts to optimize a copy of a value, or replaces it. What the method keeps stays if the shape does."""
        if not (is_array_v(value) and is_float_v(value)):
            raise TypeError(f'Optimizer.__setitem__(): cannot register parameter "{key}" of type '
                            f'"{type(value).__name__}"; it must be an array or tensor of floats. Register the '
                            'arrays of a list, dictionary or structure one by one')
        if width(value) == 0:
            raise RuntimeError(f'Optimizer.__setitem__(): parameter "{key}" is empty!')
        before = self.state.get(key)
        value = type(value)(detach(value))
        make_opaque(value)
        promoted = self.promote_fp16 and type_v(value) == VarType.Float16
        if promoted:
            value = float32_array_t(value)(value)
        enable_grad(value)
        if before is not None and before[0].shape == value.shape:
            self.state[key] = (value, promoted, *before[2:])
        else:
            self._reset(key, value, promoted)

    def update(self, params=None, **args):
        """Registers, or replaces, several parameters. Of a scene's, only those that have derivatives."""
        for k, v in self._filter(params or {}).items():
            self[k] = v
        for k, v in args.items():
            self[k] = v

    def _filter(self, params):
        """Leaves out what cannot be optimized: also transforms, which are functions of what is, and empty arrays."""
        flags = getattr(params, "flags", None)
        if flags is None:
            return params
        return {k: v for k, v in ((k, params[k]) for k in params.keys() if not int(flags(k)) & 1)
                if isinstance(v, ArrayBase) and width(v) > 0}

    # ---- rates
    def learning_rate(self, key=None):
        """The rate of all, or the parameter's own one: None unless set."""
        return self.lr if key is None else self.state[key][2]

    def set_learning_rate(self, value=None, /, **kwargs):
        """A rate for all, or a dictionary or keywords with those of some parameters."""
        if isinstance(value, (int, float, ArrayBase)):
            self.lr = value
        for k, rate in {**(value if isinstance(value, Mapping) else {}), **kwargs}.items():
            self.state[k] = (*self.state[k][:2], rate, *self.state[k][3:])

    def set_schedule(self, factor, key=None):
        """Rates are multiplied by factor(number of steps before): those of all parameters, or of one, whose schedule then takes
        the place of the common one. None removes it. See umbel.ad.schedules."""
        self._known(key)
        self._schedules[key] = factor

    def set_mask(self, key, mask):
        """Only entries whose mask is true are changed from now on; None: all."""
        self._known(key)
        self._masks[key] = mask

    def set_constraint(self, key, constraint, outside="project"):
        """What a parameter must obey after a step: a pair (low, high), either of which may be None, or a function that returns the
        nearest value that will do. `outside`: "project" takes that value, "refuse" raises an error and leaves the parameter as
        it was. A constraint of None is none."""
        self._known(key)
        if outside not in ("project", "refuse"):
            raise RuntimeError(f'set_constraint(): outside is "{outside}"; it must be "project" or "refuse"')
        if constraint is not None and not callable(constraint):
            low, high = constraint
            if low is not None and high is not None and low > high:
                raise RuntimeError(f'set_constraint(): the range of "{key}" is empty: from {low} to {high}')
        self._constraints[key] = None if constraint is None else (constraint, outside)

    def _known(self, key):
        if key is not None and key not in self.state:
            raise KeyError(f'there is no parameter "{key}"; the optimizer has {list(self.state)}')

    def _rate(self, key):
        """The rate of this step: a number or an array, and a factor."""
        lr = self.state[key][2]
        schedule = self._schedules.get(key) or self._schedules.get(None)
        return self.lr if lr is None else lr, 1.0 if schedule is None else float(schedule(self.steps))

    def _obeying(self, key, value):
        """The value, as its constraint wants it."""
        rule = self._constraints.get(key)
        if rule is None:
            return value
        constraint, outside = rule
        if callable(constraint):
            projected = constraint(value)
            if type(projected) is not type(value) or projected.shape != value.shape:
                raise TypeError(f'the constraint of "{key}" returns a {type(projected).__name__}, of another type or shape than '
                                'its argument')
        else:
            low, high = constraint
            projected = value if low is None else maximum(value, low)
            projected = projected if high is None else minimum(projected, high)
        if outside == "refuse" and not all_of(projected == value, axis=None):
            raise RuntimeError(f'the parameter "{key}" would leave what its constraint allows; smaller steps, or outside="project"')
        return projected

    # ---- to files
    def save(self, file):
        """All that step() depends on, but for gradients: values, what the method keeps, rates, the number of steps. A file of NumPy's
        (.npz), or an open one. Masks, constraints and schedules are the script's."""
        import json
        import numpy as np
        arrays = []
        state = {k: _packed([v[0], v[2], v[3]], arrays) for k, v in self.state.items()}
        facts = {"method": type(self).__name__, "lr": _packed(self.lr, arrays), "steps": self.steps, "more": self._more(),
                 "state": state}
        np.savez(file, facts=json.dumps(facts), **{f"array{i}": a for i, a in enumerate(arrays)})

    def load(self, file):
        """What save() wrote, to the bit, for the same parameters, which have been registered before."""
        import json
        import numpy as np
        with np.load(file, allow_pickle=False) as data:
            facts = json.loads(str(data["facts"]))
            if facts["method"] != type(self).__name__ or list(facts["state"]) != list(self.state):
                raise RuntimeError(f"{file} has the state of {facts['method']} with parameters {list(facts['state'])}; this is "
                                   f"{type(self).__name__} with {list(self.state)}")
            arrays = lambda i: data[f"array{i}"]
            restored = {}
            for key, (value, promoted, lr, extra) in self.state.items():
                stored = facts["state"][key]
                new = _unpacked(stored[0], detach(value), arrays, key)
                enable_grad(new)
                restored[key] = (new, promoted, _unpacked(stored[1], lr, arrays, key),
                                 _unpacked(stored[2], extra, arrays, key))
            self.lr, self.steps = _unpacked(facts["lr"], self.lr, arrays, "lr"), facts["steps"]
            self._set_more(facts["more"])
            self.state = restored

    def _more(self): return None  # numbers that subclasses keep for all parameters together
    def _set_more(self, numbers): pass

    def reset(self, key=None):
        """Forgets what the method keeps for a parameter, or for all."""
        for k in [key] if key is not None else list(self.state):
            self._reset(k, *self.state[k][:2])

    # ---- steps
    def step(self, *, eval=True, grad_scale=None, active=None):
        """One step along the gradients. `grad_scale` multiplies these; nothing changes where `active` is false."""
        rates = _Rates()
        for key, (value, promoted, lr, extra) in list(self.state.items()):
            gradient = value.grad.array
            if grad_scale is not None:
                gradient = gradient * grad_scale
            flat = detach(value).array
            new, kept = self._step(rates, flat, gradient, rates.scaled(*self._rate(key), leaf_t(gradient)), extra)
            self._finish(key, flat, gradient, new, kept, active)
        self.steps += 1
        if eval:
            evaluate()

    def _finish(self, key, flat, gradient, new, kept, active):
        value, promoted, lr, extra = self.state[key]
        mask = None
        if self.mask_updates:
            mask = gradient == 0
        if active is not None:
            mask = ~active if mask is None else mask | ~active
        free = self._masks.get(key)
        if free is not None:
            held = ~(free.array if is_tensor_v(free) else free)
            mask = held if mask is None else mask | held
        if mask is not None:
            new, kept = select(mask, flat, new), self._select(mask, extra, kept)
        if type(new) is not type(value):
            new = type(value)(new, value.shape) if is_tensor_v(value) else type(value)(new)
        new = self._obeying(key, new)
        enable_grad(new)
        self.state[key] = (new, promoted, lr, kept)
        schedule(self.state[key])

    def _step(self, rates, value, gradient, lr, extra, /):
        raise Exception(f"{type(self).__name__}._step(): missing implementation!")

    def _reset(self, key, value, promoted, /):
        raise Exception(f"{type(self).__name__}._reset(): missing implementation!")

    def _select(self, mask, extra, kept, /):
        return select(mask, extra, kept)

    # ---- as text
    def _facts(self): return []

    def __repr__(self):
        rates = {"default": self.lr} | {k: v[2] for k, v in self.state.items() if v[2] is not None}
        count = sum(_count(v[0].shape) for v in self.state.values())
        rows = [f"parameters = {list(self.keys())},", f"total_count = {count},", f"lr = {rates},", *self._facts()]
        return f"{type(self).__name__}[\n" + "".join(f"  {r}\n" for r in rows) + "]"


def _packed(tree, arrays):
    """What a method keeps as text, with its arrays in a list: numbers, None, lists of them."""
    if isinstance(tree, ArrayBase):
        arrays.append(ravel(detach(tree)).numpy() if not is_tensor_v(tree) else detach(tree).numpy())
        return {"array": len(arrays) - 1}
    return [_packed(x, arrays) for x in tree] if isinstance(tree, (list, tuple)) else tree


def _unpacked(stored, like, arrays, key):
    """The reverse, of the types and shapes of `like`."""
    if isinstance(stored, dict):
        data = arrays(stored["array"])
        if not isinstance(like, ArrayBase):
            raise RuntimeError(f'the state of "{key}" is of another kind than what is to be restored')
        if is_tensor_v(like):
            new = type(like)(data)
        else:
            flat = array_t(leaf_t(like))(data)
            new = type(like)(flat) if type(like) is type(flat) else unravel(type(like), flat)
        if new.shape != like.shape:
            raise RuntimeError(f'"{key}" has the shape {tuple(like.shape)}; what is to be restored is of {tuple(new.shape)}')
        make_opaque(new)
        return new
    if isinstance(stored, list):
        return type(like)(_unpacked(s, x, arrays, key) for s, x in zip(stored, like))
    return stored


class _Rates(dict):
    """Rates as arrays of one element, each made once a step, however many parameters share it."""

    def scaled(self, rate, factor, tp):
        """A rate times what a schedule says."""
        if factor == 1 or isinstance(rate, (int, float)):
            return rate * factor if factor != 1 else rate
        return rate * opaque(tp, factor)

    def product(self, tp, *factors):
        number, array = 1.0, None
        for f in factors:
            if isinstance(f, (int, float)):
                number *= f
            else:
                array = f if array is None else array * f
        if (tp, number) not in self:
            self[tp, number] = opaque(tp, number)
        result = self[tp, number]
        if array is not None:
            if not isinstance(array, tp):
                raise TypeError(f"the learning rate is of type {type(array).__name__}; {tp.__name__} is needed")
            result = result * array
        return result


def _zeros_like(value):
    flat = value.array
    return opaque(type(flat), 0, flat.shape)


class SGD(Optimizer):
    """Gradient descent: v = momentum v + g; x = x - lr v, and with `nesterov` x = x - lr (momentum v + g)."""

    def __init__(self, lr, params=None, *, momentum=0.0, nesterov=False, mask_updates=False, promote_fp16=True):
        if momentum < 0:
            raise RuntimeError("'momentum' must be >= 0")
        if nesterov and momentum == 0:
            raise RuntimeError("Nesterov acceleration assumes momentum > 0.")
        self.momentum, self.nesterov = momentum, nesterov
        super().__init__(lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16)

    def _step(self, rates, value, gradient, lr, v, /):
        step = gradient
        if self.momentum:
            step = v = fma(self.momentum, v, gradient)
            if self.nesterov:
                step = fma(self.momentum, v, gradient)
        return fma(step, rates.product(leaf_t(gradient), lr, -1.0), value), v

    def _reset(self, key, value, promoted, /):
        self.state[key] = value, promoted, None, _zeros_like(value) if self.momentum else None

    def _facts(self): return [f"momentum = {self.momentum:g}", f"nesterov = {self.nesterov}"]


def _normalized(step, second_moment, epsilon):
    if epsilon <= 1e-6:  # one operation, and the same for all but tiny moments
        return step * rsqrt(second_moment + epsilon**2)
    return step / (sqrt(second_moment) + epsilon)


class RMSProp(Optimizer):
    """Steps divided by the root of a running mean of squared gradients."""

    def __init__(self, lr, params=None, *, alpha=0.99, epsilon=1e-8, mask_updates=False, promote_fp16=True):
        if not 0 <= alpha < 1:
            raise RuntimeError("'alpha' must be on the interval [0, 1)")
        if epsilon < 0:
            raise RuntimeError("'epsilon' must be >0")
        self.alpha, self.epsilon = alpha, epsilon
        super().__init__(lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16)

    def _step(self, rates, value, gradient, lr, m, /):
        m = lerp(square(gradient), m, self.alpha)
        step = _normalized(gradient, m, self.epsilon)
        return fma(step, rates.product(leaf_t(gradient), lr, -1.0), value), m

    def _reset(self, key, value, promoted, /):
        self.state[key] = value, promoted, None, _zeros_like(value)

    def _facts(self): return [f"alpha = {self.alpha:g},", f"epsilon = {self.epsilon:g}"]


class Adam(Optimizer):
    """Adam [Kingma 2015]: a running mean of gradients over the root of one of their squares, both unbiased.

    `uniform` divides all entries by the largest root, as suits vertices of a mesh [Nicolet 2021]; `amsgrad` by the
    largest that each entry has had so far. Kept: (step count, first moment, second moment, largest or None).
    """

    def __init__(self, lr, params=None, *, beta_1=0.9, beta_2=0.999, epsilon=1e-8, mask_updates=False,
                 promote_fp16=True, uniform=False, amsgrad=False):
        for name, beta in (("beta_1", beta_1), ("beta_2", beta_2)):
            if not 0 <= beta < 1:
                raise RuntimeError(f"'{name}' must be on the interval [0, 1)")
        if epsilon < 0:
            raise RuntimeError("'epsilon' must be >0")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.uniform, self.amsgrad = uniform, amsgrad
        super().__init__(lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16)

    def _step(self, rates, value, gradient, lr, extra, /):
        t, m, v, largest = extra
        t = t + 1
        m = lerp(gradient, m, self.beta_1)
        v = lerp(square(gradient), v, self.beta_2)
        leaf = leaf_t(gradient)
        double = float64_array_t(leaf)  # 1 - 0.999^t would lose half of the digits of single precision
        n = double(t)
        unbias = leaf(-sqrt(1 - double(self.beta_2)**n) / (1 - double(self.beta_1)**n))
        if self.amsgrad:
            largest = maximum(largest, v)
        moment = largest if self.amsgrad else max_of(v) if self.uniform else v
        step = _normalized(m, moment, self.epsilon)
        return fma(step, rates.product(leaf, lr, unbias), value), (t, m, v, largest)

    def _reset(self, key, value, promoted, /):
        t = opaque(uint32_array_t(leaf_t(value)), 0)
        self.state[key] = value, promoted, None, (t, _zeros_like(value), _zeros_like(value),
                                                  _zeros_like(value) if self.amsgrad else None)

    def _select(self, mask, extra, kept, /):
        # The count goes on for all entries together.
        return (kept[0], select(mask, extra[1], kept[1]), select(mask, extra[2], kept[2]),
                None if kept[3] is None else select(mask, extra[3], kept[3]))

    def _facts(self): return [f"beta = ({self.beta_1:g}, {self.beta_2:g}),", f"epsilon = {self.epsilon:g}"]


class AdamW(Adam):
    """Adam that besides pulls parameters to 0 by lr * weight_decay of their value a step [Loshchilov 2019]."""

    def __init__(self, lr, params=None, *, beta_1=0.9, beta_2=0.999, epsilon=1e-8, weight_decay=0.01,
                 mask_updates=False, promote_fp16=True, uniform=False, amsgrad=False):
        if weight_decay < 0:
            raise RuntimeError("'weight_decay' must be >= 0")
        self.weight_decay = weight_decay
        super().__init__(lr, params, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, mask_updates=mask_updates,
                         promote_fp16=promote_fp16, uniform=uniform, amsgrad=amsgrad)

    def _step(self, rates, value, gradient, lr, extra, /):
        new, kept = super()._step(rates, value, gradient, lr, extra)
        return fma(value, rates.product(leaf_t(gradient), lr, self.weight_decay, -1.0), new), kept

    def _facts(self):
        *facts, last = super()._facts()
        return [*facts, last + ",", f"weight_decay = {self.weight_decay:g}"]


class Muon(Optimizer):
    """Momentum whose steps are made orthogonal: for weight matrices, the only parameters that it accepts [Jordan 2024].

    Matrices of one shape go through the iteration together. Kept: (momentum, shape).
    """

    def __init__(self, lr, params=None, *, momentum=0.95, nesterov=True, ns_steps=5, weight_decay=0.0,
                 mask_updates=False, promote_fp16=True):
        if not 0 <= momentum < 1:
            raise RuntimeError("'momentum' must be in [0, 1)")
        self.momentum, self.nesterov, self.ns_steps, self.weight_decay = momentum, nesterov, ns_steps, weight_decay
        super().__init__(lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16)

    def step(self, *, eval=True, grad_scale=None, active=None):
        rates, groups = _Rates(), {}
        for key, (value, _, _, (m, shape)) in self.state.items():
            gradient = value.grad.array
            if grad_scale is not None:
                gradient = gradient * grad_scale
            m = fma(self.momentum, m, gradient)
            step = fma(self.momentum, m, gradient) if self.nesterov else m
            groups.setdefault(shape, []).append((key, step, m, gradient))
        for (rows, columns), items in groups.items():
            leaf = leaf_t(items[0][1])
            tensor = tensor_t(leaf)
            steps = _orthogonal(concat([tensor(s, (1, rows, columns)) for _, s, _, _ in items], axis=0), self.ns_steps)
            stretch = max(1.0, rows / columns)**0.5
            for i, (key, _, m, gradient) in enumerate(items):
                value = self.state[key][0]
                lr = rates.scaled(*self._rate(key), leaf)
                flat = detach(value).array
                rest = flat
                if self.weight_decay:
                    rest = fma(rates.product(leaf, lr, self.weight_decay, -1.0), flat, flat)
                new = fma(rates.product(leaf, lr, -stretch), steps[i].array, rest)
                self._finish(key, flat, gradient, new, (m, (rows, columns)), active)
        self.steps += 1
        if eval:
            evaluate()

    def _filter(self, params):
        return {k: v for k, v in super()._filter(params).items() if len(v.shape) == 2}

    def _reset(self, key, value, promoted, /):
        if len(value.shape) != 2:
            raise RuntimeError(f"Muon requires 2D parameters; got shape {tuple(value.shape)!r} for '{key}'")
        self.state[key] = value, promoted, None, (_zeros_like(value), tuple(value.shape))

    def _select(self, mask, extra, kept, /):
        return select(mask, extra[0], kept[0]), kept[1]

    def _facts(self):
        return [f"momentum = {self.momentum:g},", f"nesterov = {self.nesterov},", f"ns_steps = {self.ns_steps},",
                f"weight_decay = {self.weight_decay:g}"]


def _orthogonal(x, steps):
    """The nearest matrix with singular values near 1, of each of a stack, by a quintic iteration of Newton and
    Schulz whose coefficients have the steepest slope at 0 [Jordan 2024]."""
    a, b, c = 3.4445, -4.7750, 2.0315
    from ._reduce import sum as sum_of
    x = x * rcp(sqrt(sum_of(square(x), axis=(1, 2), keepdims=True)) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    for _ in range(steps):
        gram = matmul(x, x, At=True) if tall else matmul(x, x, Bt=True)
        poly = b * gram + c * matmul(gram, gram)
        x = a * x + (matmul(x, poly) if tall else matmul(poly, x))
    return x


class GradScaler:
    """Scales a loss so that gradients of half precision neither vanish nor overflow.

        scaler = GradScaler()
        dr.backward(scaler.scale(loss))
        scaler.step(opt)

    A step whose gradients are not all finite is left out and lowers the scale; `growth_interval` good ones raise it.
    """
    DRJIT_STRUCT = {"scale_factor": float}

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, debug=False):
        if backoff_factor >= 1:
            raise Exception("'backoff_factor' must be < 1.")
        if growth_factor < 1:
            raise Exception("'growth_factor' must be >= 1.")
        self.scale_factor, self.it = init_scale, 0
        self.growth_factor, self.backoff_factor, self.growth_interval = growth_factor, backoff_factor, growth_interval
        self.debug = debug

    def scale(self, arg, /):
        """The argument times the scale."""
        return arg * self.scale_factor

    def unscale(self, arg, /):
        """The argument over the scale."""
        return arg / self.scale_factor

    def step(self, opt, **kwargs):
        """opt.step() with the gradients over the scale; adapts the scale."""
        good = None
        for value, *_ in opt.state.values():
            gradient = value.grad.array
            if good is None:
                leaf = leaf_t(gradient)
                good = mask_t(leaf)(True)
                make_opaque(good)
            for entry in [gradient] if type(gradient) is leaf_t(gradient) else list(gradient):
                scatter(good, False, 0, ~isfinite(entry), mode=ReduceMode.NoConflicts)
        if good is None:
            return
        if not isinstance(self.scale_factor, ArrayBase):  # data, so that other numbers do not mean other programs
            self.scale_factor = opaque(leaf, self.scale_factor)
            self.it = opaque(uint32_array_t(leaf), self.it)
        scale, it = self.scale_factor, self.it
        grow = it >= self.growth_interval
        next_scale = select(good, select(grow, scale * self.growth_factor, scale), scale * self.backoff_factor)
        next_it = select(good, it + 1, 0)
        inverse = rcp(scale)
        evaluate(good, inverse, next_scale, next_it)
        if self.debug:
            if not good[0]:
                print(f"GradScaler: detected overflow/NaN, reducing step size scale to {next_scale}")
            elif grow[0]:
                print(f"GradScaler: increasing step size scale to {next_scale}")
        opt.step(grad_scale=inverse, active=good, **kwargs)
        self.scale_factor, self.it = next_scale, next_it


from ._lbfgs import LBFGS  # noqa: E402,F401  a file of its own, with the base from here
