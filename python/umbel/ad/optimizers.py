"""umbel.ad.optimizers: They hold the parameters that they change, by name, as a dictionary."""
from .. import jit as dr
from .. import _core


class Optimizer:
    """Base: what all optimizers share. `lr` is a number, or a dictionary of them by parameter."""

    def __init__(self, lr, params=None):
        self.lr_default = lr if not isinstance(lr, dict) else None
        self.lr = {} if not isinstance(lr, dict) else dict(lr)
        self._rates = {}
        self.variables = {}
        self.state = {}
        if params is not None:
            for k in params.keys():
                self[k] = params[k]

    def __contains__(self, key): return key in self.variables
    def __getitem__(self, key): return self.variables[key]
    def __len__(self): return len(self.variables)
    def __iter__(self): return iter(self.variables)
    def keys(self): return self.variables.keys()
    def values(self): return self.variables.values()
    def items(self): return self.variables.items()

    def __setitem__(self, key, value):
        """Starts to optimize a value, or replaces it; momenta stay if the size is the same."""
        value = type(value)(dr.detach(value))
        old = self.variables.get(key)
        dr.enable_grad(value)
        self.variables[key] = value
        if old is None or dr.shape(old) != dr.shape(value):
            self.reset(key)

    def __delitem__(self, key):
        del self.variables[key]
        self.state.pop(key, None)

    def learning_rate(self, key=None):
        rate = self.lr.get(key, self.lr_default)
        if rate is None:
            raise KeyError(f"no learning rate for \"{key}\"")
        return rate

    def set_learning_rate(self, lr):
        """A number for all, or a dictionary for some."""
        if isinstance(lr, dict):
            self.lr.update(lr)
        else:
            self.lr_default = lr
        self._rates.clear()

    def _rate(self, key, value):
        """The rate as data of the program: changing it compiles nothing."""
        rate = float(self.learning_rate(key))
        known = self._rates.get(key)
        if known is None or known[0] != rate:
            known = self._rates[key] = (rate, dr.opaque(dr.leaf_t(type(value)), rate))
        return known[1]

    def reset(self, key): raise NotImplementedError

    def update(self, values): [self.__setitem__(k, v) for k, v in values.items()]

    def _finish(self, key, value):
        value = type(self.variables[key])(value)
        dr.enable_grad(value)
        self.variables[key] = value
        dr.schedule(value, self.state.get(key))


class SGD(Optimizer):
    """Gradient descent with momentum: v = momentum * v + gradient; x = x - lr * v."""

    def __init__(self, lr, momentum=0, mask_updates=False, params=None):
        if not 0 <= momentum < 1:
            raise ValueError("momentum must lie in [0, 1)")
        self.momentum, self.mask_updates = momentum, mask_updates
        super().__init__(lr, params)

    def reset(self, key):
        self.state[key] = dr.zeros(type(self.variables[key]), dr.shape(self.variables[key])) if self.momentum else None

    def step(self):
        """One step along the gradients, which are forgotten."""
        for key, p in list(self.variables.items()):
            g, rate = dr.grad(p), self._rate(key, p)
            p = dr.detach(p)
            step = g
            if self.momentum:
                step = self.momentum * self.state[key] + g
                if self.mask_updates:
                    step = dr.select(g == 0, self.state[key], step)
                self.state[key] = step
            new = p - rate * step
            self._finish(key, dr.select(g == 0, p, new) if self.mask_updates else new)
        dr.eval()


class Adam(Optimizer):
    """Adam [Kingma 2015], with per-parameter rates; `uniform` uses one second moment for all entries."""

    def __init__(self, lr, beta_1=0.9, beta_2=0.999, epsilon=1e-8, mask_updates=False, uniform=False, params=None):
        if not (0 <= beta_1 < 1 and 0 <= beta_2 < 1 and epsilon > 0):
            raise ValueError("beta_1 and beta_2 must lie in [0, 1), epsilon must be positive")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.mask_updates, self.uniform = mask_updates, uniform
        self.t = {}
        super().__init__(lr, params)

    def reset(self, key):
        p = self.variables[key]
        zero = lambda: dr.zeros(type(p), dr.shape(p))
        self.state[key] = (zero(), zero())
        self.t[key] = 0

    def step(self):
        """One step along the gradients, which are forgotten."""
        for key, p in list(self.variables.items()):
            self.t[key] += 1
            g, rate = dr.grad(p), self._rate(key, p)
            p = dr.detach(p)
            m0, v0 = self.state[key]
            m = self.beta_1 * m0 + (1 - self.beta_1) * g
            v = self.beta_2 * v0 + (1 - self.beta_2) * dr.square(g)
            if self.mask_updates:
                m, v = dr.select(g == 0, m0, m), dr.select(g == 0, v0, v)
            self.state[key] = (m, v)
            scalar = dr.leaf_t(type(p))
            bias = dr.opaque(scalar, (1 - self.beta_2 ** self.t[key]) ** .5 / (1 - self.beta_1 ** self.t[key]))
            size = dr.max(v, axis=None) if self.uniform else v
            step = rate * bias * m / (dr.sqrt(size) + self.epsilon)
            new = p - step
            self._finish(key, dr.select(g == 0, p, new) if self.mask_updates else new)
        dr.eval()
