"""Run-time semantics by the reference interpreter and the machines: aliasing, capture, order, closures, depth."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray
from tests.relax import one_machine
from tests.relax.build import module
from tests.relax.machines import f32
from tests.relax.one_machine import OPAQUE, log, machine, run

mode = one_machine.mode


@pytest.mark.rule("RELAX-SEM-02")
@pytest.mark.rule("RELAX-MATCH-7")
def test_values_are_passed_by_reference() -> None:
    """A mutation through an alias, a tuple or a cast is seen everywhere."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    y = x
    t = (y, x)
    z = R.match_cast(t[0], R.Tensor((n,), "float32"))
    R.call_packed("inc", z, sinfo_args=R.Tuple)
    return (x, t[1])
"""
    body = body.replace('R.call_packed("inc", z, sinfo_args=R.Tuple)', '_ = R.call_packed("inc", z)')
    first, second = run(body, f32(1, 2))
    assert first is second
    assert first.numpy().tolist() == [2, 3]


@pytest.mark.rule("RELAX-SEM-01")
def test_constants_are_fresh() -> None:
    """Writing into a constant does not change the program."""
    body = """
@R.function(private=True, pure=False)
def get() -> R.Tensor((), "int32"):
    return R.const(5, "int32")

@R.function(pure=False)
def main() -> R.Object:
    a = cls.get()
    _ = R.call_packed("inc", a)
    b = cls.get()
    return (a, b)
"""
    a, b = run(body)
    assert (int(a.data), int(b.data)) == (6, 5)


@pytest.mark.rule("RELAX-SEM-03")
@pytest.mark.rule("RELAX-SEM-06")
def test_evaluation_order() -> None:
    """Callee, then arguments left to right, inner before outer."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor((), "int32")) -> R.Object:
    r = R.call_packed("identity", (R.call_packed("note", R.str("a")), R.call_packed("note", R.str("b"))))
    s = R.call_packed("note", R.str("c"))
    return r
