"""MatMulNBits with constant weights of four bits: they stay four bits, and are read once for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import baton
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, in_both_languages, onnxruntime_outputs

RANDOM = np.random.default_rng(11)
OPERATOR = "nn.block_quantised_dense"


def layer(
    units: int, inputs: int, block: int, zeros: bool = False, bias: bool = False, dtype: str = "float32", bits: int = 4,
    given: tuple[str, ...] = ("x",),
) -> Any:  # fmt: skip
    """Of any number of rows."""
    blocks = -(-inputs // block)
    packed = RANDOM.integers(0, 256, (units, blocks, block * bits // 8), "uint8")
    known = {"w": packed, "s": RANDOM.uniform(0.01, 0.1, units * blocks).astype(dtype)}
    if zeros:
        known["z"] = RANDOM.integers(0, 256, units * -(-blocks * bits // 8), "uint8")
    if bias:
        known["b"] = RANDOM.standard_normal(units).astype(dtype)
    names = ["x", "w", "s", *(("z",) if zeros else ("",) if bias else ()), *(("", "b") if bias else ())]
    node = helper.make_node(
        "MatMulNBits", names, ["y"], domain="com.microsoft", K=inputs, N=units, bits=bits, block_size=block
    )
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shapes = {"x": (kind, ["m", inputs]), "w": (2, packed.shape)}
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, *shapes[n]) for n in given],
        [helper.make_tensor_value_info("y", kind, ["m", units])],
        [numpy_helper.from_array(v, n) for n, v in known.items() if n not in given],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), known


@pytest.mark.parametrize(("units", "inputs", "block"), [(64, 64, 32), (100, 256, 128), (5, 64, 16), (130, 512, 256)])
@pytest.mark.parametrize("zeros", [False, True])
def test_any_number_of_rows(units: int, inputs: int, block: int, zeros: bool) -> None:
    """Guards one row, less than a tile, several tiles and a rest; units that fill no panel."""
    model, _ = layer(units, inputs, block, zeros, bias=units == 100)
    assert OPERATOR in str(from_onnx(model))
    compiled = baton.compile(model)
    for rows in (0, 1, 2, 6, 13):
        feed = {"x": RANDOM.standard_normal((rows, inputs)).astype("float32")}
        expected = onnxruntime_outputs(model, feed) if rows else [np.zeros((0, units), "float32")]
        assert_as_onnxruntime(list(compiled.run(feed)), expected)
        for _, found in in_both_languages(model, feed) if rows == 2 else ():
            assert_as_onnxruntime(found, expected)


def test_halves() -> None:
    """Guards float16, whose sums are float32."""
    model, _ = layer(64, 128, 32, dtype="float16")
    assert OPERATOR in str(from_onnx(model))
    feed = {"x": RANDOM.standard_normal((3, 128)).astype("float16")}
    (found,), (expected,) = baton.compile(model).run(feed), onnxruntime_outputs(model, feed)
    np.testing.assert_allclose(found.astype("float32"), expected.astype("float32"), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    "options", [{"bits": 8}, {"inputs": 72}, {"given": ("x", "w")}], ids=["bytes", "blocks not full", "weights given"]
)
def test_what_the_operator_does_not_take(options: dict[str, Any]) -> None:
    """Guards that other weights are written out as before."""
    model, known = layer(**{"units": 20, "inputs": 64, "block": 32, **options})
    assert OPERATOR not in str(from_onnx(model))
    feed = {"x": RANDOM.standard_normal((3, options.get("inputs", 64))).astype("float32")}
    if "given" in options:
        feed["w"] = known["w"]
    assert_as_onnxruntime(list(baton.compile(model).run(feed)), onnxruntime_outputs(model, feed))
