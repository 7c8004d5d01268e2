"""FakeQuantize: which pairs of quantize and dequantize become roundings of floats, and that numbers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.products.fake_quantize import FakeQuantize
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, called, check, const, dim, program, tensor

STEP = FakeQuantize()
FLOATS = ["divide", "round_to_range", "multiply"]
ENDS = np.array([0, -0.0, 0.125, 0.375, -0.375, 31.8, 32, 1e30, -1e30, np.inf, -np.inf, -15.9], "float32")


def pair(dtype: str = "uint8", zero: Any = 0, scales: tuple[Any, Any] = (0.25, 0.25), again: Any = None) -> IRModule:
    def build(b: Any, x: Any) -> Any:
        small = b.emit(R.quantize(x, const(scales[0]), const(zero, dtype=dtype), out_dtype=dtype))
        return R.dequantize(small, const(scales[1]), const(zero if again is None else again, dtype=dtype))

    return program([tensor("x", dim(), 6)], build)


def after(module: IRModule) -> list[str]:
    return called(DeadCodeElimination()(module))


@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("uint8", 128), ("int8", -7), ("int16", 30), ("uint16", 9)])
def test_same_numbers(dtype: str, zero: int) -> None:
    """Guards every number, at the ends of the range and halfway between two steps too, by the compiler as well."""
    x = np.concatenate([ENDS, np.random.default_rng(0).standard_normal(12).astype("float32") * 9]).reshape(4, 6)
    before = pair(dtype, zero)
    assert after(check(STEP, before, x)) == FLOATS
    np.testing.assert_array_equal(evaluate(STEP(before), "main", x), evaluate(before, "main", x))
    (found,) = baton.compile(before)(x)
    np.testing.assert_array_equal(found, evaluate(before, "main", x))


def test_two_scales() -> None:
    """Guards that each step takes its own scale, and that none divides by one."""
    x = np.linspace(-40, 90, 24, dtype="float32").reshape(4, 6)
    assert after(check(STEP, pair(scales=(1.0, 0.5)), x)) == FLOATS[1:]
    assert after(check(STEP, pair(scales=([0.25], [0.5])), x)) == FLOATS


def test_nan_is_kept() -> None:
    """Guards what the module says of what is no number."""
    x = np.full((1, 6), np.nan, "float32")
    assert np.isnan(evaluate(STEP(pair()), "main", x)).all()


@pytest.mark.parametrize(
    "module",
    [
        pair(zero=[0, 1, 2, 3, 4, 5]),
        pair(scales=([0.25] * 6, 0.25)),
        pair(zero=3, again=4),
        pair("int32"),
    ],
)
def test_what_stays(module: IRModule) -> None:
    """Guards parameters along an axis, two zero points, and integers that floats do not hold."""
    assert after(STEP(module)) == ["quantize", "dequantize"]


def test_bytes_that_are_read_again() -> None:
    """Guards that bytes another operator needs stay: they are a quarter of the floats."""

    def build(b: Any, x: Any) -> Any:
        small = b.emit(R.quantize(x, const(0.25), const(0, dtype="int8")))
        return R.add(
            b.emit(R.dequantize(small, const(0.25), const(0, dtype="int8"))), b.emit(R.astype(small, "float32"))
        )

    module = program([tensor("x", 3)], build)
    assert STEP(module) is module or after(STEP(module)) == called(module)


def test_zero_point_of_a_parameter() -> None:
    """Guards that a zero point only known at run time stays."""

    def build(b: Any, x: Any, zero: Any) -> Any:
        return R.dequantize(b.emit(R.quantize(x, const(0.25), zero)), const(0.25), zero)

    module = program([tensor("x", dim()), tensor("zero", dtype="int8")], build)
    assert after(STEP(module)) == ["quantize", "dequantize"]


def test_half_precision_stays() -> None:
    """Guards that results of float16, which are computed in float32, are rounded once."""

    def build(b: Any, x: Any) -> Any:
        small = b.emit(R.quantize(x, const(0.25), const(0, dtype="int8")))
        return R.dequantize(small, const(0.25), const(0, dtype="int8"), out_dtype="float16")

    assert after(STEP(program([tensor("x", 3)], build))) == ["quantize", "dequantize"]
