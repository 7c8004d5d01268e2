"""Operators as opsets before theirs define them, one node each, against onnxruntime: with sizes known and with open
ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.contrib_cases import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype("float32")
HALF = np.array([1, 1, 0.5, 0.6], "float32")
SCALES = np.array([1, 1, 1.5, 2.3], "float32")
ROI = np.zeros(0, "float32")

# operator, opset, its operands behind X, attributes
CASES: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    # before opset 13 the axes from `axis` on count as one
    *(
        (op, opset, (), attributes)
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for opset, attributes in ((7, {}), (11, {"axis": -2}), (12, {"axis": 0}), (13, {}), (13, {"axis": 1}))
    ),
    # opset 10 rounds up where an axis shrinks; a scale that is no ratio of the sizes counts, not the ratio
    ("Resize", 10, (HALF,), {"mode": "nearest"}),
    ("Resize", 10, (HALF,), {"mode": "linear"}),
    ("Resize", 13, (ROI, SCALES), {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
    ("Resize", 13, (ROI, SCALES), {"mode": "cubic", "exclude_outside": 1}),
    ("Resize", 19, (ROI, SCALES), {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}),
    # the corners that are aligned are those of the tensor there is, though 4 * 1.15 are 4.6
    *(
        ("Resize", 19, (ROI, np.array([1, 1, 1.15, 0.6], "float32")), {"mode": m, "coordinate_transformation_mode": c})
        for m, c in (("linear", "align_corners"), ("cubic", "align_corners"), ("linear", "half_pixel"))
    ),
    ("ArgMax", 12, (), {"select_last_index": 1, "axis": 1, "keepdims": 0}),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("op", "opset", "others", "attributes"), CASES)
def test_as_onnxruntime(op: str, opset: int, others: tuple[Any, ...], attributes: dict[str, Any], known: bool) -> None:
    names = [f"w{k}" for k in range(len(others))]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    shape = list(X.shape) if known else ["a", "b", "c", "d"]
    model = model_of([node], [("x", shape)], weights=[*map(weight, names, others)], opset=opset)
    (expected,) = onnxruntime_outputs(model, {"x": X})
    (found,) = baton.compile(model, num_threads=1).run({"x": X})
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_square_of_open_size_gets_its_ones() -> None:
    """EyeLike of sizes that a run tells."""
    model = model_of([helper.make_node("EyeLike", ["x"], ["y"], k=-1, dtype=7)], [("x", ["n", "m"])])
    (found,) = baton.compile(model, num_threads=1).run({"x": X[0, 0]})
    np.testing.assert_array_equal(found, np.eye(4, 5, -1, dtype="int64"))
