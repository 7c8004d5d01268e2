"""What rules of scripts look at: a kernel's blocks in normal form, and which of them can be inlined (`tvm.dlight`).

    schedule = tvm.tir.Schedule(func)
    blocks = dl.try_inline_contiguous_spatial(schedule, dl.normalize_prim_func(schedule))

Source: python/tvm/dlight/base of TVM v0.19.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.index_map import IndexMap
from baton._src.tir.schedule.schedule import Schedule

_KINDS = {"spatial": "S", "reduce": "R"}


class IterInfo(NamedTuple):
    """An axis of a block: `kind` is "S" (each value is computed by itself), "R" (reduced) or "O" (neither)."""

    kind: str
    var: Any
    dom: Any
    """How many values it has: an int, or an expression."""
    loop_rv: Any

    def __repr__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'


class BlockInfo:
    """A block of a schedule with its axes."""

    def __init__(self, name: str, iters: list[IterInfo], block_rv: Any, reduction_block: bool = False) -> None:
        self.name = name
        self.iters = iters
        self.block_rv = block_rv
        self._reduction_block = reduction_block

    def dom(self) -> list[Any]:
        """How many values each axis has."""
        return [axis.dom for axis in self.iters]

    def dom_kind(self) -> str:
        """The kinds of the axes, as "SSR"."""
        return "".join(axis.kind for axis in self.iters)

    def is_injective(self) -> bool:
        """Whether it reduces nothing."""
        return set(self.dom_kind()) <= {"S"}

    def is_reduction(self) -> bool:
        """Whether it reduces: it has a start value, and no reduced axis says where it writes."""
        return self._reduction_block

    def __repr__(self) -> str:
        return f'BlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'


def normalize_prim_func(sch: Schedule) -> list[BlockInfo] | None:
    """The blocks of the kernel, each with just one loop for each axis of more than one value, and one of a single value
    in front if all of these are reduced. None where a block's loops are not its axes, from 0 on."""
    try:
        blocks = sch.get_child_blocks(sch.get_block("root"))
        if not all(_is_plain(sch, block) for block in blocks):
            return None
        for block in blocks:
            sch.transform_block_layout(block, _without_units(sch.get(block).iter_vars))
        return [_info(sch, block) for block in blocks]
    except DiagnosticError:
        return None


def _is_plain(sch: Schedule, block: Any) -> bool:
    """Whether the axes are the loops around the block, one by one."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    values = sch.realize(block).iter_values
    same = len(loops) == len(values) and all(v is loop.loop_var for v, loop in zip(values, loops))
    return not loops or (same and all(_number(loop.min) == 0 for loop in loops))


def _without_units(axes: Any) -> IndexMap:
    given = [tir.Var(axis.var.name, axis.var.dtype) for axis in axes]
    longer = [(var, axis) for var, axis in zip(given, axes) if _number(axis.dom.extent) != 1]
    front = [] if any(axis.iter_type == "spatial" for _, axis in longer) else [tir.IntImm("int64", 0)]
    return IndexMap(given, [*front, *(var for var, _ in longer)])


def _info(sch: Schedule, rv: Any) -> BlockInfo:
    block = sch.get(rv)
    axes = [
        IterInfo(_KINDS.get(axis.iter_type, "O"), axis.var, _number(axis.dom.extent), loop)
        for axis, loop in zip(block.iter_vars, sch.get_loops(rv))
    ]
    return BlockInfo(block.name_hint, axes, rv, _is_reduction(block))


def _is_reduction(block: st.Block) -> bool:
    if block.init is None or any(axis.iter_type not in _KINDS for axis in block.iter_vars):
        return False
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type == "reduce"}
    places = [side for region in block.writes for r in region.region for side in (r.min, r.extent)]
    return not any(node in reduced for place in places for node in post_order(place))


def _number(extent: Any) -> Any:
    return int(extent) if isinstance(extent, (int, tir.IntImm)) else extent


def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline blocks into those that read them, or that they read; the list is left with those that cannot be."""
    while True:
        place = _first(sch.compute_inline, blocks)
        place = _first(sch.reverse_compute_inline, blocks) if place is None else place
        if place is None:
            return blocks
        blocks.pop(place)


def _first(inline: Callable[[Any], None], blocks: list[BlockInfo]) -> int | None:
    """The place of the first block that was inlined."""
    for place, block in enumerate(blocks):
        try:
            inline(block.block_rv)
        except DiagnosticError:
            continue
        return place
    return None


def try_inline_contiguous_spatial(sch: Schedule, block_infos: list[BlockInfo] | None) -> list[BlockInfo] | None:
    """`try_inline` in each run of blocks that reduce nothing; the blocks that are left, in order."""
    if block_infos is None:
        return None
    left: list[BlockInfo] = []
    run: list[BlockInfo] = []
    for block in block_infos:
        if block.is_injective():
            run.append(block)
        else:
            left += [*try_inline(sch, run), block]
            run = []
    return left + try_inline(sch, run)


__all__ = ["BlockInfo", "IterInfo", "normalize_prim_func", "try_inline", "try_inline_contiguous_spatial"]
