"""TVM's schedule rules and postprocessors for CPUs: the spaces they make, and that all of them compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import meta_schedule as ms
from baton import tir
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T
from baton.target import Target

R, P = ms.schedule_rule, ms.postproc


@T.prim_func
def product(A: T.Buffer((8, 12)), B: T.Buffer((12, 16)), D: T.Buffer((8, 16))):
    twice, C = T.alloc_buffer((8, 12)), T.alloc_buffer((8, 16))
    for i, j in T.grid(8, 12):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            twice[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(8, 16, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + twice[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def total(A: T.Buffer((1, 512)), B: T.Buffer((1,))):
    for i, k in T.grid(1, 512):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def space(func: Any, **parts: Any) -> list[Any]:
    """The schedules of TVM's usual rules for CPUs, ended by postprocessors."""
    rules = [
        R.AutoInline(False, True, True, True, True, True, ["tir.exp"]),
        R.AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        R.MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=R.ReuseType("may", [1, 2], "global")),
        R.ParallelizeVectorizeUnroll(16, 64, [0, 16], unroll_explicit=True),
        R.RandomComputeLocation(),
    ]
    generator = ms.space_generator.PostOrderApply(sch_rules=rules, **parts)
    target = Target("llvm -num-cores=4")
    found = ms.TuneContext(IRModule({"main": func}), target=target, space_generator=generator).generate_design_space()
    for schedule in found:
        assert all(postproc.apply(schedule) for postproc in generator.postprocs)
    return list(found)


def outcome(func: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    arrays = [rng.random([int(d) for d in func.buffer_map[p].shape]).astype("float32") for p in func.params]
    run_prim_func(func, arrays)
    return arrays[-1]


def test_products_are_tiled() -> None:
    """Guards inlining, tiles with their three ways of writing, and loops that run in parallel and in vectors."""
    found = space(product)
    assert len({schedule.func.script() for schedule in found}) == 3
    for schedule in found:
        kinds = {n.kind for n in post_order(schedule.func.body) if isinstance(n, st.For)}
        assert {tir.ForKind.PARALLEL, tir.ForKind.VECTORIZED} <= kinds
        assert "twice" not in schedule.func.script().split("T.block", 1)[1]
        np.testing.assert_allclose(outcome(schedule.func), outcome(product), rtol=1e-5)


def test_long_sums_are_factored() -> None:
    """Guards the two ways of a sum in two steps, and the sum as it is."""
    found = space(total)
    assert ["B_rf" in s.func.script() for s in found] == [True, True, False]
    for schedule in found:
        np.testing.assert_allclose(outcome(schedule.func), outcome(total), rtol=1e-5)


def test_copies_for_reading_and_open_loops() -> None:
    """Guards copies at a level, and the postprocessor that rejects loops of open extents."""
    reuse = R.ReuseType("must", [2], "local")
    tiling = R.MultiLevelTiling("SRS", reuse_read=reuse)
    schedule = tir.Schedule(product, seed=0)
    (made,) = tiling.apply(schedule, schedule.get_block("C"))
    assert {"twice_local", "B_local"} <= {n.name_hint for n in post_order(made.func.body) if isinstance(n, st.Block)}
    np.testing.assert_allclose(outcome(made.func), outcome(product), rtol=1e-5)
    assert P.DisallowDynamicLoop().apply(made)


def test_levels_without_loops_are_left_out() -> None:
    """A level of reductions has no loop where a block reduces nothing: copies there were an IndexError."""
    tiling = R.MultiLevelTiling("SR", reuse_read=R.ReuseType("must", [2], "local"), filter_fn=lambda block, sref: True)
    schedule = tir.Schedule(product, seed=0)
    (made,) = tiling.apply(schedule, schedule.get_block("D"))
    np.testing.assert_allclose(outcome(made.func), outcome(product), rtol=1e-5)
    with pytest.raises(ValueError, match=r"levels \[3\] are not all of the structure 'SR'"):
        R.MultiLevelTiling("SR", reuse_read=R.ReuseType("may", [3], "local")).apply(schedule, schedule.get_block("C"))


def test_rules_by_their_kind() -> None:
    """Guards `create`, with which scripts put rules of their own beside TVM's."""
    rules = ms.ScheduleRule.create("llvm")
    assert [type(rule) for rule in rules] == [type(rule) for rule in ms.schedule_rule.create("llvm")]
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=ms.Postproc.create("llvm"), mutator_probs={})
    context = ms.TuneContext(mod=IRModule({"main": product}), target=Target("llvm -num-cores=2"), space_generator=space)
    assert len(context.generate_design_space()) > 1
    assert [type(m).__name__ for m in ms.Mutator.create("llvm")] == [
        type(m).__name__ for m in ms.mutator.create("llvm")
    ]
    with pytest.raises(ValueError, match="no schedule rules for 'cuda'"):
        ms.ScheduleRule.create("cuda")
