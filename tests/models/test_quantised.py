"""Quantised models, operators and pairs of QuantizeLinear and DequantizeLinear, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import baton
from bench.models.quantised import build_resnet, build_separable
from bench.models.zoo import example_inputs
from tests.models.conftest import Judge

RNG = np.random.default_rng(5)
CPUS = ["", " -mcpu=haswell", " -mcpu=x86-64"]


def numbers(shape: tuple[int, ...], dtype: str = "int8") -> np.ndarray:
    info = np.iinfo(dtype)
    return np.clip(RNG.integers(2 * info.min - 99, 2 * info.max + 99, shape), info.min, info.max).astype(dtype)


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """Weights of 7 bits: without dot products of bytes, onnxruntime cuts sums of two larger products to 16 bits."""
    return np.clip(numbers(shape).astype("int16"), -64, 63)


def scales(*shape: int) -> np.ndarray:
    return RNG.uniform(0.01, 0.02, shape).astype("float32")


def with_operators() -> onnx.ModelProto:
    """Convolutions (dense, then depthwise with unsigned weights), then a product, on quantised tensors all along."""
    known = {
        "sx": np.float32(0.02), "zx": np.uint8(120), "sm": np.float32(0.9), "zm": np.uint8(131),
        "w": weights((16, 3, 3, 3)).astype("int8"), "sw": scales(16), "zw": np.zeros(16, "int8"),
        "b": numbers((16,)).astype("int32"),
        # not 0.01, with which sums fall on ties: what a float of the factor rounds them to differs by its order
        "d": (weights((16, 1, 3, 3)) + 128).astype("uint8"), "sd": np.float32(0.010307), "zd": np.uint8(128),
        "sn": np.float32(3),
        "m": weights((9, 5)).astype("int8"), "zp": np.zeros(5, "int8"), "sp": scales(5),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("QLinearConv", ["q", "sx", "zx", "w", "sw", "zw", "sm", "zm", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node(
            "QLinearConv", ["c", "sm", "zm", "d", "sd", "zd", "sn", "zm"], ["e"], group=16, pads=[1, 1, 1, 1]
        ),
        helper.make_node("QLinearMatMul", ["e", "sn", "zm", "m", "sp", "zp", "sn", "zm"], ["f"]),
        helper.make_node("DequantizeLinear", ["f", "sn", "zm"], ["y"]),
    ]
    return model(nodes, known, (1, 16, 9, 5))


def with_pairs() -> onnx.ModelProto:
    """The same as floats between pairs, with a ReLU."""
    known = {
        "sx": np.float32(0.02), "zx": np.int8(-8), "sm": np.float32(0.3), "zm": np.int8(-20),
        "w": numbers((16, 3, 3, 3)), "sw": scales(16), "zw": np.zeros(16, "int8"),
        "b": numbers((16,)).astype("int32"), "sb": scales(16), "zb": np.zeros(16, "int32"),
        "m": numbers((9, 5), "uint8"), "sp": scales(5), "zp": np.full(5, 128, "uint8"),
    }  # fmt: skip
    pair = helper.make_node
    nodes = [
        pair("QuantizeLinear", ["x", "sx", "zx"], ["q"]), pair("DequantizeLinear", ["q", "sx", "zx"], ["x1"]),
        pair("DequantizeLinear", ["w", "sw", "zw"], ["w1"], axis=0),
        pair("DequantizeLinear", ["b", "sb", "zb"], ["b1"], axis=0),
        helper.make_node("Conv", ["x1", "w1", "b1"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        pair("QuantizeLinear", ["r", "sm", "zm"], ["r1"]), pair("DequantizeLinear", ["r1", "sm", "zm"], ["r2"]),
        pair("DequantizeLinear", ["m", "sp", "zp"], ["m1"], axis=1),
        helper.make_node("MatMul", ["r2", "m1"], ["y"]),
    ]  # fmt: skip
    return model(nodes, known, (1, 16, 9, 5))


def model(nodes: list[onnx.NodeProto], known: dict[str, np.ndarray], out: tuple[int, ...]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 9, 9))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in known.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("make", [with_operators, with_pairs])
def test_against_onnxruntime(make: Callable[[], onnx.ModelProto], cpu: str, judge: Judge) -> None:
    """Guards integers from end to end, with dot instructions and without: at most a tie in a hundred differs."""
    source = make()
    feed = {"x": RNG.standard_normal((1, 3, 9, 9)).astype("float32")}
    (expected,) = judge(source, feed).values()
    found = np.asarray(baton.compile(source, target=f"llvm{cpu}").run(feed)[0])
    different = np.abs(found - expected) > 1e-4 * np.abs(expected).max()
    assert different.mean() <= 0.01
    assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()


@pytest.mark.parametrize(("name", "form"), [("resnet", "qlinear"), ("separable", "qdq")])
def test_networks_of_bytes(name: str, form: str, judge: Judge) -> None:
    """The benchmark's networks are valid, reproducible, and come out as in onnxruntime but for ties of roundings."""
    if name == "resnet":
        network = build_resnet(image=32, width=16, blocks=(1, 1), classes=10, form=form)
        assert network == build_resnet(image=32, width=16, blocks=(1, 1), classes=10, form=form)
    else:
        network = build_separable(image=32, widths=(16, 32, 48), classes=10, form=form)
    onnx.checker.check_model(network, full_check=True)
    feed = example_inputs(network)
    (expected,) = judge(network, feed).values()
    (found,) = baton.compile(network, num_threads=1).run(feed)
    assert np.corrcoef(np.ravel(found), np.ravel(expected))[0, 1] > 0.999
