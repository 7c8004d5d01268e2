"""Source spans of Relay programs: whether every expression has one, and older spellings."""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TensorType, TupleType
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function, If, Let, Match, Tuple, TupleGetItem
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

MOST = 20
"""The maximum number of findings that are listed."""


@dataclass(frozen=True)
class SequentialSpan:
    """Several places in one: what a pass made of several expressions."""

    spans: tuple[Span, ...]

    def __init__(self, spans: Any) -> None:
        flat: list[Span] = []
        for each in spans:
            flat += each.spans if isinstance(each, SequentialSpan) else [each]
        object.__setattr__(self, "spans", tuple(flat))


@dataclass(frozen=True)
class SpanCheck(Pass):
    """Checks that every expression that computes something has a span; error `relay-span` lists the others."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        kinds = (Call, If, Let, Match, Tuple, TupleGetItem)
        missing = [
            f"@{var.name_hint}: a {type(node).__name__}"
            for var, function in module.functions.items()
            if isinstance(function, Function)
            for node in walk(function)
            if isinstance(node, kinds) and node.span is None
        ]
        if missing:
            listed = "\n".join(missing[:MOST])
            raise fail("relay-span", f"{len(missing)} expressions have no span:\n{listed}")
        return module


def is_dynamic(tensor_type: Any) -> bool:
    """Whether a tensor, or one in a tuple of them, has a dim that is not known."""
    if isinstance(tensor_type, TupleType):
        return any(is_dynamic(field) for field in tensor_type.fields)
    if not isinstance(tensor_type, TensorType):
        raise fail("api", f"is_dynamic takes a tensor type, not a {type(tensor_type).__name__}")
    return any(not isinstance(dim, (int, IntImm)) for dim in tensor_type.shape)


def type_has_any(tensor_type: Any) -> bool:
    """Whether a dim of a tensor type (or of a tuple of them) is unknown: `?`."""
    if isinstance(tensor_type, TupleType):
        return any(type_has_any(field) for field in tensor_type.fields)
    if not isinstance(tensor_type, TensorType):
        raise fail("api", f"type_has_any takes a tensor type, not a {type(tensor_type).__name__}")
    return any(isinstance(node, AnyDim) for node in post_order(tensor_type.shape))
