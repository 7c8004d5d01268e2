"""Run-time semantics by the reference interpreter: aliasing, capture, order, casts, signatures, closures, depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import FunctionTable
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray
from tests.relax.build import module
from tests.relax.machines import MODES
from tests.relax.machines import machine as machine_of

log: list[Any] = []


def _inplace(x: Any) -> Any:
    x.data[...] += 1
    return x


def _note(x: Any) -> Any:
    log.append(x)
    return x


_mode = "interpreter"


@pytest.fixture(params=MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs by the interpreter, by bytecode and compiled."""
    global _mode
    _mode = request.param
    yield _mode
    _mode = "interpreter"


def machine(body: str) -> Any:
    """A machine with the functions in `body`, and a few packed functions."""
    table = FunctionTable()
    table.register("inc", _inplace)
    table.register("note", _note)
    table.register("identity", lambda x: x)
    table.register("fill", lambda x, out: out.data.__setitem__(..., x.data * 2))
    table.register("make", lambda: _OPAQUE)
    table.register("is_none", lambda x: x is None)
    table.register("zeros", lambda count: NDArray(np.zeros(int(count), np.float32)))
    log.clear()
    return machine_of(body, _mode, table)


_OPAQUE = object()


def run(body: str, *args: Any) -> Any:
    return machine(body)["main"](*args)


def check_fails(body: str, *args: Any) -> str:
    """The message of the failing check."""
    with pytest.raises(DiagnosticError) as error:
        run(body, *args)
    assert error.value.code == "value-mismatch"
    return error.value.diagnostics[0].message


def says(message: str, interpreter: str, machine: str) -> bool:
    """Whether a message has the words that the interpreter, or the machine, finds for it."""
    return (interpreter if _mode == "interpreter" else machine) in message


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


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
def test_closures_capture_by_reference() -> None:
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
    if _mode == "interpreter":
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


@pytest.mark.rule("RELAX-SIG-1")
@pytest.mark.rule("RELAX-SIG-2")
@pytest.mark.rule("RELAX-SIG-2", rejects=True)
@pytest.mark.rule("RELAX-SIG-3")
@pytest.mark.rule("RELAX-SIG-3", rejects=True)
@pytest.mark.rule("RELAX-SIG-4")
@pytest.mark.rule("RELAX-SIG-4", rejects=True)
@pytest.mark.rule("RELAX-EXPR-18")
@pytest.mark.rule("RELAX-EXPR-18", rejects=True)
def test_signatures_bind_first_then_check() -> None:
    """f(x: (M*N,), y: (M, N)) -> (N*N, M*M): variables come from y, x is checked before y, the result at exit."""
    body = """
@R.function(pure=False)
def main(
    x: R.Tensor(("M * N",), "float32"), y: R.Tensor(("M", "N"), "float32"), z: R.Object
) -> R.Tensor(("N * N", "M * M"), "float32"):
    M = T.int64()
    N = T.int64()
    w = R.call_packed("identity", z, sinfo_args=R.Tensor((N * N, M * M), "float32"))
    return w
"""
    x, y, z = np.zeros(6, np.float32), np.zeros((2, 3), np.float32), np.zeros((9, 4), np.float32)
    assert run(body, x, y, z).shape == (9, 4)
    assert "argument x" in check_fails(body, np.zeros(7, np.float32), y, z)
    found = check_fails(body, x, np.zeros(6, np.float32), z)
    assert says(found, "argument y has 1 dimensions", "argument y: expected a tensor of rank 2, found rank 1")
    found = check_fails(body, x, y, np.zeros((6, 4), np.float32))
    assert says(found, "the result of main", "dimension 0 is 6, expected 9")


@pytest.mark.rule("RELAX-SIG-5")
@pytest.mark.rule("RELAX-SIG-5", rejects=True)
@pytest.mark.rule("RELAX-SIG-6")
@pytest.mark.rule("RELAX-SIG-6", rejects=True)
def test_signatures_reach_into_tuples() -> None:
    """A second binding position is an equality check."""
    body = """
@R.function
def main(
    t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n * 2",), "float32")), b: R.Tensor(("n",), "float32")
) -> R.Object:
    return b
"""
    a, twice = f32(1, 2), f32(1, 2, 3, 4)
    assert run(body, (a, twice), a).shape == (2,)
    assert "argument t[1]" in check_fails(body, (a, f32(1, 2, 3)), a)
    assert "argument b" in check_fails(body, (a, twice), f32(1))


@pytest.mark.rule("RELAX-SIG-7")
@pytest.mark.rule("RELAX-SIG-9")
@pytest.mark.rule("RELAX-SIG-9", rejects=True)
def test_argument_counts() -> None:
    """The error has expected and given number."""
    body = "@R.function\ndef main(o: R.Object) -> R.Object:\n    return o\n"
    assert run(body, "anything") == "anything"
    with pytest.raises(DiagnosticError, match=r"takes 1 arguments?.*; 2 given"):
        run(body, 1, 2)


