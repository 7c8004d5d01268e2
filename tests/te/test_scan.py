"""te.scan: recurrences against NumPy, with and without schedules; what no scan can be is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.computation import compute, placeholder, reduce_axis, var
from baton._src.te.prim_func import create_prim_func
from baton._src.te.scan import scan
from baton._src.te.schedule import create_schedule
from baton._src.te.tensor import Tensor
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.builders.scalar_functions import tanh
from baton._src.tir.evaluation.interpreter import run_prim_func
from tests.codegen.native_run import random_array, run_native

Graph = dict[str, Any]


def ran(func: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays after the kernel, interpreted; natively they are the same."""
    assert check_prim_func(func) == []
    found, native = [a.copy() for a in arrays], [a.copy() for a in arrays]
    run_prim_func(func, found)
    assert run_native(func, *native, checked=True) is None
    for one, other in zip(found, native):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return found


def doubling() -> Graph:
    """s[t] = 2 s[t - 1] + X[t] in two computations, of open sizes."""
    m, n = var("m"), var("n")
    x, state = placeholder((m, n), name="X"), placeholder((m, n), name="state")
    first = compute((1, n), lambda _, i: x[0, i], name="first")
    twice = compute((m, n), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    step = compute((m, n), lambda t, i: twice[t, i] + x[t, i], name="step")
    return {"X": x, "first": first, "twice": twice, "step": step, "scan": scan(first, step, state, inputs=[x])}


def expected_doubling(x: np.ndarray) -> np.ndarray:
    found = x.copy()
    for t in range(1, len(x)):
        found[t] = found[t - 1] * 2 + x[t]
    return found


def split_axes(s: Any, g: Graph) -> None:
    outer, inner = s[g["step"]].split(g["step"].op.axis[1], factor=4)
    s[g["step"]].parallel(outer)
    s[g["step"]].vectorize(inner)
    s[g["first"]].vectorize(s[g["first"]].split(g["first"].op.axis[1], factor=4)[1])


def placed_in_a_step(s: Any, g: Graph) -> None:
    outer, _ = s[g["step"]].split(g["step"].op.axis[1], factor=4)
    s[g["twice"]].compute_at(s[g["step"]], outer)


def inlined(s: Any, g: Graph) -> None:
    s[g["twice"]].compute_inline()


@pytest.mark.parametrize("change", [lambda s, g: None, split_axes, placed_in_a_step, inlined])
def test_steps_are_scheduled_as_other_stages(change: Callable[[Any, Graph], None]) -> None:
    """Guards the loops of a step, a value of its own computed where it is read, and its buffer of one row."""
    graph = doubling()
    schedule = create_schedule(graph["scan"].op)
    change(schedule, graph)
    x = random_array((7, 10), "float32", 0)
    _, found = ran(scheduled_prim_func(schedule, [graph["X"], graph["scan"]]), x, np.zeros_like(x))
    np.testing.assert_allclose(found, expected_doubling(x), rtol=1e-5, atol=1e-5)


def test_a_recurrent_layer() -> None:
    """Guards reductions over the state, as a value of a step and as the update itself, and readers of the result."""
    w, x = placeholder((8, 8), name="W"), placeholder((6, 8), name="X")
    state = placeholder((6, 8), name="h")
    k, j = reduce_axis((0, 8), "k"), reduce_axis((0, 8), "j")
    product = compute((6, 8), lambda t, i: reduction.sum(state[t - 1, k] * w[i, k], axis=k), name="product")
    step = compute((6, 8), lambda t, i: tanh(product[t, i] + x[t, i]), name="step")
    only_sum = compute((6, 8), lambda t, i: reduction.sum(state[t - 1, j] * w[i, j], axis=j), name="sums")
    first = compute((1, 8), lambda _, i: x[0, i])
    weights, inputs = random_array((8, 8), "float32", 1), random_array((6, 8), "float32", 2)
    layer, power = [inputs[0]], [inputs[0]]
    for t in range(1, 6):
        layer.append(np.tanh(weights @ layer[-1] + inputs[t]))
        power.append(weights @ power[-1])
    for update, expected in ((step, layer), (only_sum, power)):
        states = scan(first, update, state)
        out = compute((6, 8), lambda t, i, states=states: states[t, i] + 1.0, name="out")
        *_, found = ran(create_prim_func([w, x, out]), weights, inputs, np.zeros_like(inputs))
        np.testing.assert_allclose(found, np.array(expected) + 1, rtol=1e-4, atol=1e-4)


def test_states_that_go_on_together() -> None:
    """Guards several states, each step of which reads the one before of all; two steps are given."""
    a, b = placeholder((9,), "int32", "a"), placeholder((9,), "int32", "b")
    start = compute((2,), lambda t: t + 1, name="start")
    sums = compute((9,), lambda t: a[t - 1] + a[t - 2], name="sums")
    mixed = compute((9,), lambda t: b[t - 1] - a[t - 1], name="mixed")
    found = scan([start, start], [sums, mixed], [a, b])
    fibonacci, other = ran(create_prim_func(found), np.zeros(9, "int32"), np.zeros(9, "int32"))
    assert fibonacci.tolist() == [1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert other.tolist() == [1, 2, 0, -3, -8, -16, -29, -50, -84]


X, STATE = placeholder((4, 3), name="X"), placeholder((4, 3), name="state")
FIRST = compute((1, 3), lambda _, i: X[0, i], name="first")


def step_of(element: Callable[..., Any]) -> Tensor:
    found = compute((4, 3), lambda t, i: element(t, i), name="step")
    assert isinstance(found, Tensor)
    return found


SECOND = compute((2, 3), lambda t, i: X[t, i], name="second")
LONG = placeholder((5, 3), name="long")
STEP, LONGER = step_of(lambda t, i: STATE[t - 1, i]), compute((5, 3), lambda t, i: LONG[t - 1, i], name="longer")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: scan(FIRST, step_of(lambda t, i: STATE[t, i] + 1.0), STATE), "not known to be a step before t"),
        (lambda: scan(FIRST, step_of(lambda t, i: FIRST[0, i] * STATE[t + 1, i]), STATE), "not known to be a step"),
        (lambda: scan(FIRST, X, STATE), "the update X is not computed"),
        (lambda: scan(FIRST, step_of(lambda t, i: X[t, i]), FIRST), "the state first is computed"),
        (lambda: scan(STATE, step_of(lambda t, i: X[t, i]), STATE), "its own start"),
        (lambda: scan([FIRST], [X, X], [STATE]), "1 starts, 2 updates and 1 states"),
        (lambda: scan(compute((1, 4), lambda _, i: 1.0), step_of(lambda t, i: X[t, i]), STATE), "have the shapes"),
        (lambda: scan(compute((1, 3), lambda _, i: i), step_of(lambda t, i: X[t, i]), STATE), "int32, float32"),
        (lambda: scan([FIRST, SECOND], [STEP, STEP], [STATE, STATE]), "start with as many steps, not 1, 2"),
        (lambda: scan([FIRST, FIRST], [STEP, STEP], [STATE, STATE]), "a state is given twice"),
        (lambda: scan([FIRST, FIRST], [STEP, LONGER], [STATE, LONG]), "end after as many steps, not 4, 5"),
    ],
)
def test_what_is_no_scan_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(DiagnosticError, match=said):
        make()


