"""qnn.requantize in the arithmetic that calls or `requantize_config` ask for: against fractions, in every executor."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import BatonError
from tests.grids import every_pair
from tests.relay.programs import names

QNN = relay.qnn.op
X = relay.var("x", shape=(24,), dtype="int32")
NUMBERS = np.array(
    [*range(-9, 10), 1000, 2**31 - 1, -(2**31), 1_234_567_891, -987_654_321], "int32"
)  # halves, and what 31 bits of the factor are too few for
SCALES = [
    (0.5, 1.0),
    (0.1, 0.37),
    (3.7, 0.01),
    (1e-20, 1.0),
    (1.0, 1.0),
    (2.0**-31, 1.0),
    ([0.25] * 12 + [7.0] * 12, 0.5),
]


def module(scale: Any, new_scale: float, out_dtype: str, **attrs: str) -> Any:
    operands = (relay.const(np.float32(scale)), relay.const(3), relay.const(new_scale, "float32"), relay.const(1))
    call = QNN.requantize(X, *operands, axis=0, out_dtype=out_dtype, **attrs)
    return relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([X], call)))


def results(program: Any, numbers: Any = NUMBERS) -> list[Any]:
    canonical = relay.qnn.transform.CanonicalizeOps()(program)
    assert not any(n.startswith("qnn.") for n in names(canonical))
    executors = [relay.create_executor(kind, m) for m in (program, canonical) for kind in ("debug", "vm")]
    functions = [e.evaluate() for e in executors]
    return [f(numbers).numpy() for f in functions]


def by_number_and_shift(scale: float, new_scale: float, number: int, rounding: str) -> int:
    """The definition of the form in int64, with fractions."""
    fraction, exponent = math.frexp(float(np.float32(scale)) / float(np.float32(new_scale)))
    value = (number - 3) * math.floor(fraction * 2**31 + 0.5) * Fraction(2) ** (exponent - 31)
    if rounding == "TONEAREST" and value < 0:
        return 1 - math.floor(-value + Fraction(1, 2))
    return 1 + math.floor(value + Fraction(1, 2))


@pytest.mark.parametrize("out_dtype", ["int8", "int32"])
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("scales", SCALES)
def test_int64_is_a_number_and_a_shift(scales: tuple[Any, float], rounding: str, out_dtype: str) -> None:
    limits = np.iinfo(out_dtype)
    factors = np.broadcast_to(scales[0], NUMBERS.shape)
    expected = [
        min(max(by_number_and_shift(s, scales[1], int(v), rounding), limits.min), limits.max)
        for s, v in zip(factors, NUMBERS)
    ]
    with QNN.requantize_config(rounding=rounding, compute_dtype="int64"):
        found = results(module(*scales, out_dtype))
    for values in found:
        np.testing.assert_array_equal(values, np.array(expected, out_dtype))


def test_floats_are_rounded_after_the_zero_point_is_added() -> None:
    """-1.5 + 1 is a half away from zero: -1; exactly, -1.5 is rounded first: -2 + 1. -0.5 + 1 is 1, or -1 + 1."""
    for compute_dtype in ("float32", "float64"):
        for values in results(module(0.5, 1.0, "int8", rounding="TONEAREST", compute_dtype=compute_dtype)):
            assert values[NUMBERS == 0] == -1
            assert values[NUMBERS == 2] == 1
    for values in results(module(0.5, 1.0, "int8", rounding="TONEAREST")):
        assert values[NUMBERS == 0] == -1
        assert values[NUMBERS == 2] == 0


def test_a_configuration_holds_where_a_program_is_built() -> None:
    program = module(0.5, 1.0, "int8")
    with QNN.requantize_config(rounding="TONEAREST"):
        library = relay.build(program, "llvm")
        run = relay.create_executor("vm", program).evaluate()
    machine = baton.contrib.graph_executor.GraphModule(library["default"](baton.cpu()))
    machine.run(x=NUMBERS)
    assert machine.get_output(0).numpy()[NUMBERS == 2] == run(NUMBERS).numpy()[NUMBERS == 2] == 0
    assert relay.create_executor("vm", program).evaluate()(NUMBERS).numpy()[NUMBERS == 2] == 1


def test_arguments_of_a_call_win_and_configurations_nest() -> None:
    assert QNN.current_requantize_config().rounding == "UPWARD"
    with QNN.requantize_config(rounding="TONEAREST", compute_dtype="int64") as outer:
        with QNN.requantize_config(compute_dtype="float32"):
            assert QNN.current_requantize_config().rounding == "UPWARD"
        assert QNN.current_requantize_config() is outer
        for values in results(module(0.5, 1.0, "int8", rounding="UPWARD")):
            assert values[NUMBERS == 2] == 1


def test_refused() -> None:
    with pytest.raises(BatonError, match="rounding must be one of UPWARD, TONEAREST"):
        QNN.requantize_config(rounding="DOWN")
    with pytest.raises(BatonError, match="compute_dtype must be one of"):
        QNN.requantize_config(compute_dtype="int16")
    with pytest.raises(BatonError, match="holds products of int32 and narrower, not of int64"):
        module(0.5, 1.0, "int64", compute_dtype="int64")
    scale = relay.var("s", shape=(), dtype="float32")
    call = QNN.requantize(X, scale, relay.const(0), relay.const(1.0), relay.const(0), compute_dtype="int64")
    program = baton.IRModule.from_expr(relay.Function([X, scale], call))
    with pytest.raises(BatonError, match="needs scales that are constants"):
        relay.qnn.transform.CanonicalizeOps()(program)
    with pytest.raises(BatonError, match="too far apart"):
        relay.qnn.transform.CanonicalizeOps()(module(1e12, 1.0, "int8", compute_dtype="int64"))


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_factors_beyond_shifts_saturate(rounding: str) -> None:
    program = module(1e12, 1.0, "int32", compute_dtype="int64", rounding=rounding)
    for kind in ("debug", "vm"):
        values = relay.create_executor(kind, program).evaluate()(NUMBERS).numpy()
        limits = np.iinfo("int32")
        wanted = np.where(NUMBERS == 3, 1, np.where(NUMBERS < 3, limits.min, limits.max))
        np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize(
    ("scales", "rounding", "compute_dtype"),
    every_pair(
        [(1.0, 10.0), (3.0, 10.0), (7.0, 100.0), (1.0, 6.0)],
        ["UPWARD", "TONEAREST"],
        ["None", "float32", "float64"],
    ),
)
def test_products_are_rounded_before_anything_is_added(
    scales: tuple[float, float], rounding: str, compute_dtype: str
) -> None:
    """-5 * 0.1 is -0.5, which is rounded up to 0; a fused product and sum is a little less, and gave -1."""
    x = relay.var("x", shape=(4000,), dtype="int32")
    numbers = np.arange(-2000, 2000, dtype="int32")
    for zero in (0, -6, 5):
        operands = (relay.const(scales[0]), relay.const(0), relay.const(scales[1]), relay.const(zero))
        call = QNN.requantize(x, *operands, out_dtype="int32", rounding=rounding, compute_dtype=compute_dtype)
        program = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x], call)))
        expected, *others = results(program, numbers)
        for found in others:
            np.testing.assert_array_equal(found, expected)


def test_sums_of_wide_integers_agree() -> None:
    """Products of int32 and scales are not exact in float64: qnn.add rounds them before it adds them."""
    x = relay.var("x", shape=(4000,), dtype="int32")
    numbers = np.random.default_rng(0).integers(-(2**31), 2**31, 4000).astype("int32")
    scale, zero, wide = relay.const(0.1), relay.const(3), relay.const(2.3)
    call = QNN.add(x, x, scale, zero, wide, zero, wide, zero)
    program = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x], call)))
    expected, *others = results(program, numbers)
    for found in others:
        np.testing.assert_array_equal(found, expected)
