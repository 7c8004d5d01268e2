"""Operators of `com.microsoft` that new language models are written with, and crops of images: against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)

RANDOM = np.random.default_rng(0)


def _real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def _short(*shape: int) -> Any:
    return RANDOM.integers(-200, 200, shape).astype("int16")


STREAMS = _real(2, 3, 4, 8)
FLAT, FOUR = STREAMS.reshape(2, 3, 32), {"num_branches": 4}
SQUARE = _real(3, 4, 4)
BLOCK, MIX = _real(2, 3, 8), _real(2, 3, 4, 4)
GATES = [_real(2, 3, 4), _real(2, 3, 4, 1), _real(2, 3, 4, 8)]
GAINS = (_real(4, 8), _real(4, 8))
PLACES = RANDOM.integers(0, 20, (3, 2, 5))
ANGLES = (_real(32, 8), _real(32, 8))
ROTARY, PARTS = _real(2, 5, 32), {"num_heads": 2, "mrope_section": [2, 3, 3]}

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], int]] = [
    ("BranchwiseRMSNorm", (STREAMS,), {}, 1),
    ("BranchwiseRMSNorm", (STREAMS, _real(8)), {"epsilon": 1e-3}, 1),
    ("BranchwiseRMSNorm", (SQUARE, _real(4)), {}, 1),
    ("BranchwiseRMSNorm", (FLAT, _real(32)), FOUR, 1),
    ("BranchwiseRMSNorm", (FLAT, GAINS[0]), FOUR, 1),
    *(("HyperConnectionPreMix", (STREAMS, gates), {"reduction_scale": 0.5}, 1) for gates in GATES),
    ("HyperConnectionPreMix", (FLAT, _real(2, 3, 32)), FOUR, 1),
    *(("HyperConnectionPostMix", (STREAMS, BLOCK, gates), {}, 1) for gates in GATES),
    ("HyperConnectionPostMix", (STREAMS, BLOCK, GATES[0], MIX), {}, 1),
    ("HyperConnectionPostMix", (FLAT, BLOCK, GATES[0], MIX), FOUR, 1),
    ("EngramGate", (STREAMS, STREAMS * 2 + 1, BLOCK, *GAINS), {}, 1),
    ("EngramGate", (STREAMS, STREAMS * 2 + 1, BLOCK, *GAINS, _real(4, 8)), {"epsilon": 1e-3}, 2),
    ("MRotaryEmbedding", (ROTARY, PLACES, *ANGLES), PARTS, 1),
    ("MRotaryEmbedding", (ROTARY, PLACES, *ANGLES), {**PARTS, "mrope_layout": 1}, 1),
    ("MRotaryEmbedding", (ROTARY, PLACES, *ANGLES), {**PARTS, "mrope_section": [1, 3, 4], "mrope_layout": 1}, 1),
    ("MRotaryEmbedding", (ROTARY, PLACES, *ANGLES), {**PARTS, "mrope_section": [8, 0, 0], "interleaved": 1}, 1),
    ("MRotaryEmbedding", (_real(2, 5, 40), PLACES, *ANGLES), {**PARTS, "rotary_embedding_dim": 16}, 1),
    ("MRotaryEmbedding", (_real(2, 2, 5, 16), PLACES, *ANGLES), PARTS, 1),
    ("RotaryEmbedding", (ROTARY, PLACES[0], *ANGLES), {"is_packed_batching": 1}, 1),
    ("MatMulInteger16", (_short(2, 3, 4), _short(4, 5)), {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "outputs"), CASES)
def test_operator(name: str, operands: Any, attributes: Any, outputs: int) -> None:
    _check(name, operands, attributes, range(len(operands)), outputs)


def _check(name: str, operands: Any, attributes: Any, inputs: Any, outputs: int = 1) -> None:
    model = model_of_node(name, operands, attributes, inputs, [f"y{k}" for k in range(outputs)])
    feed = {f"i{k}": operands[k] for k in inputs}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


def _crops(count: int) -> tuple[Any, Any, Any]:
    """Images; crops from inside and outside them, some to their very edges, some mirrored; the image of each."""
    corners = RANDOM.uniform(-0.3, 1.3, (count, 4)).astype("float32")
    corners[::3, 2:] = 1
    corners[1::3, :2] = 1
    return _real(2, 3, 7, 6), corners, RANDOM.integers(0, 2, count).astype("int32")


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 5), (16, 1), (1, 1)])
def test_crops(mode: str, size: tuple[int, int]) -> None:
    operands = (*_crops(30), np.array(size, "int32"))
    _check("CropAndResize", operands, {"mode": mode, "extrapolation_value": -2.0}, (0, 1, 2))


def test_crops_of_a_size_that_a_run_tells() -> None:
    operands = (*_crops(6), np.array([2, 3], "int32"))
    model = model_of_node("CropAndResize", operands, {}, range(4), ["y"])
    program = baton.compile(model, num_threads=1)
    for size in ((2, 3), (1, 4), (1, 1)):
        feed = {f"i{k}": o for k, o in enumerate((*operands[:3], np.array(size, "int32")))}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


def test_a_crop_of_an_image_that_is_not_there_fails() -> None:
    operands = (*_crops(2)[:2], np.array([0, 2], "int32"), np.array([2, 3], "int32"))
    model = model_of_node("CropAndResize", operands, {}, range(3), ["y"])
    with pytest.raises(baton.DiagnosticError, match="the_node"):
        baton.compile(model, num_threads=1).run({f"i{k}": operands[k] for k in range(3)})


@pytest.mark.parametrize(("name", "operands", "attributes", "told"), [
    ("HyperConnectionPreMix", (FLAT, GATES[0]), {"num_branches": 5}, "5 num_branches do not divide"),
    ("HyperConnectionPreMix", (STREAMS, _real(2)), {}, "its gates are float32"),
    ("MRotaryEmbedding", (ROTARY, PLACES, *ANGLES), {**PARTS, "mrope_section": [2, 3, 4]}, "8 columns into three"),
    ("MRotaryEmbedding", (ROTARY, PLACES[0], *ANGLES), PARTS, "its position_ids must have 3 axes"),
    ("CropAndResize", (*_crops(2), np.array([2], "int32")), {}, "crop_size has 1 numbers"),
])  # fmt: skip
def test_what_does_not_fit_is_named(name: str, operands: Any, attributes: Any, told: str) -> None:
    model = model_of_node(name, operands, attributes, range(min(len(operands), 3)), ["y"])
    with pytest.raises(baton.DiagnosticError, match=told):
        baton.compile(model)
