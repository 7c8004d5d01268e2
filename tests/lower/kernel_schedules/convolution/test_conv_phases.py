"""Transposed convolutions by the phases of their stride: against the operators' meaning, every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.unpacked import choice as unpacked_choice
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.ops.builders import RELAX as R
from baton._src.te.prim_func import PrimFunc
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

THREADS = Target("llvm -num-cores=4")
Case = tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]


def _kernel(case: Case, *, batch: Any = None, dtype: str = "float32") -> tuple[Any, PrimFunc]:
    """A program of the transposed convolution, bias and ReLU, and its one kernel."""
    op, data, kernel, attrs = case
    bias = tensor("b", kernel[1] * attrs.get("groups", 1), *(1,) * (len(data) - 2), dtype=dtype)

    def convolved(bb: Any, x: Any, w: Any, b: Any) -> Any:
        return R.nn.relu(bb.emit(R.add(bb.emit(op(x, w, **attrs)), b)))

    x = tensor("x", data[0] if batch is None else batch, *data[1:], dtype=dtype)
    module = program([x, tensor("w", *kernel, dtype=dtype), bias], convolved)
    return module, only_kernel(module)


def check(case: Case, target: Target, **options: Any) -> None:
    module, func = _kernel(case, **options)
    decision = decide(func, target)
    assert decision.rule == "conv_phases", decision.declined
    _, data, kernel, _ = case
    rng = np.random.default_rng(0)
    shapes = (data, kernel, (kernel[1], *(1,) * (len(data) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype(options.get("dtype", "float32")) for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(decision.func, target, checked=True), decision.func, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


ONE, TWO, THREE = R.nn.conv1d_transpose, R.nn.conv2d_transpose, R.nn.conv3d_transpose
CASES: list[Case] = [
    (TWO, (1, 6, 5, 18), (6, 7, 4, 4), {"strides": 2, "padding": 1}),
    (TWO, (2, 6, 9, 18), (6, 13, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1}),
    (TWO, (1, 3, 9, 18), (3, 7, 2, 2), {"strides": 2}),
    (TWO, (1, 6, 9, 18), (6, 5, 3, 5), {"strides": (3, 2), "padding": (0, 4, 1, 0)}),
    (TWO, (1, 2, 9, 19), (2, 7, 2, 3), {"strides": (1, 2), "padding": (0, 1)}),
    (TWO, (1, 2, 9, 18), (2, 17, 3, 2), {"strides": (2, 1), "padding": (0, 1)}),
    (TWO, (1, 2, 4, 17), (2, 3, 2, 1), {"strides": (3, 4)}),
    (ONE, (2, 6, 40), (6, 5, 16), {"strides": 8, "padding": 4}),
    (ONE, (2, 3, 36), (3, 4, 5), {"strides": 3, "padding": 2, "output_padding": 2}),
    (ONE, (2, 3, 36), (3, 4, 2), {"strides": 4}),
    (THREE, (1, 2, 2, 8, 8), (2, 2, 3, 2, 4), {"strides": 2, "padding": 1}),
    (THREE, (1, 2, 4, 6, 8), (2, 3, 2, 2, 2), {"strides": (2, 3, 2)}),
    # One tap a phase: weights are turned, by shuffles where they are a power of two, with some left over.
    (THREE, (1, 17, 2, 3, 16), (17, 19, 2, 2, 2), {"strides": 2}),
    (TWO, (2, 7, 8, 16), (7, 11, 4, 4), {"strides": 4}),
    (TWO, (1, 6, 8, 16), (6, 7, 3, 3), {"strides": 3}),
    (ONE, (1, 32, 40), (32, 16, 2), {"strides": 2}),
]


@pytest.mark.parametrize("case", [CASES[0], CASES[1]])
def test_channels_in_parts(case: Case, monkeypatch: Any) -> None:
    """Guards sums of all phases that are kept while parts of the channels are added, with points between runs."""
    monkeypatch.setattr(unpacked_choice, "SHARE_OF_CACHE", HOST.cpu.l1_bytes // 3000)
    monkeypatch.setattr(unpacked_choice, "LEAST_TERMS", 1)
    monkeypatch.setattr(unpacked_choice, "SPARED", 0)
    check(case, HOST)


@pytest.mark.parametrize("case", CASES)
def test_means_the_same(case: Case) -> None:
    """Strides that divide the kernel and do not, larger than it, along some axes only; padding inside the kernel and
    beyond it; output padding; lines that end within a round of phases; 1 to 3 axes; bias and ReLU.
    """
    check(case, HOST)


@pytest.mark.parametrize("case", [CASES[1], CASES[8], CASES[10], CASES[12]])
def test_threads(case: Case) -> None:
    check(case, THREADS)


def test_symbolic_batch_and_float64() -> None:
    check(CASES[0], HOST, batch=TirVar("n", "int64"), dtype="float64")


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ((TWO, (1, 4, 9, 40), (4, 4, 3, 3), {"padding": 1}), "no stride"),
        ((TWO, (1, 4, 9, 40), (4, 4, 3, 3), {"strides": 2, "dilation": 2}), "dilation"),
        ((TWO, (1, 4, 2, 2), (4, 4, 4, 4), {"strides": 2, "padding": 1}), "fewer points than lanes"),
    ],
)
def test_left_to_others(case: Case, why: str) -> None:
    assert decide(_kernel(case)[1], HOST).rule != "conv_phases", why
