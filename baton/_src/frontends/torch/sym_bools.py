"""Symbolic bools (PyTorch's `SymBool`): conditions on numbers that are known only at run time; and `x.item()`, which
turns elements into such numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.sym_floats import SymFloat, is_open
from baton._src.ir.expr import PrimExpr
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min


class ItemFloat(SymFloat):
    """A tensor of one element as a float."""

    def __init__(self, tensor: Value) -> None:
        super().__init__("element")
        self.tensor = tensor

    def value(self, graph: GraphBuilder) -> Value:
        return graph.cast(self.tensor, "float64")


class SymBool(SymFloat):
    """A comparison of numbers, or a combination of comparisons: a bool, as a rank-0 tensor."""

    def value(self, graph: GraphBuilder) -> Value:
        joins = self.op.startswith("logical")
        whole = all(isinstance(o, (int, PrimExpr)) for o in self.operands)
        kind = "bool" if joins else "int64" if whole else "float64"
        return graph.call(self.op, *(_as(graph, o, kind) for o in self.operands))


class ItemBool(SymBool):
    """A tensor of one element as a bool."""

    def __init__(self, tensor: Value) -> None:
        super().__init__("element")
        self.tensor = tensor

    def value(self, graph: GraphBuilder) -> Value:
        return self.tensor


def _as(graph: GraphBuilder, operand: Any, kind: str) -> Value:
    if isinstance(operand, SymFloat):
        return graph.cast(operand.value(graph), kind)
    return graph.cast(graph.dims(operand), kind) if isinstance(operand, PrimExpr) else graph.constant(operand, kind)


def comparison(op: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """`plain` on known numbers, `op` of the catalogue on others."""

    def compute(*operands: Any) -> Any:
        return SymBool(op, *operands) if any(is_open(o) for o in operands) else plain(*operands)

    return compute


VIOLATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": lambda a, b: a - b,
    "not_equal": lambda a, b: 1 - tir_min(tir_max(a - b, b - a), 1),
    "greater_equal": lambda a, b: tir_min(a - b, 0),
    "greater": lambda a, b: tir_min(a - b - 1, 0),
    "less_equal": lambda a, b: tir_min(b - a, 0),
    "less": lambda a, b: tir_min(b - a - 1, 0),
}
"""For each comparison a number that is zero exactly where it holds."""


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then if condition else otherwise`; a whole number where both are, and whole numbers are compared."""
    if not isinstance(condition, SymBool):
        return then if condition else otherwise
    fails = _failing(condition) if all(isinstance(o, (int, PrimExpr)) for o in (then, otherwise)) else None
    return SymFloat("where", condition, then, otherwise) if fails is None else then + (otherwise - then) * fails


def _failing(condition: Any) -> Any:
    """1 where a condition on whole numbers does not hold, else 0; None for conditions on others."""
    if not isinstance(condition, SymBool):
        return int(not condition)
    if condition.op in VIOLATIONS:
        whole = all(isinstance(o, (int, PrimExpr)) for o in condition.operands)
        violation = VIOLATIONS[condition.op](*condition.operands) if whole else None
        return None if violation is None else tir_min(tir_max(violation, 0 - violation), 1)
    parts = [_failing(o) for o in condition.operands]
    return None if any(p is None for p in parts) or condition.op not in _FAILING else _FAILING[condition.op](*parts)


_FAILING: dict[str, Callable[..., Any]] = {
    "logical_and": tir_max, "logical_or": tir_min, "logical_not": lambda failing: 1 - failing,
}  # fmt: skip


def item(node: AtenNode, x: Value) -> Any:
    """The only element as a number of the program."""
    g, alone = node.graph, node.graph.reshape(x, ())
    if x.dtype.is_float:
        return ItemFloat(alone)
    if x.dtype.is_bool:
        return ItemBool(alone)
    found = g.numbers(alone)
    assert found is not None
    return found.reshape(-1)[0]


def asserted(node: AtenNode, condition: Any, message: str = "") -> None:
    """Make the call raise an error unless the condition holds."""
    if not isinstance(condition, (SymBool, Value)):
        if not condition:
            node.fail(f"always fails:  {message}", code="torch-assert")
    else:
        node.graph.demand(node.tensor(condition, "bool"), f"{node.title}: {message}")


SCALARS: dict[str, Converter] = {
    "aten._local_scalar_dense.default": item, "aten.item.default": item, "aten._assert_scalar.default": asserted,
    "aten._assert_async.msg": asserted, "aten._assert_async.default": asserted,
}  # fmt: skip