CAST = """
@R.function
def main(v: R.Object, w: R.Object) -> R.Object:
    a = T.int64()
    b = T.int64()
    k = T.int64()
    c = R.match_cast(v, {first})
    d = R.match_cast(w, {second})
    return (c, d)
"""


def cast(first: str, second: str = "R.Object") -> str:
    return CAST.format(first=first, second=second)


T23 = np.zeros((2, 3), np.float32)
S23 = ShapeTuple((2, 3))


@pytest.mark.rule("RELAX-MATCH-1")
@pytest.mark.rule("RELAX-MATCH-2")
@pytest.mark.rule("RELAX-MATCH-2-2")
@pytest.mark.rule("RELAX-MATCH-2-2-1")
@pytest.mark.rule("RELAX-MATCH-2-2-2")
@pytest.mark.rule("RELAX-MATCH-2b")
@pytest.mark.rule("RELAX-MATCH-2c")
@pytest.mark.rule("RELAX-MATCH-3")
@pytest.mark.rule("RELAX-MATCH-3b")
@pytest.mark.rule("RELAX-MATCH-4")
@pytest.mark.rule("RELAX-MATCH-4-1")
@pytest.mark.rule("RELAX-MATCH-4-2")
@pytest.mark.rule("RELAX-MATCH-5")
@pytest.mark.rule("RELAX-MATCH-8")
@pytest.mark.rule("RELAX-MATCH-9")
@pytest.mark.rule("RELAX-DIM-4")
@pytest.mark.rule("RELAX-REP-1")
@pytest.mark.rule("RELAX-REP-2")
@pytest.mark.parametrize(
    ("first", "v", "second", "w"),
    [
        ("R.Object", None, "R.Object", "text"),
        ("R.Tensor()", T23, "R.Object", 0),
        ("R.Tensor((2, 3))", T23, "R.Object", 0),
        ("R.Tensor((a, b))", T23, "R.Tensor((b, a * 1))", np.zeros((3, 2), np.float32)),
        ("R.Tensor((a, a + 1))", T23, "R.Object", 0),
        ("R.Tensor((a, a * 2))", np.zeros((2, 4), np.float32), "R.Object", 0),
        ("R.Tensor((a, a))", np.zeros((3, 3), np.float32), "R.Object", 0),
        ("R.Tensor(ndim=2)", T23, "R.Tensor(ndim=-1)", f32(1)),
        ('R.Tensor(dtype="float32")', T23, "R.Tensor(ndim=1)", np.zeros(2, np.int8)),
        ('R.Prim("int64")', 3, "R.Prim(value=k)", 4),
        ("R.Prim(value=k)", 3, "R.Prim(value=k)", 3),
        ("R.Shape(ndim=2)", S23, "R.Shape([a, b])", S23),
        ("R.Shape([a, a * 2])", ShapeTuple((2, 4)), "R.Object", 0),
        ("R.Tuple(R.Tensor((a,)), R.Shape([a]))", (f32(1, 2), ShapeTuple((2,))), "R.Object", 0),
        ("R.Tuple(R.Tuple(R.Tensor))", ((T23,),), "R.Object", 0),
        ("R.Callable", abs, "R.Object", 0),
    ],
)
def test_casts_pass(first: str, v: Any, second: str, w: Any) -> None:
    """Values of each category fit what describes them; variables bind left to right and then stay."""
    run(cast(first, second), v, w)


