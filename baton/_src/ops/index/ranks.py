"""Elements with their places as integers, which order them as a sort does: no ties, no NaN, no second load.

    word of x[place] = 0.5, 32 bits and fewer:   rank of 0.5 in the high half, `place` in the low one
    pair of x[place] = 0.5, 64 bits:             rank of 0.5, `place`

Equal elements are in the order of their places in both directions; NaN is greater than any number.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ops import kernel_words as k
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType

HALF = 32
"""Bits of a word that hold the place."""
LONGEST = (1 << HALF) - 1
"""Elements of a row whose places fit in words."""

Item = tuple[k.Scalar, ...]
"""An element with its place: a word, or a pair."""


def rank(value: k.Scalar, dtype: DataType, descending: bool) -> k.Scalar:
    """The place of an element's value in the order of all values: int32, or int64 for elements of 64 bits."""
    made = _rank_of_float(k.wide(value)) if dtype.is_float else _rank_of_integer(value, dtype)
    return made ^ k.const(-1, made.dtype) if descending else made


def _rank_of_float(value: k.Scalar) -> k.Scalar:
    """Bits of positive numbers are in order; those of negative ones are, once turned around. -0.0 is 0.0."""
    kind = DataType(f"int{value.dtype.bits}")
    zero, highest = k.const(0, kind), k.highest(kind)
    bits = tir.Call(kind, k.intrinsic("reinterpret"), (value,))
    turned = bits ^ (k.call("shift_right", bits, k.const(kind.bits - 1, kind)) & highest)
    numbers = k.select(tir.EQ(value, k.const(0, value.dtype)), zero, turned)
    return k.select(tir.NE(value, value), highest, numbers)


def _rank_of_integer(value: k.Scalar, dtype: DataType) -> k.Scalar:
    """Itself, with the sign bit of large unsigned numbers turned around."""
    kind = DataType("int64" if dtype.bits > HALF else "int32")
    if dtype.kind == "uint" and dtype.bits == kind.bits:
        return k.cast(kind, value) ^ k.lowest(kind)
    return k.cast(kind, k.cast("uint8", value) if dtype.is_bool else value)


@dataclass(frozen=True, slots=True)
class Ranked:
    """How the elements of a dtype are ordered: the lesser item stands first."""

    dtype: DataType
    descending: bool

    @property
    def in_words(self) -> bool:
        """Whether rank and place fit in one integer."""
        return self.dtype.bits <= HALF

    @property
    def parts(self) -> int:
        """int64 numbers of an item."""
        return 1 if self.in_words else 2

    def rank(self, value: k.Scalar) -> k.Scalar:
        """The rank of an element."""
        return rank(value, self.dtype, self.descending)

    def item(self, value: k.Scalar, place: k.Scalar) -> Item:
        """An element and its place."""
        first = k.cast("int64", self.rank(value))
        if not self.in_words:
            return first, place
        return (k.call("shift_left", first, k.index(HALF)) | place,)

    def rank_of(self, item: Item) -> k.Scalar:
        """The rank that is part of an item."""
        return self.narrow(k.call("shift_right", item[0], k.index(HALF)) if self.in_words else item[0])

    def narrow(self, rank: k.Scalar) -> k.Scalar:
        """A rank that was kept as int64."""
        return k.cast("int32", rank) if self.in_words else rank

    def place_of(self, item: Item) -> k.Scalar:
        """The place that is part of an item."""
        return item[0] & k.index(LONGEST) if self.in_words else item[1]

    @property
    def behind_all(self) -> Item:
        """What stands behind every element."""
        return (k.highest(DataType("int64")),) * self.parts

    @property
    def before_all(self) -> Item:
        """What stands before every element."""
        return (k.lowest(DataType("int64")),) * self.parts


def stands_before(one: Item, other: Item) -> k.Scalar:
    """Whether an item comes before another."""
    if len(one) == 1:
        return one[0] < other[0]
    return tir.Or(one[0] < other[0], tir.And(tir.EQ(one[0], other[0]), one[1] < other[1]))


def earlier_and_later(one: Item, other: Item) -> tuple[Item, Item]:
    """Two items in their order."""
    if len(one) == 1:
        return (k.minimum(one[0], other[0]),), (k.maximum(one[0], other[0]),)
    turned = stands_before(other, one)
    return (
        tuple(k.select(turned, b, a) for a, b in zip(one, other, strict=True)),
        tuple(k.select(turned, a, b) for a, b in zip(one, other, strict=True)),
    )


def has_lesser_rank(one: Item, other: Item) -> k.Scalar:
    """Whether an item comes before another that is no further on."""
    return one[0] < other[0]


def inserted(ahead: Item, here: Item, item: Item, is_before: Callable[[Item, Item], k.Scalar]) -> Item:
    """What stands at a place once `item` is put in order: what stands ahead of the place or there now, or `item`."""
    if len(item) == 1:
        return (k.minimum(here[0], k.maximum(ahead[0], item[0])),)
    moves, fits = is_before(item, ahead), is_before(item, here)
    parts = zip(ahead, here, item, strict=True)
    return tuple(k.select(moves, before, k.select(fits, new, there)) for before, there, new in parts)
