"""Relay's expressions and patterns."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_json.attributes import attributes, plain
from baton._src.driver.tvm_json.document import Fields, Kind
from baton._src.ir.expr import GraphExpr
from baton._src.ir.types import Constructor, Type, TypeVar
from baton._src.relay import nodes as relay


def _call(fields: Fields) -> Any:
    op = fields.part("op", GraphExpr)
    attrs = attributes(fields.ref("attrs"), op)
    return relay.Call(op, fields.items("args", GraphExpr), attrs, fields.items("type_args", Type), fields.span)


def _var(fields: Fields) -> Any:
    """A variable is its `vid`: nodes that share one are the same variable, copied by a pass."""
    known: dict[str, Any] = fields.document.variables
    vid = fields.literal("vid")
    if vid not in known:
        known[vid] = relay.Var(str(fields.ref("vid")), fields.ref("type_annotation", Type), span=fields.span)
    return known[vid]


def _function(fields: Fields) -> Any:
    attrs = plain(fields.ref("attrs")) or {}
    params, types = fields.items("params", relay.Var), fields.items("type_params", TypeVar)
    return relay.Function(
        params, fields.part("body", GraphExpr), fields.ref("ret_type", Type), types, attrs, fields.span
    )


def _match(fields: Fields) -> Any:
    complete = fields.literal("complete") in ("1", "true", "True")
    return relay.Match(
        fields.part("data", GraphExpr), fields.items("clauses", relay.Clause), complete, span=fields.span
    )


def _projection(fields: Fields) -> Any:
    return relay.TupleGetItem(fields.part("tuple_value", GraphExpr), fields.int("index"), span=fields.span)


def _if(fields: Fields) -> Any:
    branches = (fields.part("true_branch", GraphExpr), fields.part("false_branch", GraphExpr))
    return relay.If(fields.part("cond", GraphExpr), *branches, span=fields.span)


def _refs(*names: str) -> tuple[str, ...]:
    return (*names, "span")


RELAY: dict[str, Kind] = {
    "relay.Id": Kind(("name_hint",), lambda f: f.text("name_hint")),
    "relay.Var": Kind(_refs("vid", "type_annotation"), _var),
    "relay.Constant": Kind(_refs(), lambda f: relay.Constant(f.tensor("data"), span=f.span)),
    "relay.Tuple": Kind(_refs("fields"), lambda f: relay.Tuple(f.items("fields", GraphExpr), f.span)),
    "relay.TupleGetItem": Kind(_refs("tuple_value"), _projection),
    "relay.Call": Kind(_refs("op", "args", "attrs", "type_args"), _call),
    "relay.Let": Kind(
        _refs("var", "value", "body"),
        lambda f: relay.Let(f.part("var", relay.Var), f.part("value", GraphExpr), f.part("body", GraphExpr), f.span),
    ),
    "relay.If": Kind(_refs("cond", "true_branch", "false_branch"), _if),
    "relay.Function": Kind(_refs("params", "body", "ret_type", "type_params", "attrs"), _function),
    "relay.RefCreate": Kind(_refs("value"), lambda f: relay.RefCreate(f.part("value", GraphExpr), span=f.span)),
    "relay.RefRead": Kind(_refs("ref"), lambda f: relay.RefRead(f.part("ref", GraphExpr), span=f.span)),
    "relay.RefWrite": Kind(
        _refs("ref", "value"),
        lambda f: relay.RefWrite(f.part("ref", GraphExpr), f.part("value", GraphExpr), span=f.span),
    ),
    "relay.Match": Kind(_refs("data", "clauses"), _match),
    "relay.Clause": Kind(
        ("lhs", "rhs"), lambda f: relay.Clause(f.part("lhs", relay.Pattern), f.part("rhs", GraphExpr))
    ),
    "relay.PatternWildcard": Kind((), lambda f: relay.PatternWildcard()),
    "relay.PatternVar": Kind(("var",), lambda f: relay.PatternVar(f.part("var", relay.Var))),
    "relay.PatternTuple": Kind(("patterns",), lambda f: relay.PatternTuple(f.items("patterns", relay.Pattern))),
    "relay.PatternConstructor": Kind(
        ("constructor", "patterns"),
        lambda f: relay.PatternConstructor(f.part("constructor", Constructor), f.items("patterns", relay.Pattern)),
    ),
}
