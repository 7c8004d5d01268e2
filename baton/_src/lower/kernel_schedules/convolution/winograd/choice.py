"""Whether Winograd's algorithm pays for a convolution, and how the work is blocked.

Costs are counted in vector multiply-adds. Direct: the taps that fall inside. Winograd: the products of whole tiles; the
two transforms; and reading the weights, (m + 2)^2 / 9 times as many, from memory.
"""

from __future__ import annotations

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv, read_conv
from baton._src.lower.kernel_schedules.convolution.blocked.shapes import (
    MOST_BLOCKS,
    USUAL_ROWS,
    channels_at_once,
    most_points,
)
from baton._src.lower.kernel_schedules.convolution.winograd.numbers import TAPS, TRANSFORMS, Transform
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Sizes, Winograd, transformed_weight
from baton._src.lower.kernel_schedules.convolution.winograd.winograd import emit
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

LEAST_TILES = 16
"""Tiles of a block: fewer would read the weights for too little work."""
ENOUGH_TILES = 20
"""Tiles a thread needs to have its own blocks; with fewer, threads share the channels."""
ROOM = 0.9
"""Share of L2 that elements, products and weights may fill."""
TRANSFORM_VECTOR = 14.0
"""Steps to transform one element of a tile for a vector of channels, memory included."""
WEIGHT_VECTOR = 10.0
"""Steps that reading a vector of weights from memory takes, as far as multiply-adds do not hide it."""
USUAL = 56
"""The extent that one only known when running is taken for."""
WORTHWHILE = 0.9
"""Share of the direct cost below which the loss of accuracy is worth it."""
DIRECT = 0
"""The choice not to use the algorithm; else it is the number of results of a tile, along one axis."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel that is a convolution this is about, and its weight among the parameters."""

    kernel: Kernel
    conv: BlockedConv
    place: int
    weight: Buffer

    def scheduled(self, plan: Winograd, target: Target) -> PrimFunc:
        """The kernel, its weight parameter being transformed."""
        func = self.kernel.func
        fresh = transformed_weight(plan, self.weight)
        param = func.params[self.place]
        buffers = {p: fresh if p is param else b for p, b in func.buffer_map.items()}
        body = surrounded(self.kernel, self.conv.origin, emit(plan, fresh), target)
        return self.kernel.rebuilt(body).with_fields(buffer_map=buffers)


def candidate(func: PrimFunc) -> Candidate | Declined:
    """The convolution of 3 x 3 neighbouring taps, step 1, of `func`."""
    found = read_conv(func)
    if isinstance(found, Declined):
        return found
    kernel, conv = found
    windows = [w for w in (conv.rows, conv.columns) if w is not None]
    if len(windows) != 2 or conv.is_depthwise or any((w.taps, w.stride, w.dilation) != (TAPS, 1, 1) for w in windows):
        return Declined("the window is not 3 x 3 with step 1")
    if len(conv.channels) != 2 or any(a.size is None for a in (*conv.channels, conv.blocks)):
        return Declined("channels are not of known size, in blocks")
    weight, stage = conv.weight, conv.anchored.stage
    if stage.init is None or not ops.is_const(stage.init, 0):
        return Declined("sums do not begin at 0")
    if not isinstance(weight, tir.BufferLoad) or weight.dtype != "float32" or conv.data.dtype != weight.dtype:
        return Declined("not all float32")
    taps = tuple(w.tap.var for w in windows if w.tap is not None)
    outer, inner = (a.var for a in conv.channels)
    if weight.indices != (conv.blocks.var, outer, *taps, inner, conv.lane.var):
        return Declined("the weight's layout is not (O, I, 3, 3, i, o)")
    turned = conv.rows is None or not depends(conv.data.indices[2], conv.rows.axis.var)
    if turned or (*conv.data.indices[:2], conv.data.indices[4]) != (stage.spatial[0].var, outer, inner):
        return Declined("the data's layout is not (N, C, H, W, c)")
    inputs = [func.buffer_map.get(p) for p in func.params]
    if weight.buffer not in inputs:
        return Declined("the weight is not a parameter")
    return Candidate(kernel, conv, inputs.index(weight.buffer), weight.buffer)


# ------------------------------------------------------------------------------------------------------ sizes


