"""Random schedules of random graphs: what is not refused computes the same, in any order of what runs side by side."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.ir.traverse import rewrite, substitute
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from tests.at_length import seeds_at_length
from tests.codegen.native_run import run_native
from tests.te.random_graphs import RandomGraph
from tests.tir.schedule.test_random_schedules import instances

MOST = 20_000
"""Instances of blocks: the oracle runs each."""


def other_order(func: PrimFunc) -> PrimFunc:
    """Parallel and vectorised loops backwards: nothing may depend on their order."""

    def rule(node: Any) -> Any:
        if not isinstance(node, st.For) or node.kind not in (st.ForKind.PARALLEL, st.ForKind.VECTORIZED):
            return None
        last = node.min + node.min + node.extent - 1
        backwards = substitute(node.body, {node.loop_var: last - node.loop_var})
        return node.with_fields(kind=st.ForKind.SERIAL, body=backwards)

    return func.with_fields(body=rewrite(func.body, rule))


class RandomSteps:
    """Primitives of a schedule, drawn at random; what is refused is left out."""

    def __init__(self, r: random.Random, graph: RandomGraph) -> None:
        self.r, self.graph = r, graph
        self.schedule = te.create_schedule([t.op for t in graph.results])

    def take(self, count: int) -> None:
        for _ in range(count):
            step = self.r.choice([self.loops, self.placed, self.placed, self.inlined, self.copied, self.factored])
            try:
                step()
            except DiagnosticError:
                continue

    def stage(self) -> Any:
        return self.r.choice([s for s in self.schedule.stages if s.leaf_iter_vars])

    def loops(self) -> None:
        stage = self.stage()
        axis, size = self.r.choice(stage.leaf_iter_vars), self.r.choice([1, 2, 3, 4, 16])
        steps = [
            lambda: stage.split(axis, factor=size),
            lambda: stage.split(axis, nparts=size),
            lambda: stage.reorder(*self.r.sample(stage.leaf_iter_vars, len(stage.leaf_iter_vars))),
            lambda: stage.fuse(*stage.leaf_iter_vars[:2]),
            lambda: stage.parallel(axis),
            lambda: stage.unroll(axis),
        ]
        self.r.choice(steps)()

    def placed(self) -> None:
        """A stage at an axis of one that reads it."""
        parent = self.stage()
        read = [self.schedule[t] for t in parent.op.input_tensors if not isinstance(t.op, te.PlaceholderOp)]
        if read:
            self.r.choice(read).compute_at(parent, self.r.choice(parent.leaf_iter_vars))

    def inlined(self) -> None:
        self.stage().compute_inline()

    def copied(self) -> None:
        tensor = self.r.choice(self.graph.tensors)
        readers = [t for t in self.graph.tensors if tensor in list(t.op.input_tensors)]
        if readers and self.r.random() < 0.6:
            self.schedule.cache_read(tensor, "local", readers)
        elif not isinstance(tensor.op, te.PlaceholderOp):
            self.schedule.cache_write(tensor, "local")

    def factored(self) -> None:
        tensor = self.r.choice(self.graph.tensors)
        stage = self.schedule[tensor]
        reduced = [axis for axis in stage.leaf_iter_vars if axis.iter_type == "reduce"]
        if reduced:
            self.schedule.rfactor(tensor, stage.split(self.r.choice(reduced), factor=self.r.randint(2, 4))[1])


def check(seed: int) -> None:
    r = random.Random(seed)
    graph = RandomGraph(r)
    steps, kernel = RandomSteps(r, graph), te.create_prim_func(graph.args)
    steps.take(r.randint(1, 6))
    try:
        func = scheduled_prim_func(steps.schedule, graph.args)
    except DiagnosticError:
        return
    if instances(func) > MOST:
        return
    assert check_prim_func(func) == []
    wanted = graph.arrays(seed)
    run_prim_func(kernel, wanted)
    for one in (func, other_order(func)):
        found = graph.arrays(seed)
        run_prim_func(one, found)
        require_same(found, wanted, func)
    found = graph.arrays(seed)
    assert run_native(func, *found, checked=True) is None
    require_same(found, wanted, func)


def require_same(found: list[np.ndarray], wanted: list[np.ndarray], func: PrimFunc) -> None:
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other, err_msg=func.script())


@pytest.mark.parametrize("seed", [*range(10), 113, 154])
def test_random_graph_schedules(seed: int) -> None:
    """Guards stages of several results, borders of open sizes, and copies and partial results of each other."""
    with np.errstate(all="ignore"):
        check(seed)


@pytest.mark.fuzz
def test_many_random_graph_schedules() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(1000):
        try:
            with np.errstate(all="ignore"):
                check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
