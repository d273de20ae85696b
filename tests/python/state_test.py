# tests/python/state_test.py: what loops, branches and calls do to the objects that they are given.
from dataclasses import dataclass

import pytest

import umbel.jit as dr
from umbel.jit.auto import Array2f, Bool, Float, UInt

modes = pytest.mark.parametrize("mode", ["symbolic", "evaluated"])


def values(x): return [float(v) for v in x]


@modes
def test_what_a_loop_changes_in_place_is_changed_for_the_caller(mode):
    @dr.syntax
    def halve(x, y):
        while dr.hint(x > 1, mode=mode):
            x *= 0.5
            y = y + 1
        return x, y
    x, y = Float(8, 1), Float(0)
    a, b = halve(x, y)
    assert a is x and values(x) == [1, 1] and values(b) == [3, 0]
    assert b is not y and values(y) == [0]


@modes
def test_what_a_loop_leaves_alone_is_the_callers_object(mode):
    x, extra, table = Float(0), {"k": [Float(5)]}, Float(1, 2, 3)
    out = dr.while_loop((x, extra, table), lambda x, e, t: x < 3, lambda x, e, t: (x + 1, e, t), mode=mode)
    assert out[1] is extra and out[1]["k"][0] is extra["k"][0] and out[2] is table
    assert values(out[0]) == [3]


@modes
def test_variables_that_change_places_do_not_change_the_callers(mode):
    a, b = Float(1, 2), Float(10, 20)
    x, y, i = dr.while_loop((a, b, UInt(0)), lambda a, b, i: i < 3, lambda a, b, i: (b, a, i + 1), mode=mode)
    assert values(x) == [10, 20] and values(y) == [1, 2]
    assert values(a) == [1, 2] and values(b) == [10, 20]


@modes
def test_branches_change_lists_dictionaries_and_records_in_place(mode):
    @dataclass
    class Record:
        p: Float
        q: Float

    def change(items, table, record):
        items[0] += 1
        table["a"] = table["a"] * 2
        record.p = record.p - 1
        return items, table, record
    items, table, record = [Float(1, 1), Float(7)], {"a": Float(3)}, Record(Float(5), Float(6))
    first, kept, q = items[0], items[1], record.q
    out = dr.if_stmt((items, table, record), Bool(True, False), change, lambda *a: a, mode=mode)
    assert out[0] is items and out[1] is table and out[2] is record
    assert items[0] is first and values(first) == [2, 1] and items[1] is kept
    assert values(table["a"]) == [6, 3] and values(record.p) == [4, 5] and record.q is q


@modes
def test_branches_write_to_arrays_that_they_are_given(mode):
    def add(target, i, value):
        dr.scatter_add(target, Float(value), i)
        return target, i
    target = dr.zeros(Float, 2)
    out, _ = dr.if_stmt((target, UInt(0, 0, 1, 1, 1)), Bool(True, True, True, False, False),
                        lambda t, i: add(t, i, 1), lambda t, i: add(t, i, 10), mode=mode)
    assert values(out) == [2, 21]


@modes
def test_a_loop_reads_and_writes_arrays_among_its_variables_by_index(mode):
    @dr.syntax
    def run(table, total, i, lanes):
        while dr.hint(i < 3, mode=mode):
            lanes += dr.gather(Float, table, i)
            dr.scatter_add(total, Float(1), i)
            i += 1
        return lanes
    table, total = Float(1, 10, 100), dr.zeros(Float, 3)
    assert values(run(table, total, UInt(0, 1), Float(0, 0))) == [111, 110]
    assert values(total) == [1, 2, 2] and values(table) == [1, 10, 100]


def test_an_array_cannot_be_both_memory_and_state_of_lanes():
    def body(table, i): return table + dr.gather(Float, table, i), i + 1
    with pytest.raises(dr.UserError, match="'t' is replaced by the body, which also reads"):
        dr.while_loop((Float(1, 2), UInt(0, 0)), lambda t, i: i < 2, body, labels=("t", "i"), mode="symbolic")


