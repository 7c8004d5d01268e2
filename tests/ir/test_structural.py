"""Structural equality and hash: renaming, sharing, scopes, contents; and what a mismatch report says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton._src.driver.wiring import wire
from baton._src.ir import near_structural
from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import StructuralMismatchError, assert_structural_equal, structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.structural_report import with_carets
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.tir import expr as tir
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, For, ForKind
from baton._src.values.tensor import array
from tests.ir.graphs import ADD, let_chain, relax_function, relay_dag


def same(a: Any, b: Any) -> bool:
    """Equal both ways, and then with equal hashes."""
    found = structural_equal(a, b)
    assert found == structural_equal(b, a)
    if found:
        assert structural_hash(a) == structural_hash(b)
    return found


def copy_kernel(names: tuple[str, str] = ("n", "i"), offset: int = 0) -> PrimFunc:
    """B[i] = A[i + offset], n elements."""
    n, i = tir.Var(names[0], "int64"), tir.Var(names[1], "int64")
    a, b = decl_buffer((n,), name="A"), decl_buffer((n,), name="B")
    index = tir.Add(i, tir.literal(offset, i.dtype)) if offset else i
    body = For(i, 0, n, ForKind.SERIAL, BufferStore(b, tir.BufferLoad(a, (index,)), (i,)))
    handles = tir.Var("a", "handle"), tir.Var("b", "handle")
    return PrimFunc(handles, body, None, dict(zip(handles, (a, b))))


def test_bound_variables_are_renamed_freely() -> None:
    """Parameters, lets, shape variables of annotations, loop variables, buffers."""
    assert same(relay_dag(3, relay.Var("x")), relay_dag(3, relay.Var("other")))
    assert same(let_chain(5, relay.Var("x")), let_chain(5, relay.Var("y")))
    assert same(relax_function("n", "m"), relax_function("m", "n"))
    assert same(copy_kernel(("n", "i")), copy_kernel(("rows", "r")))


def test_different_uses_of_variables_differ() -> None:
    """Swapped shape variables, another index."""
    assert not same(relax_function(), relax_function(swapped=False))
    assert not same(copy_kernel(), copy_kernel(offset=1))
    assert structural_hash(relax_function()) != structural_hash(relax_function(swapped=False))


def test_numbers_that_python_hashes_alike_hash_differently() -> None:
    """Tables that are keyed by the hash alone would take one axis for another: Python's hash of -1 is that of -2."""
    for one, other in ((-1, -2), (1, 2**61), (3, 2**63 - 1), (-1.0, -2.0)):
        assert structural_hash((one,)) != structural_hash((other,))
    assert structural_hash((2,)) == structural_hash((2.0,)), "equal by structural_equal"
    assert structural_hash((float("inf"),)) == structural_hash((float("inf"),))


def test_a_variable_has_one_partner() -> None:
    """fn (x, y) x + y is not fn (x, y) x + x, either way round."""
    x, y = relay.Var("x"), relay.Var("y")
    both = relay.Function([x, y], relay.Call(ADD, (x, y)))
    a, b = relay.Var("a"), relay.Var("b")
    one = relay.Function([a, b], relay.Call(ADD, (a, a)))
    assert not same(both, one)
    assert not same(one, both)


def test_free_variables_equal_themselves_only_unless_mapped() -> None:
    x, y = relay.Var("x"), relay.Var("y")
    a, b = relay.Call(ADD, (x, x)), relay.Call(ADD, (y, y))
    assert not same(a, b)
    assert structural_equal(a, b, map_free_vars=True)
    assert structural_hash(a, map_free_vars=True) == structural_hash(b, map_free_vars=True)
    assert not structural_equal(a, relay.Call(ADD, (x, y)), map_free_vars=True)


def test_sharing_matters_in_relay_and_nowhere_else() -> None:
    """One node used twice is evaluated once: it differs from two copies. Scalars have no identity."""
    x = relay.Var("x")
    shared = relay.Call(ADD, (x, x))
    once = relay.Function([x], relay.Call(ADD, (shared, shared)))
    twice = relay.Function([x], relay.Call(ADD, (relay.Call(ADD, (x, x)), relay.Call(ADD, (x, x)))))
    assert not same(once, twice)
    n = tir.Var("n")
    scalar = tir.Add(n, tir.literal(1))
    assert same(tir.Mul(scalar, scalar), tir.Mul(tir.Add(n, tir.literal(1)), tir.Add(n, tir.literal(1))))


def test_numbers_of_scripts_may_differ_a_little() -> None:
    """Guards scripts that read a number back from a float32 constant, as TVM's page on patterns does: 1e-9 is near."""
    exact, rounded = tir.FloatImm("float32", 1e-5), tir.FloatImm("float32", float(np.float32(1e-5)))
    far = tir.FloatImm("float32", 1e-5 + 2e-9)
    assert not structural_equal(exact, rounded)
    assert near_structural.structural_equal(exact, rounded)
    near_structural.assert_structural_equal(exact, rounded)
    assert near_structural.get_first_structural_mismatch(exact, rounded) is None
    assert not near_structural.structural_equal(exact, far)
    assert tvm.ir.structural_equal is near_structural.structural_equal
    with pytest.raises(ValueError, match="1e-05"):
        tvm.ir.assert_structural_equal(exact, far)