@pytest.mark.rule("RELAX-MATCH-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2-2-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2b", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2c", rejects=True)
@pytest.mark.rule("RELAX-MATCH-3", rejects=True)
@pytest.mark.rule("RELAX-MATCH-3b", rejects=True)
@pytest.mark.rule("RELAX-MATCH-4", rejects=True)
@pytest.mark.rule("RELAX-MATCH-4-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-5", rejects=True)
@pytest.mark.rule("RELAX-MATCH-6", rejects=True)
@pytest.mark.rule("RELAX-MATCH-8", rejects=True)
@pytest.mark.rule("RELAX-DIM-4", rejects=True)
@pytest.mark.rule("RELAX-REP-1", rejects=True)
@pytest.mark.rule("RELAX-REP-2", rejects=True)
@pytest.mark.parametrize(
    ("first", "v", "message"),
    [
        ("R.Tensor()", S23, "expected a tensor, found the shape (2, 3)"),
        ("R.Tensor()", (T23,), "expected a tensor, found a tuple"),
        ("R.Tensor((2, 3))", np.zeros((2, 3, 1), np.float32), "3 dimensions"),
        ("R.Tensor((a, a * 2))", T23, "dimension 1 of match_cast of c is 3, expected 4"),
        ("R.Tensor((a, a))", np.zeros((3, 4), np.float32), "is 4, expected 3"),
        ("R.Tensor(ndim=3)", T23, "2 dimensions"),
        ('R.Tensor(dtype="float32")', np.zeros(2), "dtype float64, expected float32"),
        ('R.Prim("int32")', 3, "dtype int64, expected int32"),
        ('R.Prim("int64")', np.int64(3), "expected a prim value"),
        ("R.Prim(value=4)", 3, "is 3, expected 4"),
        ("R.Shape(ndim=3)", S23, "2 dimensions"),
        ("R.Shape(ndim=2)", T23, "expected a shape"),
        ("R.Shape(ndim=2)", (np.int32(2), np.int32(3)), "expected a shape"),
        ("R.Shape([a, a * 2])", S23, "is 3, expected 4"),
        ("R.Tuple(R.Tensor, R.Shape)", (T23,), "a tuple of 2 fields"),
        ("R.Tuple(R.Tensor((a,)), R.Shape([a]))", (f32(1, 2), ShapeTuple((5,))), "is 5, expected 2"),
        ("R.Tuple(R.Tuple(R.Tensor))", ((S23,),), "expected a tensor"),
        ("R.Callable([R.Tensor], R.Tensor)", T23, "expected a function"),
    ],
)
def test_casts_fail(first: str, v: Any, message: str) -> None:
    """The message names the place, what was expected and what was found."""
    assert says(check_fails(cast(first), v, 0), message, "match_cast to c")


@pytest.mark.rule("RELAX-MATCH-2-1")
@pytest.mark.rule("RELAX-MATCH-2-1", rejects=True)
@pytest.mark.rule("RELAX-SINFO-05")
def test_casts_to_a_shape_that_a_variable_holds() -> None:
    """R.Tensor(s) with s a shape value."""
    body = """
@R.function
def main(x: R.Tensor(ndim=1), y: R.Object) -> R.Object:
    s = R.shape_of(x)
    z = R.match_cast(y, R.Tensor(s, "float32"))
    return z
"""
    assert run(body, f32(1, 2), f32(3, 4)).shape == (2,)
    assert says(check_fails(body, f32(1, 2), f32(3)), "expected (2,) as s holds", "expected 2")


@pytest.mark.rule("RELAX-RTSI-1")
@pytest.mark.rule("RELAX-RTSI-1", rejects=True)
@pytest.mark.rule("RELAX-RTSI-2")
@pytest.mark.rule("RELAX-RTSI-2", rejects=True)
@pytest.mark.rule("RELAX-RTSI-3")
@pytest.mark.rule("RELAX-RTSI-3", rejects=True)
@pytest.mark.rule("RELAX-RTSI-5")
@pytest.mark.rule("RELAX-RTSI-5", rejects=True)
@pytest.mark.rule("RELAX-MATCH-6")
@pytest.mark.rule("RELAX-VALUE-11")
@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("R.Callable([R.Tensor((3,))], R.Tensor((3,)))", True),
        ("R.Callable([R.Tensor((3,))], R.Object)", True),
        ("R.Callable([R.Tensor((3,))], R.Tensor((3,)), False)", True),
        ("R.Callable([R.Tensor((4,))], R.Tensor((4,)))", False),
        ("R.Callable([R.Tensor((3,)), R.Object], R.Object)", False),
        ('R.Callable(derive_func="default_derive")', False),
    ],
)
def test_closures_carry_their_structure(target: str, fits: bool) -> None:
    """A cast compares parameters, result and purity; captured shape variables have their values."""
    body = f"""
@R.function
def main(x: R.Tensor(("n",))) -> R.Object:
    n = T.int64()
    @R.function
    def g(y: R.Tensor((n,))) -> R.Tensor((n,)):
        return y
    o: R.Object = g
    c = R.match_cast(o, {target})
    return c
"""
    if fits:
        run(body, f32(1, 2, 3))
    else:
        check_fails(body, f32(1, 2, 3))


def test_an_impure_closure_is_no_pure_one() -> None:
    """Purity is part of the run-time structure."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor((3,))) -> R.Object:
    @R.function(pure=False)
    def g(y: R.Tensor((3,))) -> R.Tensor((3,)):
        R.print(y)
        return y
    o: R.Object = g
    c = R.match_cast(o, R.Callable([R.Tensor((3,))], R.Tensor((3,)), True))
    return c
"""
    assert "expected" in check_fails(body, f32(1, 2, 3))


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
    assert opaque is _OPAQUE


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
    with pytest.raises(DiagnosticError, match="no public function 'helper'"):
        found["helper"]


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
