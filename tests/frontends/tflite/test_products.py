"""Convolutions, matrix products, pools and images of TensorFlow Lite, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.tflite.models import Tensor, agree, ints, normal, single, weights, whole

SAME, VALID = 0, 1
IMAGE = Tensor((1, 9, 10, 4))
BYTES = Tensor((1, 9, 10, 4), "int8", scale=0.04, zero=7)
RELU, RELU6 = 1, 3


def windows(padding: int, stride: int, size: int = 3, height: int = 9, width: int = 10) -> tuple[int, int]:
    """The height and width of a result."""
    if padding == SAME:
        return -(-height // stride), -(-width // stride)
    return (height - size) // stride + 1, (width - size) // stride + 1


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [SAME, VALID])
def test_convolutions(padding: int, stride: int) -> None:
    y = Tensor((1, *windows(padding, stride), 8))
    w, b = weights(normal(8, 3, 3, 4)), weights(normal(8))
    fields = {"padding": padding, "strideH": stride, "strideW": stride, "fusedActivationFunction": RELU6}
    agree(single("CONV_2D", {"x": IMAGE, "w": w, "b": b, "y": y}, "Conv2DOptions", **fields), normal(1, 9, 10, 4))
    depth, bias = weights(normal(1, 3, 3, 8)), weights(normal(8))
    tensors = {"x": IMAGE, "w": depth, "b": bias, "y": y}
    fields["depthMultiplier"] = 2
    agree(single("DEPTHWISE_CONV_2D", tensors, "DepthwiseConv2DOptions", **fields), normal(1, 9, 10, 4))


def quantised_weights(*shape: int, axis: int) -> tuple[Tensor, Tensor]:
    """Weights of bytes with a scale for each channel, and a bias in the scale of their products."""
    scale = np.abs(normal(shape[axis])).astype(np.float32) / 100 + 0.001
    w = weights(whole(-127, 128, *shape, dtype="int8"), scale=scale, zero=0, axis=axis)
    return w, weights(whole(-2000, 2000, shape[axis]), scale=scale * np.float32(BYTES.scale), zero=0)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [SAME, VALID])
def test_convolutions_of_bytes(padding: int, stride: int) -> None:
    """Guards sums in int32 and borders that stand for 0: results are within a step, most are equal."""
    y = Tensor((1, *windows(padding, stride), 8), "int8", scale=0.3, zero=-20)
    w, b = quantised_weights(8, 3, 3, 4, axis=0)
    fields = {"padding": padding, "strideH": stride, "strideW": stride, "fusedActivationFunction": RELU}
    x = whole(-128, 128, 1, 9, 10, 4, dtype="int8")
    agree(single("CONV_2D", {"x": BYTES, "w": w, "b": b, "y": y}, "Conv2DOptions", **fields), x, steps=1)
    w, b = quantised_weights(1, 3, 3, 4, axis=3)
    y = Tensor((1, *windows(padding, stride), 4), "int8", scale=0.1, zero=3)
    fields["depthMultiplier"] = 1
    agree(
        single("DEPTHWISE_CONV_2D", {"x": BYTES, "w": w, "b": b, "y": y}, "DepthwiseConv2DOptions", **fields),
        x,
        steps=1,
    )


def test_convolutions_of_unsigned_bytes() -> None:
    """Guards zero points of weights, which older files have."""
    x = Tensor((1, 9, 10, 4), "uint8", scale=0.04, zero=130)
    w = weights(whole(0, 256, 8, 3, 3, 4, dtype="uint8"), scale=0.02, zero=121)
    b = weights(whole(-2000, 2000, 8), scale=0.0008)
    y = Tensor((1, 9, 10, 8), "uint8", scale=0.3, zero=120)
    content = single("CONV_2D", {"x": x, "w": w, "b": b, "y": y}, "Conv2DOptions", padding=SAME, strideH=1, strideW=1)
    agree(content, whole(0, 256, 1, 9, 10, 4, dtype="uint8"), steps=1)


def test_convolutions_of_groups_and_with_holes() -> None:
    w, b = weights(normal(8, 3, 3, 2)), weights(normal(8))
    y = Tensor((1, 9, 10, 8))
    fields: dict[str, Any] = {"padding": SAME, "strideH": 1, "strideW": 1}
    agree(single("CONV_2D", {"x": IMAGE, "w": w, "b": b, "y": y}, "Conv2DOptions", **fields), normal(1, 9, 10, 4))
    w = weights(normal(8, 3, 3, 4))
    fields |= {"dilationHFactor": 2, "dilationWFactor": 3}
    agree(single("CONV_2D", {"x": IMAGE, "w": w, "b": b, "y": y}, "Conv2DOptions", **fields), normal(1, 9, 10, 4))


def test_open_batches() -> None:
    """Guards that one program serves all sizes that the model leaves open."""
    x, y = Tensor((1, 9, 10, 4), open=(0,)), Tensor((1, 9, 10, 8), open=(0,))
    content = single(
        "CONV_2D", {"x": x, "w": weights(normal(8, 3, 3, 4)), "b": weights(normal(8)), "y": y}, "Conv2DOptions",
        padding=SAME, strideH=1, strideW=1,
    )  # fmt: skip
    agree(content, normal(1, 9, 10, 4))
    agree(content, normal(3, 9, 10, 4))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_transposed_convolutions(padding: int, stride: int, kind: str) -> None:
    out = (5 * stride, 6 * stride) if padding == SAME else (4 * stride + 3, 5 * stride + 3)
    fields = {"padding": padding, "strideH": stride, "strideW": stride}
    shape = ints(1, *out, 8)
    if kind == "float32":
        tensors = {"s": shape, "w": weights(normal(8, 3, 3, 4)), "x": Tensor((1, 5, 6, 4)), "y": Tensor((1, *out, 8))}
        agree(single("TRANSPOSE_CONV", tensors, "TransposeConvOptions", **fields), normal(1, 5, 6, 4))
        return
    w, _ = quantised_weights(8, 3, 3, 4, axis=0)
    x, y = Tensor((1, 5, 6, 4), "int8", scale=0.04, zero=7), Tensor((1, *out, 8), "int8", scale=0.3, zero=-20)
    content = single("TRANSPOSE_CONV", {"s": shape, "w": w, "x": x, "y": y}, "TransposeConvOptions", **fields)
    agree(content, whole(-128, 128, 1, 5, 6, 4, dtype="int8"), steps=1)


def test_convolutions_of_volumes() -> None:
    tensors = {
        "x": Tensor((1, 5, 6, 7, 4)), "w": weights(normal(2, 3, 3, 4, 5)), "b": weights(normal(5)),
        "y": Tensor((1, 5, 3, 7, 5)),
    }  # fmt: skip
    content = single("CONV_3D", tensors, "Conv3DOptions", padding=SAME, strideD=1, strideH=2, strideW=1)
    agree(content, normal(1, 5, 6, 7, 4))


@pytest.mark.parametrize("keeps", [False, True])
def test_products_by_weights(keeps: bool) -> None:
    y = Tensor((2, 3, 8) if keeps else (6, 8))
    tensors = {"x": Tensor((2, 3, 16)), "w": weights(normal(8, 16)), "b": weights(normal(8)), "y": y}
    fields = {"keepNumDims": keeps, "fusedActivationFunction": RELU}
    agree(single("FULLY_CONNECTED", tensors, "FullyConnectedOptions", **fields), normal(2, 3, 16))


def test_products_by_weights_of_bytes() -> None:
    w = weights(whole(-127, 128, 8, 16, dtype="int8"), scale=0.02)
    x, y = Tensor((4, 16), "int8", scale=0.04, zero=7), Tensor((4, 8), "int8", scale=0.3, zero=-20)
    tensors = {"x": x, "w": w, "b": weights(whole(-2000, 2000, 8), scale=0.0008), "y": y}
    agree(single("FULLY_CONNECTED", tensors, "FullyConnectedOptions"), whole(-128, 128, 4, 16, dtype="int8"), steps=1)


def test_weights_of_bytes_and_data_of_floats() -> None:
    """LiteRT rounds the data to bytes in each run, which this does not: the results are near."""
    w = weights(whole(-127, 128, 8, 16, dtype="int8"), scale=0.02)
    tensors = {"x": Tensor((4, 16)), "w": w, "b": weights(normal(8)), "y": Tensor((4, 8))}
    agree(single("FULLY_CONNECTED", tensors, "FullyConnectedOptions"), normal(4, 16), rtol=0.05, atol=0.3)


def test_weights_of_four_bits() -> None:
    values = whole(-8, 8, 8, 16, dtype="int8")
    packed = (values.reshape(-1, 2)[:, 0] & 15) | (values.reshape(-1, 2)[:, 1] & 15) << 4
    w = Tensor((8, 16), "int8", packed.astype(np.int8), scale=0.1, kind=17)
    x, y = Tensor((4, 16), "int8", scale=0.04, zero=7), Tensor((4, 8), "int8", scale=0.3, zero=-20)
    tensors = {"x": x, "w": w, "_": x, "y": y}
    agree(single("FULLY_CONNECTED", tensors, "FullyConnectedOptions"), whole(-128, 128, 4, 16, dtype="int8"), steps=1)


@pytest.mark.parametrize(("left", "right"), [(False, False), (True, False), (False, True)])
def test_products_of_batches(left: bool, right: bool) -> None:
    x, y = Tensor((2, 16, 4) if left else (2, 4, 16)), Tensor((2, 5, 16) if right else (2, 16, 5))
    content = single(
        "BATCH_MATMUL", {"a": x, "b": y, "y": Tensor((2, 4, 5))}, "BatchMatMulOptions", adjX=left, adjY=right
    )
    agree(content, normal(*x.shape), normal(*y.shape))


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"])
def test_pools(name: str, padding: int) -> None:
    fields = {"padding": padding, "strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
    y = Tensor((1, *windows(padding, 2), 4))
    agree(single(name, {"x": IMAGE, "y": y}, "Pool2DOptions", **fields), normal(1, 9, 10, 4))
    if name != "L2_POOL_2D":
        bytes_ = Tensor(y.shape, "int8", scale=0.04, zero=7)
        content = single(name, {"x": BYTES, "y": bytes_}, "Pool2DOptions", fusedActivationFunction=RELU, **fields)
        agree(content, whole(-128, 128, 1, 9, 10, 4, dtype="int8"), steps=1)


def test_means_of_bytes_round_ties_away_from_zero() -> None:
    """Guards against ties that are rounded to even numbers."""
    fields = {"padding": VALID, "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
    x, y = Tensor((1, 8, 8, 3), "int8", scale=0.1), Tensor((1, 4, 4, 3), "int8", scale=0.1)
    agree(
        single("AVERAGE_POOL_2D", {"x": x, "y": y}, "Pool2DOptions", **fields),
        whole(-128, 128, 1, 8, 8, 3, dtype="int8"),
    )


def test_normalisations() -> None:
    x = Tensor((1, 3, 4, 7))
    agree(single("L2_NORMALIZATION", {"x": x, "y": x}, "L2NormOptions"), normal(1, 3, 4, 7))
    fields = {"radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.6}
    name, options = "LOCAL_RESPONSE_NORMALIZATION", "LocalResponseNormalizationOptions"
    agree(single(name, {"x": x, "y": x}, options, **fields), normal(1, 3, 4, 7))


@pytest.mark.parametrize(("corners", "half"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("name", "options"), [
    ("RESIZE_BILINEAR", "ResizeBilinearOptions"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
])  # fmt: skip
def test_resizes(name: str, options: str, corners: bool, half: bool) -> None:
    tensors = {"x": Tensor((1, 5, 6, 3)), "s": ints(7, 11), "y": Tensor((1, 7, 11, 3))}
    fields = {"alignCorners": corners, "halfPixelCenters": half}
    agree(single(name, tensors, options, **fields), normal(1, 5, 6, 3))
