"""te.gradient against differences of NumPy: the derivative along a direction is what the results change by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, extern, placeholder, reduce_axis
from baton._src.te.gradient import gradient
from baton._src.te.prim_func import create_prim_func
from baton._src.te.tensor import Tensor
from baton._src.tir import operators as ops
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.builders import scalar_functions as f
from baton._src.tir.builders.extern_calls import call_extern
from baton._src.tir.builders.scalar_functions import select
from baton._src.tir.dtype_limits import max_value
from baton._src.tir.evaluation.interpreter import run_prim_func

RNG = np.random.default_rng(7)
Values = dict[Tensor, np.ndarray]


def evaluate(tensors: Sequence[Tensor], inputs: Values) -> list[np.ndarray]:
    func = create_prim_func([*inputs, *tensors])
    assert check_prim_func(func) == []
    arrays = [np.zeros([int(d) for d in t.shape], t.dtype.numpy) for t in tensors]
    run_prim_func(func, [*inputs.values(), *arrays])
    return arrays


def check(output: Tensor, inputs: Values, step: float = 1e-6) -> list[np.ndarray]:
    """Every derivative of `output` by its inputs agrees with central differences; gives the gradients."""
    head = placeholder(output.shape, output.dtype, "head")
    weights = RNG.standard_normal([int(d) for d in output.shape])
    found = evaluate(gradient(output, list(inputs), head), {**inputs, head: weights})
    for (tensor, at), slope in zip(inputs.items(), found):
        assert slope.shape == at.shape
        along = RNG.standard_normal(at.shape)
        ends = [evaluate([output], {**inputs, tensor: at + s * step * along})[0] for s in (1, -1)]
        change = np.sum(weights * (ends[0] - ends[1])) / (2 * step)
        np.testing.assert_allclose(np.sum(slope * along), change, rtol=1e-5, atol=1e-7)
    return found


def tensor(*shape: int, name: str = "X", low: float = -1.0, high: float = 1.0) -> tuple[Tensor, np.ndarray]:
    return placeholder(shape, "float64", name), RNG.uniform(low, high, shape)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        *(
            (n, -1.0, 1.0)
            for n in [
                "exp",
                "exp2",
                "exp10",
                "expm1",
                "sin",
                "cos",
                "tan",
                "sinh",
                "cosh",
                "tanh",
                "atan",
                "asinh",
                "erf",
                "sigmoid",
            ]
        ),
        *((n, -0.9, 0.9) for n in ("asin", "acos", "atanh")),
        *((n, 0.2, 2.0) for n in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "abs")),
        *(("acosh", 1.5, 3.0), ("abs", -2.0, -0.1), ("floor", 0.1, 0.9)),
    ],
)
def test_functions_of_one_number(name: str, low: float, high: float) -> None:
    """Guards the slope of each function, by itself and within another."""
    x, at = tensor(5, low=low, high=high)
    check(compute((5,), lambda i: getattr(f, name)(x[i])), {x: at})
    check(compute((5,), lambda i: getattr(f, name)(x[i]) * x[4 - i]), {x: at})


@pytest.mark.parametrize(
    "body",
    [
        lambda a, b: a * b + a,
        lambda a, b: a - b,
        lambda a, b: a / b,
        lambda a, b: ops.max(a, b) * a,
        lambda a, b: ops.min(a, b) + b,
        lambda a, b: f.pow(a, b),
        lambda a, b: f.atan2(a, b),
        lambda a, b: f.hypot(a, b),
        lambda a, b: f.fmod(a, b),
        lambda a, b: f.fma(a, b, a),
        lambda a, b: select(a > b, a * a, b),
        lambda a, b: f.if_then_else(a > 1.0, a * b, f.exp(b)),
    ],
)
def test_functions_of_two_numbers(body: Callable[[Any, Any], Any]) -> None:
    """Guards the share of each operand."""
    (x, at), (y, by) = tensor(6, low=0.5, high=2.0), tensor(6, name="Y", low=0.5, high=2.0)
    check(compute((6,), lambda i: body(x[i], y[i])), {x: at, y: by})


def test_conversions() -> None:
    """Guards casts: through other floats the derivative goes on, through integers it is 0."""
    x, at = tensor(6, low=1.0, high=2.0)
    scaled = compute((6,), lambda i: ops.cast("float64", ops.cast("float32", x[i])) * 3.0)
    np.testing.assert_allclose(evaluate(gradient(scaled, [x]), {x: at})[0], 3 * np.eye(6))
    counted = compute((6,), lambda i: ops.cast("float64", ops.cast("int32", x[i])) * x[i])
    np.testing.assert_allclose(evaluate(gradient(counted, [x]), {x: at})[0], np.eye(6))


def test_a_product_of_matrices() -> None:
    """Guards the usual gradients: head Bᵀ and Aᵀ head."""
    (a, x), (b, y) = tensor(3, 4, name="A"), tensor(4, 5, name="B")
    k = reduce_axis((0, 4), "k")
    product = compute((3, 5), lambda i, j: reduction.sum(a[i, k] * b[k, j], axis=k))
    head, h = placeholder((3, 5), "float64", "head"), RNG.standard_normal((3, 5))
    da, db = evaluate(gradient(product, [a, b], head), {a: x, b: y, head: h})
    np.testing.assert_allclose(da, h @ y.T)
    np.testing.assert_allclose(db, x.T @ h)


def test_without_a_head_the_result_is_the_jacobian() -> None:
    """Guards the shape output + input, and a prefix of the head's own."""
    x, at = tensor(3)
    y = compute((3, 2), lambda i, j: x[i] * x[i] * (j + 1.0))
    jacobian = evaluate(gradient(y, [x]), {x: at})[0]
    assert jacobian.shape == (3, 2, 3)
    np.testing.assert_allclose(jacobian, 2 * np.einsum("i,j,ik->ijk", at, [1, 2], np.eye(3)))
    head, h = placeholder((4, 3, 2), "float64", "head"), RNG.standard_normal((4, 3, 2))
    np.testing.assert_allclose(evaluate(gradient(y, [x], head), {x: at, head: h})[0], np.tensordot(h, jacobian, 2))


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 0), (2, 1, 1), (1, 2, 1), (3, 2, 2)])
def test_convolutions(stride: int, dilation: int, pad: int) -> None:
    """Guards windows: the iterations that read a place are solved for, with steps and borders."""
    (x, at), (w, by) = tensor(2, 9, name="X"), tensor(3, 2, 3, name="W")
    padded = compute(
        (2, 9 + 2 * pad), lambda c, i: f.if_then_else(ops.all(i >= pad, i < 9 + pad), x[c, i - pad], 0.0), name="pad"
    )
    size = (9 + 2 * pad - 2 * dilation - 1) // stride + 1
    c, k = reduce_axis((0, 2), "c"), reduce_axis((0, 3), "k")
    check(
        compute((3, size), lambda o, i: reduction.sum(padded[c, i * stride + k * dilation] * w[o, c, k], axis=[c, k])),
        {x: at, w: by},
    )


