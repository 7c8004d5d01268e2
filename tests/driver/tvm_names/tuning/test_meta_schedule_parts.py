"""Parts that scripts put into meta_schedule: builders, runners, models of costs, rules, postprocessors, mutators."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import meta_schedule as ms
from baton import te, tir
from baton._src.driver.tvm_names.tuning.meta_schedule.boosted_trees import BoostedTrees
from baton._src.support.diagnostics import DiagnosticError
from baton.meta_schedule.utils import derived_object

TARGET = "llvm -num-cores=1"
QUICK = ms.runner.EvaluatorConfig(1, 1, 0)


def product() -> tir.PrimFunc:
    a, b = te.placeholder((8, 8), name="a"), te.placeholder((8, 16), name="b")
    r = te.reduce_axis((0, 8), "r")
    return te.create_prim_func([a, b, te.compute((8, 16), lambda i, j: te.sum(a[i, r] * b[r, j], r), "c")])


def tiled(sch: tir.Schedule) -> None:
    i, j, r = sch.get_loops("c")
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, 2))
    sch.reorder(i, outer, r, inner)


def tune(folder: Path, trials: int, **options: Any) -> Any:
    options = {"space": tiled, "num_trials_per_iter": 2, "seed": 0, **options}
    return ms.tune_tir(product(), TARGET, folder, trials, **options)


@derived_object
class FileBuilder(ms.builder.PyBuilder):
    """Refuses every other candidate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def build(self, build_inputs: Sequence[Any]) -> list[Any]:
        found = []
        for one in build_inputs:
            self.count += 1
            path = self.folder / f"{self.count}.tar"
            tvm.build(one.mod, target=one.target).export_library(path)
            odd = self.count % 2
            found.append(ms.builder.BuilderResult(str(path) if odd else None, None if odd else "no even ones"))
        return found


class Later(ms.runner.PyRunnerFuture):
    """A result that is there at the second look."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.looks = seconds, 0

    def done(self) -> bool:
        self.looks += 1
        return self.looks > 1

    def result(self) -> Any:
        return ms.runner.RunnerResult([self.seconds], None)


@derived_object
class CheckingRunner(ms.runner.PyRunner):
    def run(self, runner_inputs: Sequence[Any]) -> list[Any]:
        for one in runner_inputs:
            a, b, c = (np.ones(info.shape, info.dtype) for info in one.args_info)
            out = tvm.nd.array(c)
            tvm.runtime.load_module(one.artifact_path)(tvm.nd.array(a), tvm.nd.array(b), out)
            np.testing.assert_allclose(out.numpy(), a @ b)
            assert one.device_type == "llvm"
        return [Later(0.25) for _ in runner_inputs]


def test_a_scripts_builder_and_runner(tmp_path: Path) -> None:
    """Guards who does the work: files of the builder reach the runner, failures to build are records of their own."""
    files = tmp_path / "files"
    files.mkdir()
    database = tune(tmp_path, 4, builder=FileBuilder(files), runner=CheckingRunner())
    assert [r.run_secs for r in database.get_all_tuning_records()] == [[0.25], [1e10], [0.25], [1e10]]
    assert not (files / "1.tar").exists(), "remove-build-artifact is one of the default callbacks"


def wrong_build(mod: Any, target: Any, params: Any) -> Any:
    a, b = te.placeholder((8, 8)), te.placeholder((8, 16))
    return tvm.build(te.create_prim_func([a, b, te.compute((8, 16), lambda i, j: a[i, 0] * b[0, j])]), target=target)


def test_functions_of_local_builders_and_runners(tmp_path: Path) -> None:
    """Guards that a library of the script's own is held against the kernel, and that its functions are called."""
    plain = ms.runner.LocalRunner(timeout_sec=300, evaluator_config=QUICK)
    with pytest.warns(UserWarning, match="tuning-results"):
        tune(tmp_path / "wrong", 1, builder=ms.builder.LocalBuilder(f_build=wrong_build), runner=plain)
    called: list[str] = []

    def arguments(device: Any, infos: Any, repeat: int) -> Any:
        assert infos[0] == ["TENSOR", "float32", [8, 8]]
        return [[tvm.nd.array(np.ones(shape, dtype), device) for _, dtype, shape in infos] for _ in range(repeat)]

    own = ms.runner.LocalRunner(
        evaluator_config=QUICK, alloc_repeat=3, f_alloc_argument=arguments, f_cleanup=lambda: called.append("cleaned")
    )
    database = tune(tmp_path / "own", 2, runner=own)
    assert [len(r.run_secs) for r in database.get_all_tuning_records()] == [3, 3]
    assert called == ["cleaned", "cleaned"]


