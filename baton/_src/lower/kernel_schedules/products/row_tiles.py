"""Tiles of rows of a product over one packed panel of columns.

A panel has `pitch` columns side by side for every k. A tile holds rows x width accumulators in registers during the
loop over k. `width` is the pitch, or less in a partial last panel: a multiple of half a vector, where half a vector is
cheaper than a whole one, so that 17 columns do not cost as much as 32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.even_tiles import EvenTiles, even_tiles
from baton._src.lower.kernel_schedules.products.panel_packing import Ahead, Beside, where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.rows_ahead import Prefetches
from baton._src.lower.kernel_schedules.products.tile_results import asked_results, write_out
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, TileShape, tile_rows, unrolled_by
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import allocated, constant, i64, index_var, loop, named, sequence
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

PAGE = 4096
"""Stride in bytes after which addresses map to the same set of the first-level cache."""
WAYS = 8
"""Associativity of the first-level cache."""
WORTH_A_TAIL, WORTH_A_TAIL_OF_ANY = 64, 16
"""A narrower last panel gets its own tiles if that saves one in so many columns; with an unknown number of rows, whose
tiles come in many heights, they cost more compile time.
"""

TALLEST = 16
"""Most rows of a tile one vector wide: the lines of more rows fall into too few sets of the first-level cache."""
TALLEST_UNKNOWN_NARROW, TALLEST_UNKNOWN_HALF = 8, 12
"""Rows of tiles one vector, or half a vector, wide when the number of rows is unknown: fewer sums would expose
latency.
"""

Tile = Callable[
    [Product, int, int, PrimExpr, PrimExpr, Buffer, Beside | None],
    st.Stmt,
]
"""Make a tile from the product, its rows and width, its first row and column, the packed panel, and what each step
along k does alongside.
"""


@dataclass(frozen=True)
class Columns:
    """How columns are divided into panels: `whole` panels of `width`, then a narrower one of width `tail`, if that is
    not 0.

    `whole` is None for an unknown number of panels, the last of which may be partial.
    """

    width: int
    whole: int | None
    tail: int
    masked: bool
    """Whether the tail extends beyond the last column."""


def columns_of(size: int | None, width: int, shape: TileShape, worth_a_tail: int = WORTH_A_TAIL_OF_ANY) -> Columns:
    """Panels of `width` for `size` columns, with a narrower last one if that saves one in `worth_a_tail` columns."""
    if size is None:
        return Columns(width, None, 0, False)
    whole, rest = divmod(size, width)
    tail = -(-rest // shape.grain) * shape.grain
    if rest and (width - tail) * worth_a_tail < (whole + 1) * width:
        tail = width
    if tail == width and whole:
        return Columns(width, None, 0, False)  # one set of tiles suffices
    return Columns(width, whole, tail, tail != rest)


def panel_tiles(
    matrix: Product,
    shape: TileShape,
    pitch: int,
    panel: PrimExpr,
    first: PrimExpr,
    count: PrimExpr,
    packed: Buffer,
    prefetches: Prefetches,
    kind: Callable[..., st.Stmt],
) -> st.Stmt:
    """Tiles of rows for one panel, made by `kind`; those of the last panel are no wider than needed."""
    worth_a_tail = WORTH_A_TAIL_OF_ANY if matrix.rows.size is None else WORTH_A_TAIL
    columns = columns_of(matrix.columns.size, pitch, shape, worth_a_tail)
    start = ops.multiply(panel, i64(pitch))

    def tiles(width: int, masked: bool | None) -> st.Stmt:
        make = partial(kind, pitch=pitch, masked=masked)
        return row_tiles(matrix, shape, width, first, count, start, packed, prefetches, make)

    if columns.whole is None:  # where masks are free, a second set of tiles without them would only cost compile time
        return tiles(pitch, True if shape.masks else None)
    if not columns.tail:
        return tiles(pitch, False)
    last = tiles(columns.tail, columns.masked)
    if not columns.whole:
        return last
    return st.IfThenElse(tir.LT(panel, i64(columns.whole)), tiles(pitch, False), last)


def row_tiles(
    matrix: Product,
    shape: TileShape,
    width: int,
    first: PrimExpr,
    count: PrimExpr,
    start: PrimExpr,
    packed: Buffer,
    prefetches: Prefetches,
    make: Tile,
) -> st.Stmt:
    """Tiles of as many rows as registers hold, then a smaller one for the remainder; an unknown number of rows is split
    evenly, after tall tiles if there are many. `prefetches` says what they prefetch, `make` makes a tile.
    """
    pieces = -(-width // shape.lanes)

    def tile(ahead: Ahead | None, rows: int, below: PrimExpr, number: PrimExpr, tiles: PrimExpr) -> st.Stmt:
        def at(row: PrimExpr) -> st.Stmt:
            beside = None if ahead is None else ahead(rows, row, number, tiles)
            return make(matrix, rows, width, row, start, packed, beside)

        return named("row", ops.add(first, below), at)

    size = constant(count)
    if size is None:
        narrow = TALLEST_UNKNOWN_NARROW if width == shape.lanes else TALLEST_UNKNOWN_HALF
        usual = shape.tallest_unknown if pieces > 1 else narrow
        tallest = tuned("tile_rows", usual, shape.heights(pieces))
        return _even_behind_tall(matrix, count, tallest, prefetches, tile)
    most = min(TALLEST, shape.rows * shape.vectors // pieces)
    tall = tuned("tile_rows", tile_rows(matrix.rows.size, most, pieces), shape.heights(pieces))
    full, rest = divmod(size, tall)
    number, tiles, parts = index_var("tile"), i64(max(1, full)), []
    ahead = prefetches.many if (matrix.rows.size or 0) > prefetches.most else prefetches.few
    if full:
        parts.append(loop(number, full, tile(ahead, tall, ops.multiply(number, i64(tall)), number, tiles)))
    if rest:
        parts.append(tile(ahead, rest, i64(full * tall), i64(full), tiles))
    return sequence(*parts)


def _even_behind_tall(
    matrix: Product, count: PrimExpr, tallest: int, prefetches: Prefetches, tile: Callable[..., st.Stmt]
) -> st.Stmt:
    """Even tiles of an unknown number of rows; if there are many and these prefetch more, all but the last ones have
    `tallest` rows.
    """

    def even_from(tall: PrimExpr) -> st.Stmt:
        done = ops.multiply(tall, i64(tallest))

        def each(even: EvenTiles) -> st.Stmt:
            def of(rows: int, below: PrimExpr, number: PrimExpr) -> st.Stmt:
                return tile(
                    prefetches.few, rows, ops.add(done, below), ops.add(tall, number), ops.add(tall, even.tiles)
                )

            return even.each(of)

        return even_tiles(ops.subtract(count, done), tallest, each, least=matrix.least_rows)

    if not prefetches.differ:
        return even_from(i64(0))
    full = ops.subtract(ops.floordiv(count, i64(tallest)), i64(1))
    enough = tir.GT(as_int64(matrix.rows.extent), i64(max(prefetches.most, tallest)))

    def both(tall: PrimExpr) -> st.Stmt:
        number = index_var("tile")
        below, tiles = ops.multiply(number, i64(tallest)), ops.add(tall, i64(1))
        return sequence(loop(number, tall, tile(prefetches.many, tallest, below, number, tiles)), even_from(tall))

    return named("tall", where(enough, ops.max(full, i64(0)), i64(0)), both)


def rows_in_place(matrix: Product) -> int:
    """Most rows of A whose elements at one k all fit in the first-level cache: rows whose stride is a power of two map
    to few sets.
    """
    load = load_of(matrix.left)
    move = step(load, matrix.rows)
    if not move or move < 0:
        return WAYS * PAGE
    return WAYS * (PAGE // gcd(move * load.buffer.dtype.itemsize, PAGE))


def multiply_add_tile(
    matrix: Product,
    rows: int,
    width: int,
    first: PrimExpr,
    start: PrimExpr,
    packed: Buffer,
    beside: Beside | None = None,
    *,
    pitch: int,
    masked: bool | None,
    steps: int,
) -> st.Stmt:
    """A tile by multiply-adds from a panel of `pitch` columns; `masked` as in `write_out`. So many `steps` along k are
    unrolled.
    """
    stage = matrix.stage
    acc = Accumulators.of(rows, width, stage.buffer.dtype)
    assert stage.init is not None
    init = stage.init

    body = sequence(
        *asked_results(matrix, rows, width, first, start),
        acc.each(lambda row, lane: init),
        add_terms(acc, matrix, first, packed, pitch, beside, steps),
        write_out(matrix, acc, first, start, masked),
    )
    return allocated(acc.buffer, body)


def add_terms(
    acc: Accumulators,
    matrix: Product,
    first: PrimExpr,
    packed: Buffer,
    pitch: int,
    beside: Beside | None,
    steps: int,
    done: PrimExpr | None = None,
    count: PrimExpr | None = None,
) -> st.Stmt:
    """Add all terms to the sums of the rows from `first` on, or `count` of them after the `done` ones; `beside` is told
    their numbers from 0.
    """

    def update(step_of_k: PrimExpr) -> st.Stmt:
        k = step_of_k if done is None else ops.add(done, step_of_k)

        def left(row: int) -> PrimExpr:
            return bound(matrix.left, {matrix.k: k, matrix.rows: ops.add(first, i64(row))})

        def right(lane: tir.Var) -> PrimExpr:
            return tir.BufferLoad(packed, (ops.add(ops.multiply(k, i64(pitch)), lane),))

        products = acc.add_products(left, right)
        return products if beside is None else sequence(beside(step_of_k), products)

    return unrolled_by(steps, matrix.k.extent if count is None else count, "k", update)
