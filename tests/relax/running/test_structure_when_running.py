"""What is checked of values while a program runs: signatures, casts, the structure of closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.relax.check.report import StructInfoWarning
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from tests.relax import one_machine
from tests.relax.build import module
from tests.relax.machines import everywhere, f32, table
from tests.relax.one_machine import check_fails, run, says

mode = one_machine.mode


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
    w = R.call_packed("identity", z, sinfo_args=R.Tensor(ndim=2, dtype="float32"))
    return w
"""
    x, y, z = np.zeros(6, np.float32), np.zeros((2, 3), np.float32), np.zeros((9, 4), np.float32)
    assert run(body, x, y, z).shape == (9, 4)
    assert "argument x" in check_fails(body, np.zeros(7, np.float32), y, z)
    found = check_fails(body, x, np.zeros(6, np.float32), z)
    assert says(found, "argument y has 1 dimensions", "argument y: expected a tensor of rank 2, found rank 1")
    found = check_fails(body, x, y, np.zeros((6, 4), np.float32))
    assert says(found, "the result of main", "dimension 0 is 6, expected 9")


def test_what_is_wrong_is_an_error_of_python_s_as_well() -> None:
    """As in TVM's machines: TypeError for another category, ValueError for a rank, dtype, length or count."""
    if one_machine._mode == "interpreter":
        return
    body = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), t: R.Tuple(R.Prim("int64"), R.Object)) -> R.Object:
    return x
"""
    x, t = np.zeros((2, 4), np.float32), (1, 2)
    for args in [(1, t), (x, 1), (x, (1.5, 2))]:
        with pytest.raises(TypeError):
            run(body, *args)
    for args in [(x[0], t), (x.astype("int32"), t), (x, (1,)), (x,)]:
        with pytest.raises(ValueError, match=r"expected|takes"):
            run(body, *args)


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


@pytest.mark.rule("RELAX-RTSI-5")
@pytest.mark.rule("RELAX-RTSI-5", rejects=True)
@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("R.Callable([], R.Shape([m]))", True),
        ("R.Callable([], R.Shape([n + 1]))", True),
        ("R.Callable([], R.Shape([n]))", False),
        ("R.Callable([], R.Shape([m * 2]))", False),
        ("R.Tuple(R.Callable([], R.Shape([n])), R.Object)", False),
        ("R.Callable([R.Callable([R.Shape([n])], R.Object)], R.Object)", False),
    ],
)
def test_casts_to_function_types_over_sizes_in_scope(target: str, fits: bool) -> None:
    """The sizes are those of the run: machines took them for variables of the function type, which fit anything."""
    value = "(g, x)" if "Tuple" in target else "g"
    body = f"""
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    n, m = T.int64(), T.int64()
    @R.function
    def g() -> R.Shape([m]):
        return R.shape([m])
    o: R.Object = {value}
    f = R.match_cast(o, {target})
    return x
"""
    x = np.zeros((2, 3), np.float32)
    if fits:
        run(body, x)
    else:
        check_fails(body, x)


@pytest.mark.rule("RELAX-RTSI-5")
def test_functions_of_numbers_in_scope_are_bound() -> None:
    """A closure that returns a captured size could not be bound to its own type, whose number was no variable."""
    body = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Prim("int64"):
    n, m = T.int64(), T.int64()
    @R.function
    def g(y: R.Tensor((n, "k"), "float32")) -> R.Tuple(R.Prim(value=m), R.Prim(value="k")):
        k = T.int64()
        return (R.prim_value(m), R.prim_value(k))
    o: R.Object = g
    f = R.match_cast(o, R.Callable([R.Tensor((n, 3), "float32")], R.Tuple(R.Prim(value=m), R.Prim("int64"))))
    t = f(x)
    return t[1]
"""
    assert run(body, np.zeros((2, 3), np.float32)) == 3


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


@pytest.mark.rule("RELAX-RTSI-3")
@pytest.mark.rule("RELAX-RTSI-3", rejects=True)
@pytest.mark.parametrize(
    ("own", "target", "fits"),
    [
        ('R.Tensor(("k", "j"))', "R.Tensor(ndim=2)", True),
        ('R.Tuple(R.Tensor(("k",)), R.Shape(["j"]))', "R.Tuple(R.Tensor(ndim=1), R.Shape(ndim=1))", True),
        ('R.Prim(value="k")', 'R.Prim("int64")', True),
        ('R.Tensor(("k", "k"))', "R.Tensor(ndim=2)", False),
        ('R.Tensor(("k", 4))', "R.Tensor(ndim=2)", False),
        ('R.Tensor(("k", "j"))', "R.Tensor", False),
    ],
)
def test_shape_variables_of_a_closure_take_every_size(own: str, target: str, fits: bool) -> None:
    """Guards that parameters which any argument fits were said not to accept every tensor of their rank."""
    body = f"""
@R.function
def main(x: R.Object) -> R.Object:
    @R.function
    def g(y: {own}) -> R.Object:
        return y
    o: R.Object = g
    c = R.match_cast(o, R.Callable([{target}], R.Object))
    return c
"""
    if fits:
        run(body, 0)
    else:
        check_fails(body, 0)


def test_kernels_are_functions_for_packed_functions() -> None:
    """A kernel given to a packed function can be called there, and a cast compares what its signature implies."""
    body = """
@T.prim_func(private=True)
def increase(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("increase"):
            vi = T.axis.spatial(n, i)
            A[vi] = A[vi] + T.float32(1)

@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    y = R.add(x, x)
    f = R.match_cast(Module.increase, R.Callable([R.Tensor(ndim=1, dtype="float32")], R.Tuple(), False))
    unit = f(y)
    seen = R.call_packed("test.call", f, y)
    return (y, unit, seen)
"""
    found = everywhere(body, f32(1, 2), functions=table(call=lambda kernel, y: kernel(y)))
    assert found[0].numpy().tolist() == [4, 6]
    assert found[1:] == ((), ())


def test_kernels_carry_their_structure() -> None:
    """Guards that compiled code took any cast of a kernel: its arguments, purity and (no) result are compared."""
    body = """
@T.prim_func(private=True)
def increase(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("increase"):
            vi = T.axis.spatial(4, i)
            A[vi] = A[vi] + T.float32(1)

@R.function
def main(x: R.Object) -> R.Object:
    f: R.Object = Module.increase
    g = R.match_cast(f, R.Callable([{params}], {result}, {pure}))
    return g
"""
    tensor = 'R.Tensor((4,), "float32")'
    run(body.format(params=tensor, result="R.Tuple", pure=False), 0)
    for params in ('R.Tensor((5,), "float32")', 'R.Tensor((4,), "int32")', f"{tensor}, {tensor}"):
        check_fails(body.format(params=params, result="R.Tuple", pure=False), 0)
    check_fails(body.format(params=tensor, result="R.Tuple", pure=True), 0)
    check_fails(body.format(params=tensor, result=tensor, pure=False), 0)


def test_bound_scalars_may_be_computed() -> None:
    """Criterion 18 says what PrimValues are intended for: scripts that bind another run, with a warning."""
    body = """
@R.function
def main(size: R.Prim(value="n"), m: R.Prim(value="k")) -> R.Prim(value="n * k"):
    n = T.int64()
    k = T.int64()
    out = R.prim_value(n * k)
    return out
"""
    with pytest.warns(StructInfoWarning, match=r"RELAX-WF-18[\s\S]*n \* k"):
        program = module(body)
    assert everywhere(program, 3, 4) == 12


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