class Constant(ms.runner.PyRunner):
    """Says that candidates with inner tiles of 4 are the fastest."""

    def run(self, runner_inputs: Sequence[Any]) -> list[Any]:
        return [ms.runner.RunnerFuture(lambda: True, lambda: ms.runner.RunnerResult([1.0])) for _ in runner_inputs]


class NoBuilder(ms.builder.PyBuilder):
    def build(self, build_inputs: Sequence[Any]) -> list[Any]:
        return [ms.builder.BuilderResult("nowhere", None) for _ in build_inputs]


@derived_object
class LikesWide(ms.cost_model.PyCostModel):
    def __init__(self) -> None:
        self.updates: list[int] = []

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        assert [r.run_secs for r in results] == [[1.0]] * len(candidates)
        self.updates.append(len(candidates))

    def predict(self, context: Any, candidates: Any) -> Any:
        return np.array([inner(candidate) for candidate in candidates])


def inner(candidate: Any) -> int:
    return int(candidate.sch.get(candidate.sch.get_loops("c")[-1]).extent)


class Seen(ms.measure_callback.PyMeasureCallback):
    def __init__(self) -> None:
        self.inner: list[int] = []

    def apply(self, scheduler: Any, task_id: int, candidates: Any, builder_results: Any, results: Any) -> None:
        assert len(builder_results) == len(candidates) == len(results)
        self.inner += map(inner, candidates)


def test_a_scripts_cost_model_chooses(tmp_path: Path) -> None:
    """Guards predictions: of a population the candidates with the highest scores are measured, and are learned from."""
    model, seen = LikesWide(), Seen()
    strategy = ms.search_strategy.EvolutionarySearch(population_size=40, eps_greedy=0.0)
    parts = {"builder": NoBuilder(), "runner": Constant(), "cost_model": model, "strategy": strategy}
    tune(tmp_path, 3, measure_callbacks=[seen, "update-cost-model"], num_trials_per_iter=1, **parts)
    assert seen.inner == [16, 8, 4]
    assert model.updates == [1, 1, 1]


