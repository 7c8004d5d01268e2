"""The schedule of recurrent layers: blocks of hidden units, their tails, rows by the tile, packed weights, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.recurrence import packable_gates
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import gate_panels, reading_panels
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.nn.recurrence.recurrence import COUNTS, GATES, RecurrenceAttrs
from baton._src.ops.samples import Arr, Sample
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_pair, every_value
from tests.lower.kernel_schedules.spills import spills_of
from tests.ops.sampled_calls import SampledCall, arrays_of

KINDS = ["lstm", "gru", "rnn"]
TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}
SIZES = [(1, 64), (1, 40), (2, 16), (4, 33), (7, 5), (1, 1)]


def layer(kind: str, batch: int, hidden: int, steps: Any = 3, dtype: str = "float32") -> SampledCall:
    """A layer with random weights."""
    names = ("sigmoid", "tanh", "tanh")[: COUNTS[kind]]
    zeros = (0.0,) * len(names)
    extra = {"lstm": ("cell",), "gru": ("candidate",), "rnn": ()}[kind]
    shapes = {"cell": (batch, hidden), "candidate": (hidden, hidden)}
    own = 2 if kind == "gru" else GATES[kind]
    tensors = [(steps, batch, GATES[kind] * hidden), (hidden, own * hidden), (batch, hidden)]
    others = tuple(Arr(shapes[n], dtype, -0.5, 0.5) for n in extra)
    attributes = RecurrenceAttrs(kind=kind, activations=names, alphas=zeros, betas=zeros, extras=extra)
    given = tuple(Arr(s, dtype, -0.5, 0.5) for s in tensors)
    sample = Sample((*given, others) if others else given, attributes)
    return SampledCall(CATALOGUE.get("nn.recurrence"), sample, symbolic=False)


def kernel(made: SampledCall) -> PrimFunc:
    return made.prim_func(made.infer())[0]


def run(func: PrimFunc, target: Target, made: SampledCall, operands: list[np.ndarray]) -> None:
    """Schedule by the rule, compile with checks, compare with NumPy."""
    decision = decide(func, target)
    assert decision.rule == "recurrence", decision.declined
    wanted = made.reference()
    results = [np.full_like(w, np.nan) for w in wanted]
    assert call(build(decision.func, target, checked=True), decision.func, *operands, *results) is None
    for result, reference in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "size", "target"), every_pair(KINDS, SIZES, TARGETS))
def test_layers(kind: str, size: tuple[int, int], target: Target) -> None:
    """Guards full blocks, what is left of the units, tiles of rows and weights as they are given."""
    made = layer(kind, *size)
    run(kernel(made), target, made, arrays_of(made.values))


@pytest.mark.parametrize(("kind", "size"), every_value(KINDS, SIZES))
def test_packed_weights(kind: str, size: tuple[int, int]) -> None:
    """Guards the layout of packed weights; a layer with two of them gets both packed."""
    made = layer(kind, *size)
    func, operands = kernel(made), arrays_of(made.values)
    count = 0
    while (weight := packable_gates(func, HOST)) is not None:
        operands[weight.place] = gate_panels(operands[weight.place], weight.width, weight.gates)
        func = reading_panels(func, weight)
        count += 1
    assert count == (2 if kind == "gru" else 1)
    run(func, HOST, made, operands)


def test_threads_meet_after_every_step() -> None:
    """Guards the order of steps: on several threads the result is the same, bit for bit."""
    made = layer("lstm", 1, 256, steps=20)
    decision = decide(kernel(made), Target("llvm -num-cores=2"))
    function = build(decision.func, Target("llvm -num-cores=2"))
    found = []
    for threads in (1, 2):
        results = [np.empty_like(w) for w in made.reference()]
        with thread_pool().limited(threads):
            for _ in range(50):
                call(function, decision.func, *arrays_of(made.values), *results)
                found.append([r.copy() for r in results])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other))


@pytest.mark.parametrize("batch", [1, 6])
def test_sums_stay_in_registers(batch: int) -> None:
    """Guards the tile: no vector goes to the stack while k runs."""
    func = kernel(layer("rnn", batch, 256))
    weight = packable_gates(func, Target("llvm -mcpu=znver4"))
    assert weight is not None
    assert len(spills_of(decide(reading_panels(func, weight), Target("llvm -mcpu=znver4")).func)) <= 2
