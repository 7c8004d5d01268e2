"""Cost models predict which candidates are worth measuring. A custom one derives from `CostModel`."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.tuning.meta_schedule.boosted_trees import BoostedTrees, Floats
from baton._src.driver.tvm_names.tuning.meta_schedule.feature_extractors import (
    FeatureExtractor,
    Features,
    features_of,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.driver.tvm_names.tuning.workloads import module_key
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

PER_STORE = "per-store-feature"
"""TVM's name of its own features; here the decisions of traces stand for them."""


class CostModel:
    """Predicts how good candidates are, and learns from how long others took."""

    def load(self, path: str) -> None:
        """Take over what was learned, from a file."""
        raise NotImplementedError

    def save(self, path: str) -> None:
        """Write what was learned to a file."""
        raise NotImplementedError

    def update(self, context: Any, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        """Learn from the results of a task's candidates."""
        raise NotImplementedError

    def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> AnyArray:
        """A score for each candidate of a task: the higher, the faster."""
        raise NotImplementedError

    def is_informed(self, context: Any) -> bool:
        """Whether predictions for the task say anything; while they do not, all that is proposed is measured."""
        return True

    @staticmethod
    def create(kind: Any, *args: Any, **kwargs: Any) -> CostModel | None:
        """A model by its name: "random", or "xgb"; None by "none"."""
        if kind == "none":
            return None
        return created(CostModel, "cost model", {"random": RandomModel, "xgb": XGBModel}, kind, *args, **kwargs)


class RandomModel(CostModel):
    """Scores from 0 to `max_range` that say nothing: candidates are chosen by chance. `path`: a file of `save`."""

    def __init__(self, *, seed: int | None = None, path: str | None = None, max_range: int = 100) -> None:
        self.max_range = max_range
        self._random = np.random.default_rng(seed)
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        self._random.bit_generator.state = _read(path)

    def save(self, path: str) -> None:
        Path(path).write_text(json.dumps(self._random.bit_generator.state), encoding="utf-8")

    def update(self, context: Any, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        """There is nothing to learn."""

    def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> AnyArray:
        return self._random.random(len(candidates)) * self.max_range


class XGBModel(CostModel):
    """Boosted trees over the features of a task's candidates; a score is the share of the fastest one's speed.

    TVM's trees are those of the package xgboost, which is not needed here; `config` and `tree_method` are its options,
    and refused. Predictions begin after `num_warmup_samples` of a task. A candidate that failed has the score 0.
    `early_stopping_rounds`, `verbose_eval`, `average_peak_n`, `adaptive_training` and `num_tuning_cores` say how
    TVM's training goes on and what it prints: they change nothing.
    """

    def __init__(
        self,
        *,
        extractor: FeatureExtractor | str = PER_STORE,
        config: None = None,
        num_warmup_samples: int = 100,
        early_stopping_rounds: int = 50,
        verbose_eval: int = 25,
        average_peak_n: int = 32,
        adaptive_training: bool = True,
        num_tuning_cores: int | None = None,
        tree_method: None = None,
    ) -> None:
        refuse_given(config=config, tree_method=tree_method)
        self.extractor = None if extractor == PER_STORE else FeatureExtractor.create(extractor)
        self.num_warmup_samples = num_warmup_samples
        self._samples: dict[str, list[tuple[Features, float]]] = {}
        self._trees: dict[str, tuple[list[str], BoostedTrees]] = {}

    def load(self, path: str) -> None:
        try:
            data = _read(path)
            self._samples = {key: [(dict(seen), float(s)) for seen, s in rows] for key, rows in data.items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise fail("tuning-record", f"{path} is not a saved XGBModel", help="XGBModel.save writes them") from error
        self._trees = {}

    def save(self, path: str) -> None:
        Path(path).write_text(json.dumps(self._samples), encoding="utf-8")

    def update(self, context: Any, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        key = module_key(context.mod)
        speeds = [1.0 / max(statistics.fmean(r.run_secs), 1e-12) if r.run_secs else 0.0 for r in results]
        self._samples.setdefault(key, []).extend(zip(features_of(self.extractor, context, candidates), speeds))
        self._trees.pop(key, None)

    def is_informed(self, context: Any) -> bool:
        return len(self._samples.get(module_key(context.mod), ())) >= max(1, self.num_warmup_samples)

    def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> Floats:
        key = module_key(context.mod)
        if not self._samples.get(key):
            return np.zeros(len(candidates))
        columns, trees = self._fitted(key)
        return trees.predicted(_table(features_of(self.extractor, context, candidates), columns))

    def _fitted(self, key: str) -> tuple[list[str], BoostedTrees]:
        """The columns and trees of a task, fitted to all its samples."""
        if key not in self._trees:
            features, speeds = zip(*self._samples[key])
            columns = sorted({name for one in features for name in one})
            scores = np.array(speeds) / (max(speeds) or 1.0)
            self._trees[key] = columns, BoostedTrees.fitted(_table(features, columns), scores)
        return self._trees[key]


def _table(features: Sequence[Features], columns: Sequence[str]) -> Floats:
    """A row for each candidate; what a candidate does not have is 0."""
    rows = [[one.get(column, 0.0) for column in columns] for one in features]
    return np.array(rows, dtype=np.float64).reshape(len(features), len(columns))


def _read(path: str) -> Any:
    """What the file of a model holds. Error `tuning-record`: it is none."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise fail(
            "tuning-record", f"{path} is not a saved model: {error}", help="save of a model writes them"
        ) from error
