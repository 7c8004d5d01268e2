"""`tir.schedule.analysis` and `.transform`: which loops of a block an intrinsic can take, and tiles of its size.

info = get_tensorize_loop_mapping(sch, block, TensorIntrin.get(name).desc)
loop = tile_with_tensor_intrin(sch, block, name)       # None if the intrinsic does not fit
sch.tensorize(loop, name)
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.transformations.tensorize import TensorIntrin
from baton._src.tir.schedule.tree import enclosing_block, path_to, realizes, simplify


@dataclass(frozen=True, eq=False)
class TensorizeInfo:
    """Loops of a block, each with the loop of an intrinsic's description that runs over a part of it."""

    loop_map: Mapping[StmtSRef, st.For]
    desc_loop_indexer: Mapping[st.For, int]
    """The places of the description's loops, from outside."""
    block_iter_paddings: None = None
    """By how much axes would be padded: none is."""


def has_block(sch: Schedule, block_name: str) -> bool:
    """Whether there is a block of this name."""
    return any(realize.block.name_hint == block_name for realize in realizes(sch.func.body))


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """The loops that the description can take a part of, its size dividing theirs: axes of one kind correspond in their
    order, inner ones first. None if there are too few. Error `api`: padding is not supported.
    """
    if allow_padding:
        raise fail("api", "axes are not padded here", help="pad the block first: pad_einsum", kind=NotImplementedError)
    described = realizes(desc_func.body)[0]
    of_desc = [n for n in path_to(desc_func.body, described) if isinstance(n, st.For)]
    realize = sch.realize(block)
    path = path_to(sch.func.body, realize)
    around = [n for n in path[enclosing_block(path) :] if isinstance(n, st.For)]
    open_axes = list(zip(realize.block.iter_vars, realize.iter_values))
    found: dict[StmtSRef, st.For] = {}
    for axis, value in reversed([*zip(described.block.iter_vars, described.iter_values)]):
        part = next((loop for loop in of_desc if loop.loop_var is value), None)
        while open_axes and open_axes[-1][0].iter_type != axis.iter_type:
            open_axes.pop()
        if part is None or not open_axes:
            return None
        bound = open_axes.pop()[1]
        whole = next((loop for loop in reversed(around) if _is_term(loop, bound)), None)
        if whole is None or not _divides(part, whole):
            return None
        found[sch.get_sref(whole)] = part
    return TensorizeInfo(found, {loop: place for place, loop in enumerate(of_desc)})


def _is_term(loop: st.For, value: object) -> bool:
    """Whether a value is the loop's variable, plus what does not depend on it."""
    return loop.loop_var not in post_order(simplify(ops.subtract(value, loop.loop_var)))


def _divides(part: st.For, whole: st.For) -> bool:
    match whole.extent, part.extent:
        case IntImm(value=all_of_it), IntImm(value=size):
            return all_of_it % size == 0
        case _:
            return False


def tile_with_tensor_intrin(
    sch: Schedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Split the loops that the intrinsic can take a part of, those parts innermost; the outermost of them, around which
    `tensorize` applies, or None if the intrinsic does not fit.
    """
    intrinsic = TensorIntrin.get(intrin_name)
    assert intrinsic is not None
    info = get_tensorize_loop_mapping(sch, block, intrinsic.desc, allow_padding)
    if info is None:
        return None
    handles = {sch.get(loop): loop for loop in sch.get_loops(block)}
    inner: dict[int, LoopRV] = {}
    for sref, part in info.loop_map.items():
        assert isinstance(sref.stmt, st.For)
        _, inner[info.desc_loop_indexer[part]] = sch.split(handles[sref.stmt], [None, part.extent])
    last = [inner[place] for place in sorted(inner)]
    parts = {loop.var for loop in last}
    around = sch.get_loops(block)
    first = next(place for place, loop in enumerate(around) if loop.var in parts)
    sch.reorder(*(loop for loop in around[first:] if loop.var not in parts), *last)
    return last[0]
