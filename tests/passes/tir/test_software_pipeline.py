"""InjectSoftwarePipeline: the result computes what the loop did, whatever stages and orders it is given."""

from __future__ import annotations

import random

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.software_pipeline import InjectSoftwarePipeline
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text
from tests.codegen.native_run import run_native

SIZES = '(A: T.Buffer(({n}, 4), "float32"), D: T.Buffer(({n}, 4), "float32")):'
OPEN_SIZES = """(a: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    D = T.match_buffer(d, (n, 4))"""
LOOP = """
    for i in T.serial({begin}, {n}, annotations={{"software_pipeline_stage": {stages},
                                           "software_pipeline_order": {order}}}):
        with T.block("compute"):
            T.reads(A[i, 0:4])
            T.writes(D[i, 0:4])
            B = T.alloc_buffer((4,), "float32")
            C = T.alloc_buffer((4,), "float32")
            for j in T.serial(4):
                with T.block("load"):
                    T.reads(A[i, j])
                    T.writes(B[j])
                    B[j] = A[i, j] * T.float32(2)
            for j in T.serial(4):
                with T.block("middle"):
                    T.reads(B[0:4])
                    T.writes(C[j])
                    C[j] = B[j] + B[3 - j]
            for j in T.serial(4):
                with T.block("store"):
                    T.reads(C[0:4], B[j])
                    T.writes(D[i, j])
                    D[i, j] = C[j] * C[0] - B[j]
"""


def program(n: int | str, stages: list[int], order: list[int], begin: int = 0) -> PrimFunc:
    sizes = SIZES if isinstance(n, int) else OPEN_SIZES
    return parse_text(f"@T.prim_func\ndef main{sizes}{LOOP}".format(n=n, stages=stages, order=order, begin=begin))


def numbers(n: int) -> np.ndarray:
    """Whole ones: sums and products of them are exact in any order."""
    return np.random.default_rng(n).integers(-8, 8, (n, 4)).astype("float32")


def pipelined(func: PrimFunc) -> PrimFunc:
    module = InjectSoftwarePipeline()(IRModule({"main": func}))
    found = module["main"]
    assert isinstance(found, PrimFunc)
    assert check_prim_func(found) == []
    assert not any("software_pipeline_stage" in n.annotations for n in post_order(found.body) if isinstance(n, st.For))
    return found


def check(n: int, stages: list[int], order: list[int], begin: int = 0) -> PrimFunc:
    func = program(n, stages, order, begin)
    found = pipelined(func)
    x = numbers(n)
    wanted = np.zeros((n, 4), "float32")
    run_prim_func(func, [x, wanted])
    for run in (lambda *given: run_prim_func(found, given), lambda *given: run_native(found, *given)):
        out = np.zeros((n, 4), "float32")
        run(x, out)
        np.testing.assert_array_equal(out, wanted)
    return found


def versions(func: PrimFunc) -> dict[str, tuple[int, ...]]:
    blocks = (n for n in post_order(func.body) if isinstance(n, st.Block))
    return {b.name: tuple(int(d) for d in b.shape) for block in blocks for b in block.alloc_buffers}


def test_two_stages() -> None:
    """Guards the shape of the result: one iteration to fill, a loop one shorter, one to empty; two versions."""
    found = check(8, [0, 1, 1], [0, 1, 2])
    assert versions(found) == {"B": (2, 4), "C": (4,)}
    assert [int(n.extent) for n in post_order(found.body) if isinstance(n, st.For)].count(7) == 1


@pytest.mark.parametrize(
    ("stages", "order"),
    [([0, 1, 2], [2, 1, 0]), ([0, 0, 3], [0, 1, 2]), ([0, 2, 2], [2, 0, 1]), ([0, 0, 0], [0, 1, 2])],
)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_stages_and_orders(stages: list[int], order: list[int], n: int) -> None:
    """Guards fewer iterations than stages, orders backwards, several versions and none."""
    check(n, stages, order)


def test_a_loop_that_does_not_begin_at_zero() -> None:
    """Guards which version belongs to which iteration."""
    check(9, [0, 1, 2], [2, 1, 0], begin=2)


