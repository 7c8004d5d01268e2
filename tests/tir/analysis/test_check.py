"""Well-formedness of PrimFuncs: what is refused, and that good programs are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from baton._src.ir.expr import Range
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir.analysis.check import check_prim_func, verify_well_formed
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import BufferLoad, IntImm, IterVar, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, BufferStore, Evaluate, For, LetStmt, SeqStmt, Stmt, full_region
from baton._src.values.dtype import BOOL, HANDLE
from tests.tir.programs import TRUE, matmul_add

A = decl_buffer((4,), "int32", "A")
P = Var("a", HANDLE)
I = Var("i", "int32")  # noqa: E741
ZERO = IntImm("int32", 0)


def func(body: Stmt) -> PrimFunc:
    return PrimFunc([P], body, None, {P: A}, {"global_symbol": "f"})


def codes(body: Stmt) -> list[str]:
    return [d.code for d in check_prim_func(func(body))]


def block(body: Stmt, value: object = I, **parts: object) -> BlockRealize:
    v = Var("v", "int32")
    axis = IterVar(Range(ZERO, IntImm("int32", 4)), v)
    store = BufferStore(A, ZERO, (v,))
    given = {"reads": (), "writes": (full_region(A),), **parts}
    made = Block([axis], given["reads"], given["writes"], "b", SeqStmt((store, body)))
    return BlockRealize((value,), TRUE, made)


NOTHING = Evaluate(ZERO)
LET = LetStmt(I, ZERO, NOTHING)
SHARED = tir.Let(I, ZERO, I)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (NOTHING, []),
        (For(I, 0, 4, 0, BufferStore(A, I, (I,))), []),
        (For(I, 0, 4, 0, block(NOTHING)), []),
        (Evaluate(I), ["tir-undefined"]),
        (SeqStmt((LET, Evaluate(I))), ["tir-undefined"]),
        (SeqStmt((LET, LET)), ["tir-redefined"]),
        (SeqStmt((Evaluate(SHARED), Evaluate(SHARED))), []),  # one expression in two statements, as in TVM
        (SeqStmt((Evaluate(SHARED), Evaluate(tir.Let(I, ZERO, I)))), ["tir-redefined"]),
        (BufferStore(A, ZERO, (ZERO, ZERO)), ["tir-indices"]),
        (BufferStore(A, IntImm("int64", 0), (ZERO,)), ["tir-dtype"]),
        (Evaluate(BufferLoad(A, (tir.FloatImm("float32", 0),))), ["tir-index"]),
        (BufferStore(decl_buffer((4,), "int32", "B"), ZERO, (ZERO,)), ["tir-undefined"]),
        (For(I, 0, 4, 0, block(Evaluate(I))), ["tir-block-loop"]),
        (For(I, 0, 4, 0, block(NOTHING, writes=())), ["tir-block-writes"]),
        (For(I, 0, 4, 0, block(NOTHING, value=tir.Cast("int64", I))), ["tir-dtype"]),
        (For(I, 0, 4, 0, BlockRealize((), ZERO, Block((), (), (), "b", NOTHING))), ["tir-dtype"]),
        (For(I, IntImm("int64", 0), IntImm("int64", 4), 0, NOTHING), ["tir-dtype", "tir-dtype"]),
        (SeqStmt((Evaluate(I), BufferStore(A, ZERO, (ZERO, ZERO)))), ["tir-undefined", "tir-indices"]),
    ],
)
def test_findings(body: Stmt, expected: list[str]) -> None:
    """Guards each rule, its code, and that several findings are all reported."""
    assert codes(body) == expected


def test_findings_name_the_block_and_the_function() -> None:
    """Guards breadcrumbs and the way out."""
    (found,) = check_prim_func(func(For(I, 0, 4, 0, block(Evaluate(I)))))
    assert found.breadcrumbs == ("in block b", "in PrimFunc f")
    assert found.help is not None
    assert verify_well_formed(func(NOTHING))
    with pytest.raises(DiagnosticError):
        verify_well_formed(func(Evaluate(I)))
    assert not verify_well_formed(func(Evaluate(I)), assert_mode=False)


@settings(max_examples=3)
@given(...)
def test_what_te_makes_is_well_formed(n: bool) -> None:
    """Guards both sides: create_prim_func and the checker."""
    assert check_prim_func(matmul_add(Var("n", "int64") if n else 4)) == []


def test_wide_and_deep_programs_are_checked_in_linear_time() -> None:
    """Guards scopes: ending one costs what was defined in it."""
    loops: list[Stmt] = []
    for k in range(3_000):
        var = Var(f"i{k}", "int32")
        loops.append(For(var, 0, 4, 0, BufferStore(A, var, (var,))))
    body: Stmt = SeqStmt(tuple(loops))
    for k in range(3_000):
        body = LetStmt(Var(f"x{k}", "int32"), ZERO, body)
    assert codes(body) == []


def test_the_condition_of_a_branch_is_bool() -> None:
    """Guards conditions inside expressions too."""
    bad = tir.Select(tir.Cast(BOOL, ZERO), ZERO, ZERO).with_fields(condition=ZERO)
    assert codes(Evaluate(bad)) == ["tir-dtype"]
