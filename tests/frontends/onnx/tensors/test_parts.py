"""Joining and taking apart what is whole, empty, or one of a stack: nothing is copied for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

X = np.arange(2 * 3 * 4, dtype="float32").reshape(2, 3, 4)
PAIRS = [make_node("Neg", ["x"], ["a"]), make_node("Exp", ["x"], ["b"])]


def as_onnxruntime(nodes: list[Any], weights: dict[str, Any], dims: Any = X.shape, outputs: Any = ("y",)) -> str:
    """Compare a model with onnxruntime; the text of its program."""
    given = [weight(name, np.array(value)) for name, value in weights.items()]
    model = model_of(nodes, [("x", list(dims))], outputs=list(outputs), weights=given)
    for found, wanted in zip(baton.compile(model).run({"x": X}), onnxruntime_outputs(model, {"x": X}), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype
    return from_onnx(model).script()


@pytest.mark.parametrize(("place", "axis"), [(3, 3), (3, -1), (-1, 3), (0, 0), (1, -3), (2, 2)])
@pytest.mark.parametrize("dims", [X.shape, ("n", 3, "m")], ids=["known", "open"])
def test_joined_along_new_axes(place: int, axis: int, dims: Any) -> None:
    """Guards that tensors that each get an axis of 1 are stacked along it, so that one kernel computes them."""
    each = [make_node("Unsqueeze", [name, "axes"], [f"{name}_apart"]) for name in "ab"]
    nodes = [*PAIRS, *each, make_node("Concat", ["a_apart", "b_apart"], ["y"], axis=axis)]
    assert "R.stack" in as_onnxruntime(nodes, {"axes": [place]}, dims)


@pytest.mark.parametrize(("places", "axis"), [((3, 3), 0), ((0, 0), 3), ((0, 1), 3), ((2, 2), 1)])
def test_joined_along_other_axes(places: Any, axis: int) -> None:
    """Guards that others are not stacked."""
    nodes = [
        *PAIRS,
        *[make_node("Unsqueeze", [n, f"{n}_axes"], [f"{n}_apart"]) for n in "ab"],
        *[make_node("Reshape", [f"{n}_apart", "dims"], [f"{n}_of"]) for n in "ab"],
        make_node("Concat", ["a_apart", "b_apart" if places[0] == places[1] else "a_apart"], ["y"], axis=axis),
        make_node("Concat", ["a_of", "b_of"], ["z"], axis=axis),
    ]
    weights = {"a_axes": [places[0]], "b_axes": [places[1]], "dims": [2, 3, 4, 1]}
    assert "R.concat" in as_onnxruntime(nodes, weights, outputs=("y", "z"))


@pytest.mark.parametrize("dims", [X.shape, ("n", 3, 4)], ids=["known", "open"])
def test_empty_parts(dims: Any) -> None:
    """Guards parts of nothing: what is split off, and joined again, leaves the rest as it is."""
    nodes = [
        make_node("Split", ["x", "lengths"], ["all", "none"], axis=-1),
        make_node("Neg", ["all"], ["less"]),
        make_node("Concat", ["none", "less", "none"], ["y"], axis=2),
        make_node("Concat", ["none", "none"], ["z"], axis=-1),
    ]
    text = as_onnxruntime(nodes, {"lengths": [4, 0]}, dims, ("y", "none", "z"))
    assert "R.split" not in text
    assert text.count("R.concat") == 1


def test_empty_parts_must_fit_too() -> None:
    """Guards that nothing of other sizes, or of another type, is refused as before."""
    for empty in (np.zeros((2, 2, 0), "float32"), np.zeros((2, 3, 0), "float64")):
        model = model_of(
            [make_node("Concat", ["x", "e"], ["y"], axis=2)], [("x", [2, 3, 4])], weights=[weight("e", empty)]
        )
        with pytest.raises(DiagnosticError):
            baton.compile(model)


@pytest.mark.parametrize("stop", [4, 9, 2**63 - 1])
def test_slices_of_everything(stop: int) -> None:
    """Guards slices that leave nothing out, and others that look like them."""
    nodes = [
        make_node("Slice", ["x", "begin", "stop", "axes"], ["all"]),
        make_node("Neg", ["all"], ["y"]),
        make_node("Slice", ["x", "stop", "begin", "axes", "back"], ["z"]),
    ]
    weights = {"begin": [0], "stop": [stop], "axes": [-1], "back": [-1]}
    assert as_onnxruntime(nodes, weights, outputs=("y", "z")).count("R.strided_slice") == 1
