"""Scans and loops that carry nothing: as functions they are kernels, however many iterations there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.against_onnxruntime import in_both_languages, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

POINTS = np.random.default_rng(0).standard_normal((60, 3)).astype("float32")
FLOAT = TensorProto.FLOAT


def distances(kind: str) -> Any:
    """The squared distances of points given to those of a model, as scikit-learn's converter writes them: the points
    given are a state that stays."""
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Sub", ["x", "one"], ["apart"]),
        helper.make_node("ReduceSumSquare", ["apart"], ["row"], axes=[1], keepdims=0),
    ]
    infos = [[("x", FLOAT, [None, 3]), ("one", FLOAT, [3])], [("same", FLOAT, [None, 3]), ("row", FLOAT, [None])]]
    if kind == "Loop":
        nodes[:0] = [
            helper.make_node("Gather", ["points", "i"], ["one"], axis=0),
            helper.make_node("Identity", ["go"], ["on"]),
        ]
        infos[0] = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), infos[0][0]]
        infos[1] = [("on", TensorProto.BOOL, []), *infos[1]]
    said = [[helper.make_tensor_value_info(*i) for i in group] for group in infos]
    body = helper.make_graph(nodes, "body", *said)
    operands = ["many", "", "given"] if kind == "Loop" else ["given", "points"]
    attributes = {"num_scan_inputs": 1} if kind == "Scan" else {}
    whole = helper.make_node(kind, operands, ["last", "found"], body=body, **attributes)
    turned = helper.make_node("Transpose", ["found"], ["distances"], perm=[1, 0])
    weights = [weight("points", POINTS), weight("many", np.array(len(POINTS)))]
    return model_of([whole, turned], [("given", ["n", 3])], ("distances",), weights, opset=12)


@pytest.mark.parametrize("kind", ["Scan", "Loop"])
def test_distances_of_points(kind: str) -> None:
    """Guards compile time: each of the points was a kernel of its own (300 of them took 100 s)."""
    model = distances(kind)
    program = baton.compile(model, num_threads=1)
    assert program.stage("final").count("prim_func") < 12
    for count in (1, 5, 0):
        feed = {"given": np.random.default_rng(1).standard_normal((count, 3)).astype("float32")}
        (wanted,) = onnxruntime_outputs(model, feed)
        for _, found in (("compiled", program.run(feed)), *in_both_languages(model, feed)):
            np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
