"""Numbers that a host gives for prim parameters, those written in programs, and what else runs hand about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ops.builders import RELAX as R
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.nodes import PrimValue, Var
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.prim import prim_dtype
from baton._src.values.shape import ShapeTuple
from tests.relax.build import Ts, load
from tests.relax.machines import MODES, everywhere, f32, fails_everywhere, machine, table


def test_numbers_of_the_host_have_the_dtype_that_parameters_declare() -> None:
    """Python has one float and one int: they become prim values of the declared dtype where they fit."""
    text = """
@R.function
def main(x: R.Prim("float32"), k: R.Prim("int32")) -> R.Object:
    return (x, k)
"""
    real, whole = everywhere(text, 2.1, 3)
    assert (real, whole) == (float(np.float32(2.1)), 3)
    assert "float32" in repr(real)
    assert "int32" in repr(whole)
    for wrong in ((2, 3), (2.0, 3.0), (2.0, 2**40), (2.0, True)):
        fails_everywhere(text, *wrong, code="value-mismatch")


def test_numbers_of_numpy_are_numbers_where_these_are_declared() -> None:
    """They are tensors of rank 0 elsewhere; for prim parameters they were refused, which TVM takes them for."""
    text = """
@R.function
def main(
    x: R.Prim("float32"), k: R.Tuple(R.Prim("int32"), R.Tensor), b: R.Prim("bool"), t: R.Tensor((), "int32")
) -> R.Object:
    return (x, k[0], b, t)
"""
    given = (np.float64(2.5), [np.int64(3), np.int32(1)], np.bool_(True), np.int32(4))
    real, whole, flag, tensor = everywhere(text, *given)
    assert (real, whole, flag, tensor.numpy().tolist()) == (2.5, 3, True, 4)
    vm = machine(text, "compiled")
    vm.set_input("main", *given)
    vm.invoke_stateful("main")
    assert vm.get_outputs("main")[:3] == (2.5, 3, True)
    fails_everywhere(text, np.int32(2), *given[1:], code="value-mismatch")


def test_integers_beyond_int64_are_no_prim_values() -> None:
    """They passed for int64, and kernels were given what is left of them."""
    text = """
@R.function
def main(n: R.Prim("int64")) -> R.Prim("int64"):
    return n
"""
    assert everywhere(text, 2**63 - 1) == 2**63 - 1
    for wrong in (2**63, -(2**63) - 1, np.uint64(2**63)):
        fails_everywhere(text, wrong, code="value-mismatch")


def test_floats_of_programs_are_float32_and_keep_their_digits() -> None:
    """As in TVM: 0.1 goes with float32 tensors, and what has more digits to spare sees all that were written."""
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float64"), i: R.Tensor((1,), "int64")) -> R.Object:
    sum = R.add(x, R.prim_value(0.5))
    cut = R.clip(y, 0.1, 0.9)
    hot = R.one_hot(i, R.prim_value(2.0), R.prim_value(0.25), depth=2)
    steps = R.arange(0.0, 0.3, 0.1)
    known = R.match_cast(R.prim_value(0.1), R.Prim(value=T.float32(0.1)))
    seen = R.call_packed("test.seen", 0.1, sinfo_args=R.Object)
    return (sum, cut, hot, steps, known, seen)
"""
    given = (np.array([0, 1], np.float32), np.array([0.0, 1.0]), np.array([1]))
    found, cut, hot, steps, known, seen = everywhere(text, *given, functions=table(seen=repr))
    assert found.numpy().tolist() == [0.5, 1.5]
    assert (found.dtype, hot.dtype, steps.dtype) == ("float32",) * 3
    assert cut.numpy().tolist() == [0.1, 0.9]
    assert (hot.numpy().tolist(), steps.shape) == ([[0.25, 2.0]], (3,))
    assert known == 0.1
    assert "0.1," in seen
    assert PrimValue(0.1).value.dtype == "float32"


@pytest.mark.rule("RELAX-OPSHAPE-01", rejects=True)
@pytest.mark.parametrize("call", [R["exp"], R["negative"], lambda x: R["clip"](x, 0, 1)])
def test_operators_of_one_tensor_take_no_numbers_of_the_host(call: Callable[..., Any]) -> None:
    """A number was taken for a tensor of rank 0; beside a tensor it is one."""
    with pytest.raises(DiagnosticError, match="x must be a tensor, got a number"):
        deduce(call(PrimValue(0.5)), Context())
    x = Var("x", Ts((2,), "float32"))
    assert deduce(R["add"](x, PrimValue(0.5)), Context()) == x.struct_info


