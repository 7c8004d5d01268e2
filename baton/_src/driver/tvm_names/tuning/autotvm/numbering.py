"""Configurations by number: the indices of their knobs' values, and a filter that excludes some.

The first knob changes fastest: number 7 of knobs with 4 and 3 values has their values 3 and 1 (`point2knob`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Sequence
from random import Random
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail


class Numbering:
    """The numbers of a space's configurations, of which a template's filters may leave some out."""

    def __init__(self) -> None:
        self._filters: list[Callable[[Any], bool]] = []
        self._valid: list[bool | None] = []
        self._random = Random(0)

    @property
    def dims(self) -> list[int]:
        """The number of values of each knob."""
        raise NotImplementedError

    def get(self, index: int) -> Any:
        """The configuration of a number."""
        raise NotImplementedError

    @property
    def range_length(self) -> int:
        """The number of indices, including those that a filter removes."""
        return math.prod(self.dims)

    def __len__(self) -> int:
        return self.subrange_length(0, self.range_length)

    def multi_filter(self, filter: Callable[[Any], bool]) -> None:
        """Leave out configurations that `filter(config)` is false for: what knobs must not have together."""
        self._filters.append(filter)
        self.clear_shared_filter_cache()

    def clear_shared_filter_cache(self) -> None:
        """Ask the filters anew."""
        self._valid = []

    def is_index_valid(self, index: int) -> bool:
        """Whether the filters leave the configuration of this number."""
        self.expect_number(index)
        if not self._filters:
            return True
        if len(self._valid) != self.range_length:
            self._valid = [None] * self.range_length
        known = self._valid[index]
        if known is None:
            config = self.get(index)
            known = self._valid[index] = all(one(config) for one in self._filters)
        return known

    def expect_number(self, index: int) -> None:
        """Error `autotvm-knob`: there is no configuration of this number."""
        if not 0 <= index < self.range_length:
            raise fail("autotvm-knob", f"there is no configuration {index} of {self.range_length}", kind=IndexError)

    def subrange_length(self, start: int, end: int) -> int:
        """The number of valid indices in [start, end)."""
        if not 0 <= start <= end <= self.range_length:
            raise fail(
                "autotvm-knob", f"{start} to {end} is not a part of {self.range_length} numbers", kind=ValueError
            )
        return sum(map(self.is_index_valid, range(start, end))) if self._filters else end - start

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Container[int] | None = None
    ) -> int:
        """A valid number from `start` to before `end` that is not in `to_exclude`. Error: there is none."""
        first, last = start or 0, self.range_length if end is None else end
        excluded: Container[int] = to_exclude or ()
        drawn = self._random.randrange(first, last) if first < last else first
        for index in itertools.chain(range(drawn, last), range(first, drawn)):
            if index not in excluded and self.is_index_valid(index):
                return index
        raise fail("autotvm-knob", f"from {first} to {last} every number is excluded or left out", kind=ValueError)

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """The `n`-th valid number behind `index` (before it, for a negative `n`), from `start` to before `end`; None
        where there are not so many."""
        if n == 0:
            raise fail("autotvm-knob", "the 0th number behind another is none", kind=ValueError)
        first, last = start or 0, self.range_length if end is None else end
        there = range(index + 1, last) if n > 0 else range(index - 1, first - 1, -1)
        valid = (number for number in there if number >= first and self.is_index_valid(number))
        return next(itertools.islice(valid, abs(n) - 1, None), None)

    def point2knob(self, point: int) -> list[int]:
        """The places of the knobs' values in the configuration of a number."""
        places = []
        for count in self.dims:
            point, place = divmod(point, count)
            places.append(place)
        return places

    def knob2point(self, knob: Sequence[int]) -> int:
        """The number of the configuration with the values at these places: the inverse of `point2knob`."""
        number = 0
        for count, place in reversed([*zip(self.dims, knob, strict=True)]):
            number = number * count + place
        return number

    def sample_ints(self, m: int) -> Any:
        """An array of `m` different valid numbers."""
        if m > len(self):
            raise fail("autotvm-knob", f"there are {len(self)} configurations, not {m}", kind=ValueError)
        found: set[int] = set()
        while len(found) < m:
            found.add(self.get_rand_index(to_exclude=found))
        return np.array([*found], np.int64)

    def random_walk(self, point: int) -> int:
        """The number of a valid configuration with another value of one knob; the same if there is none."""
        return self.neighbour(point, self._random)

    def neighbour(self, index: int, random: Random) -> int:
        """`random_walk` by a generator of one's own."""
        places, dims = self.point2knob(index), self.dims
        moves = [(knob, place) for knob, count in enumerate(dims) for place in range(count) if place != places[knob]]
        random.shuffle(moves)
        for knob, place in moves:
            found = self.knob2point([*places[:knob], place, *places[knob + 1 :]])
            if self.is_index_valid(found):
                return found
        return index
