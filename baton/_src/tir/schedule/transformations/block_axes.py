"""Change the axes of a block: transform them by an index map, or pad them to multiples.

transform_block_layout:  loops and axes (i, j) of a block become those the map says, e.g. (i * 10 + j,)
pad_einsum:              axes of a product rounded up; operands are copied with zeros around, the result is cut out
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import IterVar
from baton._src.tir.index_map import IndexMap
from baton._src.tir.schedule.transformations.buffer_accesses import with_accesses
from baton._src.tir.schedule.transformations.cache import insert_nest
from baton._src.tir.schedule.transformations.nests import nest_over
from baton._src.tir.schedule.tree import (
    find_block,
    is_equal,
    is_true,
    path_to,
    refreshed,
    refuse,
    replace,
    simplify,
    unused_name,
)
from baton._src.tir.schedule.views import without_views
from baton._src.values.dtype import INT64

_TRUE = tir.IntImm("bool", 1)


def _own_loops(root: st.Stmt, realize: st.BlockRealize, what: str) -> list[st.For]:
    """The loops of a block, each of which is one of its axes, in their order."""
    loops: list[st.For] = []
    for item in path_to(root, realize)[:-1]:
        loops = [*loops, item] if isinstance(item, st.For) else []
    loops = loops[len(loops) - len(realize.iter_values) :]
    plain = len(loops) == len(realize.iter_values) and is_true(realize.predicate)
    for loop, value, axis in zip(loops, realize.iter_values, realize.block.iter_vars):
        plain = plain and value is loop.loop_var and ops.is_const(loop.min, 0) and is_equal(loop.extent, axis.extent)
    if not plain or not loops:
        raise refuse(f"{what} takes a block whose loops are its axes, one by one, without a condition")
    return loops


def reorder_axes(root: st.Stmt, name: str, order: Sequence[int]) -> st.Stmt:
    """The block with its axes in another order: the first is the one that was at `order[0]`."""
    realize = find_block(root, name)
    axes = realize.block.iter_vars
    if sorted(order) != list(range(len(axes))):
        raise refuse(f"the {len(axes)} axes of block {name} have no order {list(order)}")
    block = realize.block.with_fields(iter_vars=tuple(axes[n] for n in order))
    values = tuple(realize.iter_values[n] for n in order)
    return replace(root, {realize: realize.with_fields(iter_values=values, block=block)})


def without_regions(root: st.Stmt, name: str, kind: str, numbers: Sequence[int]) -> st.Stmt:
    """The block without some of its declared read or write regions."""
    if kind not in ("read", "write"):
        raise refuse(f'a block has regions it reads ("read") and writes ("write"), none of kind {kind!r}')
    block = find_block(root, name).block
    regions = getattr(block, f"{kind}s")
    if not set(numbers) <= set(range(len(regions))):
        raise refuse(f"block {name} has {len(regions)} regions of kind {kind}, no {list(numbers)}")
    kept = tuple(region for n, region in enumerate(regions) if n not in numbers)
    return replace(root, {block: block.with_fields(**{f"{kind}s": kept})})


def with_region(root: st.Stmt, name: str, number: int, kind: str, bounds: IndexMap) -> st.Stmt:
    """The block with another declared region of a buffer: the map of its axes gives begin and end of each dim."""
    if kind not in ("read", "write"):
        raise refuse(f'a block has regions it reads ("read") and writes ("write"), none of kind {kind!r}')
    block = find_block(root, name).block
    regions = list(getattr(block, f"{kind}s"))
    if not 0 <= number < len(regions):
        raise refuse(f"block {name} has {len(regions)} regions of kind {kind}, no number {number}")
    buffer = regions[number].buffer
    ends = bounds.map_indices([axis.var for axis in block.iter_vars])
    if len(ends) != 2 * buffer.ndim:
        raise refuse(f"{buffer.name} has {buffer.ndim} axes: {2 * buffer.ndim} bounds are needed, not {len(ends)}")
    box = [Range(first, simplify(ops.subtract(last, first))) for first, last in zip(ends[::2], ends[1::2])]
    regions[number] = BufferRegion(buffer, tuple(box))
    key = f"explicit_{kind}_region"
    known = [*block.annotations.get(key, ()), *([] if number in block.annotations.get(key, ()) else [number])]
    changed = {f"{kind}s": tuple(regions), "annotations": {**block.annotations, key: known}}
    return replace(root, {block: block.with_fields(**changed)})


def transform_block_layout(root: st.Stmt, name: str, index_map: IndexMap) -> st.Stmt:
    """The block over the axes that the map computes from its own; the map must be bijective."""
    realize = find_block(root, name)
    block = realize.block
    loops = _own_loops(root, realize, "transform_block_layout")
    shape = [loop.extent for loop in loops]
    if len(index_map.initial_indices) != len(shape):
        raise refuse(f"block {name} has {len(shape)} axes, and the map is of {len(index_map.initial_indices)}")
    back = index_map.inverse(shape)
    _require_order_kept(block, index_map, shape)
    variables = dict(zip(index_map.initial_indices, block.iter_vars))
    axes: list[IterVar] = []
    for number, (index, extent) in enumerate(zip(index_map.final_indices, index_map.map_shape(shape))):
        kinds = {variables[n].iter_type for n in post_order(index) if isinstance(n, tir.Var) and n in variables}
        if len(kinds) > 1:
            raise refuse(f"new axis {number} of block {name} would mix {' and '.join(sorted(map(str, kinds)))} axes")
        own = tir.Var(f"v{number}", extent.dtype)
        kind = kinds.pop() if kinds else IterVar.DataPar  # an axis of one value
        axes.append(IterVar(Range(tir.IntImm(own.dtype, 0), extent), own, kind))
    old = back.map_indices([axis.var for axis in axes])
    renamed: dict[Any, Any] = {a.var: ops.cast(a.var.dtype, o) for a, o in zip(block.iter_vars, old)}
    made = block.with_fields(
        iter_vars=tuple(axes),
        match_buffers=tuple(substitute(view, renamed) for view in block.match_buffers),
        body=substitute(block.body, renamed),
        init=None if block.init is None else substitute(block.init, renamed),
    )
    return replace(root, {loops[0]: nest_over(axes, refreshed(made))})


def _require_order_kept(block: st.Block, index_map: IndexMap, shape: Sequence[PrimExpr]) -> None:
    """Refuse to run a block in another order if one of its axes goes on from its earlier values."""
    ordered = [axis for axis in block.iter_vars if axis.iter_type not in ("spatial", "reduce")]
    if not ordered:
        return
    starts = zip(index_map.initial_indices, shape)
    domains = {var: Range(tir.IntImm(var.dtype, 0), ops.cast(var.dtype, size)) for var, size in starts}
    before = _number(index_map.initial_indices, shape)
    after = _number(index_map.final_indices, index_map.map_shape(shape))
    if not ops.is_const(simplify(ops.subtract(before, after), domains), 0):
        raise refuse(
            f"the axis {ordered[0].var.name} of block {block.name_hint} goes on from its earlier values:"
            " the map has to keep the order of its iterations"
        )


def _number(indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]) -> PrimExpr:
    """The number of a place, counted in the order of nested loops."""
    number: PrimExpr = ops.const(0, INT64)
    for index, size in zip(indices, shape):
        number = ops.add(ops.multiply(number, ops.cast(INT64, size)), ops.cast(INT64, index))
    return number


def pad_einsum(root: st.Stmt, name: str, padding: Sequence[int]) -> st.Stmt:
    """The block with axis n rounded up to a multiple of `padding[n]`; zeros are what is added to its operands.

    The block must be a sum of products: a reduction by addition whose terms are products of loads, each at axes or
    constants.
    """
    root = without_views(root, name)
    realize = find_block(root, name)
    block = realize.block
    loops = _own_loops(root, realize, "pad_einsum")
    if len(padding) != len(loops) or any(p < 1 for p in padding):
        raise refuse(f"block {name} has {len(loops)} axes, each with a padding of 1 or more; given {list(padding)}")
    _check_einsum(block)
    _require_padded_operands(block, loops, padding)
    axes: list[IterVar] = []
    for axis, loop, size in zip(block.iter_vars, loops, padding):
        extent = simplify(ops.multiply(ops.ceildiv(loop.extent, size), size))
        axes.append(IterVar(Range(tir.IntImm(axis.var.dtype, 0), extent), axis.var, axis.iter_type))
    padded: dict[Any, PrimExpr] = {axis.var: axis.extent for axis in axes}
    plain: dict[Any, PrimExpr] = {axis.var: loop.extent for axis, loop in zip(axes, loops)}
    made = block.with_fields(iter_vars=tuple(axes))
    copies: list[tuple[Buffer, Buffer, list[PrimExpr], bool]] = []
    for region, is_read in [(r, True) for r in block.reads] + [(w, False) for w in block.writes]:
        buffer = region.buffer
        if any(buffer is b for b, *_ in copies):
            continue
        accesses = [n for n in post_order(block) if isinstance(n, (tir.BufferLoad, st.BufferStore))]
        places = [n.indices for n in accesses if n.buffer is buffer]
        if all(is_equal(padded[i], plain[i]) for place in places for i in place if i in padded):
            continue
        if not all(structural_equal(place, places[0]) for place in places):
            raise refuse(f"block {name} uses {buffer.name} at several places, which one padded copy cannot serve")
        shape, used = ([sizes.get(i, dim) for i, dim in zip(places[0], buffer.shape)] for sizes in (padded, plain))
        copy = decl_buffer(shape, buffer.dtype, f"{buffer.name}_pad")
        copies.append((buffer, copy, used, is_read and not any(w.buffer is buffer for w in block.writes)))
    for buffer, copy, *_ in copies:
        made = substitute(made, {buffer: copy})
    new = nest_over(axes, refreshed(made))
    current: st.Stmt = loops[0]
    for buffer, copy, used, is_read in copies:
        label = unused_name(root, copy.name)
        nest = _padded(copy, buffer, used, label) if is_read else _cut_out(buffer, copy, used, label)
        root = insert_nest(root, current, new, nest, copy, before=is_read)
        current = new
    return root if copies else replace(root, {loops[0]: new})


def _check_einsum(block: st.Block) -> None:
    """Refuse all but C = C + a product of elements: zeros that stand for operands add nothing to it."""
    store = block.body
    if not isinstance(store, st.BufferStore) or block.init is None or not isinstance(store.value, tir.Add):
        raise _no_einsum(block)
    a, b = store.value.a, store.value.b
    own = {axis.var for axis in block.iter_vars}
    factors: list[Any] = [b if _is_load_of(a, store.buffer) else a]
    is_sum = _is_load_of(a, store.buffer) or _is_load_of(b, store.buffer)
    at_axes = (i in own or ops.is_const(dim, 1) for i, dim in zip(store.indices, store.buffer.shape))
    if not is_sum or not all(at_axes):
        raise _no_einsum(block)
    while factors:
        factor = factors.pop()
        if isinstance(factor, tir.Mul):
            factors += [factor.a, factor.b]
        elif isinstance(factor, tir.Cast):
            factors.append(factor.value)
        elif (
            not isinstance(factor, tir.BufferLoad)
            or factor.buffer is store.buffer
            or not all(i in own or isinstance(i, tir.IntImm) for i in factor.indices)
        ):
            raise _no_einsum(block)


def _require_padded_operands(block: st.Block, loops: Sequence[st.For], padding: Sequence[int]) -> None:
    """Refuse to pad a reduced axis that no operand has: what is added there would be added more often."""
    operands = {n for load in post_order(block.body) if isinstance(load, tir.BufferLoad) for n in load.indices}
    for axis, loop, size in zip(block.iter_vars, loops, padding):
        grows = not ops.is_const(simplify(ops.floormod(loop.extent, size)), 0)
        if grows and axis.iter_type == "reduce" and axis.var not in operands:
            raise refuse(f"no operand of block {block.name_hint} has the axis {axis.var.name}, which was to be padded")


def _is_load_of(value: PrimExpr, buffer: Buffer) -> bool:
    return isinstance(value, tir.BufferLoad) and value.buffer is buffer


def _no_einsum(block: st.Block) -> Exception:
    return refuse(f"block {block.name_hint} is not a sum of products of elements: padding would change it")


def _padded(target: Buffer, source: Buffer, used: Sequence[PrimExpr], label: str) -> st.Stmt:
    """`target` filled with what the block uses of `source`, and with zeros behind it."""
    inside: PrimExpr = _TRUE
    axes = _axes(target.shape)
    for axis, dim, own in zip(axes, used, target.shape):
        if not is_equal(dim, own):
            inside = ops.logical_and(inside, ops.build("less", axis.var, ops.cast(axis.var.dtype, dim)))
    return _stored(target, source, axes, label, lambda v: if_then_else(inside, v, ops.const(0, source.dtype)))


def _cut_out(target: Buffer, source: Buffer, used: Sequence[PrimExpr], label: str) -> st.Stmt:
    """The elements of `target` that the block computes, from a larger `source`."""
    axes = _axes([ops.cast(dim.dtype, size) for dim, size in zip(target.shape, used)])
    return _stored(target, source, axes, label, lambda v: v)


def _axes(extents: Sequence[PrimExpr]) -> list[IterVar]:
    return [IterVar(Range(tir.IntImm(d.dtype, 0), d), tir.Var(f"v{n}", d.dtype)) for n, d in enumerate(extents)]


def _stored(
    target: Buffer, source: Buffer, axes: Sequence[IterVar], name: str, value: Callable[[PrimExpr], PrimExpr]
) -> st.Stmt:
    at = tuple(axis.var for axis in axes)
    block = st.Block(axes, (), (), name, st.BufferStore(target, value(tir.BufferLoad(source, at)), at))
    return nest_over(axes, refreshed(block))


def unsafe_set_dtype(root: st.Stmt, buffer: Buffer, dtype: Any) -> st.Stmt:
    """Change the dtype of a buffer that the function allocates: elements are rounded when stored, converted back when
    loaded.
    """
    if not any(isinstance(n, st.Block) and buffer in n.alloc_buffers for n in post_order(root)):
        raise refuse(f"{buffer.name} is not a buffer of the function's own: its dtype is part of the signature")
    new = decl_buffer(buffer.shape, dtype, buffer.name, scope=buffer.scope())

    def load(node: tir.BufferLoad) -> PrimExpr:
        return ops.cast(buffer.dtype, tir.BufferLoad(new, node.indices))

    def store(node: st.BufferStore) -> st.Stmt:
        return st.BufferStore(new, ops.cast(new.dtype, node.value), node.indices)

    return with_accesses(root, buffer, new, load, store)
