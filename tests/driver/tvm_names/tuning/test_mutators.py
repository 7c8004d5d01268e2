"""TVM's mutators for CPUs: each makes another schedule of a trace, which computes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton import meta_schedule as ms
from baton import tir
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.ir.module import IRModule
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T
from baton.target import Target

TARGET = Target("llvm -num-cores=2")


@T.prim_func
def product(A: T.Buffer((8, 12)), B: T.Buffer((12, 16)), D: T.Buffer((8, 16))):
    C = T.alloc_buffer((8, 16))
    for i, j, k in T.grid(8, 16, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def smallest(A: T.Buffer((8, 12)), B: T.Buffer((8,))):
    twice = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            twice[vi, vj] = T.exp(A[vi, vj])
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(1000)
            B[vi] = T.min(B[vi], twice[vi, vj])


def outcome(func: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    arrays = [rng.random([int(d) for d in func.buffer_map[p].shape]).astype("float32") for p in func.params]
    run_prim_func(func, arrays)
    return arrays[-1]


@pytest.mark.parametrize("func", [product, smallest], ids=["product", "smallest"])
@pytest.mark.parametrize("kind", ["MutateTileSize", "MutateComputeLocation", "MutateUnroll", "MutateParallel"])
def test_another_schedule_of_the_same_kernel(kind: str, func: Any) -> None:
    """Guards each mutator: one step is another, where the trace has such steps, and the numbers are the same."""
    arguments = (16,) if kind == "MutateParallel" else ()
    mutator = getattr(ms.mutator, kind)(*arguments)
    space = ms.space_generator.PostOrderApply(sch_rules=ms.ScheduleRule.create("llvm"), mutator_probs={mutator: 1.0})
    context = ms.TuneContext(IRModule({"main": func}), target=TARGET, space_generator=space)
    changed = 0
    for schedule in context.generate_design_space():
        before = schedule.trace.as_python()
        for trace in [made for _ in range(3) if (made := mutator.apply(schedule.trace)) is not None]:
            assert sum(old != new for old, new in zip(before, trace.as_python(), strict=True)) == 1
            other = tir.Schedule(func, seed=1)
            trace.apply_to_schedule(other)
            changed += other.func.script() != schedule.func.script()
            np.testing.assert_allclose(outcome(other.func), outcome(func), rtol=1e-5)
    assert (changed > 0) == (kind != "MutateComputeLocation" or func is smallest)


class NoBuilder(ms.builder.PyBuilder):
    def build(self, build_inputs: Any) -> Any:
        return [ms.builder.BuilderResult("no file", None) for _ in build_inputs]


class Constant(ms.runner.PyRunner):
    def run(self, runner_inputs: Any) -> Any:
        result = ms.runner.RunnerResult([1.0], None)
        return [ms.runner.RunnerFuture(lambda: True, lambda: result) for _ in runner_inputs]


def test_a_search_with_them(tmp_path: Path) -> None:
    """Guards a space as scripts write it out: rules, postprocessors and mutators with their shares."""
    mutators = {ms.mutator.MutateTileSize(): 0.9, ms.mutator.MutateUnroll(): 0.05, ms.mutator.MutateParallel(16): 0.05}
    space = ms.space_generator.PostOrderApply(
        sch_rules=ms.ScheduleRule.create("llvm"), postprocs=ms.Postproc.create("llvm"), mutator_probs=mutators
    )
    database = ms.tune_tir(
        IRModule({"main": product}),
        TARGET,
        str(tmp_path),
        max_trials_global=12,
        num_trials_per_iter=6,
        builder=NoBuilder(),
        runner=Constant(),
        space=space,
        cost_model="random",
        strategy=ms.search_strategy.EvolutionarySearch(population_size=8),
    )
    assert len(database.get_all_tuning_records()) == 12
    with pytest.raises(ValueError, match="a core has one job or more, not 0"):
        ms.mutator.MutateParallel(0)


def test_what_a_rule_offers_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards populations of proposals: each scheduled the kernel several times to learn what it had learnt before."""
    import baton._src.driver.tvm_names.tuning.rule_space as module

    asked: list[Any] = []
    real = module.scheduled
    monkeypatch.setattr(module, "scheduled", lambda *args: asked.append(args[2]) or real(*args))
    space = RuleSpace(product, TARGET)
    assert space.offers({"k_block": 4}) is space.offers({"k_block": 4})
    assert space.offers() is space.offers({})
    assert asked == [{"k_block": 4}, {}]
