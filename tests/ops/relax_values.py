"""A tiny evaluator of nested Relax operator calls over NumPy, for what decompositions and gradients build."""

from __future__ import annotations

from typing import Any

from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.op_def import OpDef
from baton._src.relax import nodes as relax
from baton._src.tir.evaluation.expressions import evaluate as evaluate_prim


def evaluate(expr: Any, environment: dict[Any, Any]) -> Any:
    """The value of an expression of operators, constants, tuples and shapes."""
    if isinstance(expr, relax.Var):
        return environment[expr]
    if isinstance(expr, relax.Constant):
        return expr.data.data
    if isinstance(expr, relax.PrimValue):
        return evaluate_prim(expr.value)
    if isinstance(expr, relax.ShapeExpr):
        return tuple(int(evaluate_prim(v)) for v in expr.values)
    if isinstance(expr, relax.Tuple):
        return tuple(evaluate(f, environment) for f in expr.fields)
    if isinstance(expr, relax.TupleGetItem):
        return evaluate(expr.tuple_value, environment)[expr.index]
    assert isinstance(expr, relax.Call), expr
    args = tuple(evaluate(a, environment) for a in expr.args)
    definition = expr.op.definition
    if not isinstance(definition, OpDef):
        assert expr.op.name == "relax.shape_of", expr.op.name
        return args[0].shape
    return definition.reference(args, expr.attrs or NO_ATTRS)
