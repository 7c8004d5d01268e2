"""Simplifying every expression of a random kernel changes nothing it computes: floats, loads and casts included."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, Evaluate, For, IfThenElse, LetStmt
from tests.tir.programs import programs


def simplified(func: PrimFunc) -> PrimFunc:
    """Every expression that stands in a statement, simplified without facts."""
    analyzer = Analyzer()

    def rule(node: Node) -> Node | None:
        if isinstance(node, (BufferStore, Evaluate, For, IfThenElse, LetStmt)):
            changed = {
                s.name: analyzer.simplify(getattr(node, s.name))
                for s in type(node).specs
                if isinstance(getattr(node, s.name), PrimExpr) and s.name not in ("loop_var", "var")
            }
            return node.with_fields(**changed)
        return None

    return func.with_fields(body=rewrite(func.body, rule))


def outcome(func: PrimFunc) -> tuple[bytes, bytes] | None:
    """What the function leaves in its buffers; None if it fails (out of bounds, division by zero, assertion)."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((16, 16)).astype("float32"), rng.integers(0, 16, 16).astype("int32")
    try:
        run_prim_func(func, [a, b, 3, np.zeros((2, 4), "float32")])
    except (DiagnosticError, ZeroDivisionError):
        return None
    return a.tobytes(), b.tobytes()


@settings(max_examples=150)
@given(programs())
def test_simplified_programs_compute_the_same(func: PrimFunc) -> None:
    """Guards what the analyzer does to expressions it does not take apart."""
    before = outcome(func)
    if before is not None:
        assert outcome(simplified(func)) == before