def test_contents_of_literals() -> None:
    """Constants by dtype, shape and bytes; NaN equals NaN; the sign of zero counts; 1 is not True."""
    assert same(relay.Constant(array([1.0, np.nan])), relay.Constant(array([1.0, np.nan])))
    assert not same(relay.Constant(array([1.0])), relay.Constant(array([1.0], dtype="float32")))
    assert not same(relay.Constant(array([1.0])), relay.Constant(array([[1.0]])))
    assert same(tir.FloatImm("float32", float("nan")), tir.FloatImm("float32", float("nan")))
    assert not same(tir.FloatImm("float32", 0.0), tir.FloatImm("float32", -0.0))
    assert not same(relax.Tuple([]), relax.ShapeExpr([]))


def test_names_of_buffers_and_spans_do_not_matter() -> None:
    n = tir.Var("n")
    a, b = decl_buffer((n,), name="A"), decl_buffer((n,), name="B")
    assert same(tir.BufferLoad(a, (n,)), tir.BufferLoad(b, (n,)))


def test_functions_of_a_module_have_scopes_of_their_own() -> None:
    """Two functions may share a parameter object on one side only; order of functions does not matter."""
    x = relay.Var("x")
    f, g = relay_dag(1, x), relay_dag(2, x)
    ours = IRModule({"f": f, "g": g})
    theirs = IRModule({"g": relay_dag(2, relay.Var("b")), "f": relay_dag(1, relay.Var("a"))})
    assert same(ours, theirs)
    assert not same(ours, IRModule({"f": f, "h": g}))


def test_annotations_of_relax_variables_are_compared_where_known() -> None:
    def function(dtype: str | None) -> relax.Function:
        x = relax.Var("x", TensorStructInfo([2], dtype) if dtype else None)
        return relax.Function([x], relax.SeqExpr([], x))

    assert same(function("float32"), function("float32"))
    assert not same(function("float32"), function("int32"))
    assert same(function("float32"), function(None))


@pytest.mark.parametrize("make", [relay_dag, let_chain])
def test_large_graphs_compare_and_hash_without_recursion(make: Any) -> None:
    """20,000 nodes deep, with 2**20000 paths for the DAG."""
    assert same(make(20_000, relay.Var("x")), make(20_000, relay.Var("y")))


def test_hash_is_the_same_in_another_process() -> None:
    """Caches may use it as a key."""
    program = (
        "from tests.ir.test_structural import copy_kernel\n"
        "from baton._src.ir.structural_hash import structural_hash\n"
        "print(structural_hash(copy_kernel()))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(found.stdout) == structural_hash(copy_kernel())


def test_report_names_the_path_and_shows_both_sides() -> None:
    """The path leads through the module to the differing dim."""
    ours, theirs = IRModule({"main": relax_function()}), IRModule({"main": relax_function(swapped=False)})
    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(ours, theirs)
    text = str(caught.value)
    assert '<root>.functions["main"].body.blocks[0].bindings[0].value.args[1].values[0]' in text
    assert "left:" in text
    assert "right:" in text
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (relay.Tuple([]), "1 items on the left, 0 on the right"),
        (relay.TupleGetItem(relay.Tuple([]), 0), "Tuple on the left, TupleGetItem on the right"),
    ],
)
def test_report_says_why(other: Any, said: str) -> None:
    with pytest.raises(StructuralMismatchError, match=said):
        assert_structural_equal(relay.Tuple([relay.Tuple([])]), other)


def test_equal_things_raise_nothing() -> None:
    assert_structural_equal(copy_kernel(), copy_kernel())


def underlined(ours: Any, theirs: Any) -> list[str]:
    """The texts above the carets, left then right."""
    wire()
    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(ours, theirs)
    lines = str(caught.value).split("\n")
    found = []
    for above, line in itertools.pairwise(lines):
        if line.strip() and set(line.strip()) == {"^"}:
            start = line.index("^")
            found.append(above[start : start + len(line.strip())])
    return found


def test_report_underlines_the_term_in_both_texts() -> None:
    """An operand, an operator's name, an element type in an annotation, an index."""
    x, y = (relax.Var(n, TensorStructInfo([2], "float32")) for n in "xy")

    def main(op: str, a: Any, b: Any, params: Any = (x, y)) -> relax.Function:
        gv = relax.Var("gv", TensorStructInfo([2], "float32"))
        block = relax.BindingBlock([relax.VarBinding(gv, relax.Call(Op(f"relax.{op}"), [a, b]))])
        return relax.Function(params, relax.SeqExpr([block], gv))

    assert underlined(main("add", x, y), main("add", x, x)) == ["y", "x"]
    assert underlined(main("add", x, y), main("sub", x, y)) == ["add", "sub"]
    other = relax.Var("y", TensorStructInfo([2], "int32"))
    assert underlined(main("add", x, x), main("add", x, x, (x, other))) == ["float32", "int32"]
    assert underlined(copy_kernel(), copy_kernel(offset=2))[1] == "i + T.int64(2)"


def test_carets_go_over_several_lines() -> None:
    assert with_carets("if c:\n  a\n  bb", 5, 14) == "if c:\n  a\n  ^\n  bb\n  ^^"


def test_long_texts_are_cut_around_the_difference() -> None:
    wire()
    a, b = let_chain(200, relay.Var("x")), let_chain(200, relay.Var("x"))
    b = b.with_fields(body=b.body.with_fields(value=relay.Call(Op("subtract"), b.body.value.args)))
    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(a, b)
    assert len(str(caught.value).split("\n")) < 80
    assert "^^^" in str(caught.value)
