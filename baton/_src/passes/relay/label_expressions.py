"""LabelOps, AnnotateSpans and CapturePostDfsIndexInSpans: labels by which expressions can be identified later.

LabelOps gives every fused function the attribute `hash`, equal for equal functions. AnnotateSpans gives every
expression its position in the module's text (`GeneratedSource`); CapturePostDfsIndexInSpans its index in evaluation
order, as the line of a span of the source `index`.
"""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.traverse import with_fresh_binders
from baton._src.ir.types import Constructor
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite, walk
from baton._src.relay.nodes import Function
from baton._src.relay.text.parser import parse
from baton._src.relay.text.printer import astext
from baton._src.support.dataclass import dataclass
from baton._src.support.spans import Source, Span
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LabelOps(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if isinstance(new, Function) and new.attrs.get("Primitive") and "hash" not in new.attrs:
                return new.with_attr("hash", _digest(new))
            return None

        return rewrite(function, rule)


def _digest(function: Function) -> str:
    text = astext(with_fresh_binders(function), annotate=lambda _: "")  # neither types nor places
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class AnnotateSpans(Pass):
    """See the module's docstring: the module is printed and parsed again."""

    opt_level: ClassVar[int] = 0

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return parse(astext(module), CATALOGUE, source_name="GeneratedSource")


@dataclass(frozen=True)
class CapturePostDfsIndexInSpans(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        order = [n for n in walk(function) if not isinstance(n, (Op, GlobalVar, Constructor))]  # those are shared
        source = Source("index", "\n" * len(order))
        for number, node in enumerate(order):
            set_note(node, "span", Span(source, number + 1, number + 1, 1, 1))
        return function
