"""A measurement task: one kernel as text, so that other processes and machines can rebuild it without pickles.

A `Task` is the kernel before scheduling and the shapes of its arguments; a `Trial` asks for a task to be measured with
two records in turn; an `Outcome` is the answer. All three are JSON on their way.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from dataclasses import field
from typing import Any, Self

from baton._src.support.dataclass import dataclass

CLEARLY = 0.97
"""Share of the time from which on a choice counts as better."""
MOSTLY = 0.75
"""Share of the rounds that have to agree."""
FEWEST = 7
"""Rounds below which nothing is certain."""


@dataclass(frozen=True)
class Message:
    """A dataclass of JSON values."""

    def to_text(self) -> str:
        """The message as one line."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """The inverse, from what JSON holds."""
        return cls(**data)


@dataclass(frozen=True)
class Task(Message):
    """A kernel by its digest (`key`); `target` as `Target.export` says it; `place` what it has to come out as.

    `writes` are the parameters it writes; `constant`: a convolution whose weight is known when compiling.
    """

    name: str
    key: str
    text: str
    shapes: list[list[int]]
    writes: list[int]
    constant: bool
    target: dict[str, Any]
    place: str
    threads: int


@dataclass(frozen=True)
class Trial(Message):
    """Measure `task` with the choices `base` and `other` in turn, for about so many seconds."""

    task: Task
    base: dict[str, int]
    other: dict[str, int]
    seconds: float = 0.2

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(**{**data, "task": Task.from_data(data["task"])})


@dataclass(frozen=True)
class Outcome(Message):
    """Seconds of a call, round by round, and how far the results are apart; or what went wrong (`error`).

    `offered` is what the rule `rule` leaves open while `other` is in force: by name, its answer and all candidates.
    """

    base: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    apart: float = 0.0
    """Relative to the largest result, in units of what the dtype and the way of computing allow."""
    offered: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    rule: str = ""
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether both variants ran and agree."""
        return not self.error and bool(self.base) and self.apart <= 1.0

    @property
    def ratio(self) -> float:
        """Time with `other` in that with `base`: the median over the rounds."""
        return statistics.median(o / b for b, o in zip(self.base, self.other))

    @property
    def is_better(self) -> bool:
        """Whether `other` is measurably faster: by the median, and in most rounds."""
        rounds = len(self.base)
        faster = sum(o < b for b, o in zip(self.base, self.other))
        return self.is_right and rounds >= FEWEST and self.ratio <= CLEARLY and faster >= MOSTLY * rounds
