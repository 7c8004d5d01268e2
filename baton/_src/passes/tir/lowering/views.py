"""Resolve the views of a block into other buffers (`T.match_buffer(A[0:4, j:j + 4], ...)`).

Their accesses become accesses of the underlying buffer; unspecified strides, offset and dims (given as variables) get
their values, and the pointer is that of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.vector_rows import runs_past_row
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion


def view_as_source(body: st.Stmt, match: st.MatchBufferRegion) -> st.Stmt:
    """Replace accesses of a view by accesses of its buffer: the last axes correspond, the others are at the region's
    start.
    """
    view, source = match.buffer, match.source
    if len(view.shape) > len(source.region):
        raise _unfit(view, f"has more axes than {source.buffer.name}")
    missing = len(source.region) - len(view.shape)
    starts = [r.min for r in source.region]

    def moved(indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        if runs_past_row(view, indices):
            _require_same_steps(view, source.buffer, "read or written across its rows")
        shifted = [ops.add(s, i) for s, i in zip(starts[missing:], indices)]
        return (*starts[:missing], *shifted)

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is view:
            return tir.BufferLoad(source.buffer, moved(node.indices))
        if isinstance(node, st.BufferStore) and node.buffer is view:
            return st.BufferStore(source.buffer, node.value, moved(node.indices))
        if isinstance(node, BufferRegion) and node.buffer is view:  # of a block inside, or of a view that it makes
            places = [Range(p, r.extent) for p, r in zip(moved([r.min for r in node.region])[missing:], node.region)]
            return BufferRegion(
                source.buffer, (*(Range(s, tir.literal(1, s.dtype)) for s in starts[:missing]), *places)
            )
        return None

    # The rule must see the view's own nodes: the buffer is not rewritten, only accesses are.
    found: st.Stmt = rewrite(body, rule)
    values = {**_dims_of(view, source, missing), **_strides_of(view, source.buffer, missing)}
    used = {node for node in post_order(found) if isinstance(node, tir.Var)}
    values |= _place_of(view, source, used)
    resolved: st.Stmt = substitute_and_fold(found, {var: value for var, value in values.items() if var in used})
    return resolved


def _dims_of(view: Buffer, source: BufferRegion, missing: int) -> dict[tir.Var, PrimExpr]:
    pairs = [(_opened(d), r.extent) for d, r in zip(view.shape, source.region[missing:])]
    return {d: ops.cast(d.dtype, extent) for d, extent in pairs if isinstance(d, tir.Var) and d is not extent}


def _opened(stated: PrimExpr | None) -> PrimExpr | None:
    """The variable that a conversion of indices to 64 bits left in place of it."""
    return stated.value if isinstance(stated, tir.Cast) and isinstance(stated.value, tir.Var) else stated


def _strides_of(view: Buffer, buffer: Buffer, missing: int) -> dict[tir.Var, PrimExpr]:
    """The values of strides that a view leaves open; those it states must be the buffer's."""
    if not view.strides:
        return {}
    found: dict[tir.Var, PrimExpr] = {}
    for stated, actual in zip(view.strides, strides_of(buffer)[missing:]):
        var = _opened(stated)
        if isinstance(var, tir.Var):
            found[var] = ops.cast(var.dtype, actual)
        elif not Analyzer().can_prove_equal(stated, ops.cast(stated.dtype, actual)):
            raise _unfit(view, f"has the stride {stated} where {buffer.name} has {actual}")
    return found


def strides_of(buffer: Buffer) -> list[PrimExpr]:
    """The strides of a buffer; compact if it does not state them."""
    if buffer.strides:
        return list(buffer.strides)
    if not buffer.shape:
        return []
    found: list[PrimExpr] = [tir.literal(1, buffer.shape[-1].dtype)]
    for dim in reversed(buffer.shape[1:]):
        found.insert(0, ops.multiply(found[0], dim))
    return found


def _place_of(view: Buffer, source: BufferRegion, used: set[tir.Var]) -> dict[tir.Var, PrimExpr]:
    """The values of the offset that a view leaves open, and of its pointer, where they are used directly."""
    if view.data in used:
        _require_same_steps(view, source.buffer, "used through its pointer")
    place = source.buffer.offset_of([r.min for r in source.region])[0]
    offset = _opened(view.elem_offset)
    if isinstance(offset, tir.Var):
        return {offset: ops.cast(offset.dtype, place), view.data: source.buffer.data}
    if view.data not in used:
        return {}
    stated = tir.literal(0) if offset is None else offset
    if Analyzer().can_prove_equal(stated, ops.cast(stated.dtype, place)):
        return {view.data: source.buffer.data}
    raise _unfit(view, f"starts {stated} elements after its pointer, but is {place} after that of its buffer")


def _require_same_steps(view: Buffer, buffer: Buffer, how: str) -> None:
    """Check that a view without strides, which counts as compact, is contiguous in its buffer."""
    if view.strides:
        return
    prover = Analyzer()
    actual = strides_of(buffer)[len(buffer.shape) - len(view.shape) :]
    for dim, step, stride in zip(view.shape, strides_of(view), actual):
        one = prover.can_prove_equal(dim, tir.literal(1, dim.dtype))
        if not one and not prover.can_prove_equal(step, ops.cast(step.dtype, stride)):
            raise _unfit(view, f"is {how} as a compact one, but {buffer.name} has a stride {stride}")


def _unfit(view: Buffer, why: str) -> DiagnosticError:
    return fail(
        "tir-match-buffer",
        f"the view {view.name} {why}",
        help="leave strides and offset open: T.match_buffer(region, shape, strides=[s0, s1], offset_factor=1)",
    )