def sizes_for(conv: BlockedConv, transform: Transform, target: Target) -> Sizes:
    """How to cut the work for one transform."""
    total, threads = _tiles(conv, transform), target.num_cores
    blocks, plane = conv.blocks.size or 1, transform.products * 4
    inputs = (conv.channels[0].size or 1) * (conv.channels[1].size or 1)
    most = max(LEAST_TILES, _near(target.cpu.l2_bytes, plane, inputs, blocks * conv.width))
    count = -(-total // most)
    shared = ""
    if threads > 1:
        shared = "tiles" if total >= threads * ENOUGH_TILES else "channels"
        count = -(-count // threads) * threads if shared == "tiles" else count
    tiles = -(-total // count)
    most_beside = max(1, blocks // threads) if shared == "channels" else MOST_BLOCKS
    rows, beside = _register_tile(blocks, most_beside, _usual_tiles(conv, transform, tiles), conv.width, target)
    panels = 1
    for more in range(2, blocks // beside + 1):
        fits = plane * tiles * more * beside * conv.width <= target.cpu.l2_bytes // 2
        enough = shared != "channels" or blocks // (beside * more) >= 2 * threads
        if blocks % (beside * more) == 0 and fits and enough:
            panels = more
    return Sizes(tiles, rows, beside, panels, shared, channels_at_once(target, conv.width, rows * beside, beside))


def _near(l2_bytes: int, plane: int, inputs: int, outputs: int) -> int:
    """Tiles whose elements stay in L2: beside their products and the weights, which the next block reads again, if
    these leave room; else in half of it (weights come from memory, the more often the fewer tiles a block has).
    """
    weights = plane * inputs * outputs
    beside = (int(ROOM * l2_bytes) - weights) // (plane * (inputs + outputs))
    return beside if weights <= l2_bytes // 2 else l2_bytes // 2 // (plane * inputs)


def _tiles(conv: BlockedConv, transform: Transform) -> int:
    """Tiles of all maps (of one, if the batch is symbolic; of a usual one, if the map is)."""
    total = conv.anchored.stage.spatial[0].size or 1
    assert conv.rows is not None
    for axis in (conv.rows.axis, conv.columns.axis):
        total *= -(-(USUAL if axis.size is None else axis.size) // transform.results)
    return total


def _usual_tiles(conv: BlockedConv, transform: Transform, most: int) -> list[int]:
    """How many tiles, `most` at a time, there may be; more than one number if the map is symbolic."""
    assert conv.rows is not None
    if conv.rows.axis.size is not None and conv.columns.axis.size is not None:
        return [most]
    return [min(most, (-(-length // transform.results)) ** 2) for length in USUAL_ROWS]


def _register_tile(blocks: int, most: int, tiles: list[int], width: int, target: Target) -> tuple[int, int]:
    """(tiles, blocks of channels) of a register tile: those that take the fewest steps, by arithmetic and by loads, for
    these numbers of tiles; `most` blocks, so that each thread has some.
    """
    best: tuple[float, int, int] | None = None
    for beside in (n for n in range(1, min(most, MOST_BLOCKS) + 1) if blocks % n == 0):
        for rows in range(1, min(max(tiles), most_points(target, width, beside)) + 1):
            each = max(rows * beside + 0.15 * (rows + 2 * beside), 6.0) / beside
            cost = each * sum(-(-count // rows) / count for count in tiles)
            if best is None or cost < best[0]:
                best = (cost, rows, beside)
    assert best is not None
    return best[1:]


# ------------------------------------------------------------------------------------------------------- cost


def chosen(found: Candidate, target: Target) -> Winograd | Declined:
    """The cheapest way, if it is clearly cheaper than computing directly; or what tuning chose."""
    conv = found.conv
    plans = {t.results: Winograd(conv, t, sizes_for(conv, t, target)) for t in TRANSFORMS}
    best = min(plans, key=lambda results: cost(plans[results]))
    usual = best if cost(plans[best]) <= WORTHWHILE * direct_cost(conv) else DIRECT
    choice = tuned("winograd", usual, (DIRECT, *plans))
    return Declined("computing directly costs less") if choice == DIRECT else plans[choice]


def direct_cost(conv: BlockedConv) -> float:
    """Of the taps that fall inside, and of reading the weights once."""
    assert conv.rows is not None
    taps = float(conv.anchored.stage.spatial[0].size or 1)
    for window in (conv.rows, conv.columns):
        if window.axis.size is None or not isinstance(window.extent, tir.IntImm):
            taps *= USUAL * TAPS
            continue
        seen = (window.points(tap, 0, window.axis.size) for tap in range(TAPS))
        taps *= sum(last - first for first, last in seen)
    inputs = (conv.channels[0].size or 1) * (conv.channels[1].size or 1)
    weights = TAPS * TAPS * inputs * (conv.blocks.size or 1)
    return taps * inputs * (conv.blocks.size or 1) + 0.5 * WEIGHT_VECTOR * weights


def cost(plan: Winograd) -> float:
    """Of products, transforms and reading the weights once for each block of tiles."""
    conv, sizes, products = plan.conv, plan.sizes, plan.transform.products
    outer, inner = plan.channels
    outputs = conv.blocks.size or 1
    blocks = -(-_tiles(conv, plan.transform) // sizes.tiles)
    rows = -(-sizes.tiles // sizes.rows) * sizes.rows
    multiplied = products * rows * outer * inner * outputs
    transformed = TRANSFORM_VECTOR * products * sizes.tiles * (outer + outputs)
    return blocks * (multiplied + transformed + WEIGHT_VECTOR * products * outer * inner * outputs)
