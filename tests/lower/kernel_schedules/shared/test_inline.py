"""Elementwise stages are computed where they are used, however many follow one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.stages import Kernel, Stage, read_kernel
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.builders.scalar_functions import exp
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Add, BufferLoad, Var, literal
from baton._src.tir.operators import max as maximum
from baton._src.tir.operators import min as minimum
from baton._src.values.dtype import INT64


def stages_of(*tensors: Any) -> tuple[Any, ...]:
    kernel = read_kernel(create_prim_func(list(tensors)))
    assert isinstance(kernel, Kernel)
    return inline_elementwise(kernel).stages


def test_a_long_chain_is_one_stage() -> None:
    """Guards the time (8 seconds, if each link copied those before) and the stack."""
    x = y = placeholder((64,), name="x")
    for _ in range(500):
        y = compute((64,), lambda i, y=y: y[i] * 0.5 + 1.0)
    (stage,) = stages_of(x, y)
    assert isinstance(stage, Stage)
    assert len([load for load in stage.loads if isinstance(load, BufferLoad)]) == 1


def test_places_go_through_all_links() -> None:
    """Guards what an inlined value's axes become: the reader's indices, folded."""
    x = placeholder((4, 6), name="x")
    transposed = compute((6, 4), lambda i, j: x[j, i])
    flat = compute((24,), lambda n: transposed[n // 4, n % 4])
    (stage,) = stages_of(x, compute((12,), lambda n: flat[n + 2] * 2.0))
    (load,) = stage.loads
    found = [tuple(int(evaluate(i, {stage.spatial[0].var: n})) for i in load.indices) for n in range(12)]
    wanted = np.arange(24).reshape(4, 6).T.reshape(24)[2:14]
    assert [6 * a + b for a, b in found] == wanted.tolist()


def test_buffers_whose_sizes_fold_stay_the_same() -> None:
    """Guards the second link of a chain over a size such as n + 1 + 1: with n + 2 in its place, the buffer was another
    one, its stage was inlined nowhere, and memory that nobody wrote was read."""
    size = Add(Add(Var("n", INT64), literal(1, INT64)), literal(1, INT64))
    x = placeholder((size,), INT64, name="x")
    first = compute((size,), lambda i: x[i] + 3)
    second = compute((size,), lambda i: first[i] * 2)
    (stage,) = stages_of(x, compute((size,), lambda i: second[i] + 5))
    assert isinstance(stage, Stage)
    assert {load.buffer.name for load in stage.loads} == {"x"}


def test_costly_stages_of_several_readers_stay() -> None:
    """Guards that cost counts what was inlined before: a cheap stage around an exp is not cheap."""
    x = placeholder((8,), name="x")
    costly = compute((8,), lambda i: exp(x[i]))
    more = compute((8,), lambda i: costly[i] + 1.0)
    left = compute((8,), lambda i: more[i] * 2.0)
    right = compute((8,), lambda i: more[i] * 3.0)
    assert len(stages_of(x, left, right)) == 3


def test_places_that_are_computed_from_data_are_not_found_again() -> None:
    """Guards a way through a tree, each place of which is used thrice to find the next: it grew threefold a link. One
    that is only brought within the bounds is as cheap to find again."""
    table = placeholder((8,), "int32", "table")
    near = compute((8,), lambda i: table[maximum(minimum(table[i], 7), 0)])
    assert len(stages_of(table, compute((8,), lambda i: near[i] * near[i]))) == 1
    at = table
    for _ in range(20):
        at = compute((8,), lambda i, at=at: table[maximum(minimum(at[i] * 2 + at[i] * at[i], 7), 0)])
    assert sum(len(post_order(stage.value)) for stage in stages_of(table, at)) < 20 * 100


def test_rows_that_are_looked_up_alone_are_computed() -> None:
    """Guards a quantised table: all of it became floats before a few rows were taken. A place is checked where the
    table is read; a stage that reads elsewhere than it is read stays, and its buffer is what checks."""
    table, rows = placeholder((1000, 8), "uint8", "table"), placeholder((4,), "int64", "rows")
    scale = placeholder((8,), name="scale")
    real = compute((1000, 8), lambda i, j: table[i, j].astype("float32") * scale[j])
    (stage,) = stages_of(table, rows, scale, compute((4, 8), lambda i, j: real[rows[i], j]))
    assert {load.buffer.name for load in stage.loads} == {"table", "rows", "scale"}
    narrow = placeholder((8,), "uint8", "narrow")
    alike = compute((1000, 8), lambda i, j: narrow[j].astype("float32") * scale[j])
    again = compute((1000, 8), lambda i, j: alike[i, j] + 1.0)
    assert len(stages_of(narrow, rows, scale, compute((4, 8), lambda i, j: again[rows[i], j]))) == 2
