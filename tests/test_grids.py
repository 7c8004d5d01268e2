"""The part of a grid that `make test` takes has every value, or every pair; `make fuzz` takes all the rest."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest

from tests.grids import every_pair, every_value, some

AXES = ([1, 2, 3, 4, 5], [False, True], {"one": "x", "two": "y", "three": "z"})
VALUES = [list(axis.values()) if isinstance(axis, dict) else axis for axis in AXES]


def split(cases: list[Any]) -> tuple[list[Any], list[Any]]:
    """The values of the cases that are run by default, and of the others."""
    return [c.values for c in cases if not c.marks], [c.values for c in cases if c.marks]


@pytest.mark.parametrize("part", [every_value, every_pair])
def test_nothing_is_lost(part: Any) -> None:
    kept, left = split(part(*AXES))
    assert sorted(kept + left, key=repr) == sorted(product(*VALUES), key=repr)


def test_every_pair_is_kept() -> None:
    kept, left = split(every_pair(*AXES))
    for first, second in combinations(range(3), 2):
        assert {(c[first], c[second]) for c in kept} == set(product(VALUES[first], VALUES[second]))
    assert len(kept) == 15
    assert left
    with pytest.raises(ValueError, match="every_value"):
        every_pair([1, 2], [3, 4])


def test_every_value_is_kept() -> None:
    kept, _ = split(every_value(*AXES))
    assert [{c[n] for c in kept} for n in range(3)] == [set(v) for v in VALUES]
    assert len(kept) == 5


def test_names_and_the_first_of_a_list() -> None:
    assert [c.id for c in every_value([(1, 2), (None, "a")], {"x": object()})] == ["1x2-x", "Nonexa-x"]
    first, second = some(["a", "b"], 1)
    assert first == "a"
    assert second.values == ("b",)
    assert [mark.name for mark in second.marks] == ["fuzz"]