def test_open_extents() -> None:
    """Guards conditions where a run tells how many iterations there are, fewer than stages among them."""
    func = program("n", [0, 1, 2], [2, 1, 0])
    found = pipelined(func)
    for size in (1, 2, 3, 6):
        x, wanted, out = numbers(size), *np.zeros((2, size, 4), "float32")
        run_prim_func(func, [x, wanted])
        run_native(found, x, out)
        np.testing.assert_array_equal(out, wanted)


def test_what_would_run_too_early_is_refused() -> None:
    """Guards parts before what they read, in one stage and across stages, and sums that several parts go on with."""
    for stages, order, words in (
        ([1, 0, 1], [0, 1, 2], "0 and 1 both use B"),
        ([0, 0, 1], [1, 0, 2], "0 and 1 both use B"),
        ([0, 1], [0, 1], "2 numbers for 3"),
        ([0, 1, 1], [0, 1, 1], "permutation"),
    ):
        with pytest.raises(DiagnosticError, match=words):
            pipelined(program(4, stages, order))
    shared = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), S: T.Buffer((1,), "float32")):
    for i in T.serial(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        S[0] = S[0] + A[i]
        S[0] = S[0] * A[i]
"""
    with pytest.raises(DiagnosticError, match="both use S"):
        pipelined(parse_text(shared))


NESTED = """
@T.prim_func
def main(A: T.Buffer((6, 5, 4), "float32"), D: T.Buffer((6, 5, 4), "float32")):
    for i in T.serial(6, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [1, 0]}):
        with T.block("outer"):
            T.reads(A[i, 0:5, 0:4])
            T.writes(D[i, 0:5, 0:4])
            B = T.alloc_buffer((5, 4), "float32")
            for j, k in T.grid(5, 4):
                with T.block("load"):
                    B[j, k] = A[i, j, k] * T.float32(2)
            for j in T.serial(5, annotations={"software_pipeline_stage": [0, 2], "software_pipeline_order": [0, 1]}):
                with T.block("inner"):
                    T.reads(B[j, 0:4])
                    T.writes(D[i, j, 0:4])
                    C = T.alloc_buffer((4,), "float32")
                    for k in T.serial(4):
                        with T.block("middle"):
                            C[k] = B[j, k] + T.float32(1)
                    for k in T.serial(4):
                        with T.block("store"):
                            D[i, j, k] = C[3 - k]
"""


def test_pipelines_within_pipelines() -> None:
    """Guards that a pipeline is one part of the loop around it: its own statements were counted there."""
    found = pipelined(parse_text(NESTED))
    assert versions(found) == {"B": (2, 5, 4), "C": (3, 4)}
    x = np.random.default_rng(0).integers(-8, 8, (6, 5, 4)).astype("float32")
    for run in (lambda *given: run_prim_func(found, given), lambda *given: run_native(found, *given, checked=True)):
        out = np.zeros((6, 5, 4), "float32")
        run(x, out)
        np.testing.assert_array_equal(out, (x * 2 + 1)[..., ::-1])


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_loops_without_an_order_are_refused(kind: str) -> None:
    """Guards against threads that use one version of a buffer at a time."""
    text = (SIZES + LOOP).format(n=4, stages=[0, 1, 1], order=[0, 1, 2], begin=0).replace("T.serial(0", f"T.{kind}(0")
    with pytest.raises(DiagnosticError, match=f"iterations of a {kind} loop have no order"):
        pipelined(parse_text(f"@T.prim_func\ndef main{text}"))


def test_random_pipelines() -> None:
    """Guards every plan against the loop itself: it is refused, or computes the same."""
    draw = random.Random(4)
    done = 0
    for _ in range(40):
        stages, order = [draw.randint(0, 3) for _ in range(3)], draw.sample(range(3), 3)
        try:
            pipelined(program(5, stages, order))
        except DiagnosticError:
            continue
        check(draw.randint(1, 6), stages, order)
        done += 1
    assert done > 5