def test_a_dim_that_no_int64_holds_is_refused_when_computed() -> None:
    """Guards shapes whose dims were numbers beyond what any tensor has."""
    text = """
@R.function
def main(s: R.Shape(["n"])):
    n = T.int64()
    return R.shape([n * n])
"""
    assert everywhere(text, ShapeTuple([2**31])) == (2**62,)
    for mode in ("bytecode", "compiled"):
        with pytest.raises(DiagnosticError, match="a dim is an int64; 18446744073709551616 does not fit"):
            machine(text, mode)["main"](ShapeTuple([2**32]))


def test_closures_show_what_they_capture() -> None:
    """Those of the interpreter told of 0 values."""
    text = """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    @R.function
    def more(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, y)
    return more
"""
    for mode in MODES:
        assert "with 1 captured values" in repr(machine(text, mode)["main"](np.zeros(2, np.float32)))


@pytest.mark.rule("RELAX-OPSHAPE-06")
@pytest.mark.parametrize(
    ("op", "dtype", "values", "expected"),
    [
        ("add", "int64", (4, 5), 9), ("multiply", "float32", (4.5, 5.0), 22.5), ("maximum", "int32", (4, 5), 5),
        ("floor_divide", "int8", (-7, 2), -4), ("less", "int64", (4, 5), True),
        ("add", "float16", (2048.0, 1.0), 2048.0), ("logical_and", "bool", (True, False), False),
        ("add", "bfloat16", (1.0, 2.0), 3.0),
    ],
)  # fmt: skip
def test_operators_of_prims_give_prims(op: str, dtype: str, values: Any, expected: Any) -> None:
    """In the operands' dtype; the machines gave tensors for what is a prim by its type, the interpreter none at all."""
    text = f"""
@R.function
def main(p: R.Prim("{dtype}"), q: R.Prim("{dtype}")) -> R.Object:
    r = R.{op}(p, q)
    return r
"""
    found = everywhere(text, *values)
    assert not hasattr(found, "shape")
    assert found == expected
    assert str(prim_dtype(found)) == ("bool" if isinstance(expected, bool) else dtype)


@pytest.mark.rule("RELAX-OPSHAPE-06")
def test_prims_that_operators_give_are_used_as_such() -> None:
    """As conditions, as operands beside tensors, and where casts read sizes."""
    text = """
@R.function
def main(x: R.Tensor((2,), "float32"), p: R.Prim("int64"), q: R.Prim("float32")) -> R.Object:
    k = T.int64()
    if R.less(p, R.add(p, p)):
        s = R.multiply(p, p)
    else:
        s = p
    size = R.match_cast(s, R.Prim(value=k))
    y = R.multiply(x, R.add(q, q))
    return (y, R.shape([k, k + 1]))
"""
    y, shape = everywhere(text, np.ones(2, np.float32), 3, 1.5)
    assert y.numpy().tolist() == [3, 3]
    assert tuple(shape) == (9, 10)


def test_numbers_of_packed_functions_have_the_dtype_that_calls_declare() -> None:
    """Guards results in tuples, and those that go on to functions: a float was refused as a float64."""
    text = """
@R.function(pure=False)
def twice(x: R.Prim("float32")) -> R.Object:
    return (x, x)

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    half = R.call_packed("test.half", sinfo_args=R.Prim("float32"))
    pair = R.call_pure_packed("test.pair", sinfo_args=R.Tuple(R.Prim("int32"), R.Prim("float16")))
    return (half, pair, cls.twice(half), R.multiply(x, half))
"""
    half, pair, twice, product = everywhere(text, f32(2, 4), functions=table(half=lambda: 0.5, pair=lambda: (3, 0.25)))
    assert [str(prim_dtype(v)) for v in (half, *pair, *twice)] == ["float32", "int32", "float16", "float32", "float32"]
    assert product.numpy().tolist() == [1.0, 2.0]
    for wrong in (
        {"half": lambda: 1, "pair": lambda: (3, 0.25)},
        {"half": lambda: 0.5, "pair": lambda: (1 << 40, 0.25)},
    ):
        fails_everywhere(text, f32(2, 4), functions=table(**wrong), code="value-mismatch")


def test_numbers_of_other_functions_are_what_they_are() -> None:
    """Guards closures, whose float64 is no number of a host: it is not what the call says."""
    text = """
@R.function
def given(y: R.Prim("float64")) -> R.Prim("float64"):
    return y

@R.function
def main(x: R.Prim("float64")) -> R.Object:
    closure = R.make_closure(cls.given, (x,))
    return R.invoke_pure_closure(closure, (), sinfo_args=R.Prim("float32"))
"""
    fails_everywhere(text, 0.5, code="value-mismatch")


def test_numbers_in_tuples_of_arguments_have_the_declared_dtype() -> None:
    text = """
@R.function
def main(p: R.Tuple(R.Prim("float32"), R.Tuple(R.Prim("int8")))) -> R.Object:
    return p
"""
    real, (whole,) = everywhere(text, (0.5, (3,)))
    assert (str(prim_dtype(real)), str(prim_dtype(whole))) == ("float32", "int8")


