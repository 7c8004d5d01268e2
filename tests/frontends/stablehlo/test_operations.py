"""What operations compute, against NumPy."""

# ruff: noqa: E501 (an operation of StableHLO is one line)

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.frontends.stablehlo.programs import check, function, type_of

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(4, 3)).astype("float32") for _ in range(2))
M, N = np.array([-7, 7, -1, 40, 0], "int32"), np.array([2, -2, 3, 33, 1], "int32")
P, Q = np.array([True, True, False, False]), np.array([True, False, True, False])


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x).astype("float32")


UNARY = {
    "exponential": np.exp, "negate": np.negative, "tanh": np.tanh, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "exponential_minus_one": np.expm1, "cbrt": np.cbrt, "round_nearest_even": np.round, "floor": np.floor,
    "round_nearest_afz": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)), "sign": np.sign,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str) -> None:
    x = np.concatenate([X.reshape(-1), np.array([0.5, 1.5, -2.5, 1e-6], "float32")])
    check(function(f"%r = stablehlo.{name} %a : {type_of(x)}", [x], x), [x], UNARY[name](x).astype("float32"))


@pytest.mark.parametrize(("name", "wanted"), [("erf", erf), ("erfc", lambda x: 1 - erf(x)), ("square", np.square)])
def test_functions_of_chlo(name: str, wanted: Any) -> None:
    check(function(f"%r = chlo.{name} %a : {type_of(X)} -> {type_of(X)}", [X], X), [X], wanted(X))


def test_logarithms_near_one() -> None:
    x = np.array([1e-7, -0.4, 3, 100], "float32")
    check(function(f"%r = stablehlo.log_plus_one %a : {type_of(x)}", [x], x), [x], np.log1p(x))


def logical(x: np.ndarray, count: np.ndarray) -> np.ndarray:
    counts = np.where((count >= 0) & (count < 32), count, 63).astype("uint64")
    return (x.astype("uint32").astype("uint64") >> counts).astype("uint32").astype("int32")


