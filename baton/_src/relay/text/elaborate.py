"""From what was written to the strict tree: open literals get their dtype, whole-tensor conditions their reduction.

Inference decides both (`check.elaboration`); here the tree is rewritten accordingly, keeping the types found.
Contradictions B-01 and B-02.
"""

from __future__ import annotations

import warnings
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.infer_type import Relations, infer_expr, infer_type
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant
from baton._src.relay.text.names import OperatorNames
from baton._src.support.diagnostics import Diagnostic, Severity
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


def elaborate_module(
    module: IRModule, elaboration: Elaboration, relations: Relations, catalogue: OperatorNames
) -> IRModule:
    """`module` typed and strict."""
    typed = infer_type(module, relations=relations, elaboration=elaboration)
    _warn(elaboration)
    changed = _replacements(elaboration, catalogue)
    if not changed:
        return typed
    functions = {var: _rewritten(function, changed) for var, function in typed.functions.items()}
    if all(functions[v] is typed.functions[v] for v in functions):
        return typed
    return infer_type(typed.with_functions(functions), relations=relations)


def elaborate_expr(
    expr: GraphExpr, elaboration: Elaboration, relations: Relations, catalogue: OperatorNames, module: IRModule | None
) -> Any:
    """`expr` typed and strict."""
    typed = infer_expr(expr, module, relations=relations, elaboration=elaboration)
    _warn(elaboration)
    changed = _replacements(elaboration, catalogue)
    made = _rewritten(typed, changed) if changed else typed
    return made if made is typed else infer_expr(made, module, relations=relations)


def _replacements(elaboration: Elaboration, catalogue: OperatorNames) -> dict[Any, Any]:
    """Constants by what they become; Ifs by the operator that reduces their condition."""
    changed: dict[Any, Any] = {}
    for literal, dtype in elaboration.literals.items():
        if isinstance(dtype, DataType) and dtype != literal.data.dtype:
            changed[literal] = literal.with_fields(data=NDArray(literal.data.data.astype(dtype.numpy)))
    for node in elaboration.reduced:
        changed[node] = catalogue.relay(elaboration.conditions[node])
    return changed


def _rewritten(root: GraphExpr, changed: dict[Any, Any]) -> Any:
    def rule(old: Any, new: Any) -> Any:
        if old not in changed:
            return None
        if isinstance(old, Constant):
            return changed[old]
        op = changed[old]
        record = op.definition.attrs
        condition = Call(op, (new.cond,), record() if record.names else None, span=new.cond.span)
        return new.with_fields(cond=condition)

    return rewrite(root, rule)


def _warn(elaboration: Elaboration) -> None:
    """Things that are accepted and worth a word."""
    for node in elaboration.reduced:
        op = elaboration.conditions[node]
        message = f"this condition compares whole tensors; it is read as {op}(...)"
        warnings.warn(
            Diagnostic("relay-condition", message, node.cond.span, severity=Severity.WARNING).render(), stacklevel=4
        )
    for match, index in elaboration.unreachable:
        span = match.clauses[index].lhs.span or match.span
        message = "this clause can never run: those before it cover every case"
        warnings.warn(Diagnostic("relay-unreachable", message, span, severity=Severity.WARNING).render(), stacklevel=4)
