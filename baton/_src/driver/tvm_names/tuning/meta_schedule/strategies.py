"""Strategies: which schedules of a space are measured next, given what was measured so far."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from baton._src.driver.tvm_names.tuning.meta_schedule.cost_models import CostModel
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Mutator, Postproc
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult, TensorInfo
from baton._src.driver.tvm_names.tuning.meta_schedule.resampler import Resampler
from baton._src.driver.tvm_names.tuning.workloads import only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace

PATIENCE = 100
"""Proposals in a row that were measured before, or cannot be made, until a space counts as searched."""
PARENTS = 4
"""Of how many of the fastest schedules neighbours are tried."""


class Task(Protocol):
    """The interface of a `TuneContext` for strategies."""

    target: Target
    rand_state: int

    @property
    def module(self) -> IRModule:
        """The kernel as a module."""

    @property
    def postprocs(self) -> Sequence[Postproc]:
        """The final transformation of each candidate."""

    @property
    def mutator_probs(self) -> Mapping[Mutator, float] | None:
        """A script's mutators, and how often each is to be used."""

    def generate_design_space(self) -> list[Schedule]:
        """The schedules that the search begins with."""


class SearchStrategy:
    """Says what is measured next. A script's own gives `pre_tuning`, `generate_measure_candidates` and
    `notify_runner_results`, or what else it has to say.
    """

    @staticmethod
    def create(kind: Any = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by its name: "evolutionary", "replay-trace", "replay-func"."""
        return created(SearchStrategy, "search strategy", _KINDS, kind, *args, **kwargs)

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Take over the task that is searched."""

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin: at most `max_trials` schedules, `num_trials_per_iter` at a time."""

    def post_tuning(self) -> None:
        """End."""

    def generate_measure_candidates(self) -> Sequence[MeasureCandidate] | None:
        """The schedules to be measured next; None if the search is over."""
        raise NotImplementedError

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Take note of how long the candidates took."""

    def clone(self) -> SearchStrategy:
        """A strategy of the same kind, at its beginning."""
        return copy.copy(self)


class _Searching(SearchStrategy):
    """What baton's strategies share: no schedule is measured twice, and no more than the trials allow."""

    def __init__(self, max_fail_count: int = PATIENCE) -> None:
        self.max_fail_count = max_fail_count
        self._context: Task | None = None
        self._left = self._batch = self._proposals = 0
        self._spaces: list[Schedule] = []
        self._seen: set[str] = set()
        self._failure: DiagnosticError | None = None

    def _initialize_with_tune_context(self, context: Task) -> None:
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
        if max_trials < 0 or num_trials_per_iter < 1:
            raise fail("api", f"cannot make {max_trials} trials, {num_trials_per_iter} at a time", kind=ValueError)
        self._left, self._batch, self._proposals = max_trials, num_trials_per_iter, 0
        self._spaces = _needed(design_spaces)
        self._seen = set()

    def post_tuning(self) -> None:
        self._left, self._spaces = 0, []

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """See `SearchStrategy`. Where not one schedule of the space can be made, the error is that of the last one."""
        wanted = min(self._left, self._batch)
        made = self._chosen(wanted)
        if wanted and not made and not self._seen and self._failure is not None:
            raise self._failure
        self._left -= len(made)
        return made or None

    def _chosen(self, wanted: int) -> list[MeasureCandidate]:
        """The next candidates, as many as are wanted if there are."""
        return self._proposed(wanted)

    def _proposed(self, wanted: int) -> list[MeasureCandidate]:
        """Schedules that were not proposed before."""
        made: list[Schedule] = []
        failed = 0
        while len(made) < wanted and failed < self.max_fail_count:
            schedule = self._next()
            failed = failed + 1 if schedule is None else 0
            made += [] if schedule is None else [schedule]
        return [MeasureCandidate(s, TensorInfo.from_prim_func(only_kernel(s.mod))) for s in made]

    def _next(self) -> Schedule | None:
        """The next proposal; None if it was measured, is rejected by a postprocessor, or cannot be made."""
        self._proposals += 1
        try:
            schedule = self.proposed(self._proposals - 1)
            accepted = schedule is not None and self._processed(schedule)
        except DiagnosticError as error:
            self._failure = error
            return None
        if schedule is None or not accepted:
            return None
        text = _text(schedule)
        if text in self._seen:
            return None
        self._seen.add(text)
        return schedule

    def _processed(self, schedule: Schedule) -> bool:
        """Whether all postprocessors, in turn, accept the schedule; they may change it."""
        if not self.task.postprocs:
            return True
        schedule.enter_postproc()
        return all(postproc.apply(schedule) for postproc in self.task.postprocs)

    def proposed(self, number: int) -> Schedule | None:
        """The schedule proposed as number `number` since `pre_tuning`; None or `DiagnosticError`: it cannot be made."""
        raise NotImplementedError

    def clone(self) -> SearchStrategy:
        made = type(self)()
        made.max_fail_count = self.max_fail_count
        return made


def _needed(spaces: Sequence[Schedule]) -> list[Schedule]:
    """The schedules that a search begins with. Error `api`: there are none."""
    if not spaces:
        help = "its function, or the rules in it, must give at least one"
        raise fail("api", "the space has no schedule of the kernel", help=help, kind=ValueError)
    return list(spaces)


def _text(schedule: Schedule) -> str:
    """The steps that change something: models and callbacks may have looked at a schedule, which adds others."""
    return json.dumps(schedule.trace.simplified(remove_postproc=False).as_json())


class ReplayFunc(_Searching):
    """The space's function is called anew for each candidate, and draws anew."""

    def proposed(self, number: int) -> Schedule:
        made = _needed(self.task.generate_design_space())
        return made[number % len(made)]


class ReplayTrace(_Searching):
    """The steps that the space's function took, with decisions drawn anew."""

    def pre_tuning(self, *args: Any, **kwargs: Any) -> None:
        super().pre_tuning(*args, **kwargs)
        self._resampler = Resampler(self.task.module, self.task.target, self.task.rand_state)

    def proposed(self, number: int) -> Schedule | None:
        """The schedules of the space as they are first, then drawn anew in turn."""
        first = self._spaces[number % len(self._spaces)]
        return first.copy() if number < len(self._spaces) else self._resampler.drawn(first.trace)


class EvolutionarySearch(ReplayTrace):
    """Draws first; then neighbours of the fastest, and with probability `eps_greedy` draws again.

    With a model of costs that knows something, `population_size` of these are proposed, and those measured that it
    predicts to be the best, but for a share of `eps_greedy`, which are taken at random. Without one all that are
    proposed are measured. Mutators of the space's own make neighbours with probability `genetic_mutate_prob`.
    There is one generation: `init_...`, `genetic_num_iters` and `genetic_max_fail_count` change nothing.
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
        self.population_size = population_size
        self.genetic_mutate_prob = genetic_mutate_prob
        self.eps_greedy = eps_greedy
        self._measured: list[tuple[float, Schedule]] = []
        self._model: CostModel | None = None

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        super().pre_tuning(max_trials, num_trials_per_iter, design_spaces, database, cost_model)
        self._measured, self._model = [], cost_model

    def _chosen(self, wanted: int) -> list[MeasureCandidate]:
        if self._model is None or not self._model.is_informed(self.task):
            return self._proposed(wanted)
        population = self._proposed(max(wanted, self.population_size))
        best = self._by_prediction(population, self._model)
        by_chance = sum(self._resampler.random.random() < self.eps_greedy for _ in range(wanted))
        kept = best[: wanted - by_chance]
        rest = best[wanted - by_chance :]
        kept += self._resampler.random.sample(rest, min(by_chance, len(rest)))
        self._seen -= {_text(c.sch) for c in population} - {_text(c.sch) for c in kept}
        return kept

    def _by_prediction(self, population: list[MeasureCandidate], model: CostModel) -> list[MeasureCandidate]:
        """The candidates, that of the highest score first."""
        scores = [float(score) for score in model.predict(self.task, population)] if population else []
        if len(scores) != len(population):
            message = f"the cost model gave {len(scores)} scores for {len(population)} candidates"
            raise fail("api", message, kind=ValueError)
        order = sorted(range(len(population)), key=lambda place: -scores[place])
        return [population[place] for place in order]

    def proposed(self, number: int) -> Schedule | None:
        """Neighbours of what was measured, once anything was; a draw for lack of it."""
        random = self._resampler.random
        if number < len(self._spaces) or not self._measured or random.random() < self.eps_greedy:
            return super().proposed(number)
        fastest = sorted(self._measured, key=lambda pair: pair[0])[:PARENTS]
        parent = random.choice(fastest)[1].trace
        mutators = self.task.mutator_probs
        if not mutators or random.random() >= self.genetic_mutate_prob:
            return self._resampler.changed(parent)
        (mutator,) = random.choices(list(mutators), [float(share) for share in mutators.values()])
        trace = mutator.apply(Trace(parent.before_postproc(), parent.decisions))
        return None if trace is None else self._resampler.taken(trace)

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        for candidate, result in zip(measure_candidates, results):
            if result.run_secs:
                self._measured.append((sum(result.run_secs) / len(result.run_secs), candidate.sch))

    def clone(self) -> SearchStrategy:
        return EvolutionarySearch(
            population_size=self.population_size,
            max_fail_count=self.max_fail_count,
            genetic_mutate_prob=self.genetic_mutate_prob,
            eps_greedy=self.eps_greedy,
        )


_KINDS: dict[str, Callable[..., SearchStrategy]] = {
    "evolutionary": EvolutionarySearch,
    "replay-trace": ReplayTrace,
    "replay-func": ReplayFunc,
}
