"""Tiles of a depthwise convolution over lines: their height and width by what they cost, and which taps see a line."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from baton._src.lower.kernel_schedules.convolution.conv_costs import packing_lines
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.convolution.lines.depthwise_parts import Depthwise
from baton._src.lower.kernel_schedules.convolution.lines.line_pieces import Piece
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.support.dataclass import dataclass

MOST_VECTORS = 16
"""Vectors of a line in one piece."""
BAND = 1 << 12
"""Elements of the packed lines: half a first-level cache."""
CODE = 6000
"""Multiply-adds written out that are worth twice the time."""


@dataclass(frozen=True)
class Tile:
    """Lines of a tile, vectors of each of its lines, and lines of a band."""

    lines: int
    vectors: int
    band: int


def vector_widths(points: int, shape: TileShape) -> list[int]:
    """Widths of the vectors of so many points: the last one is half as wide where that is cheaper."""
    full, rest = divmod(points, shape.lanes)
    if not rest:
        return [shape.lanes] * full
    return [*([shape.lanes] * full), shape.grain if rest <= shape.grain else shape.lanes]


def choose_tile(conv: Depthwise, shape: TileShape) -> tuple[Tile, float]:
    """The tile that takes the fewest steps, and those of a channel. Much code counts, too: compiling takes time."""
    lines, columns = conv.rows.axis.size, conv.columns.axis.size
    assert lines is not None
    assert columns is not None
    taps = min(conv.rows.taps, shape.registers // 4)
    best: tuple[float, Tile, float] | None = None
    for vectors in range(1, min(-(-columns // shape.lanes), MOST_VECTORS) + 1):
        most = max(1, (shape.registers - 2 - taps) // vectors)
        for height in range(1, min(most, lines) + 1):
            steps, code = _steps(conv, height, vectors, shape)
            cost = steps * (1 + code / CODE)
            if best is None or cost < best[0]:
                best = (cost, Tile(height, vectors, _band(conv, shape, height)), steps)
    assert best is not None
    packed = packing_lines(lines * conv.rows.stride, columns, conv.columns.stride, shape.lanes)
    return best[1], best[2] + packed


def _steps(conv: Depthwise, height: int, vectors: int, shape: TileShape) -> tuple[float, int]:
    """What the tiles of a channel take, by multiply-adds and by loads, and the multiply-adds that are written out."""
    lines, columns, taps = conv.rows.axis.size or 1, conv.columns.axis.size or 1, conv.columns.taps
    total, code = 0.0, 0
    wide = vectors * shape.lanes
    full, rest = divmod(columns, wide)
    runs = [(full, vector_widths(wide, shape))] * bool(full) + [(1, vector_widths(rest, shape))] * bool(rest)
    for tile in tiles_of(0, lines, height, Piece(0, lines, *_seen(conv.rows, lines)), conv.rows):
        users = users_of(conv.rows, tile)
        terms = sum(len(seeing) for seeing in users.values())
        for times, units in runs:
            steps = sum(units) / shape.lanes
            each = taps * (max(terms * steps, 2.0 * steps * len(users) + 0.5 * conv.rows.taps, 4.0) + 2)
            total += tile.repeats * times * (each + 3 * tile.points * steps)
            code += terms * len(units)
    return total, code


def _seen(window: Window, points: int) -> tuple[int, int]:
    """The lines that exist of what all points see, counted from what the first tap of the first point sees."""
    reach = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
    low = min(max(0, window.begin), reach)
    return low, max(low, min(reach, window.size + window.begin))


def _band(conv: Depthwise, shape: TileShape, lines: int) -> int:
    """Output lines whose input is packed at once: as many whole tiles as the cache has room for."""
    size = conv.rows.axis.size or 1
    width = conv.columns.taps // conv.columns.stride + min(conv.columns.axis.size or 1, MOST_VECTORS * shape.lanes)
    room = BAND // (width * conv.columns.stride) - (conv.rows.taps - 1) * conv.rows.dilation
    return min(size, max(1, room // (conv.rows.stride * lines)) * lines)


def tiles_of(start: int, lines: int, most: int, band: Piece, window: Window) -> list[Piece]:
    """Lines from `start` on of a band in tiles, those alike and next to each other as one."""
    every = []
    for first in range(start, lines, most):
        points = min(most, lines - first)
        seen = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
        low = min(max(0, band.low - first * window.stride), seen)
        every.append(Piece(first, points, low, max(low, min(seen, band.high - first * window.stride))))
    alike = [list(run) for _, run in groupby(every, key=lambda p: (p.points, p.low, p.high))]
    return [replace(run[0], repeats=len(run)) for run in alike]


def users_of(window: Window, tile: Piece) -> dict[int, list[tuple[int, int]]]:
    """The (output line, tap) of a tile that see each of its input lines, as far as those exist."""
    found: dict[int, list[tuple[int, int]]] = {}
    for point in range(tile.points):
        for tap in range(window.taps):
            line = point * window.stride + tap * window.dilation
            if tile.low <= line < tile.high:
                found.setdefault(line, []).append((point, tap))
    return dict(sorted(found.items()))
