"""Rolling buffers: keep the overlap of successive windows in a buffer as large as one window.

for i: {for r in 3: B[i + r] = ..; C[i] = B[i] + B[i + 1] + B[i + 2]}
    ->  for i: {for r in 3: if i < 1 or 2 <= r: B[(i + r) % 3] = ..; C[i] = B[i % 3] + ...}
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map
from baton._src.tir.arith.systems.linear import detect_linear_equation
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.schedule.conditions.coverage import require_unconditional
from baton._src.tir.schedule.conditions.independence import require_independent_around
from baton._src.tir.schedule.transformations.buffer_accesses import with_places
from baton._src.tir.schedule.transformations.layout import buffer_of
from baton._src.tir.schedule.tree import (
    computes,
    find_block,
    only_store,
    path_to,
    realizes,
    refuse,
    regions_in_loops,
    replace,
    simplify,
    with_condition,
)


@dataclass(frozen=True)
class _Window:
    """Along `axis`, iteration `i` of the loop needs `size` elements from `step * i + begin` on."""

    loop: st.For
    axis: int
    step: int
    begin: PrimExpr
    size: int


def rolling_buffer(root: st.Stmt, name: str, index: int) -> st.Stmt:
    """Shrink the buffer that a block writes for later blocks of an iteration to the window of an iteration; elements of
    the previous window are not recomputed.
    """
    realize = find_block(root, name)
    buffer = buffer_of(root, name, index, "write")
    others = [r for r in realizes(root) if r is not realize and _uses(r.block, buffer)]
    readers = [r for r in others if computes(r.block)]
    if any(_writes(r.block, buffer) for r in readers) or not readers:
        raise refuse(f"{buffer.name} is not written by block {name} alone, or nobody reads it")
    loops = _loops_around(root, realize, readers, buffer)
    region = next(r for r in regions_in_loops(loops[-1].body)[1] if r.buffer is buffer)
    window = _window(buffer, loops, region)
    _require_boxes(realize, buffer, window, path_to(loops[-1].body, realize))
    _require_within(loops[-1], buffer, window)
    _require_one_thread(loops[: loops.index(window.loop)], buffer)
    made = _made_once(realize, buffer, window, loops, region)
    changed = replace(root, {realize: made})
    require_independent_around(made, changed)
    return _folded(changed, buffer, window)


def _uses(block: st.Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in (*block.reads, *block.writes))


def _writes(block: st.Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in block.writes)


def _loops_around(
    root: st.Stmt, realize: st.BlockRealize, readers: Sequence[st.BlockRealize], buffer: Buffer
) -> list[st.For]:
    """The loops around the block and all readers, inside of the block that allocates the buffer."""
    path = path_to(root, realize)
    owners = [n for n, item in enumerate(path) if isinstance(item, st.Block) and buffer in item.alloc_buffers]
    if not owners:
        raise refuse(f"{buffer.name} is not a buffer of the function's own: it keeps its size")
    shared = [item for item in path[owners[0] :] if all(reader in realizes(item) for reader in readers)]
    loops = [item for item in shared if isinstance(item, st.For)]
    if not loops:
        raise refuse(
            f"block {realize.block.name_hint} and the readers of {buffer.name} share no loop",
            help="compute_at brings them together",
        )
    return loops


def _window(buffer: Buffer, loops: Sequence[st.For], region: BufferRegion) -> _Window:
    """The outermost loop, and the axis, along which windows overlap."""
    for place, loop in enumerate(loops):
        inner = {other.loop_var for other in loops[place + 1 :]}
        for axis, part in enumerate(region.region):
            found = _along(loop, axis, part, inner)
            if found is not None:
                return found
    raise refuse(
        f"no iterations overlap in what they need of {buffer.name}, by a number of elements that is known",
        help=f"the loops around are over {', '.join(loop.loop_var.name for loop in loops)}",
    )


def _along(loop: st.For, axis: int, part: Range, inner: set[tir.Var]) -> _Window | None:
    parts = detect_linear_equation(part.min, [loop.loop_var])
    size = simplify(part.extent)
    if not parts or not isinstance(parts[0], tir.IntImm) or not isinstance(size, tir.IntImm):
        return None
    step, begin = parts[0].value, parts[1]
    serial = loop.kind in (st.ForKind.SERIAL, st.ForKind.UNROLLED)
    if not serial or not 0 < step < size.value or any(n in inner for n in post_order(begin)):
        return None
    return _Window(loop, axis, step, begin, size.value)


def _require_boxes(realize: st.BlockRealize, buffer: Buffer, window: _Window, inside: Sequence[st.Stmt]) -> None:
    """Require that each iteration computes every element of its window from the element's indices alone."""
    block = realize.block
    require_unconditional(realize)
    if any(isinstance(item, st.IfThenElse) for item in inside):
        raise refuse(f"block {block.name_hint} runs under a condition: not all of a window would be made")
    store = only_store(block)
    values = {axis.var: value for axis, value in zip(block.iter_vars, realize.iter_values)}
    moving = {var for var, value in values.items() if window.loop.loop_var in post_order(value)}
    if {n for n in post_order(store.indices[window.axis]) if n in values} != moving or len(moving) != 1:
        raise refuse(f"what {buffer.name} holds along axis {window.axis} is not told by that index alone")
    places = [simplify(substitute(index, values)) for index in store.indices]
    used = {n for place in places for n in post_order(place)}
    domains = {n.loop_var: Range(n.min, n.extent) for n in inside if isinstance(n, st.For) and n.loop_var in used}
    found = detect_iter_map(places, domains)
    if found.errors or any(not ops.is_const(piece.scale, 1) for index in found.indices for piece in index.args):
        raise refuse(f"block {block.name_hint} may leave out elements of a window of {buffer.name}")


