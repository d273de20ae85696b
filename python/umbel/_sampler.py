# umbel/_sampler.py: samplers as scripts use them: many sequences of random numbers, one a lane, in mid-sequence.
#
# A sampler's numbers are a function of its seed, the sequence, the sample and the dimension. Where it is in them is kept
# apart from the sampler itself; a loop that uses one carries that state along.
from . import _core
from . import jit as dr
from ._records import _mi
from ._state import state_of

Sampler = _core.Sampler
_names = ("key0", "key1", "sample", "dimension")  # as C++ has them


def _begin(self, seed, lanes):
    """Starts sequences: `samples_per_wavefront` lanes in a row are samples of one pixel."""
    state = state_of(self)
    UInt = _mi("UInt")
    lane, each = dr.arange(UInt, lanes), state.get("samples_per_wavefront", 1)
    pixel = lane // each if each != 1 else lane
    sample = lane - pixel * each + state.get("passes", 0) * each
    state.update(zip(_names, source(self)._begin(seed, pixel, sample)))
    state["seed"], state["lanes"] = seed, lanes


def _ready(self):
    state = state_of(self)
    if "key0" not in state:
        _begin(self, _seed(self, 0), 1)
    return state


def _seed(self, seed):
    UInt = _mi("UInt")
    if isinstance(seed, dr.ArrayBase):
        seed = UInt(seed)
        dr.make_opaque(seed)
    else:
        seed = dr.opaque(UInt, int(seed) & 0xffffffff)
    return seed + dr.opaque(UInt, source(self)._own_seed() & 0xffffffff) if source(self)._own_seed() else seed


def seed(self, seed, wavefront_size=0xffffffff):
    """Starts `wavefront_size` sequences, as many as before if it is not given; the seed is data of the program."""
    state = state_of(self)
    lanes = state.get("lanes", 1) if wavefront_size == 0xffffffff else int(wavefront_size)
    state["passes"] = 0
    _begin(self, _seed(self, seed), lanes)


def advance(self):
    """Goes on to the next sample of each pixel."""
    state = _ready(self)
    state["passes"] = state.get("passes", 0) + 1
    _begin(self, state["seed"], state["lanes"])


def next_1d(self, active=True):
    """A number in [0, 1) for each lane."""
    state = _ready(self)
    u, state["dimension"] = source(self)._next_1d(*(state[n] for n in _names))
    return u


def next_2d(self, active=True):
    """A point in [0, 1)^2 for each lane."""
    state = _ready(self)
    u, state["dimension"] = source(self)._next_2d(*(state[n] for n in _names))
    return u


def set_samples_per_wavefront(self, samples_per_wavefront):
    """How many neighbouring lanes are samples of one pixel; set it before seed()."""
    count = source(self).sample_count()
    if count % samples_per_wavefront:
        raise dr.UserError(f"set_samples_per_wavefront: {samples_per_wavefront} does not divide the sample count, {count}")
    state_of(self)["samples_per_wavefront"] = int(samples_per_wavefront)


def wavefront_size(self):
    """How many sequences there are."""
    return state_of(self).get("lanes", 1)


def clone(self):
    """A copy that goes on with the same numbers."""
    other = source(self)._clone()
    state_of(other).update({k: dr.copy(v) if isinstance(v, dr.ArrayBase) else v for k, v in state_of(self).items()})
    return other


def fork(self):
    """A copy that has not been seeded."""
    return source(self)._clone()


def schedule_state(self):
    """Computes where the sampler is together with what is evaluated next."""
    dr.schedule(arrays(self))


# ---- the arrays of a sampler: what loops and calls carry

def _field(name):
    return property(lambda self: _ready(self)[name], lambda self, v: state_of(self).__setitem__(name, v))


for _n in _names:
    setattr(Sampler, f"_{_n}", _field(_n))


def _umbel_names(self):
    """Its state; then, of a plugin written in Python, all attributes that hold arrays."""
    return [f"_{n}" for n in _names] + [k for k, v in self.__dict__.items()
                                        if k not in ("_umbel_state", "_source") and dr._tree.leaves(v)]


def _umbel_copy(self):
    """Another place in the numbers of the same sampler."""
    copy = type(self).__new__(type(self))
    copy.__dict__.update(self.__dict__)
    copy.__dict__["_umbel_state"] = dict(_ready(self))
    copy.__dict__["_source"] = source(self)
    return copy


def source(self):
    """The sampler that a copy in a loop stands for."""
    return self.__dict__.get("_source", self)


def arrays(self): return dr._tree.leaves(self)


def set_arrays(self, values):
    """Puts others in their places."""
    values = iter(values)
    for name, value in dr._tree.children(self):
        setattr(self, name, dr._tree.replace_leaves(value, values))


def save(self):
    """All of its state, for restore()."""
    return dict(state_of(self)), {k: v for k, v in self.__dict__.items() if k != "_umbel_state"}


def restore(self, saved):
    state = state_of(self)
    state.clear()
    state.update(saved[0])
    self.__dict__.update(saved[1])


for _f in (seed, advance, next_1d, next_2d, set_samples_per_wavefront, wavefront_size, clone, fork, schedule_state,
           _umbel_names, _umbel_copy):
    setattr(Sampler, _f.__name__, _f)
Sampler.m_sample_count = property(Sampler.sample_count, Sampler.set_sample_count)
Sampler.m_wavefront_size = property(wavefront_size, lambda self, n: state_of(self).__setitem__("lanes", n))
