"""topi.nn's layers of bits, quantisation in floats and gradients of depthwise convolutions, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te, topi
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from tests.codegen.native_run import run_native

RNG = np.random.default_rng(6)


def run(result: Any, inputs: dict[Any, np.ndarray]) -> np.ndarray:
    func = te.create_prim_func([*inputs, result])
    found = [np.zeros([int(d) for d in result.shape], result.dtype.numpy) for _ in range(2)]
    run_prim_func(func, [*inputs.values(), found[0]])
    run_native(func, *inputs.values(), found[1])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)
    return found[0]


def test_dense_layers_of_bits() -> None:
    """Guards the order of bits, and that words multiply as the numbers 1 and -1 do."""
    x, w = RNG.standard_normal((3, 64)).astype("float32"), RNG.standard_normal((5, 64)).astype("float32")
    x[0, :3] = [0, -1, 1]
    data, weight = te.placeholder((3, 64), name="data"), te.placeholder((5, 64), name="weight")
    packed = run(topi.nn.binarize_pack(data), {data: x})
    assert f"{packed[0, 0]:032b}"[:3] == "101"
    product = topi.nn.binary_dense(topi.nn.binarize_pack(data), topi.nn.binarize_pack(weight))
    wanted = np.where(x >= 0, 1, -1) @ np.where(w >= 0, 1, -1).T
    np.testing.assert_array_equal(run(product, {data: x, weight: w}), wanted)
    with pytest.raises(DiagnosticError, match="axis 0 of data has 3"):
        topi.nn.binarize_pack(data, axis=0)
    with pytest.raises(DiagnosticError, match="uint32"):
        topi.nn.binary_dense(data, weight)


def test_quantisation_in_floats() -> None:
    """Guards the numbers of dtypes, given as such and by a tensor."""
    x = np.float32([[-100, 0.3, 300]])
    data, code = te.placeholder((1, 3), name="data"), te.placeholder((), "int32", "code")
    scale, zero = te.placeholder((1,), name="scale"), te.placeholder((1,), "int32", "zero")
    inputs = {data: x, scale: np.float32([0.5]), zero: np.int32([1])}
    for number, bounds in ((1, (-128, 127)), (2, (0, 255)), (3, (-(2**31), 2**31 - 1))):
        wanted = np.clip(np.rint(x / 0.5) + 1, *bounds)
        np.testing.assert_allclose(run(topi.nn.simulated_quantize(data, number, scale, zero), inputs), wanted)
        by_tensor = topi.nn.simulated_quantize(data, code, scale, zero)
        np.testing.assert_allclose(run(by_tensor, {**inputs, code: np.array(number, "int32")}), wanted)
    back = run(topi.nn.simulated_dequantize(data, 1, scale, zero), inputs)
    np.testing.assert_allclose(back, (x - 1) * 0.5)


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1)])
def test_gradients_of_depthwise_convolutions(stride: int, padding: int) -> None:
    """Guards both gradients: along any direction they are what the convolution changes by."""
    ishape, fshape = (1, 6, 7, 2), (3, 3, 2, 1)
    data, weight = te.placeholder(ishape, "float64", "data"), te.placeholder(fshape, "float64", "weight")
    out = topi.nn.depthwise_conv2d_nhwc(data, weight, stride, padding, 1)
    oshape = tuple(int(d) for d in out.shape)
    head = te.placeholder(oshape, "float64", "head")
    x, w, h = (RNG.standard_normal(s) for s in (ishape, fshape, oshape))
    by_data = topi.nn.depthwise_conv2d_backward_input_nhwc(weight, head, oshape, ishape, stride, padding)
    by_weight = topi.nn.depthwise_conv2d_backward_weight_nhwc(data, head, oshape, fshape, stride, padding)
    gx, gw = run(by_data, {weight: w, head: h}), run(by_weight, {data: x, head: h})
    dx, dw = RNG.standard_normal(ishape), RNG.standard_normal(fshape)
    np.testing.assert_allclose((gx * dx).sum(), (run(out, {data: dx, weight: w}) * h).sum(), rtol=1e-5)
    np.testing.assert_allclose((gw * dw).sum(), (run(out, {data: x, weight: dw}) * h).sum(), rtol=1e-5)
    with pytest.raises(DiagnosticError, match="oshape is"):
        topi.nn.depthwise_conv2d_backward_input_nhwc(weight, head, (1, 1, 1, 2), ishape, stride, padding)


@pytest.mark.parametrize("padding", [0, 1])
def test_winograds_convolutions(padding: int) -> None:
    """Guards both layouts, and matrices that belong together."""
    x, w = RNG.standard_normal((1, 3, 9, 10)), RNG.standard_normal((2, 3, 3, 3))
    data, weight = te.placeholder(x.shape, "float64", "data"), te.placeholder(w.shape, "float64", "weight")
    wanted = topi.testing.conv2d_nchw_python(x, w, 1, padding)
    found = topi.nn.conv2d_winograd_nchw(data, weight, 1, padding, 1, "float64")
    np.testing.assert_allclose(run(found, {data: x, weight: w}), wanted, rtol=1e-6, atol=1e-8)
    images, kernel = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    data, weight = te.placeholder(images.shape, "float64", "data"), te.placeholder(kernel.shape, "float64", "weight")
    found = topi.nn.conv2d_winograd_nhwc(data, weight, 1, padding, 1, "float64")
    values = run(found, {data: images, weight: kernel})
    np.testing.assert_allclose(values.transpose(0, 3, 1, 2), wanted, rtol=1e-6, atol=1e-8)
    a, b, g = (run(table, {}) for table in topi.nn.winograd_transform_matrices(4, 3, "float64"))
    line, taps = RNG.standard_normal(6), RNG.standard_normal(3)
    np.testing.assert_allclose(a.T @ ((g @ taps) * (b.T @ line)), np.correlate(line, taps, "valid"))
