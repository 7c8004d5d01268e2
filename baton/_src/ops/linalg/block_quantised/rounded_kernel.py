"""Weights of few bits meet data that are rounded to bytes, in dot products of bytes.

    y[m, u] += scale[u, b] * step[m, b] * (sum over block b of number[m, k] * weight[u, k] - zero[u, b] * sum[m, b])

Up to three rows meet numbers as they are taken out of the words; a single one is as fast as these are read. For more,
those of a part of a panel are written out as bytes, which stay in the first cache, before tiles of rows meet them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.block_quantised.weights import (
    FLOAT,
    PANEL,
    Weights,
    over_panels,
    unit,
    with_wide_vectors,
)
from baton._src.ops.loop_nests import both, lets, load, local, loop, store, when
from baton._src.ops.vector_loops import lane_loop
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Ramp
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32

ROWS, NARROW_ROWS, WIDTH = 4, 3, 32
"""Rows of a tile, with vectors of 512 bits and others, and its units."""
PART = 256
"""Inputs whose weights are written out together, unless a block is larger: 16 KB."""


def rounded_kernel(numbers: Buffer, steps: Buffer, sums: Buffer, weights: Weights, y: Buffer) -> Stmt:
    """The statement."""
    layer = _Layer(numbers, steps, sums, weights, y)
    rows = k.index(y.shape[0])

    def panel(p: k.Scalar) -> Stmt:
        found = layer.several(p, rows)
        for few in range(1, ROWS):
            found = when(k.tir.EQ(rows, k.index(few)), layer.few(p, rows, few), found)
        return found

    return over_panels(weights.words.shape[0], rows * k.index(weights.blocks * weights.block), panel)


BytesAt = Callable[[k.Scalar, k.Scalar, int, k.Scalar], k.Scalar]
"""The word of bytes of a block, a word in it, a place in that and a unit."""


@dataclass(frozen=True)
class _Tile:
    """Rows and units of a panel, and the blocks whose contributions are added: the first one, and how many."""

    panel: k.Scalar
    row: k.Scalar
    rows: int
    unit: int
    width: int
    first: k.Scalar
    blocks: int

    def each(self, body: Callable[[k.Scalar, k.Scalar, k.Scalar], Stmt]) -> Stmt:
        """body(row, unit, place in the tile), in vectors."""

        def of_row(r: int) -> Stmt:
            return lane_loop(self.width, lambda u: body(self.row + k.index(r), u, self.place(r, u)), self.unit)

        return both(*map(of_row, range(self.rows)))

    def place(self, r: int, u: k.Scalar) -> k.Scalar:
        return k.index(r * self.width - self.unit) + u


@dataclass(frozen=True)
class _Layer:
    numbers: Buffer
    steps: Buffer
    sums: Buffer
    weights: Weights
    y: Buffer

    def few(self, p: k.Scalar, given: k.Scalar, rows: int) -> Stmt:
        """Fewer rows of data than a tile has. All that are given: the loop keeps its indices inside of them."""
        w, width = self.weights, PANEL if rows == 1 else WIDTH

        def bytes_at(b: k.Scalar, n: k.Scalar, place: int, u: k.Scalar) -> k.Scalar:
            return w.bytes_of(load(w.words, p, b * k.index(w.words_in_block) + n, u), place)

        def tiles(n: k.Scalar) -> Stmt:
            each = (_Tile(p, n * k.index(rows), rows, u, width, k.index(0), w.blocks) for u in range(0, PANEL, width))
            return both(*(self.tile(tile, bytes_at, k.const(0, FLOAT)) for tile in each))

        return loop(given // k.index(rows), tiles, "m")

    def several(self, p: k.Scalar, rows: k.Scalar) -> Stmt:
        """Part by part."""
        w = self.weights
        count = max(1, min(w.blocks, PART // w.block))
        whole, rest = divmod(w.blocks, count)
        clear = loop(rows, lambda m: lane_loop(PANEL, lambda u: store(self.y, (m, unit(p, u)), k.const(0, FLOAT))), "m")

        def parts(plain: Buffer) -> Stmt:
            found = [clear, loop(whole, lambda n: self.part(p, rows, plain, n * k.index(count), count), "part")]
            return both(*found, *([self.part(p, rows, plain, k.index(whole * count), rest)] if rest else []))

        return local("plain", (count * w.block // 4 * PANEL,), INT32, parts)

    def part(self, p: k.Scalar, rows: k.Scalar, plain: Buffer, first: k.Scalar, blocks: int) -> Stmt:
        """What some blocks contribute to all rows."""
        w = self.weights
        places = 8 // w.bits

        def word_at(n: k.Scalar, place: int, u: k.Scalar) -> k.Scalar:
            return (n * k.index(places) + k.index(place)) * k.index(PANEL) + u

        def write(n: k.Scalar) -> Stmt:
            def of_unit(u: k.Scalar) -> Stmt:
                word = load(w.words, p, first * k.index(w.words_in_block) + n, u)
                return both(*(store(plain, (word_at(n, i, u),), w.bytes_of(word, i)) for i in range(places)))

            return lane_loop(PANEL, of_unit)

        def bytes_at(b: k.Scalar, n: k.Scalar, place: int, u: k.Scalar) -> k.Scalar:
            return load(plain, word_at((b - first) * k.index(w.words_in_block) + n, place, u))

        def tiles(m: k.Scalar, count: int) -> Stmt:
            each = (_Tile(p, m, count, u, WIDTH, first, blocks) for u in range(0, PANEL, WIDTH))
            return both(*(self.tile(tile, bytes_at) for tile in each))

        def all_tiles(count: int) -> Stmt:
            done = rows // k.index(count) * k.index(count)
            many = loop(rows // k.index(count), lambda n: tiles(n * k.index(count), count), "tile")
            return both(many, loop(rows - done, lambda n: tiles(done + n, 1), "rest"))

        written = loop(w.words_in_block * blocks, write, "word")
        return both(written, with_wide_vectors(all_tiles(ROWS), all_tiles(NARROW_ROWS)))

    def tile(self, tile: _Tile, bytes_at: BytesAt, start: k.Scalar | None = None) -> Stmt:
        """Add to `start`, or to what is in the result, what blocks contribute."""
        size = (tile.rows * tile.width,)

        def begin(total: Buffer) -> Stmt:
            def read(m: k.Scalar, u: k.Scalar, at: k.Scalar) -> Stmt:
                return store(total, (at,), load(self.y, m, unit(tile.panel, u)) if start is None else start)

            return tile.each(read)

        def end(total: Buffer) -> Stmt:
            return tile.each(lambda m, u, at: store(self.y, (m, unit(tile.panel, u)), load(total, at)))

        def with_total(total: Buffer) -> Stmt:
            def with_dots(dots: Buffer) -> Stmt:
                return loop(tile.blocks, lambda n: self.block(tile, tile.first + n, bytes_at, total, dots), "block")

            return both(begin(total), local("dots", size, INT32, with_dots), end(total))

        return local("total", size, FLOAT, with_total)

    def block(self, tile: _Tile, b: k.Scalar, bytes_at: BytesAt, total: Buffer, dots: Buffer) -> Stmt:
        """The dots of a block, and what they are worth."""
        w = self.weights

        def begin(m: k.Scalar, u: k.Scalar, at: k.Scalar) -> Stmt:
            return store(dots, (at,), k.const(0, INT32) - load(self.sums, m, b) * w.zero(INT32, tile.panel, b, u))

        def end(m: k.Scalar, u: k.Scalar, at: k.Scalar) -> Stmt:
            worth = w.scale(tile.panel, b, u) * load(self.steps, m, b)
            return store(total, (at,), load(total, at) + k.cast(FLOAT, load(dots, at)) * worth)

        word = partial(self.word, tile, b, bytes_at, dots)
        return both(tile.each(begin), loop(w.words_in_block, word, "word"), tile.each(end))

    def word(self, tile: _Tile, b: k.Scalar, bytes_at: BytesAt, dots: Buffer, n: k.Scalar) -> Stmt:
        """What a word of each unit adds to the dots of each row."""
        w, places = self.weights, 8 // self.weights.bits
        name = "dot_u8s8" if w.bits == 8 else "dot_u7s8"

        def data(r: int, place: int) -> k.Scalar:
            at = b * k.index(w.block) + n * k.index(w.in_word) + k.index(4 * place)
            run = load(self.numbers, tile.row + k.index(r), Ramp(at, k.index(1), 4))
            return k.tir.Call(INT32, k.intrinsic("reinterpret"), (run,))

        def at_place(place: int) -> Stmt:
            def with_data(*xs: k.Scalar) -> Stmt:
                def dot(u: k.Scalar, w: k.Scalar, r: int) -> Stmt:
                    at = tile.place(r, u)
                    return store(dots, (at,), k.call(name, load(dots, at), w, xs[r]))

                def of_unit(u: k.Scalar) -> Stmt:
                    rows = range(tile.rows)
                    return lets((("w", bytes_at(b, n, place, u)),), lambda w: both(*(dot(u, w, r) for r in rows)))

                return lane_loop(tile.width, of_unit, tile.unit)

            return lets([(f"x{r}", data(r, place)) for r in range(tile.rows)], with_data)

        return both(*map(at_place, range(places)))
