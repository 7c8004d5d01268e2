"""Open sizes that an operator needs to be equal, and that are not when it runs: an error, never a read beyond a tensor.

What is legal for open sizes (a 1 that is repeated, a shape that holds as many elements) runs, by the same program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of, weight


def compiled(node: Any, ranks: dict[str, int], *weights: Any) -> Any:
    """A model of one node whose inputs have open sizes, each of a name of its own."""
    inputs = [(name, [f"{name}_{k}" for k in range(rank)]) for name, rank in ranks.items()]
    return baton.compile(model_of([node], inputs, weights=weights), num_threads=1)


@pytest.mark.parametrize("shape", [(7, 4), (7, -1)])
def test_a_new_shape(shape: tuple[int, ...]) -> None:
    """As exporters write it that took the sizes of an example for those of every input."""
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="again")
    model = compiled(node, {"x": 2}, weight("s", np.array(shape)))
    x = np.arange(28, dtype="float32").reshape(14, 2)
    np.testing.assert_array_equal(model.run({"x": x})[0], x.reshape(7, 4))
    with pytest.raises(baton.DiagnosticError, match="operand_of_again: dimension 0 is 26"):
        model.run({"x": x[:13]})


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_product(batch: tuple[int, ...]) -> None:
    rank = 2 + len(batch)
    model = compiled(helper.make_node("MatMul", ["a", "b"], ["y"]), {"a": rank, "b": rank})
    a, b = np.ones((*batch, 2, 4), "float32"), np.ones((*batch, 4, 3), "float32")
    np.testing.assert_array_equal(model.run({"a": a, "b": b})[0], a @ b)
    with pytest.raises(baton.DiagnosticError, match="dimension"):
        model.run({"a": a, "b": np.ones((*batch, 5, 3), "float32")})


def test_an_axis_that_is_to_go() -> None:
    node = helper.make_node("Squeeze", ["x", "axes"], ["y"])
    model = compiled(node, {"x": 2}, weight("axes", np.array([-2])))
    assert model.run({"x": np.ones((1, 4), "float32")})[0].shape == (4,)
    with pytest.raises(baton.DiagnosticError, match="dimension 0 is 2"):
        model.run({"x": np.ones((2, 4), "float32")})


@pytest.mark.parametrize(
    ("own", "wanted"), [((3, 1), (2, 1, 6)), ((1, 6), (2, 3, 1)), ((3, 6), (3, 6)), ((1, 1), (0, 5))]
)
def test_a_one_yields_on_both_sides(own: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Expand to a shape that is an input: either may have the 1."""
    inputs = [("x", ["n", "m"]), ("to", ([len(wanted)], 7))]
    model = baton.compile(model_of([helper.make_node("Expand", ["x", "to"], ["y"])], inputs), num_threads=1)
    x = np.arange(np.prod(own), dtype="float32").reshape(own)
    np.testing.assert_array_equal(model.run({"x": x, "to": np.array(wanted)})[0], x * np.ones(wanted))
