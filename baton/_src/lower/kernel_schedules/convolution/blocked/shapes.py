"""The shape of a blocked convolution's register tiles: blocks of output channels, points of a row, rows."""

from __future__ import annotations

from baton._src.ir.cpu import has_byte_dot_instruction
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.convolution.blocked.depthwise import taps_at_once
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import evenly, widths_of
from baton._src.lower.kernel_schedules.shared.affine import known_step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import constant, product
from baton._src.values.dtype import FLOAT32

USUAL_ROWS = (7, 10, 14, 20, 28, 40, 56, 80)
"""Row lengths assumed when tiles for any length are chosen; maps merged to one row are assumed square."""
SHORT_STEPS = 2
"""Input channels that are unrolled where a step is short (Zen 3, one thread: 0.8 to 0.95 of the time, ResNet-50 0.97;
4 channels are hardly faster in a loop of one kernel, and not in a network).
"""
MOST_BLOCKS = 4
"""Most blocks of output channels in a tile: each is a separate stream of weights."""
WEIGHTS_AN_INPUT = 4
"""Most weights for each input of a map that threads share by its rows rather than by channels."""


def most_points(target: Target, width: int, blocks: int) -> int:
    """Most points of a tile of that many blocks: registers hold a vector per sum, each block's weights and an input."""
    vectors = _vectors(target, width) * blocks
    return max(1, (_registers(target) - 2 - vectors) // vectors)


def _registers(target: Target) -> int:
    return 32 if target.vector_bits >= 512 or "neon" in target.features else 16


def _vectors(target: Target, width: int) -> int:
    """Of a block."""
    return max(1, width // max(2, target.lanes(32)))


def channels_at_once(target: Target, width: int, sums: int, blocks: int) -> int:
    """How many input channels of a tile of so many sums are unrolled: one has a dozen multiply-adds in 16 registers,
    whose loop a core that another hardware thread shares would notice. If no register is left, two channels would
    spill.
    """
    vectors, registers = _vectors(target, width), _registers(target)
    spare = registers - 1 - vectors * (sums + blocks)
    return tuned("channels_at_once", SHORT_STEPS if registers == 16 and spare > 0 else 1, (1, SHORT_STEPS))


def row_taps(conv: BlockedConv, target: Target) -> int:
    """How many taps in a row of the window a tile takes at a time: several for depthwise convolutions."""
    if not conv.is_depthwise or conv.channels:
        return 1
    return taps_at_once(conv.columns.taps, _vectors(target, conv.width), _registers(target))


def _most_points(conv: BlockedConv, target: Target, blocks: int) -> int:
    """Points of a tile of so many blocks."""
    taps, vectors = row_taps(conv, target), _vectors(target, conv.width)
    if conv.words and not has_byte_dot_instruction(target.features, target.lanes(32)):
        return max(1, (_registers(target) - 3 - 2 * vectors * blocks) // (vectors * blocks))  # words are taken apart
    if conv.words and _registers(target) == 16:
        return max(1, (16 - vectors * blocks) // (vectors * blocks + 1))  # LLVM loads the words of all points first
    if taps == 1:
        alone = target.vector_bits == 256 and vectors * blocks == 1 and conv.data.dtype == FLOAT32
        return most_points(target, conv.width, blocks) + alone  # none is spare, so that two rows of 7 points fit
    return max(1, (_registers(target) - 2 - taps * vectors) // vectors)


def tile_shape(conv: BlockedConv, target: Target) -> tuple[int, int, int]:
    """(blocks, points, rows) of a tile: the shape with the fewest steps, by arithmetic and by loads."""
    points = conv.columns.axis.size
    if points is None:
        return _tuned_shape(conv, target, _shape_for_any(conv, target))
    best: tuple[float, int, int, int] | None = None
    for count in range(1, MOST_BLOCKS + 1):
        if not _may_share(conv, count):
            continue
        most = _most_points(conv, target, count)
        widths = evenly(points, most)
        lines = 2 if len(widths) == 1 and 2 * points <= most and _may_pair(conv) else 1
        cost = _row_cost(conv, target, widths, lines, count) / (count * lines)
        if best is None or cost < best[0]:
            best = (cost, count, widths[0], lines)
    assert best is not None
    return _tuned_shape(conv, target, best[1:])


def _row_cost(conv: BlockedConv, target: Target, widths: list[int], lines: int, blocks: int) -> float:
    """The steps of the tiles of a row: each tap of the window is one, of the points that see the input through it."""
    total, start = 0.0, 0
    for wide in widths:
        for tap in range(conv.columns.taps):
            first, last = conv.columns.points(tap, start, wide)
            if first < last:
                total += _step_cost(target, (last - first) * lines, blocks)
        start += wide
    return total


def _step_cost(target: Target, points: int, blocks: int) -> float:
    """The multiply-adds of a step of a tile, and its loads as a part of these; few of them wait for their own sums.

    With AVX-512 an input is loaded by the instruction that multiplies it, if that is the only one.
    """
    load, fewest = (0.3, 8.0) if target.vector_bits == 256 else (0.15, 6.0)
    return max(points * blocks + load * (points + 2 * blocks), fewest)


def _shape_for_any(conv: BlockedConv, target: Target) -> tuple[int, int, int]:
    """The same for rows of unknown length."""
    best: tuple[float, int, int] | None = None
    for count in (n for n in range(1, MOST_BLOCKS + 1) if _may_share(conv, n)):
        for wide in range(1, _most_points(conv, target, count) + 1):
            cost = 0.0
            for length in USUAL_ROWS:
                left = length * (1 if conv.rows is not None else length)
                for points in widths_of(wide):
                    cost += left // points * _step_cost(target, points, count) / (length * count)
                    left %= points
            if best is None or cost < best[0]:
                best = (cost, count, wide)
    assert best is not None
    return best[1], best[2], 1


def _tuned_shape(conv: BlockedConv, target: Target, usual: tuple[int, int, int]) -> tuple[int, int, int]:
    """The tuned shape near the `usual` one: every candidate fits in the registers."""
    counts = (n for n in range(1, MOST_BLOCKS + 1) if _may_share(conv, n))
    count = tuned("conv_blocks", usual[0], counts)
    most, points = _most_points(conv, target, count), conv.columns.axis.size
    wide = tuned("conv_points", min(usual[1], most), range(1, min(most, points or most) + 1))
    pairs = points is not None and wide >= points and 2 * wide <= most and _may_pair(conv)
    fit = [1, 2] if pairs else [1]
    return count, wide, tuned("conv_rows", usual[2] if usual[2] in fit else 1, fit)


def _may_share(conv: BlockedConv, count: int) -> bool:
    """Whether that many blocks of output channels may be in a tile: they must read the same input."""
    size, alike = conv.blocks.size, conv.alike
    if count == 1:
        return True
    if known_step(load_of(conv.weight), conv.blocks) is None:
        return False  # blocks of weights of a symbolic size
    return size is not None and size % count == 0 and not conv.is_depthwise and (alike is None or alike % count == 0)


def _may_pair(conv: BlockedConv) -> bool:
    """Whether two rows may share a tile, which halves the loads of weights."""
    rows = conv.rows
    return rows is not None and rows.tap is not None and (rows.axis.size or 1) > 1 and not conv.is_depthwise


def parts_of_map(conv: BlockedConv, points: int, lines: int, target: Target) -> int:
    """Into how many equal parts a dense convolution's map of known size is cut, one for a thread; each goes through all
    channels.

    Threads then read mostly what they have written themselves in the layer before, not what is in another core's cache.
    But all of them read all weights, so there must not be too many. ResNet-50 takes 0.97 of the time on two cores of an
    Emerald Rapids Xeon.
    """
    images, width = conv.anchored.stage.spatial[0].size, conv.columns.axis.size
    height = 1 if conv.rows is None else conv.rows.axis.size
    if width is None or height is None or conv.is_depthwise or (images or 1) >= target.num_cores:
        return 1
    weights, inputs = (
        constant(product(shape)) for shape in (load_of(conv.weight).buffer.shape, conv.data.buffer.shape[1:])
    )
    if weights is None or inputs is None or weights > WEIGHTS_AN_INPUT * inputs:
        return 1
    tasks = -(-height // lines) if conv.rows is not None else -(-width // points)
    return max(n for n in range(1, target.num_cores + 1) if tasks % n == 0)
