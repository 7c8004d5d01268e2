"""Random choices of schedules: factors of a loop, one of several candidates. A given decision replaces the sample.

Decisions outlive the kernels they were made for: factors that do not divide a loop are replaced by some that do, as in
TVM, so that a trace can be taken again after an earlier choice was changed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from baton._src.tir.schedule.tree import refuse


def perfect_tile(
    rng: random.Random, extent: int, count: int, max_innermost: int, decision: Sequence[int] | None
) -> list[int]:
    """`count` factors whose product is `extent`, the last one at most `max_innermost`; -1 is no bound."""
    if count < 1:
        raise refuse(f"a loop is tiled into 1 or more loops, not {count}")
    if max_innermost != -1 and max_innermost < 1:
        raise refuse(f"the innermost factor is at least 1: {max_innermost} bounds nothing", help="-1 is no bound")
    if decision is not None:
        return _perfect(_factors(decision, count), extent)
    if max_innermost == -1:
        max_innermost = extent
    last = rng.choice([d for d in _divisors(extent) if d <= max_innermost]) if count > 1 else extent
    rest = extent // last
    middle: list[int] = []
    for _ in range(count - 2):
        factor = rng.choice(_divisors(rest))
        middle.append(factor)
        rest //= factor
    return [rest, *middle, last] if count > 1 else [extent]


def _factors(decision: Sequence[int], count: int) -> list[int]:
    taken = [int(factor) for factor in decision]
    if len(taken) != count:
        raise refuse(f"the decision {taken} has {len(taken)} factors instead of {count}")
    if any(factor < 1 for factor in taken[1:]):
        raise refuse(f"the decision {taken} has factors below 1")
    return taken


def _perfect(factors: Sequence[int], extent: int) -> list[int]:
    """Factors whose product is `extent`: these from the last one on, as far as they divide it; the next one is then all
    that is left.
    """
    found: list[int] = []
    for factor in reversed(factors[1:]):
        found.append(factor if extent % factor == 0 else extent)
        extent //= found[-1]
    return [extent, *reversed(found)]


def partitioned_tile(
    rng: random.Random, extent: int, count: int, position: int, inner: int, decision: Sequence[int] | None
) -> list[int]:
    """`count` factors whose product is `extent`; those from `position` on have the product `inner`.

    Without a first part, or where `inner` does not divide the extent, factors as `perfect_tile` draws them. A decision
    only needs a second part that `inner` divides; else that part is `inner` and ones.
    """
    if not 0 <= position <= count or inner < 1:
        raise refuse(f"{count} factors are not parted at {position} into a second part of product {inner}")
    is_parted = position not in (0, count) and extent % inner == 0
    if decision is not None:
        taken = _factors(decision, count)
        if is_parted and math.prod(taken[position:]) % inner:
            return [extent // inner, *[1] * (position - 1), inner, *[1] * (count - position - 1)]
        return _perfect(taken, extent)
    if not is_parted:
        return perfect_tile(rng, extent, count, extent, None)
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
