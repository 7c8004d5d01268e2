"""Tuners: which configurations of a task are measured next."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.callbacks import logger
from baton._src.driver.tvm_names.tuning.autotvm.config import ConfigEntity
from baton._src.driver.tvm_names.tuning.autotvm.measure import Callback, MeasureInput, MeasureResult, Measuring
from baton._src.driver.tvm_names.tuning.autotvm.task import Task
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.support.diagnostics import fail

BATCH = 8
PARENTS = 4
"""Of how many of the fastest configurations neighbours are tried."""
PATIENCE = 50
"""Proposals in a row that were measured before, until one is drawn from what is left."""


class Tuner:
    """The base of all tuners: measures no configuration twice, and keeps the fastest."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.space = task.config_space
        self.reset()

    def reset(self) -> None:
        """Forget everything that was measured."""
        self.best_config: ConfigEntity | None = None
        self.best_seconds = math.inf
        self.best_measure_pair: tuple[MeasureInput, MeasureResult] | None = None
        self.best_iter = 0
        self.visited: set[int] = set()
        self._measured: list[tuple[float, int]] = []
        self._random = random.Random(0)

    @property
    def best_flops(self) -> float:
        """Operations a second of the fastest configuration; 0 where nobody counted them."""
        return 0.0 if self.best_config is None else self.task.flop / self.best_seconds

    def has_next(self) -> bool:
        """Whether configurations are left."""
        return len(self.visited) < len(self.space)

    def proposed(self) -> int:
        """The number of the next configuration; it may be a known one."""
        raise NotImplementedError

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The configurations to be measured next."""
        found: list[ConfigEntity] = []
        while len(found) < batch_size and self.has_next():
            proposals = (self.proposed() for _ in range(PATIENCE))
            number = next((n for n in proposals if n not in self.visited and self.space.is_index_valid(n)), None)
            if number is None:
                number = self.space.get_rand_index(to_exclude=self.visited)
            self.visited.add(number)
            found.append(self.space.get(number))
        return found

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Take note of how long configurations took."""
        self._measured += [(r.mean, i.config.index) for i, r in zip(inputs, results) if r.error_no == 0]

    def load_history(self, data_set: Iterable[tuple[MeasureInput, MeasureResult]], min_seed_records: int = 500) -> None:
        """Take note of measurements of an earlier search; few are enough, whatever `min_seed_records`."""
        own = [(i, r) for i, r in data_set if i.task.workload == self.task.workload]
        self.update([i for i, _ in own], [r for _, r in own])

    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure `n_trial` configurations, or until `early_stopping` of them in a row were no faster.

        Warns if none could be run. Times are told rather than rates: `si_prefix` changes nothing.
        """
        if not isinstance(measure_option, dict):
            raise fail("api", "how to measure is missing", help="autotvm.measure_option(LocalBuilder(), LocalRunner())")
        done, why = 0, ""
        with Measuring(measure_option) as measuring:
            while done < n_trial and self.has_next():
                configs = self.next_batch(min(BATCH, n_trial - done))
                inputs = [MeasureInput(self.task.target, self.task, config) for config in configs]
                results = measuring.results(inputs)
                for inp, result in zip(inputs, results):
                    self._note(inp, result, done)
                    why = str(result.costs[0]) if result.error_no else why
                    done += 1
                self.update(inputs, results)
                for callback in callbacks:
                    callback(self, inputs, results)
                if early_stopping is not None and done >= self.best_iter + early_stopping:
                    logger.debug("nothing was faster in %d trials", early_stopping)
                    break
        if done and self.best_config is None:
            warnings.warn(f"{self.task.title}: no configuration could be run: {why}", stacklevel=2)

    def _note(self, inp: MeasureInput, result: MeasureResult, number: int) -> None:
        logger.debug("%d: %s, %s", number, result.costs, inp.config)
        if result.mean < self.best_seconds:
            self.best_seconds, self.best_config, self.best_iter = result.mean, inp.config, number
            self.best_measure_pair = (inp, result)


class IndexBaseTuner(Tuner):
    """A tuner over all configurations by number. A part of them (`range_idx`) is refused."""

    def __init__(self, task: Task, range_idx: None = None) -> None:
        refuse_given(range_idx=range_idx)
        super().__init__(task)


class RandomTuner(IndexBaseTuner):
    """Any configuration."""

    def proposed(self) -> int:
        return self._random.randrange(self.space.range_length)


class GridSearchTuner(IndexBaseTuner):
    """The configurations in order."""

    def proposed(self) -> int:
        numbers = range(len(self.visited), self.space.range_length)
        return next(n for n in numbers if n not in self.visited and self.space.is_index_valid(n))


class GATuner(RandomTuner):
    """Draws first; then one knob of one of the fastest is taken from another of them, or changed."""

    def __init__(self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1) -> None:
        super().__init__(task)
        self.pop_size, self.elite_num, self.mutation_prob = pop_size, elite_num, mutation_prob

    def proposed(self) -> int:
        if len(self._measured) < min(self.pop_size, BATCH):
            return super().proposed()
        elite = [number for _, number in sorted(self._measured)[: max(2, self.elite_num)]]
        child = self._crossed(self._random.choice(elite), self._random.choice(elite))
        is_new = child not in self.visited
        mutates = not is_new or self._random.random() < self.mutation_prob
        return self.space.neighbour(child, self._random) if mutates else child

    def _crossed(self, first: int, second: int) -> int:
        """Each knob's value from either of two configurations."""
        found, stride = 0, 1
        for count in self.space.dims:
            parent = self._random.choice((first, second))
            found += parent // stride % count * stride
            stride *= count
        return found


class XGBTuner(RandomTuner):
    """Draws first; then neighbours of the fastest.

    TVM trains a model (XGBoost) that predicts which are worth measuring. Here nothing is predicted: what describes the
    model (every parameter but the task) is accepted and changes nothing.
    """

    def __init__(
        self,
        task: Task,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        optimizer: Any = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ) -> None:
        super().__init__(task)

    def proposed(self) -> int:
        if len(self._measured) < BATCH:
            return super().proposed()
        return self.space.neighbour(self._random.choice(sorted(self._measured)[:PARENTS])[1], self._random)


class DropletTuner(XGBTuner):
    """Neighbours of the fastest, from the first configuration on. Another `start_position` is refused.

    TVM's test of whether a neighbour is faster (`pvalue`) is not made: the mean decides.
    """

    def __init__(self, task: Task, start_position: None = None, pvalue: float = 0.05) -> None:
        refuse_given(start_position=start_position)
        super().__init__(task)

    def proposed(self) -> int:
        if not self.visited:
            return 0
        nearest = sorted(self._measured)[:1] or [(0.0, 0)]
        return self.space.neighbour(nearest[0][1], self._random)