def test_values_of_a_step_stay_in_it() -> None:
    """Guards a value of another step, and readers outside: they would have read one row, or nothing."""
    twice = compute((4, 3), lambda t, i: STATE[t - 1, i] * 2.0, name="twice")
    with pytest.raises(DiagnosticError, match="step reads twice of another step than its own"):
        scan(FIRST, step_of(lambda t, i: twice[t - 1, i]), STATE)
    found = scan(FIRST, step_of(lambda t, i: twice[t, i] + X[t, i]), STATE)
    both = compute((4, 3), lambda t, i: twice[t, i] + found[t, i], name="both")
    for args in ([X, found, twice], [X, both]):
        with pytest.raises(DiagnosticError, match="is used outside of it"):
            create_prim_func(args)


def test_the_loop_over_steps_is_no_axis_of_a_stage() -> None:
    graph = doubling()
    schedule = create_schedule(graph["scan"].op)
    with pytest.raises(DiagnosticError, match="t is not an axis of stage step"):
        schedule[graph["step"]].parallel(graph["step"].op.axis[0])


def test_placeholders_that_are_no_parameters_are_refused() -> None:
    """Kernels read memory that nothing had written."""
    with pytest.raises(DiagnosticError, match="X comes from outside and is not a parameter"):
        create_prim_func([FIRST])


def test_sums_along_columns_without_a_schedule() -> None:
    """The first row is computed by itself and read where there may be none: its size is tested."""
    rows, columns = var("rows"), var("columns")
    X, state = (placeholder((rows, columns), name=name) for name in ("X", "state"))
    first = compute((1, columns), lambda _, i: X[0, i])
    step = compute((rows, columns), lambda t, i: state[t - 1, i] + X[t, i])
    sums = scan(first, step, state, inputs=[X])
    data = np.arange(12, dtype="float32").reshape(4, 3)
    out = baton.nd.empty((4, 3))
    baton.build(create_schedule(sums.op), [X, sums], "llvm")(baton.nd.array(data), out)
    assert (out.numpy() == data.cumsum(0)).all()