def test_faults_of_running_have_one_code_everywhere() -> None:
    """Guards divisions by zero in sizes and kernels' arguments, whose codes told the interpreter from the machines."""
    text = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    n, m = T.int64(), T.int64()
    return R.shape([n // (m - 3)])
"""
    fails_everywhere(text, np.ones((2, 3), np.float32), code="division-by-zero")
    kernel = """
@T.prim_func(private=True)
def twice(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (3,))
    B = T.match_buffer(b, (3,))
    for i in range(3):
        B[i] = A[i] * T.float32(2)

@R.function
def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Object:
    return R.call_tir(Module.twice, (x,), R.Tensor((3,), "float32"))
"""
    fails_everywhere(kernel, f32(1, 2), code="value-mismatch")


def test_kernels_take_integers_in_their_own_width() -> None:
    """`tir_vars` are int64, parameters of kernels mostly int32: such calls were refused. What does not fit fails."""
    text = """
@T.prim_func
def fill(a: T.handle, value: T.int32, small: T.uint8):
    n = T.int32()
    A = T.match_buffer(a, (n, 2), "int32")
    for i in range(n):
        with T.block("b"):
            v = T.axis.spatial(n, i)
            A[v, 0] = value
            A[v, 1] = T.Cast("int32", small)

@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", 2), "int32"):
    n, m = T.int64(), T.int64()
    return R.call_tir(cls.fill, R.tuple(), out_sinfo=R.Tensor((n, 2), "int32"), tir_vars=R.shape([m * 1000, m]))
"""
    np.testing.assert_array_equal(everywhere(text, np.ones((2, 3), "float32")).data, [[3000, 3]] * 2)
    fails_everywhere(text, np.ones((2, 300), "float32"), code="value-mismatch")


@pytest.mark.rule("RELAX-OP-18")
@pytest.mark.rule("RELAX-MATCH-3")
@pytest.mark.parametrize(
    ("field", "dtype"),
    [
        ("ndim", "int32"),
        ("dtype_code", "uint8"),
        ("dtype_bits", "uint8"),
        ("dtype_lanes", "uint16"),
        ("byte_offset", "uint64"),
        ("elem_offset", "uint64"),
        ("shape_i", "int64"),
        ("stride_i", "int64"),
    ],
)
def test_fields_of_headers_have_their_dtype(field: str, dtype: str) -> None:
    """Machines gave all of them as int64, so that a cast to what the operator is declared to give failed."""
    axis = ", 0" if field.endswith("_i") else ""
    program = f"""
@R.function
def main(x: R.Tensor(dtype="float32")) -> R.Object:
    hidden: R.Object = R.inspect.tensor_{field}(x{axis})
    found = R.match_cast(hidden, R.Prim("{dtype}"))
    return found
"""
    everywhere(program, f32(1, 2))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "float64"])
def test_tensors_filled_with_a_number_have_its_dtype(dtype: str) -> None:
    """The interpreter made float64 of any float, int64 of any integer, and refused its own result."""
    program = f"""
@R.function
def main(p: R.Prim("{dtype}")) -> R.Tensor((2,), "{dtype}"):
    return R.full(R.shape([2]), p)
"""
    assert everywhere(program, {"bool": True, "int32": 3}.get(dtype, 2.5)).dtype == dtype


@pytest.mark.rule("RELAX-OPSHAPE-06")
@pytest.mark.parametrize(("dtype", "number"), [("int64", 3), ("float64", 2.5), ("bool", True), ("int32", 3)])
@pytest.mark.parametrize("order", ["p, x", "x, p", "p, p"])
def test_numbers_are_chosen_among(dtype: str, number: Any, order: str) -> None:
    """Numbers of the host's own dtypes were an AttributeError of the interpreter."""
    program = f"""
@R.function
def main(c: R.Tensor((2,), "bool"), x: R.Tensor((2,), "{dtype}"), p: R.Prim("{dtype}")) -> R.Tensor((2,), "{dtype}"):
    return R.where(c, {order})
"""
    values = {"p": np.full(2, number), "x": np.array([1, 0])}
    left, right = (values[name] for name in order.split(", "))
    found = everywhere(program, np.array([True, False]), np.array([1, 0]).astype(dtype), number)
    np.testing.assert_array_equal(found.numpy(), np.array([left[0], right[1]]).astype(dtype))


def test_a_bool_is_no_number_of_rows() -> None:
    """It passed, and folding it was an internal error."""
    with pytest.raises(DiagnosticError, match="rows and columns are integers"):
        load("@R.function\ndef main(p: R.Prim('bool')):\n    return R.eye(3, p)\n")
