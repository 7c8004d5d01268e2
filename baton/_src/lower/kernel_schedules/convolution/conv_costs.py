"""The cost model of convolutions (channels first, floats): the cost of each algorithm, in one place.

The unit is a multiply-add of a whole vector. Numbers other than counts were fitted on one core of a Zen 4, to some
fifty shapes from 1 to 512 channels and lines of 7 to 224 points: most times are met within 10 %, a few within 25 %, and
the chosen algorithm took at most 6 % longer than the fastest (10 % for 1x1 windows, to which nothing was fitted).
Memory traffic is left out: data from memory makes every algorithm up to four times slower.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc

EVERY_STEP = 1.04
"""Cost of starting and finishing tiles of many terms."""
PANEL_OF_RUNS, RUN_OF_PANEL, PANEL_OF_STEPS = 3.0, 6.0, 9.0
"""Packing a vector of a panel as runs of neighbours, for the vector and each run; by a stride."""
PHASES = 1.5
"""Taking a line apart, for each tap and vector."""
BORDER, BORDER_BY_STEPS = 2.0, 6.0
"""Copying a vector of the input with its border; by phases of a stride."""
FAR = 60.0
"""Reading a vector of that copy if other threads made half of it: caches of cores pass it on at some 8 GB/s."""
LINE = 6.0
"""Cost of the ends of a line that is copied with its border."""
PACKED, PACKED_BY_STEPS, PACKED_LINE = 1.5, 4.0, 2.0
"""The same into the first-level cache, for one channel."""
SEEN = 1.5
"""Copying an element that a point sees next to the point's others."""
GENERAL, GENERAL_BY_STEPS, GENERAL_OF_MANY = 1.9, 3.3, 6.0
"""A term of a depthwise sum by the general rule: with stride 1, with others, and if there are many."""
FEW_TERMS = 9
"""Most terms of a sum that the general rule unrolls."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A way to compute a kernel: its cost, and how to schedule it."""

    steps: float
    make: Callable[[], PrimFunc]


def count(axes: tuple[Axis, ...]) -> int:
    """The number of points of axes; unknown extents, common to all plans, count as one."""
    total = 1
    for axis in axes:
        total *= axis.size or 1
    return total


def by_panels(
    batches: int, terms: int, channels: int, points: int, line: int, stepping: bool, shape: TileShape
) -> float:
    """`conv2d`: panels of points, full but for the last one, packed for each tap from all lines that they touch."""
    vectors = -(-points // shape.grain) * shape.grain / shape.lanes
    runs = (1 + (shape.width - 1) / line) / shape.vectors
    packing = PANEL_OF_STEPS if stepping else PANEL_OF_RUNS + RUN_OF_PANEL * runs
    return batches * terms * vectors * (EVERY_STEP * channels + packing)


def in_place(batches: int, terms: int, channels: int, points: int, lanes: int) -> float:
    """`conv2d` where each point sees its own pixel: the product of two matrices as they lie."""
    return EVERY_STEP * batches * terms * channels * points / lanes


def by_dots(batches: int, terms: int, channels: int, points: int, each: float) -> float:
    """`few_points`: a dot product, which takes `each`, for every result."""
    return batches * points * (EVERY_STEP * channels * each + SEEN * terms)


def by_line_phases(lines: int, terms: int, channels: int, points: int, lanes: int) -> float:
    """`line_phases`: vectors end with their line, a tap shares what is packed for a line with the others."""
    return lines * terms * -(-points // lanes) * (EVERY_STEP * channels + PHASES)


def copying(lines: int, points: int, stepping: bool, lanes: int) -> float:
    """Lines of a map copied with their borders, a stride's phases apart."""
    return lines * (-(-points // lanes) * (BORDER_BY_STEPS if stepping else BORDER) + LINE)


def passing(lines: int, points: int, lanes: int) -> float:
    """Lines that threads copy for one another."""
    return FAR * lines * -(-points // lanes)


def packing_lines(lines: int, points: int, stride: int, lanes: int) -> float:
    """Lines of a depthwise convolution's input packed for one channel, `points` being those of the result."""
    return lines * (-(-points // lanes) * stride * (PACKED_BY_STEPS if stride > 1 else PACKED) + PACKED_LINE)


def by_general_rule(lines: int, terms: int, points: int, stepping: bool, lanes: int) -> float:
    """`rows`, for a depthwise convolution: each term is a load."""
    each = GENERAL_OF_MANY if terms > FEW_TERMS else GENERAL_BY_STEPS if stepping else GENERAL
    return lines * -(-points // lanes) * terms * each