def _require_within(loop: st.For, buffer: Buffer, window: _Window) -> None:
    """Require that reads of an iteration lie in its window: other elements are overwritten, or not computed yet."""
    start = ops.add(ops.multiply(window.loop.loop_var, window.step), window.begin)
    for region in regions_in_loops(loop.body)[0]:
        if region.buffer is not buffer:
            continue
        part = region.region[window.axis]
        before = simplify(ops.subtract(part.min, start))
        behind = simplify(ops.subtract(window.size, ops.add(before, part.extent)))
        if not all(isinstance(n, tir.IntImm) and n.value >= 0 for n in (before, behind)):
            raise refuse(f"an iteration reads {buffer.name} outside of the window of {window.size} it writes")


def _require_one_thread(outside: Sequence[st.For], buffer: Buffer) -> None:
    """Refuse loops whose threads would share one window."""
    for loop in outside:
        if loop.kind in (st.ForKind.PARALLEL, st.ForKind.VECTORIZED):
            raise refuse(
                f"iterations of the {loop.kind.name.lower()} loop over {loop.loop_var.name} would share one window of"
                f" {buffer.name}"
            )


def _made_once(
    realize: st.BlockRealize, buffer: Buffer, window: _Window, loops: Sequence[st.For], region: BufferRegion
) -> st.BlockRealize:
    """The block restricted to elements that no previous iteration computed; its axes are then sequential.

    Along other axes than the one that is folded, whose elements are all kept, windows of other loops overlap, too.
    """
    stores = [n for n in st.statements(realize.block.body) if isinstance(n, st.BufferStore) and n.buffer is buffer]
    values = {axis.var: value for axis, value in zip(realize.block.iter_vars, realize.iter_values)}
    places = {tuple(simplify(substitute(i, values)) for i in store.indices) for store in stores}
    if len(places) != 1:
        raise refuse(f"block {realize.block.name_hint} writes {buffer.name} at several places")
    found: dict[int, _Window] = {window.axis: window}
    for axis, part in enumerate(region.region):
        others = [loop for loop in loops[loops.index(window.loop) + 1 :] if axis != window.axis]
        along = (_along(loop, axis, part, {n.loop_var for n in loops if n is not loop}) for loop in others)
        outermost = next((other for other in along if other is not None), None)
        if outermost is not None:
            found[axis] = outermost
    rolled = {other.loop.loop_var for other in found.values()}
    (place,) = places
    for axis, other in sorted(found.items()):
        realize = with_condition(realize, _is_new(place[axis], other))
    axes = tuple(
        axis.with_fields(iter_type=tir.IterVar.DimInfo) if not rolled.isdisjoint(post_order(values[axis.var])) else axis
        for axis in realize.block.iter_vars
    )
    return realize.with_fields(block=realize.block.with_fields(iter_vars=axes))


def _is_new(place: PrimExpr, window: _Window) -> PrimExpr:
    """Whether the iteration before did not compute this place along the window's axis."""
    loop = window.loop
    start = ops.add(ops.multiply(loop.loop_var, window.step), window.begin)
    inside = simplify(ops.subtract(place, start))
    first = ops.less(loop.loop_var, ops.add(loop.min, 1))
    return ops.logical_or(first, ops.less_equal(tir.literal(window.size - window.step, inside.dtype), inside))


def _folded(root: st.Stmt, buffer: Buffer, window: _Window) -> st.Stmt:
    """The function with the buffer as large as a window, its indices modulo that size."""
    axis, dim = window.axis, buffer.shape[window.axis]
    shape = (*buffer.shape[:axis], tir.IntImm(dim.dtype, window.size), *buffer.shape[axis + 1 :])
    new = decl_buffer(shape, buffer.dtype, buffer.name, scope=buffer.scope())

    def within(indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        index = indices[axis]
        return (*indices[:axis], ops.floormod(index, tir.IntImm(index.dtype, window.size)), *indices[axis + 1 :])

    return with_places(root, buffer, new, within)
