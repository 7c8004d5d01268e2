"""Grids of cases of which `make test` takes a part; the rest is marked for `make fuzz`.

A fault hangs on one value, or on two that meet, far more often than on three: a part with every value, or with every
two values of different axes, finds what the whole grid finds in a fraction of the time.

    @pytest.mark.parametrize(("rows", "packed", "target"), every_pair([1, 4], [False, True], {"sse": OLD, "one": HOST}))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Axis = Sequence[Any] | Mapping[str, Any]
"""Values, by name where their own texts would make poor names of tests."""
Places = tuple[int, ...]
"""A case: where its values stand in their axes."""


def every_value(*axes: Axis) -> list[Any]:
    """The product of `axes`, of which as many cases as the longest has values are not left to `make fuzz`."""
    longest = max(map(len, axes))
    return _cases(axes, {tuple(turn % len(axis) for axis in axes) for turn in range(longest)})


def every_pair(*axes: Axis) -> list[Any]:
    """The product of three or more `axes`; what is not left to `make fuzz` has every two values of different axes."""
    if len(axes) < 3:
        raise ValueError(f"the pairs of {len(axes)} axes are their product: give three or more, or use every_value")
    grid = list(product(*(range(len(axis)) for axis in axes)))
    missing = {pair for places in grid for pair in _pairs(places)}
    kept: set[Places] = set()
    while missing:
        best = max(grid, key=lambda places: len(missing.intersection(_pairs(places))))
        missing.difference_update(_pairs(best))
        kept.add(best)
    return _cases(axes, kept)


def some(cases: Iterable[Any], kept: int) -> list[Any]:
    """Cases in the order of what they guard; those behind the first `kept` are left to `make fuzz`."""
    return [case if n < kept else pytest.param(case, marks=pytest.mark.fuzz) for n, case in enumerate(cases)]


def _pairs(places: Places) -> list[Any]:
    return list(combinations(enumerate(places), 2))


def _cases(axes: Sequence[Axis], kept: set[Places]) -> list[Any]:
    named = [_named(axis) for axis in axes]
    found = []
    for places in product(*(range(len(axis)) for axis in axes)):
        names, values = zip(*(axis[n] for axis, n in zip(named, places)))
        found.append(pytest.param(*values, id="-".join(names), marks=() if places in kept else pytest.mark.fuzz))
    return found


def _named(axis: Axis) -> list[tuple[str, Any]]:
    if isinstance(axis, Mapping):
        return list(axis.items())
    return [(_name(value) or str(n), value) for n, value in enumerate(axis)]


def _name(value: Any) -> str:
    """Empty if the value's text says little."""
    if isinstance(value, tuple):
        names = [_name(v) for v in value]
        return "x".join(names) if all(names) else ""
    return str(value) if value is None or isinstance(value, str | bool | int | float) else ""
