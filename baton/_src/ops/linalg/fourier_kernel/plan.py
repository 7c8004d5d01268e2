"""How a length is divided: into two factors, each a product of radices.

A transform of length a * b is, of a matrix of a rows and b columns, the transforms of all columns, a twiddle factor
for every element, and the transforms of all rows, which are columns once the matrix is transposed: all loops run along
contiguous columns, whose number is rounded up to whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from baton._src.support.dataclass import dataclass

LARGEST_PRIME = 13
"""Largest prime radix: its sums are written out."""
LONGEST = 1 << 15
"""Longest transform: the memory of a row is a few times its length, and so are the constants."""
_RADIX = {2: 2, 3: 3.3, 4: 4, 5: 6, 7: 8.5, 8: 8, 11: 15, 13: 18}
"""What one pass costs an element, times the radix, in additions and products; a load and a store are worth one each."""


@dataclass(frozen=True)
class Plan:
    """The radices of both factors."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def a(self) -> int:
        return prod(self.rows)

    @property
    def b(self) -> int:
        return prod(self.columns)


def is_planned(length: int) -> bool:
    """Whether a length has small factors only."""
    return 1 <= length <= LONGEST and radices(length) is not None


def plan(length: int, lanes: int) -> Plan:
    """The factors that waste the fewest lanes, and are nearest to each other."""
    found = [Plan(_known(a), _known(length // a)) for a in range(1, length + 1) if length % a == 0]
    return min(found, key=lambda p: _cost(p, lanes))


def _cost(p: Plan, lanes: int) -> float:
    wide = [-(-n // lanes) * lanes for n in (p.a, p.b)]
    down, across = p.a * wide[1], p.b * wide[0]
    return down * _passes(p.rows) + across * _passes(p.columns) + wide[0] * wide[1]


def _passes(radices: tuple[int, ...]) -> float:
    return sum(2 + _RADIX.get(r, r) / 4 for r in radices)


def _known(length: int) -> tuple[int, ...]:
    found = radices(length)
    assert found is not None
    return found


def radices(length: int) -> tuple[int, ...] | None:
    """Eights and fours, then twos and primes; None if a prime is too large."""
    found = []
    rest = length
    for radix in _chosen(length):
        found.append(radix)
        rest //= radix
    return tuple(found) if rest == 1 else None


def _chosen(length: int) -> Iterator[int]:
    twos = (length & -length).bit_length() - 1
    eights = {0: 0, 1: 0, 2: 0}.get(twos, twos // 3 if twos % 3 != 1 else twos // 3 - 1)
    fours, rest = divmod(twos - 3 * eights, 2)
    yield from (8,) * eights + (4,) * fours + (2,) * rest
    odd = length >> twos
    for prime in range(3, LARGEST_PRIME + 1, 2):
        while odd % prime == 0:
            yield prime
            odd //= prime