def left(x: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where((count >= 0) & (count < 32), x << (count & 31), 0).astype("int32")


@pytest.mark.parametrize(
    ("name", "a", "b", "wanted"),
    [
        ("subtract", X, Y, np.subtract), ("maximum", X, Y, np.maximum), ("atan2", X, Y, np.arctan2),
        ("remainder", X, Y, np.fmod), ("divide", M, N, lambda a, b: np.trunc(a / b).astype("int32")),
        ("remainder", M, N, np.fmod), ("xor", M, N, np.bitwise_xor), ("shift_right_logical", M, N, logical),
        ("shift_left", M, N, left), ("and", P, Q, np.logical_and), ("xor", P, Q, np.logical_xor),
        ("add", P, Q, np.logical_or), ("multiply", P, Q, np.logical_and),
    ],
)  # fmt: skip
def test_two_operands(name: str, a: np.ndarray, b: np.ndarray, wanted: Any) -> None:
    """Quotients of integers are cut off; shifts by as many bits as there are leave nothing; of bools `add` is `or`."""
    check(function(f"%r = stablehlo.{name} %a, %b : {type_of(a)}", [a, b], a), [a, b], wanted(a, b))


def test_choices_and_casts() -> None:
    body = """
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %p = stablehlo.compare GT, %a, %b, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %r0 = stablehlo.select %p, %a, %z : tensor<4x3xi1>, tensor<4x3xf32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %r1 = stablehlo.clamp %zero, %a, %one : (tensor<f32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %r2 = stablehlo.convert %r0 : (tensor<4x3xf32>) -> tensor<4x3xi1>
    %r3 = stablehlo.bitcast_convert %a : (tensor<4x3xf32>) -> tensor<4x3xi32>"""
    wanted = [np.where(X > Y, X, 0).astype("float32"), X.clip(0, 1), X > Y, X.view("int32")]
    check(function(body, [X, Y], *wanted), [X, Y], *wanted)


def test_constants() -> None:
    """Nested lists, bits of floats, one number for all, bytes, truth values."""
    body = """
    %r0 = stablehlo.constant dense<[[1.5, -2.000000e+00], [0x7F800000, 3.0]]> : tensor<2x2xf32>
    %r1 = stablehlo.constant dense<7> : tensor<3xi64>
    %r2 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
    %r3 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %r4 = stablehlo.constant dense<> : tensor<0xf32>"""
    wanted = [
        np.array([[1.5, -2], [np.inf, 3]], "float32"),
        np.full(3, 7, "int64"),
        np.array([1, 2], "float32"),
        np.array([True, False]),
        np.zeros(0, "float32"),
    ]
    check(function(body, [], *wanted), [], *wanted)


def test_shapes() -> None:
    """Axes of a broadcast may change places; padding may lie between elements, or take some away."""
    body = """
    %r0 = stablehlo.slice %a [1:4:2, 0:2] : (tensor<4x3xf32>) -> tensor<2x2xf32>
    %r1 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<4x3xf32>) -> tensor<3x2x4xf32>
    %fill = stablehlo.constant dense<9.0> : tensor<f32>
    %r2 = stablehlo.pad %a, %fill, low = [1, -1], high = [-1, 0], interior = [1, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<7x2xf32>
    %r3 = stablehlo.reverse %a, dims = [0] : tensor<4x3xf32>
    %r4 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %r5 = stablehlo.concatenate %a, %a, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>"""
    wide = np.full((7, 3), 9, "float32")
    wide[::2] = X
    wanted = [
        X[1:4:2, :2],
        np.broadcast_to(X.T[:, None], (3, 2, 4)),
        np.pad(wide, ((1, 0), (0, 0)), constant_values=9)[:7, 1:],
        X[::-1],
        np.broadcast_to(np.arange(3, dtype="int32"), (2, 3)),
        np.concatenate([X, X], 1),
    ]
    check(function(body, [X], *wanted), [X], *wanted)


def test_reductions() -> None:
    """By name or by a region; the start counts."""
    body = """
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %r0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %r1 = stablehlo.reduce(%a init: %three) applies stablehlo.multiply across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    %r2 = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>"""
    wanted = [X.sum(1), 3 * X.prod(0), np.float32(max(X.max(), 0))]
    check(function(body, [X], *map(np.asarray, wanted)), [X], *wanted)


def test_places_of_extrema() -> None:
    body = """
    %n = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.reduce(%a init: %low), (%n init: %c) across dimensions = [1] : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>)  {
      %1 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %x, %y : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }"""
    text = function(body, [X], X[:, 0], np.zeros(4, "int32")).replace("%r0, %r1", "%r#0, %r#1")
    check(text, [X], X.max(1), X.argmax(1).astype("int32"))


WINDOW = """
    %start = stablehlo.constant dense<START> : tensor<f32>
    %r = "stablehlo.reduce_window"(%a, %start) <{padding = dense<PADDING> : tensor<2x2xi64>, window_dimensions = array<i64: WINDOW>, window_strides = array<i64: STEPS>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.OP %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> TYPE"""


@pytest.mark.parametrize(
    ("op", "start", "padding", "window", "steps", "wanted"),
    [
        ("maximum", "0xFF800000", "0", "2, 1", "2, 1", X.reshape(2, 2, 3).max(1)),
        ("add", "0.0", "[[3, 0], [0, 0]]", "4, 1", "1, 1", X.cumsum(0)),
        ("add", "0.0", "0", "1, 2", "1, 1", X[:, :2] + X[:, 1:]),
        ("minimum", "0x7F800000", "[[0, 0], [1, 0]]", "1, 2", "1, 1", np.minimum(X, np.c_[X[:, :1], X[:, :2]])),
        ("multiply", "2.0", "0", "2, 1", "1, 1", 2 * X[:3] * X[1:]),
    ],
)
def test_windows(op: str, start: str, padding: str, window: str, steps: str, wanted: np.ndarray) -> None:
    body = WINDOW
    parts = {"START": start, "PADDING": padding, "WINDOW": window, "STEPS": steps, "OP": op, "TYPE": type_of(wanted)}
    for name, part in parts.items():
        body = body.replace(name, part)
    check(function(body, [X], wanted), [X], wanted)


def test_sorting() -> None:
    body = """
    %r0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %s:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
      %1 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    %r1 = stablehlo.negate %s#1 : tensor<4x3xf32>
    %r2, %r3 = chlo.top_k(%a, k = 2) : tensor<4x3xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)"""
    order = np.argsort(-X, 1, kind="stable")[:, :2]
    wanted = [
        -np.sort(-X, 0),
        -np.take_along_axis(Y, X.argsort(1), 1),
        np.take_along_axis(X, order, 1),
        order.astype("int32"),
    ]
    check(function(body, [X, Y], *wanted), [X, Y], *wanted)


def test_the_greatest_none() -> None:
    """0 was taken for all, which it means to the operator."""
    body = "%r0, %r1 = chlo.top_k(%a, k = 0) : tensor<4x3xf32> -> (tensor<4x0xf32>, tensor<4x0xi32>)"
    wanted = [np.zeros((4, 0), "float32"), np.zeros((4, 0), "int32")]
    check(function(body, [X], *wanted), [X], *wanted)


@pytest.mark.parametrize(
    ("a", "b", "batch", "inner", "wanted"),
    [
        ((2, 3), (3, 4), ([], []), ([1], [0]), "ij,jk->ik"),
        ((2, 3, 4), (5, 3, 2), ([0], [2]), ([1], [1]), "bjk,ljb->bkl"),
        ((2, 3, 4), (4, 3, 5), ([], []), ([1, 2], [1, 0]), "ijk,kjl->il"),
        ((2,), (3, 4), ([], []), ([], []), "i,jk->ijk"),
    ],
)
def test_products(a: Any, b: Any, batch: Any, inner: Any, wanted: str) -> None:
    x, y = (RNG.normal(size=s).astype("float32") for s in (a, b))
    found = np.einsum(wanted, x, y)
    batching = f"batching_dims = {batch[0]} x {batch[1]}, " if batch[0] else ""
    body = f"%r = stablehlo.dot_general %a, %b, {batching}contracting_dims = {inner[0]} x {inner[1]}, precision = [DEFAULT, DEFAULT] : ({type_of(x)}, {type_of(y)}) -> {type_of(found)}"
    check(function(body, [x, y], found), [x, y], found)


def test_products_of_narrow_integers_are_wide() -> None:
    x, y = (RNG.integers(-128, 127, s).astype("int8") for s in ((2, 40), (40, 3)))
    found = x.astype("int32") @ y.astype("int32")
    body = f"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({type_of(x)}, {type_of(y)}) -> {type_of(found)}"
    check(function(body, [x, y], found), [x, y], found)


def test_convolutions() -> None:
    """Layouts of the program; zeros between elements of the data; a kernel the other way round; borders cut off."""
    x, w = RNG.normal(size=(1, 5, 2)).astype("float32"), RNG.normal(size=(3, 2, 4)).astype("float32")
    wide = np.zeros((9, 2), "float32")
    wide[::2] = x[0]
    inside = wide[1:]
    wanted = np.stack([np.einsum("kc,kco->o", inside[p : p + 3], w[::-1]) for p in range(0, 6, 2)])[None]
    body = f"%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride = [2], pad = [[-1, 0]], lhs_dilate = [2], rhs_dilate = [1], reverse = [true]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>]}} : ({type_of(x)}, {type_of(w)}) -> {type_of(wanted)}"
    check(function(body, [x, w], wanted), [x, w], wanted)


@pytest.mark.parametrize(
    ("numbers", "sizes", "indices", "wanted"),
    [
        ("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3", np.array([[3], [0], [9]], "int32"), X[[3, 0, 3]]),
        ("offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1", "4, 1", np.array([[2], [-5]], "int32"), X[:, [2, 0]]),
        ("collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1", "1, 1", np.array([[2, 3], [0, 1]], "int32"), X[[3, 1], [2, 0]]),
        ("offset_dims = [0, 1], start_index_map = [0, 1]", "2, 2", np.array([3, 0], "int32"), X[2:4, :2]),
        ("offset_dims = [1], start_index_map = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], index_vector_dim = 1", "1, 1", np.array([[2], [0], [1], [1]], "int32"), X[np.arange(4), [2, 0, 1, 1]][:, None]),
        ("offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1", "2, 2", np.array([[1], [9]], "int32"), np.stack([X[1:3, :2], X[2:4, :2]])),
    ],
)  # fmt: skip
def test_gathering(numbers: str, sizes: str, indices: np.ndarray, wanted: np.ndarray) -> None:
    """Places outside of the tensor are moved to its borders."""
    body = f'%r = "stablehlo.gather"(%a, %b) <{{dimension_numbers = #stablehlo.gather<{numbers}>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : ({type_of(X)}, {type_of(indices)}) -> {type_of(wanted)}'
    check(function(body, [X, indices], wanted), [X, indices], wanted)


@pytest.mark.parametrize("op", ["return", "add"])
def test_scattering(op: str) -> None:
    """Places outside of the tensor are left out."""
    places, rows = np.array([[2], [7], [-1], [0]], "int32"), Y
    region = (
        "%s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>"
        if op == "add"
        else "stablehlo.return %y : tensor<f32>"
    )
    body = f"""%r = "stablehlo.scatter"(%a, %b, %c) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      {region}
    }}) : ({type_of(X)}, {type_of(places)}, {type_of(rows)}) -> {type_of(X)}"""
    wanted = X.copy()
    wanted[[2, 0]] = rows[[0, 3]] + (X[[2, 0]] if op == "add" else 0)
    check(function(body, [X, places, rows], X), [X, places, rows], wanted)


def test_windows_that_are_written() -> None:
    """A window that does not lie within the tensor is left out as a whole; a narrow one begins at the first element."""
    places, windows = np.array([[1], [3]], "int32"), RNG.normal(size=(2, 2, 2)).astype("float32")
    body = f"""%r = "stablehlo.scatter"(%a, %b, %c) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %y : tensor<f32>
    }}) : ({type_of(X)}, {type_of(places)}, {type_of(windows)}) -> {type_of(X)}"""
    wanted = X.copy()
    wanted[1:3, :2] = windows[0]
    check(function(body, [X, places, windows], X), [X, places, windows], wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inverse_of_the_error_function(dtype: str) -> None:
    y = np.array([-3, -1, -0.2, 0, 1e-6, 0.5, 1.5, 2.5], dtype)
    x = np.array([math.erf(v) for v in y], dtype)
    given, wanted = np.append(x, np.array([1, -1], dtype)), np.append(y, [np.inf, -np.inf])
    body = f"%r = chlo.erf_inv %a : {type_of(given)} -> {type_of(given)}"
    check(function(body, [given], given), [given], wanted.astype(dtype))


def test_angles_of_zeros() -> None:
    y, x = np.array([0.0, -0.0, 0.0, -0.0], "float32"), np.array([-1, -1, 1, 1], "float32")
    check(function(f"%r = stablehlo.atan2 %a, %b : {type_of(x)}", [y, x], x), [y, x], np.arctan2(y, x))


def test_slices_at_places() -> None:
    """They are moved so that they lie within the tensor."""
    start = np.array(3, "int32")
    part = Y[:2, :2].copy()
    body = """
    %z = stablehlo.constant dense<1> : tensor<i32>
    %r0 = stablehlo.dynamic_slice %a, %b, %z, sizes = [2, 2] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %r1 = stablehlo.dynamic_update_slice %a, %c, %b, %z : (tensor<4x3xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>"""
    changed = X.copy()
    changed[2:4, 1:3] = part
    inputs = [X, start, part]
    check(function(body, inputs, part, X), inputs, X[2:4, 1:3], changed)
