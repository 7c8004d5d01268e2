"""The search for one task: which records are measured next, given what was measured so far."""

from __future__ import annotations

import math
from random import Random
from typing import Protocol

from baton._src.driver.tvm_names.tuning.auto_scheduler.records import MeasureResult
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.tir.prim_func import PrimFunc

PATIENCE = 100
"""Proposals in a row that were measured before, until a task counts as searched."""
PARENTS = 4
"""Of how many of the fastest records neighbours are tried."""
DRAWN = 0.2
"""The probability of drawing a record instead of a neighbour."""


class Task(Protocol):
    """The interface of a task for a search."""

    workload_key: str
    desc: str
    func: PrimFunc
    target: Target

    @property
    def space(self) -> RuleSpace:
        """The choices that the rule leaves open."""

    def variant(self, record: Record) -> PrimFunc:
        """The kernel with the answers of a record."""


class Search:
    """The search for one task: the rule's own choice, then neighbours of the fastest, and draws."""

    def __init__(self, task: Task, random: Random) -> None:
        self.task = task
        self.random = random
        self.measured: list[tuple[float, dict[str, int]]] = []
        self.seen: set[str] = set()
        self.best = math.inf
        self.since_best = 0
        """Measurements since the fastest one."""
        self.is_over = False
        self.why = ""
        """Why the last candidate that failed did."""

    def take(self, record: Record, result: MeasureResult) -> None:
        """Take note of a measurement."""
        self.seen.add(_text(record))
        self.since_best += 1
        if result.error_no:
            self.why = result.error_msg
            return
        self.measured.append((result.mean, dict(record)))
        if result.mean < self.best:
            self.best, self.since_best = result.mean, 0

    def records(self, count: int) -> list[dict[str, int]]:
        """At most `count` records that were not measured."""
        found: list[dict[str, int]] = []
        failed = 0
        while len(found) < count and failed < PATIENCE:
            record = self._proposed()
            if _text(record) in self.seen:
                failed += 1
                continue
            self.seen.add(_text(record))
            found.append(record)
            failed = 0
        return found

    def _proposed(self) -> dict[str, int]:
        if not self.seen:
            return {}
        space = self.task.space
        if not self.measured or self.random.random() < DRAWN:
            return space.drawn(self.random)
        nearest = sorted(self.measured, key=lambda pair: pair[0])[:PARENTS]
        return space.changed(self.random.choice(nearest)[1], self.random)


def _text(record: Record) -> str:
    return repr(sorted(record.items()))
