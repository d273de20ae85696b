# jit/_control.py: loops and conditionals of Python functions, recorded once for all lanes.
import contextlib

from .. import _core
from ._create import is_empty
from ._eval import JitFlag, flag, scoped_set_flag
from ._hooks import InsideBody, StateAccess, UserError
from ._state import Copies, arrays, check_initialized, child_name, fit, introduce, labelled, meanings, parts, put_back, type_name
from ._types import ArrayBase, describe, is_mask_v

_modes = (None, "auto", "symbolic", "evaluated", "scalar")


class _Again(Exception):
    """A trace taught us something: trace anew."""


def check_mode(where, mode):
    if mode not in _modes:
        raise UserError(f"{where}: mode \"{mode}\" is unknown; it is symbolic, evaluated or scalar")


def mode_scope(where, kind, mode, what):
    """The flag for a construct; explicitly evaluated ones have no place in a recorded body."""
    if mode == "evaluated" and _core.is_recording():
        raise UserError(f"{where}: currently recording symbolic computation and cannot execute {what} in *evaluated "
                        "mode*; leave the mode away inside of recorded bodies, or evaluate the outer ones, too")
    if mode in (None, "auto"):
        return contextlib.nullcontext()
    return scoped_set_flag(kind, mode == "symbolic")


def guarded(where, what, f, *args, **kwargs):
    """f(*args), whose errors become the cause of one that says where they happened."""
    try:
        return f(*args, **kwargs)
    except (StateAccess, InsideBody, _Again):
        raise
    except Exception as e:
        raise UserError(f"{where}: {what} raised {type(e).__name__}: {e}") from e


def as_condition(where, cond, what):
    """A mask of one dimension; tensors give theirs."""
    if isinstance(cond, ArrayBase) and is_mask_v(cond):
        if describe(type(cond))[1] == 4:
            return _core.tensor_array(cond)
        if not describe(type(cond))[3]:
            return cond
    raise UserError(f"{where}: the type of {what} ('{type_name(cond)}') is not supported; it is a mask of one dimension, "
                    "a Python bool or a tensor of masks")


def with_derivatives_inside(where, run):
    """run(resumed), where resumed(f) is what to call in the place of a body f. A body that traverses derivatives itself
    cannot be differentiated as a whole: then the construct is not followed, but what its body does is."""
    try:
        return run(lambda f: f, False)
    except InsideBody:
        from ._grad import isolate_grad, resume_grad, suspend_grad

        def resumed(f):
            def call(*args):
                with resume_grad():
                    return f(*args)
            return call
        with isolate_grad(), suspend_grad():
            return run(resumed, True)


# ---- loops

