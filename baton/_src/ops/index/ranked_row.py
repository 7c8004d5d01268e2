"""A row of a tensor whose elements are ordered: read as items, several neighbours at once, and written as positions."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ops import kernel_words as k
from baton._src.ops.any_lane import LANES, any_lane
from baton._src.ops.index.ranks import LONGEST, Item, Ranked
from baton._src.ops.index.sorted_items import Items
from baton._src.ops.loop_nests import both, let, load, loop, store, when
from baton._src.ops.vector_loops import side_by_side
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt

USUAL = 1 << 12
"""Steps for a row whose extent is not known when compiling."""


def steps_of_row(extent: k.Scalar) -> int:
    """About how many steps it takes to sort a row, or to select from it."""
    return extent.value * max(1, extent.value.bit_length()) if isinstance(extent, tir.IntImm) else USUAL


@dataclass(frozen=True, slots=True)
class Row:
    """A row of elements, and of the positions that are found for it."""

    keys: Buffer
    found: Buffer
    outer: tuple[k.Scalar, ...]
    axis: int
    ranked: Ranked

    @property
    def is_dense(self) -> bool:
        """Whether its elements are neighbours in memory."""
        return self.axis == len(self.outer)

    def checked(self, extent: k.Scalar, statement: Stmt) -> Stmt:
        """The statement, unless there are more elements than words can number: that is an error of the run."""
        if not self.ranked.in_words or isinstance(extent, tir.IntImm):
            return statement
        fits = k.within(extent, k.index(LONGEST + 1), "rows of {0} elements cannot be sorted, less than {1} can")
        return let("fits", fits, lambda _: statement)

    def value(self, place: k.Scalar) -> k.Scalar:
        """The element at a place."""
        return load(self.keys, *self.at(place))

    def item(self, place: k.Scalar) -> Item:
        """The element at a place, with the place."""
        return self.ranked.item(self.value(place), place)

    def fill(self, items: Items, begin: k.Scalar, end: k.Scalar) -> Stmt:
        """The elements from one place to before another."""
        return self.each(end - begin, lambda n: items.put(begin + n, self.item(begin + n)))

    def write(self, items: Items, count: k.Scalar) -> Stmt:
        """The positions of the first `count` items."""
        return self.each(count, lambda n: self.write_one(n, items.at(n)))

    def write_one(self, number: k.Scalar, item: Item) -> Stmt:
        """The position of the item that has this number."""
        return store(self.found, self.at(number), self.ranked.place_of(item))

    def each(self, count: k.Scalar, body: Callable[[k.Scalar], Stmt]) -> Stmt:
        """`body` of 0, 1, ... `count` - 1, several neighbours at once."""
        return side_by_side(count, LANES, body) if self.is_dense else loop(count, body, "n")

    def those_before(
        self, bound: Callable[[], k.Scalar], begin: k.Scalar, end: k.Scalar, use: Callable[[k.Scalar], Stmt]
    ) -> Stmt:
        """`use` the places from `begin` to before `end`, in order, whose elements have a lesser rank than `bound`.

        It may change the bound. Few elements have a lesser rank: neighbours are tested several at once.
        """
        blocks = (end - begin) // k.index(LANES) if self.is_dense else k.index(0)
        rest = begin + blocks * k.index(LANES)
        whole = loop(blocks, lambda b: self.block_before(bound, begin + b * k.index(LANES), use), "b")
        return both(whole, loop(end - rest, lambda n: self.one_before(bound, rest + n, use), "n"))

    def one_before(self, bound: Callable[[], k.Scalar], place: k.Scalar, use: Callable[[k.Scalar], Stmt]) -> Stmt:
        """The same of one place."""
        return when(self.ranked.rank(self.value(place)) < bound(), use(place))

    def block_before(self, bound: Callable[[], k.Scalar], first: k.Scalar, use: Callable[[k.Scalar], Stmt]) -> Stmt:
        """The same of as many neighbours as are tested at once."""
        each = loop(LANES, lambda n: self.one_before(bound, first + n, use), "n")
        return any_lane(
            lambda lane: self.ranked.rank(self.value(first + lane)) < bound(), lambda found: when(found, each)
        )

    def at(self, place: k.Scalar) -> list[k.Scalar]:
        """The indices of a place."""
        return [*self.outer[: self.axis], place, *self.outer[self.axis :]]