@modes
def test_messages_name_the_variable(mode):
    def loop(second, body): return dr.while_loop((UInt(0, 0), {"k": [second]}), lambda i, x: i < 2, body,
                                                 labels=("i", "x"), mode=mode)
    with pytest.raises(dr.UserError, match=r"state variable 'x\['k'\]\[0\]' changed from .*Float' to .*UInt'"):
        loop(Float(1), lambda i, x: (i + 1, {"k": [UInt(2)]}))
    with pytest.raises(dr.UserError, match=r"size of state variable 'x\['k'\]\[0\]' of type .* changed from 2 to 3"):
        loop(Float(1, 2), lambda i, x: (i + 1, {"k": [Float(1, 2, 3)]}))
    with pytest.raises(dr.UserError, match=r"state variable 'x\['k'\]\[0\]' of type .* is uninitialized"):
        loop(Float(), lambda i, x: (i + 1, x))
    with pytest.raises(dr.UserError, match=r"arrays of size 2, while state variable 'x\['k'\]\[0\]' has an incompatible"):
        loop(Float(1, 2, 3), lambda i, x: (i + 1, {"k": [x["k"][0] + 1]}))
    with pytest.raises(dr.UserError, match="variable 'n' of type 'int' changed from '1' to '2'"):
        dr.if_stmt((), Bool(True, False), lambda: (1,), lambda: (2,), rv_labels=("n",), mode=mode)
    assert dr.if_stmt((), Bool(True, False), lambda: (1,), lambda: (2,), strict=False, mode=mode)[0] in (1, 2)


def test_evaluated_constructs_have_no_place_in_recorded_ones():
    def inner(x): return dr.while_loop((x,), lambda x: x < 5, lambda x: (x + 1,), mode="evaluated")
    with pytest.raises(dr.UserError) as e:
        dr.while_loop((Float(0),), lambda x: x < 3, inner)
    assert "cannot execute a loop in *evaluated mode*" in str(e.value.__cause__)


@modes
def test_calls_mask_lanes_by_their_last_argument_or_by_name(mode):
    seen = []

    def f(k):
        def g(x, active):
            seen.append(bool(active[0]))
            return x * k
        return g
    index, x, mask = UInt(0, 1, 1), Float(1, 2, 3), Bool(True, False, True)
    for r in (dr.switch(index, [f(1), f(10)], x, mask, mode=mode), dr.switch(index, [f(1), f(10)], x, active=mask)):
        assert values(r) == [1, 0, 30]
    assert all(seen)
    assert dr.switch(1, [f(1), f(10)], 5, active=False) is None


def test_func_keeps_a_function_out_of_its_caller():
    @dr.func
    def f(x, scale): return {"r": dr.sin(x) * scale}
    functions = []
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        for g in (f, f.__wrapped__):
            dr.kernel_history_clear()
            r = g(Float(0, 1), 2)["r"]
            dr.eval(r)
            functions.append(dr.kernel_history([dr.KernelType.JIT])[0]["functions"])
            assert [round(v, 5) for v in r] == [0, 1.68294]
    assert functions[0] == functions[1] + 1


# ---- @syntax

def test_syntax_reaches_inner_functions_where_asked_to():
    @dr.syntax(recursive=True)
    def outer(x):
        def sign(y):
            if y < 0:
                s = Float(-1)
            else:
                s = Float(1)
            return s
        return sign(x) * sign(-x)
    assert values(outer(Float(2, -2))) == [-1, -1]


def test_syntax_leaves_variables_of_comprehensions_and_branches_apart():
    @dr.syntax
    def f(n):
        total = [j for j in range(3)][0] + Float(0)
        i = UInt(0)
        while i < n:
            for j in range(3):
                total += j
            if i > 0:
                temporary = total
            i += 1
        return total
    assert values(f(UInt(1, 2))) == [3, 6]


def test_syntax_explains_what_it_cannot_do():
    with pytest.raises(SyntaxError, match="use of 'return' inside a transformed"):
        @dr.syntax
        def f(x):
            if x > 0:
                return x
    with pytest.raises(SyntaxError, match="does not support the keyword argument \"speed\""):
        @dr.syntax
        def g(x):
            while dr.hint(x > 0, speed=1):
                x -= 1
    with pytest.raises(RuntimeError, match="wrong order"):
        dr.syntax(dr.wrap(source="umbel", target="torch")(lambda x: x))