class _Loop:
    """One attempt after another at tracing a loop, until it is known which arrays are state of lanes."""

    def __init__(self, where, state, cond, body, labels, strict):
        self.where, self.state, self.cond, self.body, self.strict = where, state, cond, body, strict
        self.named = labelled(state, labels) if labels else [(f"state[{i}]", v) for i, v in enumerate(state)]
        introduce(state)
        self.flat = arrays(state)
        self.memory = set()  # numbers of arrays that lanes access by index
        self.kept = set()    # of arrays that stay as they are, and are to be seen as they are
        self.no_more = set() # of arrays that do not stay, though we thought so
        self.held = {}       # evaluated loops: arrays that the body has written to by index

    def outside(self): return self.memory | self.kept

    def inside(self, values):
        outside = self.outside()
        return [a for i, a in enumerate(values) if i not in outside]

    def _copies(self, values):
        outside, it = self.outside(), iter(values)
        values = [a if i in outside else next(it) for i, a in enumerate(self.flat)]
        return Copies(self.state, [self.held.get(i, a) for i, a in enumerate(values)])

    def _run(self, what, f, copies):
        try:
            return guarded(self.where, what, f, *copies.tree)
        except StateAccess as e:
            # An array that lanes read or write by index is memory, unless the loop replaces it
            outside = self.outside()
            for i, a in enumerate(arrays(copies.tree)):
                if i not in outside and e.node in _core.indices(a):
                    self.memory.add(i)
                    raise _Again from None
            raise

    def condition(self, values):
        copies = self._copies(values)
        self.mask = as_condition(self.where, self._run("the condition", self.cond, copies), "the loop condition")
        return self.mask

    def step(self, values):
        copies = self._copies(values)
        # Not of arrays that the body writes to: they would look shared, and be copied
        before = [None if i in self.memory or i in self.held else _core.copy(a)
                  for i, a in enumerate(arrays(copies.tree))]
        out = self._run("the body", self.body, copies)
        if not isinstance(out, tuple):
            raise UserError(f"{self.where}: the 'body' function must return a tuple of {len(self.state)} state variables, "
                            f"not {type_name(out)}")
        if len(out) != len(self.state):
            raise UserError(f"{self.where}: the 'body' function returned a tuple with an inconsistent size ({len(out)} "
                            f"state variables, not {len(self.state)})")
        known = meanings(self.state)
        out = tuple(fit(self.where, n, v, o, self.strict) for (n, v), o in zip(self.named, out))
        if meanings(self.state) != known:
            raise _Again  # with references to more objects than the body has been traced with
        flat, given = arrays(out), arrays(copies.tree)
        # A recorded body is known by its last trace, an evaluated one by all iterations
        earlier = self.changed if not _core.is_recording() and self.last else [False] * len(flat)
        self.changed = [e or b is None or not _core.same_values(o, b) for e, o, b in zip(earlier, flat, before)]
        for i in self.memory:
            if flat[i] is not given[i]:
                raise UserError(f"{self.where}: state variable '{self._name(i)}' is replaced by the body, which also reads "
                                "or writes its elements by index; that is possible for arrays that stay")
            self.changed[i] = False  # it has what was written
        replaced = {i for i in self.kept if self.changed[i] or flat[i] is not given[i]}
        if replaced:
            for i in replaced:
                _core.assign(self.flat[i], before[i])
            self.kept -= replaced
            self.no_more |= replaced
            raise _Again
        if not _core.is_recording():
            for i, a in enumerate(flat):
                if a is given[i] and _core.dirty(a):
                    self.held[i] = a
        self._check_sizes(flat)
        self.last = copies, out
        given = iter(values)
        given = [None if i in self.outside() else next(given) for i in range(len(flat))]
        return self.inside([a if i not in self.held else given[i] if before[i] is None else before[i]
                            for i, a in enumerate(flat)])

    def _check_sizes(self, flat):
        """Arrays that change have one size, or 1; others that do not fit are none of the loop's."""
        size = _core.width(self.mask)
        for i, a in enumerate(flat):
            if self.changed[i] and i not in self.held:
                n = _core.width(a)
                if n != 1 and size != 1 and n != size:
                    raise UserError(f"{self.where}: this operation processes arrays of size {size}, while state variable "
                                    f"'{self._name(i)}' has an incompatible size {n}.")
                size = n if size == 1 else size
        # An array that stays, and is wider than all that changes, would widen the loop
        outside = self.outside()
        wide = {i for i, a in enumerate(flat) if i not in outside and not self.changed[i] and
                _core.width(a) not in (1, size)} - self.no_more
        if wide and _core.is_recording():
            self.kept |= wide
            raise _Again

    def _name(self, number):
        names = []

        def walk(name, tree):
            if isinstance(tree, ArrayBase):
                names.append(name)
            else:
                for k, v in parts(tree) or ():
                    walk(child_name(tree, name, k), v)
        for n, v in self.named:
            walk(n, v)
        return names[number]

    def run(self, name, resumed, derivatives_inside):
        """The final state."""
        self.body, self.cond = resumed(self.body), resumed(self.cond)
        if derivatives_inside:
            from ._grad import grad_enabled, resume_grad
            with resume_grad():
                self.kept = {i for i, a in enumerate(self.flat) if grad_enabled(a)}
        while True:
            self.last, self.held = None, {}
            try:
                final = iter(_core.loop(name, self.inside(self.flat), self.condition, self.step))
                break
            except _Again:
                pass
        if self.last is None:
            return self.state
        copies, out = self.last
        outside = self.outside()
        values = []
        for i in range(len(self.flat)):
            value = None if i in outside else next(final)
            values.append(self.held[i] if i in self.held else value if self.changed[i] else None)
        return put_back([out], [copies.original], iter(values), self.state)


def while_loop(state, cond, body, labels=(), label=None, mode=None, strict=True, compress=None, max_iterations=None):
    """Runs body(*state) while cond(*state) holds, for each lane by itself, and returns the final state, a tuple. The
    body returns the next state; it is recorded once and becomes part of the kernel.

    labels: names of the state variables, for messages; label: that of the loop.
    mode: "symbolic" (recorded), "evaluated" (a kernel an iteration), "scalar" (conditions of Python's own); by
    default, what the condition and JitFlag.SymbolicLoops say.
    strict: whether values that are no arrays must stay as they are.
    compress, max_iterations: accepted; no loop needs them, in reverse either."""
    where = f"while_loop(\"{label}\")" if label else "while_loop()"
    check_mode(where, mode)
    if not isinstance(state, (tuple, list)):
        raise TypeError(f"{where}: the state must be a tuple, not '{type_name(state)}'")
    state = tuple(state)
    if labels and len(labels) != len(state):
        raise UserError(f"{where}: the variable state and labels have an inconsistent size ({len(state)} vs "
                        f"{len(labels)})")
    if mode in (None, "auto", "scalar"):
        first = guarded(where, "the condition", cond, *state)
        if mode == "scalar" or isinstance(first, bool):
            while first:
                state = guarded(where, "the body", body, *state)
                first = guarded(where, "the condition", cond, *state)
            return state
        first = as_condition(where, first, "the loop condition")
        if _core.width(first) == 0:
            return state  # there is no lane
        if flag(JitFlag.OptimizeLoops) and _core.state(first) == 1 and not first[0]:
            return state  # no lane enters
    elif any(is_empty(a) for a in arrays(state)):
        first = as_condition(where, guarded(where, "the condition", cond, *state), "the loop condition")
        if _core.width(first) == 0:
            return state
    loop = _Loop(where, state, cond, body, labels, strict)
    for n, v in loop.named:
        check_initialized(where, n, v)
    with mode_scope(where, JitFlag.SymbolicLoops, mode, "a loop"):
        return with_derivatives_inside(where, lambda *how: loop.run(label or "while_loop", *how))


