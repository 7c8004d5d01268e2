"""`s[C].tensorize(axis, intrin)`, applied: the tile below a loop becomes the intrinsic's code.

for io: for ko: [for ii: for ki: C += A B]   ->   for io: {reset(C tile); for ko: update(C tile, A tile, B tile)}
"""

from __future__ import annotations

from baton._src.ir.traverse import post_order
from baton._src.te.tensor_intrin import TensorIntrin
from baton._src.tir.expr import Var
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.schedule import Schedule


def tensorized(schedule: Schedule, name: str, tile: LoopRV, intrin: TensorIntrin) -> str:
    """The block around the code of the tile; a reduction that loops outside go on with is begun in front of them."""
    loops = schedule.get_loops(name)
    place = [loop.var for loop in loops].index(tile.var)
    spatial, reduced = _variables(schedule, name)
    outside = [loop for loop in loops[:place] if loop.var in reduced]
    if not outside:
        block = schedule.blockize(tile)
        schedule.tensorize_by(block, intrin.whole())
        return block.name
    reset, update = intrin.steps()
    start = schedule.decompose_reduction(name, outside[0])
    inside = sum(loop.var in spatial for loop in loops[place:])
    schedule.tensorize_by(_innermost(schedule, start, inside), reset)
    block = schedule.blockize(tile)
    schedule.tensorize_by(block, update)
    return block.name


def _innermost(schedule: Schedule, block: BlockRV, count: int) -> BlockRV:
    """The block with its `count` innermost loops inside."""
    return schedule.blockize(schedule.get_loops(block)[-count]) if count else block


def _variables(schedule: Schedule, name: str) -> tuple[set[Var], set[Var]]:
    """Loop variables in the values of a block's axes that do not reduce, and of those that do."""
    realize = schedule.realize(name)
    spatial: set[Var] = set()
    reduced: set[Var] = set()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        found = reduced if axis.iter_type == "reduce" else spatial
        found.update(node for node in post_order(value) if isinstance(node, Var))
    return spatial, reduced
