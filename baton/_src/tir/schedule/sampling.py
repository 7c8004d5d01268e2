"""Random choices of schedules: factors of a loop, one of several candidates. A given decision replaces the sample."""

from __future__ import annotations

import random
from collections.abc import Sequence

from baton._src.tir.schedule.tree import refuse


def perfect_tile(
    rng: random.Random, extent: int, count: int, max_innermost: int, decision: Sequence[int] | None
) -> list[int]:
    """`count` factors whose product is `extent`, the last one at most `max_innermost` (where possible)."""
    if count < 1:
        raise refuse(f"a loop is tiled into 1 or more loops, not {count}")
    if decision is not None:
        taken = [int(d) for d in decision]
        if len(taken) != count:
            raise refuse(f"the decision {taken} has {len(taken)} factors instead of {count}")
        inner = 1
        for factor in taken[1:]:
            inner *= factor
        if inner < 1 or extent % inner:
            raise refuse(f"the factors {taken} do not divide {extent}")
        return [extent // inner, *taken[1:]]
    last = rng.choice([d for d in _divisors(extent) if d <= max_innermost]) if count > 1 else extent
    rest = extent // last
    middle: list[int] = []
    for _ in range(count - 2):
        factor = rng.choice(_divisors(rest))
        middle.append(factor)
        rest //= factor
    return [rest, *middle, last] if count > 1 else [extent]


def partitioned_tile(
    rng: random.Random, extent: int, count: int, position: int, inner: int, decision: Sequence[int] | None
) -> list[int]:
    """`count` factors whose product is `extent`; those from `position` on have the product `inner`.

    Without a first part, or where `inner` does not divide the extent, factors as `perfect_tile` draws them."""
    if not 0 <= position <= count or inner < 1:
        raise refuse(f"{count} factors are not parted at {position} into a second part of product {inner}")
    if decision is not None or position in (0, count) or extent % inner:
        return perfect_tile(rng, extent, count, extent, decision)
    first = perfect_tile(rng, extent // inner, position, extent, None)
    return [*first, *perfect_tile(rng, inner, count - position, inner, None)]


def categorical(rng: random.Random, candidates: Sequence[int], probs: Sequence[float], decision: int | None) -> int:
    """The index of one of the candidates, sampled with their probabilities."""
    if not candidates or len(candidates) != len(probs) or min(probs) < 0 or sum(probs) <= 0:
        raise refuse(f"{len(candidates)} candidates need as many probabilities, got {list(probs)}")
    if decision is not None:
        if not 0 <= decision < len(candidates):
            raise refuse(f"the decision {decision} is not an index of {len(candidates)} candidates")
        return int(decision)
    return rng.choices(range(len(candidates)), weights=list(probs))[0]


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