"""
    run(body, np.int32(1))
    assert log == ["a", "b", "c"]


@pytest.mark.rule("RELAX-SEM-04")
@pytest.mark.rule("RELAX-VALUE-06")
@pytest.mark.rule("RELAX-VALUE-15")
@pytest.mark.rule("RELAX-RTSI-4")
def test_closures_capture_by_reference(mode: str) -> None:
    """Only what they use is captured, and later mutation shows."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), z: R.Tensor((2,), "float32")) -> R.Object:
    @R.function
    def f(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r = R.add(x, y)
        return r
    _ = R.call_packed("inc", x)
    out = f(z)
    return (out, f)
"""
    out, closure = run(body, f32(1, 2), f32(10, 20))
    assert out.numpy().tolist() == [12, 23]
    if mode == "interpreter":
        assert {v.name_hint for v in closure.frame.values} == {"x"}
    assert closure(f32(0, 0)).numpy().tolist() == [2, 3]


@pytest.mark.rule("RELAX-DIM-6")
@pytest.mark.rule("RELAX-DIM-6", rejects=True)
@pytest.mark.rule("RELAX-VALUE-07")
def test_closures_capture_shape_variables() -> None:
    """A parameter that mentions an outer shape variable is checked against its value at definition."""
    body = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    @R.function
    def g(y: R.Tensor((n,), "float32")) -> R.Shape(ndim=1):
        return R.shape([n])
    return g
"""
    g = run(body, f32(1, 2, 3))
    assert g(f32(0, 0, 0)) == (3,)
    with pytest.raises(DiagnosticError, match=r"is 4, expected 3|is 3, expected 4"):
        g(f32(0, 0, 0, 0))


@pytest.mark.rule("RELAX-VALUE-08")
@pytest.mark.rule("RELAX-EXPR-05")
@pytest.mark.rule("RELAX-SCOPE-1")
def test_recursion_local_mutual_deep_and_in_tail_position() -> None:
    """Nested calls cost memory only, tail calls nothing."""
    body = """
@R.function
def even(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    if R.equal(i, R.const(0, "int64")):
        r = R.const(True)
    else:
        r = cls.odd(i - 1)
    return r

@R.function
def odd(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    if R.equal(i, R.const(0, "int64")):
        r = R.const(False)
    else:
        r = cls.even(i - 1)
    return r

@R.function
def main(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
    @R.function
    def depth(k: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        if R.equal(k, R.const(0, "int64")):
            r = k
        else:
            d = depth(k - 1)
            r = d + 1
        return r
    return depth(i)
"""
    found = machine(body)
    assert bool(found["even"](np.int64(4001)).data) is False
    assert int(found["main"](np.int64(4000)).data) == 4000


@pytest.mark.rule("RELAX-SCOPE-7")
@pytest.mark.rule("RELAX-SCOPE-8")
@pytest.mark.rule("RELAX-OP-11")
def test_the_shadowing_program_of_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """Seed 001, Variable Scoping: the inner x in the branch, then the parameter again."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor) -> R.Tensor:
    if True:
        x = R.const(1)
        R.print(x)
    else:
        R.print("not executed")
    R.print(x)
    return x
"""
    assert int(run(body, np.int32(7)).data) == 7
    assert capsys.readouterr().out.split() == ["1", "7"]


@pytest.mark.rule("RELAX-SCOPE-8", rejects=True)
@pytest.mark.rule("RELAX-EXPR-19", rejects=True)
@pytest.mark.rule("RELAX-PURE-01", rejects=True)
@pytest.mark.rule("RELAX-OP-11", rejects=True)
def test_printing_is_impure() -> None:
    """A function counts as pure unless it says otherwise."""
    with pytest.raises(DiagnosticError) as error:
        module("@R.function\ndef main(x: R.Tensor) -> R.Tensor:\n    R.print(x)\n    return x\n")
    assert error.value.code == "relax-purity"


@pytest.mark.rule("RELAX-OP-05")
@pytest.mark.rule("RELAX-OP-06")
@pytest.mark.rule("RELAX-OP-07")
@pytest.mark.rule("RELAX-OP-09")
@pytest.mark.rule("RELAX-OP-10")
@pytest.mark.rule("RELAX-OP-13")
@pytest.mark.rule("RELAX-OP-14")
@pytest.mark.rule("RELAX-OP-16")
@pytest.mark.rule("RELAX-OP-18")
@pytest.mark.rule("RELAX-VALUE-12")
@pytest.mark.rule("RELAX-VALUE-14")
def test_special_operators() -> None:
    """Destination passing, trusted and in-place calls, closures, null, shapes, views, headers, opaque objects."""
    body = """
@R.function(private=True)
def add(a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    c = R.add(a, b)
    return c

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Object:
    filled = R.call_dps_packed("fill", (x,), R.Tensor((2,), "float32"))
    same = R.call_pure_packed("identity", x, sinfo_args=[R.Tensor((2,), "float32")])
    inc = R.call_inplace_packed("inc", y, inplace_indices=[0], sinfo_args=[R.Tensor((2, 3), "float32")])
    closure = R.make_closure(cls.add, (x,))
    total = R.invoke_pure_closure(closure, (filled,), sinfo_args=R.Tensor((2,), "float32"))
    null = R.call_packed("is_none", R.null_value())
    shape = R.shape_of(y)
    listed = R.shape_to_tensor(shape)
    back = R.tensor_to_shape(listed)
    flat = R.memory.view(y, R.shape([6]))
    rank = R.inspect.tensor_ndim(y)
    size = R.inspect.tensor_shape_i(y, R.prim_value(1))
    opaque = R.call_packed("make")
    kept = (opaque,)
    return (filled, same, inc, total, null, back, flat, rank, size, kept[0])
"""
    x, y = NDArray(f32(1, 2)), NDArray(np.zeros((2, 3), np.float32))
    filled, same, inc, total, null, back, flat, rank, size, opaque = run(body, x, y)
    assert filled.numpy().tolist() == [2, 4]
    assert same is x
    assert inc is y
    assert total.numpy().tolist() == [3, 6]
    assert null is True
    assert isinstance(back, ShapeTuple)
    assert back == (2, 3)
    assert np.shares_memory(flat.data, y.data)
    assert (int(rank), int(size)) == (2, 3)
    assert opaque is OPAQUE


@pytest.mark.rule("RELAX-OP-12")
@pytest.mark.rule("RELAX-OP-12", rejects=True)
@pytest.mark.rule("RELAX-PURE-08")
def test_a_failed_assertion_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """With the formatted text; nothing after it happens."""
    body = """
@R.function(pure=False)
def main(c: R.Tensor((), "bool")) -> R.Tuple:
    R.assert_op(c, 3, format="bad {}")
    R.print("after")
    return ()
"""
    assert run(body, np.bool_(True)) == ()
    assert capsys.readouterr().out == "after\n"
    with pytest.raises(AssertionError, match="bad 3"):
        run(body, np.bool_(False))
    assert capsys.readouterr().out == ""
    with pytest.raises(DiagnosticError) as error:
        module(body.replace('"bool"', '"int32"'))
    assert error.value.code == "relax-struct-info"


@pytest.mark.rule("RELAX-OP-02")
@pytest.mark.rule("RELAX-OP-04")
@pytest.mark.rule("RELAX-SEM-05")
@pytest.mark.rule("RELAX-SEM-05", rejects=True)
@pytest.mark.rule("RELAX-SEM-07")
@pytest.mark.rule("RELAX-OP-19")
def test_kernels() -> None:
    """Arguments, outputs, integers; in place; directly; by symbol; a missing symbol is an error."""
    body = """
@T.prim_func
def scale(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32"), k: T.int64):
    for i in range(2):
        with T.block("b"):
            v = T.axis.spatial(2, i)
            B[v] = A[v] * T.Cast("float32", k)

@T.prim_func(private=True)
def grow(A: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        with T.block("b"):
            v = T.axis.spatial(2, i)
            A[v] = A[v] + T.float32(1)

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Object:
    a = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((2,), "float32"), tir_vars=R.shape([3]))
    b = R.call_tir_inplace(cls.grow, (x,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
    out = R.Tensor((2,), "float32")
    c = R.call_tir_with_grad(cls.scale, (y,), out_sinfo=out, te_grad_name="g", tir_vars=R.shape([2]))
    cls.grow(y)
    _ = R.call_packed("scale", x, y, R.prim_value(10))
    return (a, b, c)

@R.function(pure=False)
def missing(x: R.Object) -> R.Object:
    y = R.call_packed("not.registered", x)
    return y
"""
    found = machine(body)
    x, y = NDArray(f32(1, 2)), NDArray(f32(5, 6))
    a, b, c = found["main"](x, y)
    assert a.numpy().tolist() == [3, 6]
    assert b is x or np.shares_memory(b.data, x.data)
    assert c.numpy().tolist() == [10, 12]
    assert y.numpy().tolist() == [20, 30]
    with pytest.raises(DiagnosticError, match=r"not\.registered"):
        found["missing"](1)


@pytest.mark.rule("RELAX-SEM-08")
@pytest.mark.rule("RELAX-SEM-08", rejects=True)
@pytest.mark.rule("RELAX-EXPR-20")
@pytest.mark.rule("RELAX-EXPR-20", rejects=True)
def test_private_functions_cannot_be_called_from_outside() -> None:
    """Only what has a global_symbol is public."""
    body = """
@R.function(private=True)
def helper(x: R.Object) -> R.Object:
    return x

@R.function
def main(x: R.Object) -> R.Object:
    y = cls.helper(x)
    return y
"""
    found = machine(body)
    assert found["main"](3) == 3
    with pytest.raises(DiagnosticError, match="no public function 'helper'") as error:
        found["helper"]
    assert error.value.code == "function-missing"


@pytest.mark.rule("RELAX-SEM-09")
def test_operators_return_fresh_tensors() -> None:
    """A reshape is no alias."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    y = R.reshape(x, R.shape([2]))
    _ = R.call_packed("inc", y)
    return (x, y)
"""
    x, y = run(body, f32(1, 2))
    assert (x.numpy().tolist(), y.numpy().tolist()) == ([1, 2], [2, 3])


@pytest.mark.rule("RELAX-GRAMMAR-04")
@pytest.mark.rule("RELAX-DIM-7")
@pytest.mark.rule("RELAX-EXPR-13")
def test_dims_are_computed_as_tir_does() -> None:
    """Div truncates, // rounds down."""
    body = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    return R.shape([T.Div(n, 2), n - 1, T.Div(0 - n, 2), (0 - n) // 2, T.max(n, 9), T.Select(n > 3, n, 0)])
"""
    assert run(body, np.zeros(7, np.float32)) == (3, 6, -3, -4, 9, 7)
