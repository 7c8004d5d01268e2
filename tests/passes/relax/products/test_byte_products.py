"""ByteProducts: the same numbers from products of bytes, for every form of zero points and scales, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.products.byte_products import ByteProducts
from baton._src.relax.nodes import Call, Constant
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, bindings, called, const, dim, program, tensor

WITH = Target("llvm -mcpu=znver4")


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    info = np.iinfo(dtype)
    found = np.random.default_rng(seed).integers(2 * info.min - 99, 2 * info.max + 99, shape)
    return np.clip(found, info.min, info.max).astype(dtype)


def rewritten(before: IRModule) -> IRModule:
    with WITH:
        return DeadCodeElimination()(ByteProducts()(before))


def factors(module: IRModule, op: str) -> list[tuple[str, ...]]:
    """The dtypes of the operands of every call of an operator."""
    calls = [b.value for b in bindings(module) if isinstance(b.value, Call)]
    return [tuple(str(a.struct_info.dtype) for a in c.args) for c in calls if c.op.name == f"relax.{op}"]


def checked(before: IRModule, op: str, *args: np.ndarray, tolerance: float = 0.0) -> IRModule:
    """The program after the pass: the operator multiplies unsigned by signed bytes, the numbers are the same."""
    after = rewritten(before)
    assert {frozenset(pair) for pair in factors(after, op)} == {frozenset({"int8", "uint8"})}
    found, expected = evaluate(after, "main", *args), evaluate(before, "main", *args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return after


def centred(bb: Any, x: Any, zero: Any) -> Any:
    return bb.emit(R.subtract(bb.emit(R.astype(x, "int32")), zero))


@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize("right", ["int8", "uint8"])
@pytest.mark.parametrize("constant", [False, True])
def test_centred_factors(left: str, right: str, constant: bool) -> None:
    """All signs, weights known or not, zero points of every row and column."""
    b = numbers((9, 5), right, 2)
    rows, columns = const([[3], [-7], [200]], dtype="int32"), const([1, 2, 130, 0, -5], dtype="int32")

    def product(bb: Any, x: Any, y: Any) -> Any:
        factor = Constant(b) if constant else y
        return R.matmul(centred(bb, x, rows), centred(bb, factor, columns))

    before = program([tensor("x", 3, 9, dtype=left), tensor("y", 9, 5, dtype=right)], product)
    checked(before, "matmul", numbers((3, 9), left, 1), b)


def test_zero_points_known_at_run_time() -> None:
    """Scalars that are computed, as of dynamic quantisation; a batch; rows of unknown number."""

    def product(bb: Any, x: Any, y: Any, z: Any) -> Any:
        return R.matmul(centred(bb, x, bb.emit(R.astype(z, "int32"))), centred(bb, y, const(128, dtype="int32")))

    params = [tensor("x", 2, dim(), 9, dtype="uint8"), tensor("y", 9, 5, dtype="uint8"), tensor("z", dtype="uint8")]
    before = program(params, product)
    x, y = numbers((2, 4, 9), "uint8", 1), numbers((9, 5), "uint8", 2)
    after = checked(before, "matmul", x, y, np.array(201, "uint8"))
    assert called(after).count("sum") == 1  # 128 makes the columns' zero points vanish: no sums of rows


def test_converted_weights() -> None:
    """int32 constants that are bytes but for a shift, as importers leave them; others stay."""

    def product(weight: np.ndarray) -> IRModule:
        return program(
            [tensor("x", 3, 9, dtype="uint8")],
            lambda bb, x: R.matmul(centred(bb, x, const(5, dtype="int32")), Constant(weight)),
        )

    x = numbers((3, 9), "uint8", 1)
    for low in (-128, -255, 0):
        checked(product(numbers((9, 5), "uint8", 2).astype("int32") + low), "matmul", x)
    largest = np.full((9, 5), 2**31 - 5, "int32")  # the shift of such numbers is no int32: an error
    assert factors(rewritten(product(largest)), "matmul") == [("int32", "int32")]
    wide = product(np.full((9, 5), -9, "int32") * np.arange(45, dtype="int32").reshape(9, 5))
    assert factors(rewritten(wide), "matmul") == [("int32", "int32")]


def test_bytes_centred_as_int16_stay() -> None:
    """Their zero points were added to numbers of int32: an error."""

    def product(bb: Any, x: Any, y: Any, z: Any) -> Any:
        left = bb.emit(R.subtract(bb.emit(R.astype(x, "int16")), z))
        return R.matmul(left, bb.emit(R.astype(y, "int16")), out_dtype="int32")

    params = [tensor("x", 3, 9, dtype="int8"), tensor("y", 9, 5, dtype="int8"), tensor("z", dtype="int16")]
    assert factors(rewritten(program(params, product)), "matmul") == [("int16", "int16")]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_plain_bytes(dtype: str) -> None:
    """Products of bytes of one sign that ask for int32 sums; those that do not stay."""
    params = [tensor("x", 3, 9, dtype=dtype), tensor("y", 9, 5, dtype=dtype)]
    before = program(params, lambda bb, x, y: R.matmul(x, y, out_dtype="int32"))
    checked(before, "matmul", numbers((3, 9), dtype, 1), numbers((9, 5), dtype, 2))
    same = program(params, lambda bb, x, y: R.matmul(x, y))
    assert factors(rewritten(same), "matmul") == [(dtype, dtype)]


@pytest.mark.parametrize("data", ["int8", "uint8"])
@pytest.mark.parametrize("kernel", ["int8", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(data: str, kernel: str, groups: int) -> None:
    """Borders of zero points, strides, groups; unsigned weights around 128."""
    w = numbers((4, 4 // groups, 3, 3), kernel, 2)

    def convolved(bb: Any, x: Any) -> Any:
        weight = centred(bb, Constant(w), const(128 if kernel == "uint8" else 0, dtype="int32"))
        shifted = centred(bb, x, const(-7 if data == "int8" else 9, dtype="int32"))
        return R.nn.conv2d(shifted, weight, strides=2, padding=[1, 0, 1, 2], groups=groups)

    before = program([tensor("x", dim(), 4, 7, 6, dtype=data)], convolved)
    checked(before, "nn.conv2d", numbers((2, 4, 7, 6), data, 1))


@pytest.mark.parametrize("kernel", ["int8", "uint8"])
@pytest.mark.parametrize("zeros", [[113], [1, -2, 99, 0]])
def test_convolutions_with_zero_points_that_a_run_tells(kernel: str, zeros: list[int]) -> None:
    """Borders of a zero point that is an input, zero points of weights for all channels or for each."""
    w = numbers((4, 3, 3, 3), kernel, 2)

    def convolved(bb: Any, x: Any, zero: Any) -> Any:
        weight = centred(bb, Constant(w), const(np.reshape(zeros, (-1, 1, 1, 1)), dtype="int32"))
        shifted = centred(bb, x, bb.emit(R.astype(zero, "int32")))
        return R.nn.conv2d(shifted, weight, padding=[1, 0, 2, 1])

    before = program([tensor("x", 1, 3, dim(), 6, dtype="uint8"), tensor("zero", dtype="uint8")], convolved)
    checked(before, "nn.conv2d", numbers((1, 3, 5, 6), "uint8", 1), np.array(200, "uint8"))


@pytest.mark.parametrize("transposed", [False, True])
def test_dequantized_products(transposed: bool) -> None:
    """Scales of every column come behind the sum; weights may lie the other way."""
    shape = (5, 9) if transposed else (9, 5)
    scales, zeros = np.linspace(0.01, 0.05, 5).astype("float32"), np.array([0, 3, -2, 127, -128], "int8")

    def product(bb: Any, x: Any) -> Any:
        left = bb.emit(R.dequantize(x, const(0.02), const(131, dtype="uint8")))
        weight = Constant(numbers(shape, "int8", 2))
        right = bb.emit(R.dequantize(weight, Constant(scales), Constant(zeros), axis=0 if transposed else 1))
        return R.matmul(left, bb.emit(R.permute_dims(right)) if transposed else right)

    before = program([tensor("x", 3, 9, dtype="uint8")], product)
    checked(before, "matmul", numbers((3, 9), "uint8", 1), tolerance=1e-5)


def test_dequantized_convolutions() -> None:
    """The same for convolutions with scales of every output channel."""

    def convolved(bb: Any, x: Any) -> Any:
        data = bb.emit(R.dequantize(x, const(0.02), const(-3, dtype="int8")))
        scales = Constant(np.linspace(0.01, 0.05, 4).astype("float32"))
        zeros = Constant(np.zeros(4, "int8"))
        weight = bb.emit(R.dequantize(Constant(numbers((4, 2, 3, 3), "int8", 2)), scales, zeros, axis=0))
        return R.nn.conv2d(data, weight, padding=1)

    before = program([tensor("x", 1, 2, 6, 6, dtype="int8")], convolved)
    checked(before, "nn.conv2d", numbers((1, 2, 6, 6), "int8", 1), tolerance=1e-4)


def test_weights_of_float_products_are_converted_once() -> None:
    """Data that is no bytes: FoldConstant makes floats of the weights, beyond its usual limit."""

    def product(bb: Any, x: Any) -> Any:
        weight = Constant(np.ones((1024, 512), "int8"))
        return R.matmul(x, bb.emit(R.dequantize(weight, const(0.5), const(0, dtype="int8"))))

    after = FoldConstant()(rewritten(program([tensor("x", 3, 1024)], product)))
    assert called(after) == ["matmul"]


def test_what_stays() -> None:
    """Scales along the axis of the sum, sums that could overflow, processors without the instruction."""

    def product(axis: int, depth: int) -> IRModule:
        vector = Constant(np.full(depth if axis == 0 else 5, 0.1, "float32"))
        zeros = Constant(np.zeros(depth if axis == 0 else 5, "int8"))

        def build(bb: Any, x: Any) -> Any:
            left = bb.emit(R.dequantize(x, const(0.02), const(0, dtype="uint8")))
            right = bb.emit(R.dequantize(Constant(np.ones((depth, 5), "int8")), vector, zeros, axis=axis))
            return R.matmul(left, right)

        return program([tensor("x", 3, depth, dtype="uint8")], build)

    assert factors(rewritten(product(1, 9)), "matmul") == [("uint8", "int8")]
    assert factors(rewritten(product(0, 9)), "matmul") == [("float32", "float32")]
    assert factors(rewritten(product(1, 40_000)), "matmul") == [("float32", "float32")]
    for other in ("llvm -mcpu=x86-64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"):
        with Target(other):
            before = product(1, 9)
            assert ByteProducts()(before)["main"] is before["main"]


@pytest.mark.parametrize("zero", [-79, 300])
def test_borders_of_what_is_no_byte_stay(zero: int) -> None:
    """Guards zero points that the data's dtype does not hold: a border of them cannot lie around bytes."""

    def convolved(bb: Any, x: Any) -> Any:
        weight = centred(bb, Constant(numbers((4, 3, 3, 3), "int8")), const(0, dtype="int32"))
        return R.nn.conv2d(centred(bb, x, const(zero, dtype="int32")), weight, padding=1)

    before, data = program([tensor("x", 1, 3, 5, 5, dtype="uint8")], convolved), numbers((1, 3, 5, 5), "uint8")
    after = rewritten(before)
    assert factors(after, "nn.conv2d") == [("int32", "int32")]
    np.testing.assert_array_equal(evaluate(after, "main", data), evaluate(before, "main", data))
