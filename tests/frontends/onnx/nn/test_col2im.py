"""Col2Im of images whose sizes are known, open, or told by a run, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax
from baton._src.relax.interpreter import Interpreter
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.convert import to_numpy
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

BLOCK, CHANNELS = (2, 3), 2
WINDOWS = [
    {},
    {"pads": [1, 0, 2, 1]},
    {"strides": [2, 3]},
    {"strides": [3, 4], "pads": [0, 2, 1, 1]},
    {"strides": [2, 3], "dilations": [2, 1]},
    {"pads": [1, 0, 2, 1], "strides": [2, 3], "dilations": [2, 1]},
]


def columns(image: tuple[int, int], pads: Any = (0,) * 4, strides: Any = (1, 1), dilations: Any = (1, 1)) -> Any:
    count = 1
    for axis, size in enumerate(image):
        reach = (BLOCK[axis] - 1) * dilations[axis] + 1
        count *= (size + pads[axis] + pads[axis + 2] - reach) // strides[axis] + 1
    return np.random.default_rng(0).standard_normal((2, CHANNELS * 6, count)).astype("float32")


def of_an_image(shape: Any, sizes: Any = ("n", "c", "h", "w"), **window: Any) -> Any:
    """The sizes of the result are those of an operand."""
    nodes = [
        helper.make_node("Shape", ["image"], ["all"]),
        helper.make_node("Slice", ["all", "two", "four"], ["size"]),
        helper.make_node("Col2Im", ["x", "size", "block"], ["y"], name="it", **window),
    ]
    weights = [weight("two", np.array([2])), weight("four", np.array([4])), weight("block", np.array(BLOCK))]
    return model_of(nodes, [("x", list(shape)), ("image", list(sizes))], weights=weights)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("known", [True, False], ids=["known", "open"])
def test_sizes_of_an_image(known: bool, window: Any) -> None:
    """Open ones were refused."""
    image = (7, 9)
    feed = {"x": columns(image, **window), "image": np.zeros((2, CHANNELS, *image), "float32")}
    shapes = [v.shape for v in feed.values()] if known else [("n", CHANNELS * 6, "l"), ("n", "c", "h", "w")]
    model = of_an_image(*shapes, **window)
    found = to_numpy(Interpreter(relax.frontend.onnx.from_onnx(model))["main"](*feed.values()))
    np.testing.assert_allclose(found, onnxruntime_outputs(model, feed)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("window", WINDOWS)
def test_known_sizes_are_sums_of_taps(window: Any) -> None:
    """Guards that images of known size are not scattered, whatever the number of images: five times as slow."""
    x = columns((7, 9), **window)
    node = helper.make_node("Col2Im", ["x", "size", "block"], ["y"], **window)
    weights = [weight("size", np.array([7, 9])), weight("block", np.array(BLOCK))]
    model = model_of([node], [("x", ["n", "c", x.shape[2]])], weights=weights)
    assert "scatter" not in relax.frontend.onnx.from_onnx(model).script()
    found = baton.compile(model).run({"x": x})
    np.testing.assert_allclose(found[0], onnxruntime_outputs(model, {"x": x})[0], rtol=1e-5, atol=1e-5)


def test_one_program_for_sizes_that_a_run_tells() -> None:
    node = helper.make_node("Col2Im", ["x", "size", "block"], ["y"], **WINDOWS[-1])
    inputs = [("x", ["n", "c", "l"]), ("size", ([2], TensorProto.INT64))]
    model = model_of([node], inputs, weights=[weight("block", np.array(BLOCK))])
    program = baton.compile(model, num_threads=1)
    for image in ((7, 9), (4, 6)):
        feed = {"x": columns(image, **WINDOWS[-1]), "size": np.array(image)}
        np.testing.assert_allclose(program.run(feed)[0], onnxruntime_outputs(model, feed)[0], rtol=1e-5, atol=1e-5)


def test_a_block_of_another_rank() -> None:
    model = of_an_image((2, 12, 48))
    model.graph.initializer[2].CopyFrom(weight("block", np.array([2, 3, 1])))
    with pytest.raises(DiagnosticError, match=r"Col2Im node 'it'.*a block of 2, .* \[2, 3, 1\]"):
        relax.frontend.onnx.from_onnx(model)
