"""Weights of few bits meet data as they are.

A single row meets the numbers: y[u] += scale[u, b] * (sum over block b of x[k] * number[u, k] - zero[u, b] * sum of x).
For several rows, the weights of a part of a panel are written out as float32, which stay in the first cache, before
tiles of rows meet them.
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
from baton._src.tir.stmt import Stmt

PART = 64
"""Most inputs whose weights are written out together: 16 KB."""
ROWS, NARROW = 6, 16
"""Rows that share each load of a weight, with four vectors each, 24 sums in registers; units of a tile where vectors
are narrower: two of 256 bits in each row, 12 sums.
"""


def exact_kernel(x: Buffer, inputs: int, weights: Weights, y: Buffer) -> Stmt:
    """The statement, for rows of so many inputs."""
    layer = _Layer(x, inputs, weights, y)
    rows = k.index(y.shape[0])

    def panel(p: k.Scalar) -> Stmt:
        alone = loop(rows, partial(layer.single, p), "m")  # an index that is known to be inside
        return when(k.tir.EQ(rows, k.index(1)), alone, layer.several(p, rows))

    return over_panels(weights.words.shape[0], rows * k.index(weights.blocks * weights.block), panel)


@dataclass(frozen=True)
class _Layer:
    x: Buffer
    inputs: int
    weights: Weights
    y: Buffer

    def element(self, m: k.Scalar, at: k.Scalar) -> k.Scalar:
        """An element of the data; beyond the last one 0."""
        value = k.cast(FLOAT, load(self.x, m, at))
        if self.inputs == self.weights.blocks * self.weights.block:
            return value
        return k.if_then_else(at < k.index(self.inputs), value, k.const(0, FLOAT))

    def single(self, p: k.Scalar, m: k.Scalar) -> Stmt:
        """The sum of each block over numbers, less the zero point for all that they met."""
        zero, nothing = k.index(0), k.const(0, FLOAT)
        w = self.weights

        def blocks(total: Buffer, part: Buffer, met: Buffer) -> Stmt:
            def one(b: k.Scalar) -> Stmt:
                def added(u: k.Scalar) -> Stmt:
                    centred = load(part, u) - w.zero(FLOAT, p, b, u) * load(met, zero)
                    return store(total, (u,), load(total, u) + w.scale(p, b, u) * centred)

                clear = both(lane_loop(PANEL, lambda u: store(part, (u,), nothing)), store(met, (zero,), nothing))
                return both(
                    clear,
                    loop(w.words_in_block, partial(self.word, p, m, b, part, met), "word"),
                    lane_loop(PANEL, added),
                )

            begin = lane_loop(PANEL, lambda u: store(total, (u,), nothing))
            end = lane_loop(PANEL, lambda u: store(self.y, (m, unit(p, u)), load(total, u)))
            return both(begin, loop(w.blocks, one, "block"), end)

        def with_part(total: Buffer) -> Stmt:
            return local("part", (PANEL,), FLOAT, lambda part: local("met", (1,), FLOAT, partial(blocks, total, part)))

        return local("total", (PANEL,), FLOAT, with_part)

    def word(self, p: k.Scalar, m: k.Scalar, b: k.Scalar, part: Buffer, met: Buffer, n: k.Scalar) -> Stmt:
        """What a word of each unit adds to the sums of a block."""
        w, zero = self.weights, k.index(0)
        first = b * k.index(w.block) + n * k.index(w.in_word)

        def with_data(*xs: k.Scalar) -> Stmt:
            def of_unit(u: k.Scalar) -> Stmt:
                def terms(word: k.Scalar) -> Stmt:
                    found = load(part, u)
                    for place, x in enumerate(xs):
                        found = found + x * w.number(word, place)
                    return store(part, (u,), found)

                return lets((("word", load(w.words, p, b * k.index(w.words_in_block) + n, u)),), terms)

            more = load(met, zero)
            for x in xs:
                more = more + x
            return both(lane_loop(PANEL, of_unit), store(met, (zero,), more))

        return lets([(f"x{i}", self.element(m, first + k.index(i))) for i in range(w.in_word)], with_data)

    def several(self, p: k.Scalar, rows: k.Scalar) -> Stmt:
        """Part by part."""
        w = self.weights
        part = min(w.block, PART)
        clear = loop(rows, lambda m: lane_loop(PANEL, lambda u: store(self.y, (m, unit(p, u)), k.const(0, FLOAT))), "m")

        def parts(n: k.Scalar) -> Stmt:
            first = n * k.index(part)

            def with_weights(real: Buffer) -> Stmt:
                def tiles(width: int) -> Stmt:
                    def tile(m: k.Scalar, count: int) -> Stmt:
                        each = range(0, PANEL, width)
                        return both(*(self.tile(p, first, part, real, m, count, u, width) for u in each))

                    done = rows // k.index(ROWS) * k.index(ROWS)
                    many = loop(rows // k.index(ROWS), lambda i: tile(i * k.index(ROWS), ROWS), "tile")
                    return both(many, loop(rows - done, lambda i: tile(done + i, 1), "rest"))

                return both(self.write(p, first, part, real), with_wide_vectors(tiles(PANEL), tiles(NARROW)))

            return local("weights", (part * PANEL,), FLOAT, with_weights)

        return both(clear, loop(w.blocks * w.block // part, parts, "part"))

    def write(self, p: k.Scalar, first: k.Scalar, part: int, real: Buffer) -> Stmt:
        """The weights of a part as float32: those of one input after those of another."""
        w = self.weights
        b = first // k.index(w.block)

        def word(n: k.Scalar) -> Stmt:
            def of_unit(u: k.Scalar) -> Stmt:
                def values(word: k.Scalar, scale: k.Scalar, offset: k.Scalar) -> Stmt:
                    places = [(n * k.index(w.in_word) + k.index(i)) * k.index(PANEL) + u for i in range(w.in_word)]
                    stores = (store(real, (at,), w.number(word, i) * scale - offset) for i, at in enumerate(places))
                    return both(*stores)

                scale = w.scale(p, b, u)
                words = load(w.words, p, first // k.index(w.in_word) + n, u)
                return lets((("word", words), ("scale", scale), ("offset", scale * w.zero(FLOAT, p, b, u))), values)

            return lane_loop(PANEL, of_unit)

        return loop(part // w.in_word, word, "word")

    def tile(
        self, p: k.Scalar, first: k.Scalar, part: int, real: Buffer, begin: k.Scalar, rows: int, start: int, width: int
    ) -> Stmt:
        """Add what a part contributes to `rows` rows from `begin` on, of `width` units of the panel from `start` on."""
        places = [k.index(row * width - start) for row in range(rows)]

        def sums(acc: Buffer) -> Stmt:
            def each(body: Callable[[k.Scalar, k.Scalar, k.Scalar], Stmt]) -> Stmt:
                starts = ((begin + k.index(row), place) for row, place in enumerate(places))
                return both(*(lane_loop(width, partial(body, m, place), start) for m, place in starts))

            def read(m: k.Scalar, at: k.Scalar, u: k.Scalar) -> Stmt:
                return store(acc, (at + u,), load(self.y, m, unit(p, u)))

            def write(m: k.Scalar, at: k.Scalar, u: k.Scalar) -> Stmt:
                return store(self.y, (m, unit(p, u)), load(acc, at + u))

            def step(n: k.Scalar) -> Stmt:
                def add(m: k.Scalar, at: k.Scalar, u: k.Scalar) -> Stmt:
                    term = self.element(m, first + n) * load(real, n * k.index(PANEL) + u)
                    return store(acc, (at + u,), load(acc, at + u) + term)

                return each(add)

            return both(each(read), loop(k.index(part), step, "k"), each(write))

        return local("sums", (rows * width,), FLOAT, sums)
