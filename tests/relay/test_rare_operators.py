"""Operators that few programs use, built as TVM's scripts build them, compiled and compared with what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.ir.module import IRModule
from tests.relay.test_operator_builders import numbers, run

NN = relay.nn


def convolved(x: Any, w: Any, **options: Any) -> Any:
    data, weight = relay.var("x", shape=x.shape, dtype=str(x.dtype)), relay.var("w", shape=w.shape, dtype=str(w.dtype))
    return run([data, weight], NN.conv2d(data, weight, **options), x, w)


@pytest.mark.parametrize(("tile", "kernel"), [(2, 3), (6, 3), (2, 5), (1, 1)])
def test_winograd_is_the_convolution(tile: int, kernel: int) -> None:
    """Guards the matrices: a transformed kernel with transformed tiles is a convolution, whatever the tile's size."""
    x, w = relay.var("x", shape=(1, 3, 11, 9)), relay.var("w", shape=(4, 3, kernel, kernel))
    moved = NN.contrib_conv2d_winograd_weight_transform(w, tile)
    geometry = {"padding": (1, 1), "channels": 4, "kernel_size": (kernel, kernel)}
    body = NN.contrib_conv2d_winograd_without_weight_transform(x, moved, tile, **geometry)
    data, weight = numbers(1, 3, 11, 9), numbers(4, 3, kernel, kernel)
    found = run([x, w], body, data, weight)
    np.testing.assert_allclose(found, convolved(data, weight, padding=(1, 1)), rtol=1e-3, atol=1e-3)


def test_gradients_of_a_convolution_in_groups() -> None:
    """Guards nn.conv2d_backward_weight where `gradient` uses it, and its builder's own name for the layout."""
    x, w = relay.var("x", shape=(2, 4, 6, 5)), relay.var("w", shape=(6, 2, 3, 3))
    body = NN.conv2d(x, w, strides=(2, 1), padding=(1, 1), groups=2, channels=6, kernel_size=(3, 3))
    module = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x, w], body)))
    slopes = relay.transform.gradient(module["main"], module, mode="first_order")
    data, weight = numbers(2, 4, 6, 5), numbers(6, 2, 3, 3)
    result, (to_x, to_w) = relay.create_executor("vm", mod=baton.IRModule.from_expr(slopes)).evaluate()(data, weight)
    for found, operand in ((to_x.numpy(), data), (to_w.numpy(), weight)):
        step = numbers(*operand.shape)
        # The convolution is linear in either operand.
        wanted = convolved(step if operand is data else data, step if operand is weight else weight,
                           strides=(2, 1), padding=(1, 1), groups=2).sum()  # fmt: skip
        np.testing.assert_allclose((found * step).sum(), wanted, rtol=1e-3)
    grad = relay.var("g", shape=result.numpy().shape)
    geometry = ((2, 1), (1, 1), (1, 1), 2, 6, (3, 3), "NCHW", "NCHW", "OIHW")
    alone = run([grad, x], NN.conv2d_backward_weight(grad, x, *geometry), np.ones_like(result.numpy()), data)
    np.testing.assert_allclose(alone, to_w.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("layouts", "unipolar"), [(("NCHW", "OIHW"), True), (("NHWC", "HWIO"), False)])
def test_few_bits(layouts: tuple[str, str], unipolar: bool) -> None:
    """Guards that packed and plain weights give one result, that of the convolution of what the bits stand for."""
    rng = np.random.default_rng(1)
    data_layout, kernel_layout = layouts
    extents = {"N": 1, "C": 16, "H": 5, "W": 6, "O": 4, "I": 16}
    x_shape = tuple(extents[letter] for letter in data_layout)
    w_shape = tuple({**extents, "H": 3, "W": 3}[letter] for letter in kernel_layout)
    x = relay.var("x", shape=x_shape, dtype="uint8")
    w = relay.var("w", shape=w_shape, dtype="uint8")
    options = {"padding": (1, 1), "kernel_size": (3, 3), "activation_bits": 2, "weight_bits": 1, "unipolar": unipolar}
    options |= {"data_layout": data_layout, "kernel_layout": kernel_layout, "pack_dtype": "uint8", "out_dtype": "int32"}
    data, weight = rng.integers(0, 4, x_shape).astype("uint8"), rng.integers(0, 2, w_shape).astype("uint8")
    packed = NN.bitpack(w, bits=1, pack_axis=kernel_layout.index("I"), bit_axis=4, pack_type="uint8")
    signed = (2 * weight.astype("int32") - 1 if unipolar else weight.astype("int32")).astype("int8")
    layout = {"data_layout": data_layout, "kernel_layout": kernel_layout, "padding": (1, 1), "out_dtype": "int32"}
    wanted = convolved(data.astype("int8"), signed, **layout)
    for kernel in (w, packed):
        np.testing.assert_array_equal(run([x, w], NN.bitserial_conv2d(x, kernel, **options), data, weight), wanted)


def test_transforms_of_signals() -> None:
    """Guards the defaults of stft's builder, and dft's pair."""
    x = relay.var("x", shape=(2, 16))
    data = numbers(2, 16)
    found = run([x], relay.stft(x, 8), data)
    frames = np.stack([data[:, s : s + 8] for s in range(0, 9, 2)], axis=1)
    wanted = np.fft.rfft(frames).transpose(0, 2, 1)
    np.testing.assert_allclose(found, np.stack([wanted.real, wanted.imag], -1), atol=1e-5)
    re, im = run([x], relay.dft(x, relay.zeros_like(x)).astuple(), data)
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(data), atol=1e-5)
    back = relay.dft(*relay.dft(x, relay.zeros_like(x)), inverse=True)[0]
    np.testing.assert_allclose(run([x], back, data), data, atol=1e-5)