def test_shapes_gathers_and_repeated_places() -> None:
    """Guards indices by quotients, by other tensors, diagonals and stencils that read a place twice."""
    x, at = tensor(4, 6)
    check(compute((24,), lambda i: x[i // 6, i % 6] * x[i // 6, 5 - i % 6]), {x: at})
    check(compute((3, 8), lambda i, j: x[(i * 8 + j) // 6, (i * 8 + j) % 6]), {x: at})
    check(compute((4,), lambda i: x[i, i] * x[i, 0]), {x: at})
    check(compute((4, 4), lambda i, j: x[i, j] + x[i, j + 1] * x[i, j + 2] + x[i, j] * x[3, 5]), {x: at})
    place = placeholder((5,), "int32", "P")
    taken = compute((5,), lambda i: x[1, place[i]] * 2.0)
    head = placeholder((5,), "float64", "H")
    picked, h = np.array([3, 0, 3, 5, 1], "int32"), RNG.standard_normal(5)
    wanted = np.zeros((4, 6))
    np.add.at(wanted[1], picked, 2 * h)
    found = evaluate(gradient(taken, [x], head), {x: at, place: picked, head: h})[0]
    np.testing.assert_allclose(found, wanted)


def test_places_that_no_iteration_reads() -> None:
    """Guards parts of tensors: the first rows alone had the slope of all rows, and rows ran on into the next."""
    x, at = tensor(4, 10)
    check(compute((1, 10), lambda i, j: x[i, j] * 1.5), {x: at})
    check(compute((1, 1), lambda i, j: x[i * 2, j * 3] * 1.5), {x: at})
    check(compute((2, 1), lambda i, j: x[i * 2, j + 1] * 1.5), {x: at})
    check(compute((24,), lambda i: x[i // 8, i % 8] * 1.5), {x: at})
    check(compute((3, 4, 2), lambda i, j, k: x[i, j * 2 + k] * 1.5), {x: at})


def test_reductions_that_are_no_sums() -> None:
    """Guards max, min, prod, conditions, starts, and the value of an argmin, by pairs of values and changes."""
    x, at = tensor(3, 5, low=0.5, high=2.0)
    k = reduce_axis((0, 5), "k")
    for reducer in (reduction.max, reduction.min, reduction.prod, reduction.sum):
        check(compute((3,), lambda i, r=reducer: r(x[i, k] * x[i, 0], axis=k)), {x: at})
        check(compute((3,), lambda i, r=reducer: r(x[i, k], axis=k, where=k > 1)), {x: at})
    check(compute((3,), lambda i: reduction.prod(x[i, k], axis=k, init=3.0)), {x: at})
    argmin = reduction.comm_reducer(
        lambda p, q: (select(p[1] <= q[1], p[0], q[0]), select(p[1] <= q[1], p[1], q[1])),
        lambda index, value: (ops.const(-1, index), max_value(value)),
    )
    check(compute((3,), lambda i: argmin((k, x[i, k]), axis=k))[1], {x: at})


@pytest.mark.parametrize("reducer", [reduction.sum, reduction.prod])
def test_starts_of_reductions(reducer: Any) -> None:
    """Guards `init`: what a reduction starts from was taken to be a constant."""
    (x, at), (y, start) = tensor(3, 4), tensor(3, name="Y")
    k = reduce_axis((0, 4), "k")
    found = compute((3,), lambda i: reducer(x[i, k] + y[i], axis=k, init=y[i] * y[i]))
    check(found, {x: at, y: start})


def test_graphs() -> None:
    """Guards chains, tensors used twice, intermediate ones, and what has no part in the result."""
    (x, at), (w, by) = tensor(4, 3, name="X"), tensor(3, 2, name="W")
    k, r = reduce_axis((0, 3), "k"), reduce_axis((0, 2), "r")
    hidden = compute((4, 2), lambda i, j: reduction.sum(x[i, k] * w[k, j], axis=k), name="hidden")
    high = compute((4,), lambda i: reduction.max(hidden[i, r], axis=r), name="high")
    exps = compute((4, 2), lambda i, j: f.exp(hidden[i, j] - high[i]), name="exps")
    total = compute((4,), lambda i: reduction.sum(exps[i, r], axis=r), name="total")
    check(compute((4, 2), lambda i, j: exps[i, j] / total[i] * hidden[i, j], name="soft"), {x: at, w: by})
    other = placeholder((7,), "float64", "other")
    by_hidden, nothing = gradient(total, [hidden, other])
    assert [int(d) for d in by_hidden.shape] == [4, 4, 2]
    assert [int(d) for d in nothing.shape] == [4, 7]
    assert not evaluate([nothing], {})[0].any()


def test_what_has_no_derivative_is_said() -> None:
    """Guards integers, heads that do not fit, code made by hand and functions that are not known."""
    x = placeholder((3,), "float64", "X")
    whole = compute((3,), lambda i: ops.cast("int32", x[i]))
    head = placeholder((2,), "float64", "head")
    made = extern((3,), [x], lambda ins, outs: call_extern("int32", "g", outs[0].data), dtype="float64")
    cases = {
        "is int32": lambda: gradient(whole, [x]),
        "does not fit": lambda: gradient(compute((3,), lambda i: x[i] * 2.0), [x], head),
        "te.compute only": lambda: gradient(compute((3,), lambda i: made[i]), [x]),
        "tir.nextafter has no derivative": lambda: gradient(compute((3,), lambda i: f.nextafter(x[i], 1.0)), [x]),
    }
    for words, run in cases.items():
        with pytest.raises(DiagnosticError, match=words):
            run()
