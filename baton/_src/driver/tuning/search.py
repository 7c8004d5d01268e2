"""The search for one kernel: start from the rule's defaults, and change one choice at a time while that improves the
time.

Every candidate is measured in turns with the best one so far. What is left in the end is measured once more against
the rule's own choices, for longer, and only then believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from statistics import median

from baton._src.driver.tuning.measurers import Measurer
from baton._src.driver.tuning.task import Outcome, Task, Trial
from baton._src.support.dataclass import dataclass

NEIGHBOURS = 4
"""How many candidates are tried on each side of the current choice."""
SWEEPS = 2
SHORT, LONG = 0.15, 1.0
"""Seconds of a candidate's measurement, and of the final one."""
NO_BETTER, DIFFERENT = "not measurably better", "results differ"
"""Why choices that were measured, those known before included, are not to be kept."""


@dataclass
class Budget:
    """What may still be spent: trials, and time until `end` (of `time.monotonic`)."""

    trials: int
    end: float

    @property
    def is_spent(self) -> bool:
        return self.trials <= 0 or time.monotonic() >= self.end


@dataclass
class Found:
    """The outcome for a kernel: `record` is empty where the rule's choices stay. Seconds are of one call."""

    task: Task
    record: dict[str, int] = field(default_factory=dict)
    rule: str = ""
    before: float = 0.0
    after: float = 0.0
    trials: int = 0
    failures: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def choices(self) -> str:
        """What was chosen, in words."""
        return ", ".join(f"{name}={value}" for name, value in self.record.items()) or self.note or "the rule's"


def search(
    task: Task,
    ask: Measurer,
    budget: Budget,
    start: Mapping[str, int] | None = None,
    tried: Callable[[Found], None] = lambda found: None,
) -> Found:
    """Search around the rule's choices, or around `start` if that is known; `tried` hears of every batch."""
    found = Found(task)
    state = _Search(task, ask, budget, found, tried)
    best = dict(start or {})
    (first,) = state.measure(best, [best])
    if best and not first.is_right:  # what was known does not run: that must not be the end of tuning
        best = {}
        (first,) = state.measure(best, [best])
    if not first.is_right:
        found.note = first.error or DIFFERENT
        return found
    found.rule, found.before = first.rule, median(first.base)
    found.after = found.before
    best = state.swept(best, first)
    if best:
        state.last_word(best)
    elif start:
        found.note = NO_BETTER
    return found


@dataclass
class _Search:
    task: Task
    ask: Measurer
    budget: Budget
    found: Found
    tried: Callable[[Found], None]

    def measure(self, base: dict[str, int], others: list[dict[str, int]], seconds: float = SHORT) -> list[Outcome]:
        """Measure candidates against `base`; only as many as there are trials left."""
        trials = [Trial(self.task, base, other, seconds) for other in others[: max(1, self.budget.trials)]]
        outcomes = self.ask.all(trials)
        self.budget.trials -= len(trials)
        self.found.trials += len(trials)
        self.found.failures += [o.error for o in outcomes if o.error]
        self.tried(self.found)
        return outcomes

    def swept(self, best: dict[str, int], first: Outcome) -> dict[str, int]:
        """The best record after going through all choices, those included that come up on the way."""
        offered = dict(first.offered)
        for _ in range(SWEEPS):
            improved = False
            done: set[str] = set()
            while not self.budget.is_spent and (left := [n for n in offered if n not in done]):
                name = left[0]
                done.add(name)
                default, candidates = offered[name]
                others = [{**best, name: v} for v in neighbours(candidates, best.get(name, default))]
                outcomes = self.measure(best, others)
                better = [(o.ratio, i) for i, o in enumerate(outcomes) if o.is_better]
                if better:
                    _, place = min(better)
                    best, offered, improved = others[place], dict(outcomes[place].offered), True
            if not improved:
                break
        return {n: v for n, v in best.items() if n in offered and v != offered[n][0]}

    def last_word(self, best: dict[str, int]) -> None:
        """Believe `best` if it is measurably better than the rule's own choices."""
        (outcome,) = self.measure({}, [best], LONG)
        found = self.found
        if not outcome.is_right:
            found.note = outcome.error or DIFFERENT
            return
        found.before, found.after = median(outcome.base), median(outcome.base)
        if outcome.is_better:
            found.record, found.rule, found.after = best, outcome.rule, median(outcome.other)
        else:
            found.note = NO_BETTER


def neighbours(candidates: list[int], current: int) -> list[int]:
    """The candidates next to the current choice, in order of size, without itself."""
    ordered = sorted(candidates)
    place = ordered.index(current) if current in ordered else 0
    near = ordered[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
    return [v for v in near if v != current]
