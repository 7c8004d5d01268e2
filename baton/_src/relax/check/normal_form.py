"""The criteria of normal form (seed 001, Normal Form), each violation reported: `RELAX-NF-1` to `RELAX-NF-5`."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op
from baton._src.relax.check.findings import Findings
from baton._src.relax.leaves import is_leaf
from baton._src.relax.nodes import Call, DataflowBlock, Function, If, SeqExpr, Tuple, TupleGetItem, definition_of
from baton._src.relax.special_op import SpecialOp
from baton._src.support.spans import Span


def check_normal_form(function: Function, findings: Findings, *, only_nesting: bool = False) -> None:
    """Report every place where `function` is not in normal form.

    `only_nesting`: check only what deduction relies on, that nothing is nested, and not how bindings are grouped or
    whether a body is a leaf by itself.
    """
    todo: list[Any] = [function]
    while todo:
        item = todo.pop()
        if isinstance(item, Function):
            _body(item.body, "a function body", item.span, findings, todo, only_nesting)
        elif isinstance(item, If):
            for branch in (item.true_branch, item.false_branch):
                _body(branch, "a branch", item.span, findings, todo, only_nesting)
        elif isinstance(item, SeqExpr):
            if not only_nesting:
                _grouping(item, findings)
            _sequence(item, findings, todo)


def _body(body: Any, what: str, span: Span | None, findings: Findings, todo: list[Any], leaf_allowed: bool) -> None:
    if isinstance(body, SeqExpr):
        todo.append(body)
    elif not (leaf_allowed and is_leaf(body)):
        findings.add("RELAX-NF-3", f"{what} is a {type(body).__name__} instead of a SeqExpr", span=body.span or span)


def _grouping(seq: SeqExpr, findings: Findings) -> None:
    kind: bool | None = None
    for block in seq.blocks:
        dataflow = isinstance(block, DataflowBlock)
        span = block.span or (block.bindings[0].span if block.bindings else seq.span)
        if not block.bindings:
            findings.add("RELAX-NF-4", "a binding block is empty", span=span)
        elif dataflow is kind:
            findings.add("RELAX-NF-4", "two neighbouring blocks of one kind are not merged", span=span)
        kind = dataflow


def _sequence(seq: SeqExpr, findings: Findings, todo: list[Any]) -> None:
    for block in seq.blocks:
        for binding in block.bindings:
            _value(getattr(binding, "value", None), binding.span, findings, todo)
    if not is_leaf(seq.body):
        findings.add(
            "RELAX-NF-5", f"a SeqExpr ends in a {type(seq.body).__name__} instead of a leaf",
            span=seq.body.span or seq.span,
        )  # fmt: skip
        _value(seq.body, seq.span, findings, todo)
    elif isinstance(seq.body, Tuple):
        _tuple(seq.body, seq.span, findings)


def _value(value: Any, span: Span | None, findings: Findings, todo: list[Any]) -> None:
    """The right side of a binding."""
    at = getattr(value, "span", None) or span
    match value:
        case SeqExpr():
            findings.add("RELAX-NF-2", "a SeqExpr stands where only a function body or branch may", span=at)
            todo.append(value)
        case If():
            _part(value.cond, "the condition", at, findings)
            todo.append(value)
        case Function():
            todo.append(value)
        case Call():
            if not isinstance(value.op, Op):
                _part(value.op, "the callee", at, findings)
            for position, arg in enumerate(value.args):
                _part(arg, f"argument {position}", at, findings)
            _spelling(value, at, findings)
        case TupleGetItem():
            _part(value.tuple_value, "the tuple", at, findings)
        case Tuple():
            _tuple(value, at, findings)
        case _:
            pass


def _spelling(call: Call, span: Span | None, findings: Findings) -> None:
    """Operators with a canonical spelling (call_tir's arguments in line) must be written so."""
    definition = definition_of(call)
    if isinstance(definition, SpecialOp) and definition.normalize is not None:
        if not (len(call.args) > 1 and isinstance(call.args[1], Tuple)):
            findings.add("RELAX-OP-03", f"{definition.name}: the arguments are not an in-line tuple", span=span)


def _part(expr: Any, what: str, span: Span | None, findings: Findings) -> None:
    if not is_leaf(expr):
        findings.add(
            "RELAX-NF-1", f"{what} is a nested {type(expr).__name__} instead of a leaf", span=expr.span or span,
            help="bind it to a variable first (Normalize does)",
        )  # fmt: skip
    elif isinstance(expr, Tuple):
        _tuple(expr, span, findings)


def _tuple(expr: Tuple, span: Span | None, findings: Findings) -> None:
    todo = list(expr.fields)
    while todo:
        field = todo.pop()
        if isinstance(field, Tuple):
            todo.extend(field.fields)
        elif not is_leaf(field):
            findings.add(
                "RELAX-NF-1b", f"a tuple holds a nested {type(field).__name__} instead of a leaf",
                span=field.span or span,
            )  # fmt: skip
