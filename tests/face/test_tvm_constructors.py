"""Constructors of nodes take what TVM's take, in its order: scripts that rebuild nodes pass `span` on by place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from baton import ir, relax, relay, te, tir
from baton._src.support.diagnostics import DiagnosticError

X, Y = tir.Var("x", "int32"), tir.Var("y", "int32")
WHERE = ir.Span(ir.SourceName("model.py"), 3, 3, 5, 9)
NOTHING = tir.Evaluate(0)
CELLS = tir.decl_buffer((4,), "int32")
TAKE_SPAN: list[Callable[[Any], Any]] = [
    *(lambda s, made=made: made(X, Y, s) for made in (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.Min, tir.Max)),
    *(lambda s, made=made: made(X, Y, s) for made in (tir.FloorDiv, tir.FloorMod, tir.EQ, tir.NE)),
    *(lambda s, made=made: made(X, Y, s) for made in (tir.LT, tir.LE, tir.GT, tir.GE)),
    lambda s: tir.And(X < Y, Y < X, s),
    lambda s: tir.Or(X < Y, Y < X, s),
    lambda s: tir.Not(X < Y, s),
    lambda s: tir.Select(X < Y, X, Y, s),
    lambda s: tir.Ramp(X, 1, 4, s),
    lambda s: tir.Broadcast(X, 4, s),
    lambda s: tir.Shuffle([X, Y], [1, 0], s),
    lambda s: tir.StringImm("a", s),
    lambda s: tir.Any(s),
    lambda s: tir.Evaluate(X, s),
    lambda s: tir.SeqStmt([NOTHING, NOTHING], s),
    lambda s: tir.IfThenElse(X < Y, NOTHING, None, s),
    lambda s: tir.AttrStmt(X, "key", Y, NOTHING, s),
    lambda s: tir.AssertStmt(X < Y, tir.StringImm("not less"), NOTHING, s),
    lambda s: tir.While(X < Y, NOTHING, s),
    lambda s: tir.DeclBuffer(CELLS, NOTHING, s),
    lambda s: tir.BlockRealize([], True, tir.Block([], [], [], "b", NOTHING), s),
    lambda s: tir.CommReducer([X], [Y], [X + Y], [tir.const(0, "int32")], s),
]


@pytest.mark.parametrize("make", TAKE_SPAN)
def test_span_is_the_last_parameter(make: Callable[[Any], Any]) -> None:
    """Guards the place of `span`, which was taken by name only."""
    assert make(WHERE).span is WHERE
    assert make(None).span is None


def test_reductions_are_made_by_their_parts() -> None:
    """Guards TVM's names `src` and `rdom`, an `init` of None, and values that are numbers."""
    total = tir.CommReducer([X], [Y], [X + Y], [tir.const(0, "int32")])
    k = te.reduce_axis((0, 4), "k")
    made = tir.Reduce(combiner=total, src=[k.var, 2], rdom=[k], condition=True, value_index=0, init=None, span=WHERE)
    assert (made.dtype, made.init, made.span) == ("int32", (), WHERE)
    assert [value.dtype for value in made.source] == ["int32", "int32"]
    assert made.axis == (k,)
    with pytest.raises(DiagnosticError, match="has no value 2"):
        tir.Reduce(total, [k.var], [k], True, 2)


def test_variables_are_made_of_those_of_others() -> None:
    """Guards `vid`, which TVM's passes hand on: it became the name, and printing failed."""
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    for make in (relax.Var, relax.DataflowVar):
        assert make(x.vid, relax.TensorStructInfo((3,), "float32")).name_hint == "x"
    assert relay.Var(relay.var("a", shape=(1,)).vid).name_hint == "a"
    a, wide = relay.var("a", shape=(1,)), relay.TensorType((2,))
    changed = relay.VarWithFields(a, vid=a.vid, type_annotation=wide)
    assert (changed.name_hint, changed.type_annotation) == ("a", wide)
