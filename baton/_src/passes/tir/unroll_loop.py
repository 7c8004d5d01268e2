"""UnrollLoop: unroll loops marked `UNROLLED`, and serial loops that are small enough.

    for i in T.unroll(2): B[i] = A[i]        ->        B[0] = A[0]; B[1] = A[1]

The limits are the options of `tir.UnrollLoop`; pragmas (`pragma_auto_unroll_max_step`, `pragma_unroll_explicit`)
override them for a loop and its body. Only loops with no remaining inner loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rewrite
from baton._src.passes.tir.lowering.fold import Template, fold
from baton._src.passes.tir.pass_options import options_of
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import converted
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

SERIAL, UNROLLED = st.ForKind.SERIAL, st.ForKind.UNROLLED


@dataclass(frozen=True)
class UnrollOptions:
    """The options of `tir.UnrollLoop`."""

    auto_max_step: int = 0
    """Loops of at most this many stores and calls, over all iterations, are unrolled."""
    auto_max_depth: int = 8
    """Most levels of unrolled loops inside an unrolled loop."""
    auto_max_extent: int = 0
    """Loops of at most this many iterations are unrolled, too; if it is 1, also around loops that remain."""
    explicit_unroll: bool = True
    """If False, loops are only marked, and code generation may unroll them."""

    def under(self, pragma: str, value: PrimExpr) -> UnrollOptions:
        """The options under a pragma."""
        match pragma:
            case "pragma_auto_unroll_max_step":
                return replace(self, auto_max_step=_number(pragma, value))
            case "pragma_unroll_explicit":
                return replace(self, explicit_unroll=bool(_number(pragma, value)))
            case _:
                return self


def _number(pragma: str, value: PrimExpr) -> int:
    found = getattr(value, "value", value)
    if not isinstance(found, int):
        raise fail("tir-unroll", f"{pragma} is a number, not {found!r}")
    return found


@dataclass(frozen=True)
class UnrollLoop(PrimFuncPass):
    """See the module. Variables defined in unrolled iterations become distinct variables."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        options = UnrollOptions(**options_of(ctx, "tir.UnrollLoop"))
        ssa = converted(body, function)
        written, marked = _chosen(ssa, _options_of_loops(ssa, options))

        def rule(node: Node) -> Node | None:
            if isinstance(node, st.AttrStmt) and node.attr_key.startswith(("pragma_auto_unroll", "pragma_unroll_expl")):
                return node.body
            if not isinstance(node, st.For):
                return fold(node)
            if node.loop_var in written:
                return _written_out(node)
            return node.with_fields(kind=UNROLLED) if node.loop_var in marked else None

        return converted(rewrite(ssa, rule), function)


def _options_of_loops(body: st.Stmt, options: UnrollOptions) -> dict[st.For, UnrollOptions]:
    """The options for each loop, given the pragmas around it and on it."""
    found: dict[st.For, UnrollOptions] = {}
    pending: list[tuple[Any, UnrollOptions]] = [(body, options)]
    while pending:
        node, known = pending.pop()
        if isinstance(node, st.AttrStmt):
            known = known.under(node.attr_key, node.value) if node.attr_key.startswith("pragma_") else known
        elif isinstance(node, st.For):
            for key, value in node.annotations.items():
                known = known.under(key, value)
            found[node] = known
        pending += [(part, known) for part in st.inner_statements(node)]
    return found


@dataclass(frozen=True)
class _Size:
    """Stores and calls of a statement, its levels of unrolled loops, and whether other loops remain."""

    steps: int = 0
    depth: int = 0
    has_loops: bool = False


def _chosen(body: st.Stmt, options: Mapping[st.For, UnrollOptions]) -> tuple[set[tir.Var], set[tir.Var]]:
    """The loops to unroll, and those to mark, by their variables."""
    written: set[tir.Var] = set()
    marked: set[tir.Var] = set()
    sizes: dict[Any, _Size] = {}
    for node in post_order(body):
        if not isinstance(node, st.Stmt):
            continue
        inside = [sizes[part] for part in children(node) if part in sizes]
        size = _Size(
            sum(s.steps for s in inside) + isinstance(node, st.BufferStore | st.Evaluate),
            max((s.depth for s in inside), default=0),
            any(s.has_loops for s in inside),
        )
        if isinstance(node, st.For):
            known = options[node]
            extent = _extent(node)
            if extent is not None and _is_small(node, extent, size, known):
                size = _Size(size.steps * extent, size.depth + 1, size.has_loops)
                (written if known.explicit_unroll or _is_no_loop(extent, known) else marked).add(node.loop_var)
            else:
                size = replace(size, has_loops=True)
        sizes[node] = size
    return written, marked


def _extent(loop: st.For) -> int | None:
    """The number of iterations; None if it is known only at run time."""
    if isinstance(loop.extent, tir.IntImm):
        return loop.extent.value
    if loop.kind is UNROLLED:
        raise fail("tir-unroll", f"the loop over {loop.loop_var.name} cannot be unrolled: it runs {loop.extent} times")
    return None


def _is_small(loop: st.For, extent: int, size: _Size, options: UnrollOptions) -> bool:
    if loop.kind is UNROLLED or (loop.kind is SERIAL and _is_no_loop(extent, options)):
        return True
    few = extent * size.steps <= options.auto_max_step or extent <= options.auto_max_extent
    return loop.kind is SERIAL and not size.has_loops and size.depth <= options.auto_max_depth and few


def _is_no_loop(extent: int, options: UnrollOptions) -> bool:
    """Whether it has one iteration, and such loops are always unrolled."""
    return extent <= 1 == options.auto_max_extent


def _written_out(loop: st.For) -> st.Stmt:
    template, var = Template(loop.body, [loop.loop_var]), loop.loop_var
    assert isinstance(loop.extent, tir.IntImm)
    places = (ops.add(loop.min, tir.IntImm(var.dtype, i)) for i in range(loop.extent.value))
    copies = [template.instance({var: place}) for place in places]
    return st.stmt_seq(*copies) if copies else st.Evaluate(tir.IntImm("int32", 0))


__all__ = ["UnrollLoop"]
