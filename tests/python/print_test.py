# tests/python/print_test.py: text with arrays in it, on the host and from recorded code.
import io
import re
import warnings
from dataclasses import dataclass

import pytest

import umbel.jit as dr
from umbel.jit.auto import Array2u, Array3f, Float, Matrix2f, UInt


class Once:
    """A file that takes one text."""
    text = None

    def write(self, text):
        assert self.text is None
        self.text = text


def test_fields_are_filled_by_place_and_name():
    assert dr.format("Hello {{}}") == "Hello {}"
    assert dr.format("{1} {0}", "world", "Hello") == "Hello world"
    assert dr.format("{a} {}", 123, a=0.25) == "0.25 123"
    for text, args, message in (("1{2", (), "unmatched brace"), ("{a}", (), "missing keyword"),
                                ("{}{}", ("a",), "positional argument 1"), ("{}{0}", ("a",), "cannot switch")):
        with pytest.raises(RuntimeError, match=message):
            dr.format(text, *args)


def test_structures_have_a_line_for_each_entry():
    @dataclass
    class Pair:
        a: Float
        b: tuple
    text = dr.format("{}", Pair(Float(1, 2), (0.25, {"c": "d", "e": []})))
    assert text == "Pair[\n  a=[1, 2],\n  b=(\n    0.25,\n    {\n      'c': 'd',\n      'e': []\n    }\n  )\n]"
    assert dr.format([Matrix2f(1, 2, 3, 4)]) == "[\n  [[[1, 2],\n    [3, 4]]]\n]"


def test_long_arrays_are_cut_at_the_limit():
    assert dr.format("{}", dr.arange(UInt, 100)) == "[0, 1, 2, .. 94 skipped .., 97, 98, 99]"
    assert dr.format("{}", dr.arange(UInt, 30), limit=30) == str(list(range(30)))
    assert str(dr.zeros(dr.auto.TensorXf, (30, 2))).split("\n")[3] == " .. 24 skipped ..,"


def test_a_print_writes_once(capsys):
    out = Once()
    dr.print("a{}", 1, file=out)
    assert out.text == "a1\n"
    dr.print(Array2u([1, 2], [3, 4]), end="")
    assert capsys.readouterr().out == "[[1, 3],\n [2, 4]]"
    dr.print("{x}", x=UInt(1, 2, 3), active=UInt(1, 2, 3) > 1)
    assert capsys.readouterr().out == "[2, 3]\n"


def test_recorded_prints_wait_for_the_kernel():
    out = Once()
    dr.print(UInt(1, 2, 3), file=out, end="", mode="symbolic")
    assert out.text is None
    dr.eval()
    assert out.text == "[1, 2, 3]"


def test_callees_print_the_lanes_that_called_them():
    first, second = Once(), Once()

    def f(x):
        def body(i):
            dr.print("tid={thread_id}, x={x}", x=x + i * 10, file=first)
            return (i + 1,)
        dr.while_loop((UInt(0),), lambda i: i < 2, body)

    dr.switch(index=UInt(0, 0, 1, 1), targets=[f, lambda x: dr.print("x={}", x, file=second)], x=UInt(1, 2, 3, 4))
    dr.eval()
    assert first.text == "tid=[0, 0, 1, 1], x=[1, 11, 2, 12]\n" and second.text == "x=[3, 4]\n"


def test_more_output_than_the_limit_warns():
    out = Once()
    dr.print(dr.arange(UInt, 1000), file=out, mode="symbolic", limit=25)
    with pytest.warns(RuntimeWarning, match="25 of 1000"):
        dr.eval()
    assert len(out.text.split(",")) == 25


def test_assertions_hold_in_debug_mode():
    dr.assert_true(False)
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        dr.assert_true(UInt(1, 2) > 0)
        with pytest.raises(AssertionError, match="Assertion failure: 2 is"):
            dr.assert_true(UInt(1, 2) > 1, "{} is too small", 2)
        with pytest.raises(AssertionError):
            dr.assert_equal(Float(1), Float(2))
        with pytest.raises(AssertionError, match=r"Assertion failure: at \[1, 2\]: \[\[-1, 0, 0\],\s*\[1, -2, 0\]\]"):
            v = Array3f(Float(1, -1, 1), Float(1, 0, -2), Float(1, 0, 0))
            dr.assert_true(v >= 0, "at {}: {}", dr.arange(UInt, 3), v)


def test_debug_mode_reports_indices_out_of_range(capsys):
    buffer, local = dr.opaque(UInt, 0, 10), dr.alloc_local(UInt, 10, UInt(0))

    def body(i, s):
        dr.assert_true(i < 11, "beyond")
        return i + 1, s + local[i]
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        assert list(dr.gather(UInt, buffer, UInt(0, 12))) == [0, 0]
        dr.scatter(buffer, 5, dr.arange(UInt, 11))
        dr.eval()
        dr.eval(dr.while_loop((UInt(0), UInt(0)), lambda i, s: i < 12, body))
    assert list(buffer) == [5] * 10
    text = capsys.readouterr().err
    for line in ("read from position 12 in an array of size 10", "write to position 10 in", "read from position 11 in",
                 "Assertion failure: beyond", "  at "):
        assert line in text
    assert re.search(r"print_test.py:\d+: gather\(\): out-of-bounds read from position 12", text)
    dr.eval(dr.gather(UInt, buffer, UInt(0, 1)))
    assert capsys.readouterr().err == ""


def test_labels_are_kept():
    a, b = Float(1, 2), Float(3, 4)
    dr.set_label(a, "first")
    dr.set_label(second=(b,))
    assert a.label == "first" and b.label == "second_0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Float(5, 6).label is None
    a, b, v = Float(1), Float(1), Array3f(1, 1, 2)  # equal constants
    dr.set_label(a=a, b=b, v=v)
    assert a.label == "a" and b.label == "b" and Float(1).label is None
    assert v.x.label == "v_0" and v.y.label == "v_1" and v.z.label == "v_2"
    c, d = dr.arange(Float, 3), dr.arange(Float, 3)
    c.label = "c"
    d.label = "d"
    assert c.label == "c" and d.label == "d" and (c + 1).label is None


def test_a_negative_limit_shows_everything():
    numbers = dr.arange(UInt, 30)
    everything = "[" + ", ".join(map(str, range(30))) + "]"
    assert dr.format("{}", numbers, limit=-1) == everything and ".." in dr.format("{}", numbers)
    out = io.StringIO()
    dr.print(numbers, file=out, limit=-1, mode="evaluate")
    dr.print(numbers, file=out, limit=-1, mode="symbolic")
    dr.eval()
    assert out.getvalue() == (everything + "\n") * 2


def test_masks_choose_what_evaluated_loops_print():
    out = io.StringIO()

    def body(i):
        dr.print(i, file=out, end=";", active=first)
        return (i + 1,)
    first = UInt(1, 2, 3) < 3
    dr.while_loop((UInt(1, 2, 3),), lambda i: i < 3, body, mode="evaluated")
    assert out.getvalue() == "[1, 2];[2];"


def test_masks_choose_lanes_of_nested_arrays_and_tensors():
    out, mask = io.StringIO(), UInt(1, 0, 1) == 1
    dr.print("{} {}", Array2u([1, 2, 3], 4), dr.auto.TensorXu([1, 2, 3]), file=out, active=mask)
    assert out.getvalue() == "[[1, 4],\n [3, 4]] [1, 3]\n"