def test_sparse_coordinates() -> None:
    """Guards results whose size depends on the elements, and the example of TVM's documentation."""
    indices = relay.const([[0, 1], [0, 3], [2, 0], [3, 1]], "int64")
    values, shape = relay.const([1, 2, 3, 4], "int64"), relay.const([5, 6], "int64")
    filled = relay.sparse_fill_empty_rows(indices, values, shape, relay.const(10, "int64"))
    rows, found, flags = run([], filled.astuple())
    assert rows.tolist() == [[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]]
    assert found.tolist() == [1, 2, 10, 3, 4, 10]
    assert flags.tolist() == [False, True, False, False, True]
    places, resolved = run([], relay.sparse_reshape(indices, shape, relay.const([3, -1], "int64")).astuple())
    assert resolved.tolist() == [3, 10]
    assert places.tolist() == [[0, 1], [0, 3], [1, 2], [1, 9]]


def test_quantisation_to_a_dtype_known_at_run_time() -> None:
    """Guards dtypes by name and by number (TVM's: int8 is 1, uint8 is 2), and vectors along an axis."""
    x, code = relay.var("x", shape=(2, 3)), relay.var("code", shape=(), dtype="int32")
    scale, zero = relay.const(np.float32([0.5, 0.25, 1.0])), relay.const(np.int32([0, 1, 2]))
    data = np.float32([[-100, 0.3, 300], [1.25, -7, 0.5]])
    body = relay.qnn.simulated_quantize(x, scale, zero, axis=1, out_dtype=code)
    quantised = np.rint(data / [0.5, 0.25, 1.0]) + np.arange(3)
    for number, bounds in enumerate(((-np.inf, np.inf), (-128, 127), (0, 255), (-(2**31), 2**31 - 1))):
        wanted = np.clip(quantised, *bounds) if number else data
        np.testing.assert_allclose(run([x, code], body, data, np.int32(number)), wanted)
    module = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x, code], body)))
    assert baton.ir.structural_equal(relay.fromtext(module.astext()), module)
    named = relay.qnn.simulated_dequantize(x, scale, zero, 1, "uint8")
    np.testing.assert_allclose(run([x], named, data), (data - [0, 1, 2]) * [0.5, 0.25, 1.0])


def test_buffers_packed_weights_and_fixed_points() -> None:
    """Guards the order of arguments of builders with their own."""
    x, buffer = relay.var("x", shape=(2, 3)), relay.var("b", shape=(2, 5))
    data, kept = numbers(2, 3), numbers(2, 5)
    joined = np.concatenate([kept, data], axis=1)[:, 3:]
    np.testing.assert_array_equal(run([x, buffer], NN.fifo_buffer(x, buffer, axis=1), data, kept), joined)
    w = relay.var("w", shape=(2, 3, 8))
    weight = numbers(2, 3, 8)
    wanted = data @ weight.transpose(0, 2, 1).reshape(16, 3).T
    np.testing.assert_allclose(run([x, w], NN.contrib_dense_pack(x, w, "NC8n"), data, weight), wanted, rtol=1e-5)
    n = relay.var("n", shape=(2, 3), dtype="int32")
    vectors = (relay.const(np.int32(v)) for v in ([1 << 30, 1 << 29, 1 << 30], [1, 0, 2], [0, 1, 0]))
    body = relay.fixed_point_multiply_per_axis(n, *vectors, True, True, [1])
    numbers_in = np.int32([[7, 9, -3], [100, -8, 5]])
    assert run([n], body, numbers_in).tolist() == [[7, 1, -6], [100, -1, 10]]
    assert NN.get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert NN.get_pad_tuple1d(3) == (3, 3)
    assert NN.get_pad_tuple3d([1, 2, 3, 4, 5, 6]) == (1, 2, 3, 4, 5, 6)
    image, blocks = relay.var("i", shape=(1, 2, 5, 5, 4)), relay.var("k", shape=(3, 2, 3, 3, 4, 4))
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o", "kernel_size": (3, 3), "channels": 12}
    called = NN.contrib_conv2d_nchwc(image, blocks, **layouts)
    assert run([image, blocks], called, numbers(1, 2, 5, 5, 4), numbers(3, 2, 3, 3, 4, 4)).shape == (1, 3, 3, 3, 4)


MARKS = [
    relay.copy,
    relay.annotation.stop_fusion,
    relay.annotation.checkpoint,
    lambda value: relay.annotation.on_device(value, "cpu"),
    lambda value: relay.device_copy(value, "cpu", "cpu"),
    lambda value: relay.annotation.compiler_begin(value, "mine"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_on_tuples_are_compiled(mark: Callable[[Any], Any]) -> None:
    """The interpreter took them; the compiler looked for the shape of a tuple."""
    x = relay.var("x", shape=(2,))
    marked = mark(relay.Tuple([x, relay.Tuple([relay.exp(x), x])]))
    function = relay.Function([x], relay.TupleGetItem(relay.TupleGetItem(marked, 1), 0))
    found = relay.create_executor("vm", IRModule.from_expr(function)).evaluate()(np.zeros(2, "float32"))
    assert found.numpy().tolist() == [1, 1]
