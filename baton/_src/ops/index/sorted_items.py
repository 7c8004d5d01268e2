"""Items in order: sorted columns, merged pairwise.

Items (`ranks`) lie in blocks of 8 columns of up to 16. A sorting network puts each column in order, all 8 at once.
Then columns are merged two by two, runs twice as long again, and so on. Both runs of a merge are equally long, so half
of the result is taken from their beginnings and half from their ends: neither half can exhaust a run, which no step has
to test, and no step has a branch that the processor would guess wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from baton._src.ops import kernel_words as k
from baton._src.ops.index.ranks import Item, Ranked, earlier_and_later, stands_before
from baton._src.ops.loop_nests import both, let, lets, load, local, loop, store, when
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt, While

COLUMNS = 8
"""Columns of a block, a vector of items."""
REGISTERS = 16
"""Vectors of a block at most: a column has as many items, or half as many pairs."""
_BEGIN, _WIDTH, _LOW, _HIGH = (k.index(n) for n in range(4))
"""Counters: where the items begin, the length of sorted runs, the next item at either end of a merge's first run."""


@dataclass(frozen=True, slots=True)
class Items:
    """Room for items, twice: they lie in either half, and are merged into the other one."""

    ranked: Ranked
    buffers: tuple[Buffer, ...]
    """A buffer for each part of an item."""
    room: k.Scalar
    counters: Buffer

    @staticmethod
    def of(ranked: Ranked, capacity: k.Scalar, body: Callable[[Items], Stmt]) -> Stmt:
        """`body` of room for so many items, and for one more in each column but one: columns are equally long."""
        columns = capacity * k.index(2) // k.index(_rows(ranked)) + k.index(COLUMNS)
        half = (capacity + columns + k.index(COLUMNS - 1)) // k.index(COLUMNS) * k.index(COLUMNS)

        def allocated(size: k.Scalar, buffers: tuple[Buffer, ...]) -> Stmt:
            if len(buffers) < ranked.parts:
                return local("items", [size + size], "int64", lambda b: allocated(size, (*buffers, b)))

            def counted(counters: Buffer) -> Stmt:
                return both(store(counters, [_BEGIN], k.index(0)), body(Items(ranked, buffers, size, counters)))

            return local("counters", (4,), "int64", counted)

        known = known_number(half)
        return allocated(known, ()) if known is not None else let("room", half, lambda size: allocated(size, ()))

    @property
    def rows(self) -> int:
        """Items of a column at most."""
        return _rows(self.ranked)

    @property
    def begin(self) -> k.Scalar:
        """Where the first item lies."""
        return load(self.counters, _BEGIN)

    def at(self, number: k.Scalar) -> Item:
        """An item."""
        return tuple(load(b, self.begin + number) for b in self.buffers)

    def put(self, number: k.Scalar, item: Item) -> Stmt:
        """Store an item."""
        return self._store(self.begin + number, item)

    def sort(self, size: k.Scalar) -> Stmt:
        """Put the first `size` items in order."""

        def with_runs(runs: k.Scalar, width: k.Scalar) -> Stmt:
            total = runs * width
            pad = loop(total - size, lambda n: self.put(size + n, self.ranked.behind_all), "e")
            columns = loop(runs // k.index(COLUMNS), lambda b: self._block(b, width), "b")
            first = loop(runs // k.index(2), lambda pair: self._merge_columns(pair, width), "q")
            start = both(pad, columns, store(self.counters, [_WIDTH], width), first, self._turn())
            return both(start, While(self._width < total, both(self._merge_runs(total), self._turn())))

        known = known_number(size)
        if known is not None:
            runs = COLUMNS
            while runs * self.rows < known.value:
                runs *= 2
            return with_runs(k.index(runs), k.index(max(1, -(-known.value // runs))))
        count = load(self.counters, _WIDTH)
        more = While(count * k.index(self.rows) < size, store(self.counters, [_WIDTH], count * k.index(2)))

        def counted(runs: k.Scalar) -> Stmt:
            return let("width", k.maximum((size + runs - k.index(1)) // runs, k.index(1)), lambda w: with_runs(runs, w))

        return both(store(self.counters, [_WIDTH], k.index(COLUMNS)), more, let("runs", count, counted))

    # ------------------------------------------------------------------------------------------- columns

    def _block(self, block: k.Scalar, width: k.Scalar) -> Stmt:
        """Sort the columns of a block; shorter ones have the last ones behind all others."""
        known = known_number(width)
        rows = self.rows if known is None else known.value
        begin = self.begin + block * (width * k.index(COLUMNS))

        def row(number: int) -> k.Scalar:
            inside = k.index(number) if known is not None else k.minimum(k.index(number), width - k.index(1))
            return vector(begin + inside * k.index(COLUMNS))

        def fetched(number: int) -> Item:
            item = tuple(tir.BufferLoad(b, (row(number),)) for b in self.buffers)
            if known is not None or not number:
                return item
            there = broadcast(k.index(number) < width)
            return tuple(
                k.select(there, part, broadcast(end)) for part, end in zip(item, self.ranked.behind_all, strict=True)
            )

        def sorted_in(columns: tuple[Buffer, ...]) -> Stmt:
            def keep(number: int, item: Item) -> Stmt:
                places = vector(k.index(number * COLUMNS))
                return both(*(store(b, [places], part) for b, part in zip(columns, item, strict=True)))

            def kept(number: int) -> Item:
                return tuple(tir.BufferLoad(b, (vector(k.index(number * COLUMNS)),)) for b in columns)

            def exchange(upper: int, lower: int) -> Stmt:
                def exchanged(*parts: k.Scalar) -> Stmt:
                    count = self.ranked.parts
                    earlier, later = earlier_and_later(parts[:count], parts[count:])
                    return both(keep(upper, earlier), keep(lower, later))

                return lets([("item", part) for part in (*kept(upper), *kept(lower))], exchanged)

            def back(number: int) -> Stmt:
                stores = both(*(store(b, [row(number)], p) for b, p in zip(self.buffers, kept(number), strict=True)))
                return stores if known is not None else when(k.index(number) < width, stores)

            network = [exchange(*pair) for pair in comparators(self.rows) if max(pair) < rows]
            return both(*(keep(n, fetched(n)) for n in range(rows)), *network, *map(back, range(rows)))

        return with_locals("columns", self.ranked.parts, rows * COLUMNS, sorted_in)

    # ------------------------------------------------------------------------------------------- merges

    @property
    def _width(self) -> k.Scalar:
        return load(self.counters, _WIDTH)

    @property
    def _other_half(self) -> k.Scalar:
        return self.room - self.begin

    def _turn(self) -> Stmt:
        """What was merged is in the other half, in runs of twice the length."""
        here = store(self.counters, [_BEGIN], self._other_half)
        return both(here, store(self.counters, [_WIDTH], self._width * k.index(2)))

    def _merge_columns(self, pair: k.Scalar, width: k.Scalar) -> Stmt:
        """Merge two neighbouring columns of a block."""
        pairs = k.index(COLUMNS // 2)
        first = self.begin + pair // pairs * (width * k.index(COLUMNS)) + pair % pairs * k.index(2)
        into = self._other_half + pair * (width * k.index(2))
        return self._merge(first, k.index(1), into, width, COLUMNS)

    def _merge_runs(self, total: k.Scalar) -> Stmt:
        """Merge all runs pairwise."""

        def merged(width: k.Scalar) -> Stmt:
            def pair(number: k.Scalar) -> Stmt:
                first = number * (width * k.index(2))
                return self._merge(self.begin + first, width, self._other_half + first, width, 1)

            return loop(total // (width * k.index(2)), pair, "q")

        return let("width", self._width, merged)

    def _merge(self, first: k.Scalar, apart: k.Scalar, into: k.Scalar, width: k.Scalar, stride: int) -> Stmt:
        """Merge two runs of `width` items, `stride` apart, of which the second begins `apart` behind the first."""

        def with_places(left: k.Scalar, right: k.Scalar, into: k.Scalar) -> Stmt:
            last = width - k.index(1)

            def item(start: k.Scalar, number: k.Scalar) -> Item:
                return tuple(load(b, start + number * k.index(stride)) for b in self.buffers)

            def taken(end: int, counter: k.Scalar, places: k.Scalar, into: k.Scalar) -> Stmt:
                """Take the earlier (`end` 0) or later (1) of two items; their places in the runs add up to `places`."""
                place = load(self.counters, counter)

                def take(*parts: k.Scalar) -> Stmt:
                    one, other = parts[: self.ranked.parts], parts[self.ranked.parts :]
                    crossed = stands_before(other, one)
                    chosen = earlier_and_later(one, other)[end]
                    stay, go = k.index(0), k.index(1)
                    moved = place - k.select(crossed, go, stay) if end else place + k.select(crossed, stay, go)
                    return both(self._store(into, chosen), store(self.counters, [counter], moved))

                return lets([("item", p) for p in (*item(left, place), *item(right, places - place))], take)

            def taken_at_both_ends(t: k.Scalar) -> Stmt:
                return both(taken(0, _LOW, t, into + t), taken(1, _HIGH, last + last - t, into + last + width - t))

            start = both(store(self.counters, [_LOW], k.index(0)), store(self.counters, [_HIGH], last))
            return both(start, loop(width, taken_at_both_ends, "t"))

        return lets([("left", first), ("right", first + apart), ("into", into)], with_places)

    def _store(self, place: k.Scalar, item: Item) -> Stmt:
        return both(*(store(b, [place], part) for b, part in zip(self.buffers, item, strict=True)))


def _rows(ranked: Ranked) -> int:
    return REGISTERS // ranked.parts


@cache
def comparators(count: int) -> tuple[tuple[int, int], ...]:
    """The exchanges of Batcher's merge exchange (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M)."""
    return tuple(_comparators(count))


def _comparators(count: int) -> Iterator[tuple[int, int]]:
    top = 1 << max(0, (count - 1).bit_length() - 1)
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(count - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def known_number(value: k.Scalar) -> tir.IntImm | None:
    """A number that is known when compiling, as such."""
    return value if isinstance(value, tir.IntImm) else None


def vector(at: k.Scalar) -> k.Scalar:
    """Neighbouring places, as many as a vector has items."""
    return tir.Ramp(at, k.index(1), COLUMNS)


def broadcast(value: k.Scalar) -> k.Scalar:
    """The same value for each of them."""
    return tir.Broadcast(value, COLUMNS)


def with_locals(name: str, count: int, size: int, body: Callable[[tuple[Buffer, ...]], Stmt], *made: Buffer) -> Stmt:
    """`body` of `count` buffers, a part of items each; registers where all places in them are known."""
    if len(made) == count:
        return body(made)
    return local(name, (size,), "int64", lambda b: with_locals(name, count, size, body, *made, b))


def with_item(item: Item, body: Callable[[Item], Stmt]) -> Stmt:
    """`body` of an item whose parts are computed once."""
    return lets([("item", part) for part in item], lambda *parts: body(parts))