# ---- conditionals

def if_stmt(args, cond, true_fn, false_fn, arg_labels=(), rv_labels=(), label=None, mode=None, strict=True):
    """true_fn(*args) in the lanes where `cond` holds, false_fn(*args) in the others. Each lane runs one of them.

    arg_labels, rv_labels: names of arguments and results, for messages; label: that of the conditional.
    mode: "symbolic" (recorded), "evaluated" (both branches, under masks) or "scalar"; by default, what the condition and
    JitFlag.SymbolicConditionals say. strict: whether results that are no arrays must agree."""
    where = f"if_stmt(\"{label}\")" if label else "if_stmt()"
    check_mode(where, mode)
    if mode == "scalar" or isinstance(cond, bool):
        return guarded(where, "the branch", true_fn if cond else false_fn, *args)
    cond = as_condition(where, cond, "'cond'")
    args = tuple(args)
    if arg_labels and len(arg_labels) != len(args):
        raise UserError(f"{where}: the 'args' and 'arg_labels' arguments have inconsistent sizes ({len(args)} vs "
                        f"{len(arg_labels)})")
    if _core.width(cond) == 0:
        if any(_core.width(a) > 1 for a in arrays(args)):
            raise UserError(f"{where}: 'cond' is empty, and arguments are not; only a size of 1 fits all")
        from ._calls import call_of_nothing
        return call_of_nothing(where, label or "if_stmt", 2, (true_fn, false_fn).__getitem__, args, {}, mode)
    for n, v in labelled(args, arg_labels):
        check_initialized(where, n, v)
    with mode_scope(where, JitFlag.SymbolicConditionals, mode, "a conditional"):
        return with_derivatives_inside(where, lambda resumed, _: _if(
            where, label, args, cond, (resumed(true_fn), resumed(false_fn)), rv_labels, strict))


def _if(where, label, args, cond, branches, rv_labels, strict):
    flat_args, lanes = arrays(args), _core.width(cond)
    written = {}       # arguments that a branch has written to by index: the other one continues with them
    dropped = set()    # numbers of results that no lane selects: arguments as they were, or as they are written
    results, flat = [], []  # (copies of the arguments, result) of each branch; arrays of the results

    def run(fn, what):
        copies = Copies(args, [written[i] if i in written else _core.copy(a) for i, a in enumerate(flat_args)])
        out = guarded(where, what, fn, *copies.tree)
        for n, v in _result_names(rv_labels, out):
            check_initialized(where, n, v)
        if results:
            out = _fit_result(where, rv_labels, results[0][1], out, strict)
        for i, (a, original) in enumerate(zip(arrays(copies.tree), flat_args)):
            if _core.dirty(a) and not _core.same_values(a, original):
                written[i] = a
        results.append((copies, out))
        flat.append(arrays(out))
        is_written = [any(a is w for w in written.values()) for a in flat[-1]]
        stays = [w or _unchanged(copies, a) for w, a in zip(is_written, flat[-1])]
        if len(results) == 1:
            dropped.update(i for i, a in enumerate(flat[0]) if stays[i] and
                           (is_written[i] or _core.width(a) not in (1, lanes)))
        for i, a in enumerate(flat[-1]):
            n = _core.width(a)
            if (i in dropped and not stays[i]) or (i not in dropped and n != 1 and lanes not in (1, n)):
                raise UserError(f"{where}: the condition and the results have incompatible sizes ({lanes} and {n}); only "
                                "a size of 1 fits all")
        return [copies.original(a) if is_written[i] else a for i, a in enumerate(flat[-1]) if i not in dropped]

    final = iter(_core.if_(label or "if_stmt", cond, lambda: run(branches[0], "true_fn"),
                           lambda: run(branches[1], "false_fn")))
    if len(results) == 1:  # the condition is known
        values = [None if _unchanged(results[0][0], a) else a for a in flat[0]]
    else:
        values = []
        for i, (a, b) in enumerate(zip(*flat)):
            value = None if i in dropped else next(final)
            last = next((w for w in written.values() if w is a or w is b), None)
            both = all(_unchanged(c, x) for (c, _), x in zip(results, (a, b))) and \
                results[0][0].original(a) is results[1][0].original(b)
            values.append(last if last is not None else None if both else value)
    return put_back([out for _, out in results], [c.original for c, _ in results], iter(values))


def _unchanged(copies, x):
    original = copies.original(x)
    return original is not None and _core.same_values(x, original)


def _result_names(labels, out):
    if labels and isinstance(out, tuple):
        return labelled(out, labels, "rv")
    return [("rv", out)]


def _fit_result(where, labels, first, out, strict):
    if labels and isinstance(first, tuple) and isinstance(out, tuple) and len(first) == len(out):
        return tuple(fit(where, n, a, b, strict) for (n, a), b in zip(labelled(first, labels, "rv"), out))
    return fit(where, "rv", first, out, strict)
