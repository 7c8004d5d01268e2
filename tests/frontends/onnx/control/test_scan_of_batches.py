"""Scan of opset 8, whose operands have an axis of batches, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from baton import relax
from baton._src.support.diagnostics import DiagnosticError
from tests.frontends.onnx.against_onnxruntime import in_both_languages, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

RANDOM = np.random.default_rng(0)
FEED = {"first": np.zeros((2, 3), "float32"), "x": RANDOM.standard_normal((2, 4, 3)).astype("float32")}


def model_with(lengths: list[int] | None, direction: int = 0, steps: Any = 4) -> Any:
    """Running sums of the rows of each batch."""
    names = ("state", "row", "sum", "kept")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in names]
    nodes = [helper.make_node("Add", ["state", "row"], ["sum"]), helper.make_node("Identity", ["sum"], ["kept"])]
    body = helper.make_graph(nodes, "body", infos[:2], infos[2:])
    operands = ["lengths" if lengths else "", "first", "x"]
    node = helper.make_node(
        "Scan", operands, ["last", "sums"], name="it", body=body, num_scan_inputs=1, directions=[direction]
    )
    weights = [weight("lengths", np.array(lengths))] if lengths else []
    model = model_of([node], [("first", [2, 3]), ("x", [2, steps, 3])], ["last", "sums"], weights, opset=8)
    model.ir_version = 4
    return model


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("lengths", [None, [2, 4], [4, 1]])
def test_each_batch_by_itself(lengths: list[int] | None, direction: int) -> None:
    """It was refused. Batches of fewer steps are walked, in either direction, within these, and filled up with 0."""
    model = model_with(lengths, direction)
    expected = onnxruntime_outputs(model, FEED)
    for _, found in in_both_languages(model, FEED):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (model_with([1, 5]), r"sequence_lens are \[1, 5\] for 2 batches of 4 steps"),
        (model_with([3]), r"sequence_lens are \[3\] for 2 batches"),
        (model_with(None, steps="steps"), "numbers of batches and steps"),
    ],
    ids=["too long", "too few", "open"],
)
def test_lengths_that_do_not_fit(model: Any, said: str) -> None:
    with pytest.raises(DiagnosticError, match=f"Scan node 'it': its {said}"):
        relax.frontend.onnx.from_onnx(model)
