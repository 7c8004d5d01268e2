"""Which blocks of a printed program are closed already, by the numbers of the names that are given inside them.

    %3 = if (%c) { %0 = exp(%x); %0 } else { %x };      // %0 may be read below, once this line is written

An expression that holds blocks is written where it is first read, which may be after its blocks were printed. Whatever
reads a name given inside asks first for that expression (`owner`), so that it comes before.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any, NamedTuple

_first = itemgetter(0)


class _Block(NamedTuple):
    """The names numbered from `first` to before `stop`."""

    first: int
    stop: int
    owner: Any


class ClosedBlocks:
    """The outermost closed blocks that give names, in the order of their numbers; they never overlap."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return len(self._blocks)

    def close(self, first: int, stop: int) -> None:
        """A block ends, inside which the names from `first` to before `stop` were given."""
        while self._blocks and self._blocks[-1].first >= first:
            self._blocks.pop()
        if stop > first:
            self._blocks.append(_Block(first, stop, None))

    def belong_to(self, owner: Any, since: int) -> None:
        """Blocks closed since there were `since` of them are parts of `owner`."""
        self._blocks[since:] = [block._replace(owner=owner) for block in self._blocks[since:]]

    def owner(self, number: int) -> Any:
        """The expression whose block gives the name of this number; None outside closed blocks."""
        at = bisect_right(self._blocks, number, key=_first) - 1
        return self._blocks[at].owner if at >= 0 and number < self._blocks[at].stop else None
