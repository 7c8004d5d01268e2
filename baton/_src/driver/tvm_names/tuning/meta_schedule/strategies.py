"""Strategies: which schedules of a space are measured next, given what was measured so far."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult, TensorInfo
from baton._src.driver.tvm_names.tuning.meta_schedule.resampler import Resampler
from baton._src.driver.tvm_names.tuning.workloads import only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.schedule.schedule import Schedule

PATIENCE = 100
"""Proposals in a row that were measured before, or cannot be made, until a space counts as searched."""
PARENTS = 4
"""Of how many of the fastest schedules neighbours are tried."""


class Task(Protocol):
    """What strategies read of a `TuneContext`."""

    target: Target
    rand_state: int

    @property
    def module(self) -> IRModule:
        """The kernel as a module."""

    def generate_design_space(self) -> list[Schedule]:
        """The schedules that the search begins with."""


class SearchStrategy:
    """What all strategies share: no schedule is measured twice, and no more than the trials allow."""

    def __init__(self, max_fail_count: int = PATIENCE) -> None:
        self.max_fail_count = max_fail_count
        self._context: Task | None = None
        self._left = self._batch = self._proposals = 0
        self._spaces: list[Schedule] = []
        self._seen: set[str] = set()
        self._failure: DiagnosticError | None = None

    @staticmethod
    def create(kind: Any = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by its name: "evolutionary", "replay-trace", "replay-func"."""
        return created(SearchStrategy, "search strategy", _KINDS, kind, *args, **kwargs)

    def initialize(self, context: Task) -> None:
        """Take over the task that is searched."""
        self._context = context

    @property
    def task(self) -> Task:
        """The task that is searched."""
        if self._context is None:
            raise fail("api", "the strategy has no task yet", help="TuneContext(mod, ..., search_strategy=strategy)")
        return self._context

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin: at most `max_trials` schedules, `num_trials_per_iter` at a time."""
        del database, cost_model  # every candidate is measured: nothing has to be predicted
        if max_trials < 0 or num_trials_per_iter < 1:
            raise fail("api", f"cannot make {max_trials} trials, {num_trials_per_iter} at a time", kind=ValueError)
        self._left, self._batch, self._proposals = max_trials, num_trials_per_iter, 0
        self._spaces = list(design_spaces)
        self._seen = set()

    def post_tuning(self) -> None:
        """End."""
        self._left, self._spaces = 0, []

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The schedules to be measured next; None if the search is over.

        Where not one schedule of the space can be made, the error is that of the last one.
        """
        wanted = min(self._left, self._batch)
        made: list[Schedule] = []
        failed = 0
        while len(made) < wanted and failed < self.max_fail_count:
            schedule = self._next()
            failed = failed + 1 if schedule is None else 0
            made += [] if schedule is None else [schedule]
        if wanted and not self._seen and self._failure is not None:
            raise self._failure
        self._left -= len(made)
        candidates = [MeasureCandidate(s, TensorInfo.from_prim_func(only_kernel(s.mod))) for s in made]
        return candidates or None

    def _next(self) -> Schedule | None:
        """The next proposal; None if it was measured, or its steps cannot be taken with the decisions drawn."""
        self._proposals += 1
        try:
            schedule = self.proposed(self._proposals - 1)
        except DiagnosticError as error:
            self._failure = error
            return None
        text = json.dumps(schedule.trace.as_json())
        if text in self._seen:
            return None
        self._seen.add(text)
        return schedule

    def proposed(self, number: int) -> Schedule:
        """The schedule proposed as number `number` since `pre_tuning`. `DiagnosticError`: it cannot be made."""
        raise NotImplementedError

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Take note of how long the candidates took."""

    def clone(self) -> SearchStrategy:
        """A strategy of the same kind, at its beginning."""
        made = type(self)()
        made.max_fail_count = self.max_fail_count
        return made


class ReplayFunc(SearchStrategy):
    """The space's function is called anew for each candidate, and draws anew."""

    def proposed(self, number: int) -> Schedule:
        made = self.task.generate_design_space()
        return made[number % len(made)]


class ReplayTrace(SearchStrategy):
    """The steps that the space's function took, with decisions drawn anew."""

    def pre_tuning(self, *args: Any, **kwargs: Any) -> None:
        super().pre_tuning(*args, **kwargs)
        self._resampler = Resampler(self.task.module, self.task.target, self.task.rand_state)

    def proposed(self, number: int) -> Schedule:
        """The schedules of the space as they are first, then drawn anew in turn."""
        first = self._spaces[number % len(self._spaces)]
        return first if number < len(self._spaces) else self._resampler.drawn(first.trace)


class EvolutionarySearch(ReplayTrace):
    """Draws first; then neighbours of the fastest, and with probability `eps_greedy` draws again.

    TVM lets a model predict which of many neighbours are worth measuring; here all that are proposed are measured, so
    what describes populations (`population_size`, `genetic_...`) is accepted and changes nothing.
    """

    def __init__(
        self,
        *,
        population_size: int = 512,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 50,
        max_fail_count: int = PATIENCE,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        super().__init__(max_fail_count)
        self.eps_greedy = eps_greedy
        self._measured: list[tuple[float, Schedule]] = []

    def pre_tuning(self, *args: Any, **kwargs: Any) -> None:
        super().pre_tuning(*args, **kwargs)
        self._measured = []

    def proposed(self, number: int) -> Schedule:
        """Neighbours of what was measured, once anything was; a draw for lack of it."""
        random = self._resampler.random
        if number < len(self._spaces) or not self._measured or random.random() < self.eps_greedy:
            return super().proposed(number)
        fastest = sorted(self._measured, key=lambda pair: pair[0])[:PARENTS]
        return self._resampler.changed(random.choice(fastest)[1].trace)

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        for candidate, result in zip(measure_candidates, results):
            if result.run_secs:
                self._measured.append((sum(result.run_secs) / len(result.run_secs), candidate.sch))

    def clone(self) -> SearchStrategy:
        return EvolutionarySearch(max_fail_count=self.max_fail_count, eps_greedy=self.eps_greedy)


_KINDS: dict[str, Callable[..., SearchStrategy]] = {
    "evolutionary": EvolutionarySearch,
    "replay-trace": ReplayTrace,
    "replay-func": ReplayFunc,
}
