"""Memory planning: assign intermediates offsets in one arena, reusing memory as soon as a value is dead.

Values of constant size are placed largest first, each into the smallest gap between values with overlapping lifetimes;
if lifetimes are so long that this would be too slow, they are placed in order of time by best fit (n log n steps plus a
scan of the free gaps). Values of symbolic size share *slots*: a slot is reused by values that provably fit into it. The
symbolic slots follow the constant part.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.size_polynomial import Atoms, Polynomial, rounded_up, to_polynomial
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var

ALIGNMENT = 64
"""Every value starts at a multiple of this many bytes: a cache line, and the widest vector."""

_MOST_NEIGHBOURS = 200_000
"""Most (value, step) pairs that may be examined for a tighter plan: about 0.2 s."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The size of a value in bytes (an int or an int64 expression), and the first and last step that use it."""

    name: str
    size: int | PrimExpr
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """`offsets[i]` is the start of value i, in bytes; `total` is the arena's size."""

    offsets: tuple[int | PrimExpr, ...]
    total: int | PrimExpr
    values: tuple[Lifetime, ...]


def plan_memory(values: Sequence[Lifetime], signed: Container[Var] = ()) -> MemoryPlan:
    """Offsets such that values whose lifetimes overlap do not share memory. `values` come ordered by `first`; `signed`
    are the variables in sizes that may be negative.
    """
    offsets: list[int | PrimExpr] = [0] * len(values)
    fixed = [i for i, v in enumerate(values) if isinstance(v.size, int)]
    total = _place_fixed(values, fixed, offsets)
    if sum(values[i].last - values[i].first + 1 for i in fixed) <= _MOST_NEIGHBOURS:
        total = _place_by_size(values, fixed, offsets, total)
    symbolic = [i for i, v in enumerate(values) if not isinstance(v.size, int)]
    size = _place_symbolic(values, symbolic, offsets, total, Atoms(signed))
    return MemoryPlan(tuple(offsets), size, tuple(values))


def _aligned(size: int | PrimExpr) -> int:
    assert isinstance(size, int)
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _place_by_size(values: Sequence[Lifetime], chosen: Sequence[int], offsets: list[int | PrimExpr], best: int) -> int:
    """Place the largest values first, since they are the hardest to place. No order of equal sizes is best for every
    program (longest-lived first for residual connections, earliest first for chains), so both are tried against `best`.
    """
    orders: tuple[Callable[[Lifetime], tuple[int, int]], ...] = (
        lambda v: (-_aligned(v.size), v.first - v.last),
        lambda v: (-_aligned(v.size), v.first),
    )
    for order in orders:
        found = _placed_in_order(values, sorted(chosen, key=lambda i: order(values[i])))
        total = max((end for _, end in found.values()), default=0)
        if total < best:
            best = total
            for index, (start, _) in found.items():
                offsets[index] = start
    return best


def _placed_in_order(values: Sequence[Lifetime], order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Start and end of each value, each placed in the smallest gap left by those before it."""
    found: dict[int, tuple[int, int]] = {}
    living: dict[int, list[int]] = {}
    """The values placed so far, by the steps during which they live."""
    for index in order:
        value, size = values[index], _aligned(values[index].size)
        steps = range(value.first, value.last + 1)
        start = _lowest_gap(sorted({found[n] for step in steps for n in living.get(step, ())}), size)
        found[index] = (start, start + size)
        for step in steps:
            living.setdefault(step, []).append(index)
    return found


def _lowest_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap of at least `size` bytes; `taken` is sorted. After everything, if there is none."""
    best: tuple[int, int] | None = None
    end = 0
    for start, stop in taken:
        if start - end >= size and (best is None or start - end < best[0]):
            best = (start - end, end)
        end = max(end, stop)
    return end if best is None else best[1]


def _place_fixed(values: Sequence[Lifetime], chosen: Sequence[int], offsets: list[int | PrimExpr]) -> int:
    """Best fit with coalescing of neighbouring gaps; returns the bytes used."""
    gaps = _Gaps()
    dying: list[tuple[int, int, int]] = []
    """(last step, offset, size) of living values, by last step."""
    for index in chosen:
        value = values[index]
        expired = bisect_left(dying, (value.first, -1, -1))
        for _, start, size in dying[:expired]:
            gaps.release(start, size)
        del dying[:expired]
        size = _aligned(value.size)
        if size == 0:
            continue
        offsets[index] = start = gaps.take(size)
        insort(dying, (value.last, start, size))
    return gaps.end


class _Gaps:
    """Free ranges below `end`, sorted by start; no two touch."""

    def __init__(self) -> None:
        self.end = 0
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The start of the smallest gap of at least `size` bytes, or of new memory at the end."""
        fitting = [(self._sizes[s], s) for s in self._starts if self._sizes[s] >= size]
        if fitting:
            have, start = min(fitting)
            self._remove(start)
            if have > size:
                self._insert(start + size, have - size)
            return start
        last = self._starts[-1] if self._starts else -1
        if last >= 0 and last + self._sizes[last] == self.end:
            self._remove(last)
            self.end = last + size
            return last
        start, self.end = self.end, self.end + size
        return start

    def release(self, start: int, size: int) -> None:
        """Give a range back, joined with the gaps that touch it."""
        after = start + size
        if after in self._sizes:
            size += self._remove(after)
        position = bisect_left(self._starts, start)
        if position:
            before = self._starts[position - 1]
            if before + self._sizes[before] == start:
                size += self._remove(before)
                start = before
        self._insert(start, size)

    def _insert(self, start: int, size: int) -> None:
        insort(self._starts, start)
        self._sizes[start] = size

    def _remove(self, start: int) -> int:
        del self._starts[bisect_left(self._starts, start)]
        return self._sizes.pop(start)


@dataclass
class _Slot:
    """Memory shared by values of symbolic size with disjoint lifetimes; `size` is the largest of them."""

    size: Polynomial
    free_from: int
    members: list[int]


def _place_symbolic(
    values: Sequence[Lifetime], chosen: Sequence[int], offsets: list[int | PrimExpr], start: int, atoms: Atoms
) -> int | PrimExpr:
    """Each value takes the free slot that fits best, grows one that it provably exceeds, or opens a new one."""
    slots: list[_Slot] = []
    for index in chosen:
        value = values[index]
        size = to_polynomial(value.size, atoms)
        found = _best_slot([s for s in slots if s.free_from <= value.first], size, atoms)
        if found is None:
            found = _Slot(size, 0, [])
            slots.append(found)
        elif atoms.covers(size, found.size):
            found.size = size
        found.free_from = value.last + 1
        found.members.append(index)
    # As polynomials, equal sizes are one term, however many slots have them: each offset is written out by itself.
    position = to_polynomial(start, atoms)
    for slot in slots:
        offset = position.to_expr()
        for index in slot.members:
            offsets[index] = offset
        position = position.plus(to_polynomial(rounded_up(slot.size, ALIGNMENT), atoms))
    return position.to_expr() if slots else start


def _best_slot(free: Sequence[_Slot], size: Polynomial, atoms: Atoms) -> _Slot | None:
    """The tightest slot that covers `size`; else the largest one that `size` covers."""
    exact = next((slot for slot in free if slot.size == size), None)
    if exact is not None:  # comparing takes a fraction of the time of proving
        return exact
    best: _Slot | None = None
    for slot in free:
        if atoms.covers(slot.size, size) and (best is None or atoms.covers(best.size, slot.size)):
            best = slot
    if best is None:
        for slot in free:
            if atoms.covers(size, slot.size) and (best is None or atoms.covers(slot.size, best.size)):
                best = slot
    return best