def candidates(*widths: int) -> list[Any]:
    found = []
    for width in widths:
        sch = tir.Schedule(product())
        sch.sample_perfect_tile(sch.get_loops("c")[1], 2, decision=[16 // width, width])
        found.append(ms.search_strategy.MeasureCandidate(sch, []))
    return found


def test_learned_models(tmp_path: Path) -> None:
    """Guards XGBModel: it says nothing before it has samples, orders what it has seen, and what it saves is read."""
    context = ms.TuneContext(product(), target=TARGET)
    model = ms.cost_model.XGBModel(num_warmup_samples=5)
    assert not model.is_informed(context)
    seconds = {1: 8.0, 2: 4.0, 4: 1.0, 8: 2.0, 16: 3.0}
    results = [ms.runner.RunnerResult([s]) for s in seconds.values() for _ in range(2)]
    model.update(context, candidates(*[w for w in seconds for _ in range(2)]), results)
    model.save(str(tmp_path / "model"))
    again = ms.CostModel.create("xgb", num_warmup_samples=5)
    again.load(str(tmp_path / "model"))
    for one in (model, again):
        assert one.is_informed(context)
        scores = one.predict(context, candidates(1, 2, 4, 8, 16))
        assert np.argmax(scores) == 2
        assert np.argmin(scores) == 0
    with pytest.raises(DiagnosticError, match="tuning-record"):
        again.load(__file__)


class Width(ms.feature_extractor.PyFeatureExtractor):
    def extract_from(self, context: Any, candidates: Any) -> list[Any]:
        return [tvm.nd.array(np.array([[1.0, 2.0], [3.0, 4.0]], "float32")) for _ in candidates]


def test_a_scripts_features() -> None:
    """Guards that a model sees a script's features: what they do not tell apart has the same score."""
    context = ms.TuneContext(product(), target=TARGET)
    model = ms.cost_model.XGBModel(extractor=Width(), num_warmup_samples=1)
    model.update(context, candidates(1, 2, 4), [ms.runner.RunnerResult([float(s)]) for s in (1, 2, 3)])
    assert len(set(model.predict(context, candidates(1, 16)))) == 1


def test_boosted_trees_fit_a_table() -> None:
    random_state = np.random.default_rng(0)
    features = random_state.integers(0, 4, (200, 3)).astype("float64")
    values = np.where(features[:, 0] > 1, 3.0, 0.0) + features[:, 2]
    trees = BoostedTrees.fitted(features, values)
    np.testing.assert_allclose(trees.predicted(features), values, atol=0.05)


@derived_object
class TileRule(ms.schedule_rule.PyScheduleRule):
    """Two ways: the loops as they are, or tiled."""

    def _initialize_with_tune_context(self, context: Any) -> None:
        assert context.task_name == "main"

    def apply(self, sch: tir.Schedule, block: Any) -> list[tir.Schedule]:
        if sch.get(block).name_hint == "root":
            return [sch]
        other = sch.copy()
        tiled(other)
        return [sch, other]


@derived_object
class Vectorize(ms.postproc.PyPostproc):
    """Rejects narrow loops."""

    def apply(self, sch: tir.Schedule) -> bool:
        loop = sch.get_loops("c")[-1]
        if len(sch.get_loops("c")) == 4 and sch.get(loop).extent > 1:
            sch.vectorize(loop)
            return True
        return False


@derived_object
class Draw(ms.mutator.PyMutator):
    used = 0

    def apply(self, trace: Any) -> Any:
        assert all(inst.kind.name != "EnterPostproc" for inst in trace.insts)
        tiles = [inst for inst in trace.insts if inst.kind.name == "SamplePerfectTile"]
        if not tiles:
            return None
        Draw.used += 1
        width = random.choice([1, 2, 4, 8, 16])
        return trace.with_decision(tiles[0], [16 // width, width])


def test_a_scripts_rules_postprocessors_and_mutators(tmp_path: Path) -> None:
    """Guards the parts of a space: a rule's two ways are both in it, what is rejected is never measured."""
    space = ms.space_generator.PostOrderApply(
        sch_rules=[TileRule()], postprocs=[Vectorize()], mutator_probs={Draw(): 1.0}
    )
    context = ms.TuneContext(product(), target=TARGET, space_generator=space)
    assert [len(sch.get_loops("c")) for sch in context.generate_design_space()] == [3, 4]
    strategy = ms.search_strategy.EvolutionarySearch(genetic_mutate_prob=1.0, eps_greedy=0.0)
    database = tune(tmp_path, 4, space=space, strategy=strategy, builder=NoBuilder(), runner=Constant())
    records = database.get_all_tuning_records()
    assert len(records) == 4
    assert all("sch.vectorize" in str(record.trace) for record in records)
    assert Draw.used


class Fixed(ms.space_generator.PySpaceGenerator):
    def generate_design_space(self, mod: Any) -> list[tir.Schedule]:
        sch = tir.Schedule(mod)
        sch.parallel(sch.get_loops("c")[0])
        return [sch]


class Once(ms.search_strategy.PySearchStrategy):
    def pre_tuning(self, max_trials: int, per_iter: int, spaces: Any, database: Any = None, model: Any = None) -> None:
        self.left = list(spaces)

    def generate_measure_candidates(self) -> Any:
        left, self.left = self.left, []
        infos = ms.arg_info.TensorInfo.from_prim_func(product())
        return [ms.search_strategy.MeasureCandidate(sch, infos) for sch in left] or None


def test_a_scripts_space_and_strategy(tmp_path: Path) -> None:
    """Guards the two ends of a search, and what a profiler around it tells."""
    with ms.Profiler() as profiler:
        database = tune(tmp_path, 5, space=Fixed(), strategy=Once(), builder=NoBuilder(), runner=Constant())
    assert set(profiler.get()) == {"Total", "propose", "build and run", "callbacks"}
    assert "build and run" in profiler.table()
    assert ms.Profiler.current() is None
    (record,) = database.get_all_tuning_records()
    assert "sch.parallel" in str(record.trace)


def test_mistakes_are_named(tmp_path: Path) -> None:
    class Short(ms.runner.PyRunner):
        def run(self, runner_inputs: Sequence[Any]) -> list[Any]:
            return []

    with pytest.raises(DiagnosticError, match="runner gave 0 results for 2 candidates"):
        tune(tmp_path, 2, builder=NoBuilder(), runner=Short())
    with pytest.raises(DiagnosticError, match="no cost model 'mlp'"):
        tune(tmp_path, 2, cost_model="mlp")
    with pytest.raises(DiagnosticError, match="none for 'cuda'"):
        ms.space_generator.PostOrderApply(sch_rules="cuda")
    with pytest.raises(DiagnosticError, match="config is not implemented"):
        ms.cost_model.XGBModel(config=object())
    with pytest.raises(AttributeError, match="PyScheduleRule"):
        _ = ms.schedule_rule.AutoBind
