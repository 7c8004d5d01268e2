"""Arithmetic, comparisons and activations of TensorFlow Lite, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.tflite.models import Op, Tensor, agree, model, normal, single, weights, whole

F, WHOLE = Tensor((3, 7)), Tensor((3, 7), "int32")
NONE, RELU, RELU_N1_TO_1, RELU6, TANH = range(5)


ONE = """ABS CEIL COS ELU EXP FLOOR HARD_SWISH LOGISTIC LOG_SOFTMAX NEG RELU RELU_N1_TO_1 RELU6 RELU_0_TO_1 ROUND SIGN
SIN SQUARE TANH ZEROS_LIKE"""


@pytest.mark.parametrize("name", ONE.split())
def test_functions_of_one_number(name: str) -> None:
    agree(single(name, {"x": F, "y": F}), normal(3, 7) * 4)


@pytest.mark.parametrize("name", ["LOG", "SQRT", "RSQRT"])
def test_functions_of_positive_numbers(name: str) -> None:
    agree(single(name, {"x": F, "y": F}), np.abs(normal(3, 7)) + 0.1)


@pytest.mark.parametrize(
    ("name", "options", "fields"),
    [
        ("LEAKY_RELU", "LeakyReluOptions", {"alpha": 0.2}),
        ("SOFTMAX", "SoftmaxOptions", {"beta": 0.7}),
        ("GELU", "GeluOptions", {"approximate": False}),
        ("GELU", "GeluOptions", {"approximate": True}),
        ("FAKE_QUANT", "FakeQuantOptions", {"min": -1.5, "max": 2.0, "numBits": 8}),
    ],
)
def test_functions_with_options(name: str, options: str, fields: dict[str, Any]) -> None:
    agree(single(name, {"x": F, "y": F}, options, **fields), normal(3, 7) * 2)


@pytest.mark.parametrize("activation", [NONE, RELU, RELU_N1_TO_1, RELU6])
@pytest.mark.parametrize(("name", "options"), [(n, f"{n.title()}Options") for n in ("ADD", "SUB", "MUL", "DIV")])
def test_activations_are_fused_into_arithmetic(name: str, options: str, activation: int) -> None:
    tensors = {"a": F, "b": Tensor((7,)), "y": F}
    agree(single(name, tensors, options, fusedActivationFunction=activation), normal(3, 7) * 5, normal(7) + 3)


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD", "ATAN2"])
def test_functions_of_two_numbers(name: str) -> None:
    agree(single(name, {"a": F, "b": F, "y": F}), normal(3, 7) * 5, normal(3, 7))


@pytest.mark.parametrize("name", ["ADD", "MUL", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "BITWISE_XOR", "DIV"])
def test_functions_of_two_integers(name: str) -> None:
    """Guards division of integers towards zero, and downwards."""
    divisor = np.where(np.arange(21).reshape(3, 7) % 2, 3, -4).astype(np.int32)
    agree(single(name, {"a": WHOLE, "b": WHOLE, "y": WHOLE}), whole(-9, 9, 3, 7), divisor)


def test_powers_and_shifts() -> None:
    agree(single("POW", {"a": F, "b": F, "y": F}), np.abs(normal(3, 7)), normal(3, 7))
    agree(single("RIGHT_SHIFT", {"a": WHOLE, "b": WHOLE, "y": WHOLE}), whole(-99, 99, 3, 7), whole(0, 5, 3, 7))


@pytest.mark.parametrize("name", ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"])
def test_comparisons(name: str) -> None:
    agree(single(name, {"a": WHOLE, "b": WHOLE, "y": Tensor((3, 7), "bool")}), whole(0, 3, 3, 7), whole(0, 3, 3, 7))


def test_comparisons_are_of_what_integers_stand_for() -> None:
    """Guards against comparing the integers of two scales."""
    a, b = Tensor((5,), "int8", scale=0.5), Tensor((5,), "int8", scale=0.25, zero=2)
    content = single("LESS", {"a": a, "b": b, "y": Tensor((5,), "bool")})
    agree(content, np.array([1, 2, 3, -4, 0], np.int8), np.array([3, 9, 10, -6, 1], np.int8))


def test_truth() -> None:
    bools = Tensor((4,), "bool")
    left, right = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    agree(single("LOGICAL_AND", {"a": bools, "b": bools, "y": bools}), left, right)
    agree(single("LOGICAL_OR", {"a": bools, "b": bools, "y": bools}), left, right)
    agree(single("LOGICAL_NOT", {"a": bools, "y": bools}), left)


@pytest.mark.parametrize(
    ("of", "to"), [("float32", "int32"), ("float32", "bool"), ("int32", "float32"), ("bool", "int8")]
)
def test_casts(of: str, to: str) -> None:
    values = (normal(3, 7) * 5).astype(of)
    agree(single("CAST", {"x": Tensor((3, 7), of), "y": Tensor((3, 7), to)}), values)


def test_prelu_has_a_slope_for_each_channel() -> None:
    agree(single("PRELU", {"x": F, "slope": weights(np.abs(normal(7))), "y": F}), normal(3, 7))


def test_sums_of_many_and_selections() -> None:
    agree(single("ADD_N", {"a": F, "b": F, "c": F, "y": F}), normal(3, 7), normal(3, 7), normal(3, 7))
    choice = Tensor((3, 7), "bool")
    agree(single("SELECT_V2", {"c": choice, "a": F, "b": F, "y": F}), normal(3, 7) > 0, normal(3, 7), normal(3, 7))
    rows = Tensor((3,), "bool")
    agree(single("SELECT", {"c": rows, "a": F, "b": F, "y": F}), np.array([1, 0, 1], bool), normal(3, 7), normal(3, 7))


BYTES = [("int8", 3), ("uint8", 131)]


@pytest.mark.parametrize(("dtype", "zero"), BYTES)
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
def test_arithmetic_of_bytes(name: str, dtype: str, zero: int) -> None:
    a, b = Tensor((3, 7), dtype, scale=0.03, zero=zero), Tensor((3, 7), dtype, scale=0.05, zero=zero - 9)
    y = Tensor((3, 7), dtype, scale=0.06, zero=zero - 2)
    info = np.iinfo(dtype)
    values = [whole(info.min, info.max + 1, 3, 7, dtype=dtype) for _ in range(2)]
    agree(single(name, {"a": a, "b": b, "y": y}, f"{name.title()}Options"), *values, steps=1)


@pytest.mark.parametrize(
    ("name", "scale", "zero"),
    [("LOGISTIC", 1 / 256, -128), ("TANH", 1 / 128, 0), ("HARD_SWISH", 0.04, -5), ("RELU", 0.04, -5)],
)
def test_functions_of_bytes(name: str, scale: float, zero: int) -> None:
    x, y = Tensor((3, 70), "int8", scale=0.04, zero=-5), Tensor((3, 70), "int8", scale=scale, zero=zero)
    agree(single(name, {"x": x, "y": y}), whole(-128, 128, 3, 70, dtype="int8"), steps=1)


def test_softmax_of_bytes() -> None:
    x, y = Tensor((3, 70), "int8", scale=0.04, zero=-5), Tensor((3, 70), "int8", scale=1 / 256, zero=-128)
    agree(
        single("SOFTMAX", {"x": x, "y": y}, "SoftmaxOptions", beta=1.0), whole(-128, 128, 3, 70, dtype="int8"), steps=1
    )


@pytest.mark.parametrize(("dtype", "zero"), BYTES)
def test_real_numbers_and_bytes_become_one_another(dtype: str, zero: int) -> None:
    quantised = Tensor((3, 7), dtype, scale=0.03, zero=zero)
    agree(single("QUANTIZE", {"x": F, "y": quantised}), normal(3, 7) * 3, steps=1)
    agree(single("DEQUANTIZE", {"x": quantised, "y": F}), whole(0, 100, 3, 7, dtype=dtype))
    other = Tensor((3, 7), dtype, scale=0.05, zero=zero + 4)
    agree(single("QUANTIZE", {"x": quantised, "y": other}), whole(0, 100, 3, 7, dtype=dtype), steps=1)


def test_weights_of_half_precision() -> None:
    half = weights(normal(3, 7).astype(np.float16))
    tensors = {"x": F, "h": half, "w": F, "y": F}
    agree(model((tensors, [Op("DEQUANTIZE", "h", "w"), Op("ADD", "x w", "y", "AddOptions")], "x", "y")), normal(3, 7))


def test_places_of_boundaries() -> None:
    content = single("BUCKETIZE", {"x": F, "y": WHOLE}, "BucketizeOptions", boundaries=[-1.0, 0.0, 0.5])
    agree(content, normal(3, 7))
