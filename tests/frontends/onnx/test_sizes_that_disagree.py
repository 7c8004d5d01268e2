"""Open sizes that an operator needs to be equal, and that are not when it runs: an error, never a read beyond a tensor.

What is legal for open sizes (a 1 that is repeated, a shape that holds as many elements) runs, by the same program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

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


def test_a_product_over_a_size_that_is_computed() -> None:
    """Against a number of rows that is known; it was an error that an expression has no truth value."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2], strides=[2]),
        helper.make_node("MatMul", ["p", "w"], ["y"], name="/head"),
    ]
    for rows in (1, 3):
        weights = [weight("w", np.ones((rows, 2), "float32"))]
        model = baton.compile(model_of(nodes, [("x", [1, 4, "n"])], weights=weights), num_threads=1)
        found = model.run({"x": np.ones((1, 4, 2 * rows), "float32")})[0]
        np.testing.assert_array_equal(found, np.full((1, 4, 2), rows, "float32"))
        with pytest.raises(baton.DiagnosticError, match="operand_of_head: dimension 2 is 5"):
            model.run({"x": np.ones((1, 4, 10), "float32")})


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


@pytest.mark.parametrize("own", [3, "n"])
@pytest.mark.parametrize("wanted", [5, 2, 0])
def test_a_size_to_expand_to_that_is_neither_its_own_nor_one(own: Any, wanted: int) -> None:
    """The tensor came back as it was where its size was known and the other open, and the other way round."""
    inputs = [("x", [own]), ("to", ([1], 7))]
    node = helper.make_node("Expand", ["x", "to"], ["y"], name="/wide")
    model = baton.compile(model_of([node], inputs), num_threads=1)
    x = np.arange(3, dtype="float32")
    for same in (1, 3):
        np.testing.assert_array_equal(model.run({"x": x, "to": np.array([same])})[0], x)
    with pytest.raises(baton.DiagnosticError, match=f"node '/wide': .* is 3 .*expected {wanted}"):
        model.run({"x": x, "to": np.array([wanted])})


NUMBERS = np.ones(2, "float32")


@pytest.mark.parametrize(
    ("node", "shapes", "weights", "said"),
    [
        ("Conv", [(1, 3, 4, 4)], [np.ones((2, 3, 1, 1), "float32"), NUMBERS[:1]], "1 numbers for 2 channels"),
        ("InstanceNormalization", [(1, 3, 4, 4)], [NUMBERS[:1], NUMBERS[:1]], "1 numbers for 3 channels"),
        ("Gemm", [(1, 4)], [np.ones((4, 3), "float32"), np.ones((5, 3), "float32")], "cannot be repeated"),
        ("Pad", [(3, 4)], [np.array([-2, 0, -2, 0])], "take more than there is"),
    ],
)
def test_known_sizes(node: str, shapes: Any, weights: Any, said: str) -> None:
    """Guards against one number for all channels, and against a result as large as what is added to it."""
    names = [f"w{k}" for k in range(len(weights))]
    made = helper.make_node(node, ["x", *names], ["y"])
    model = model_of([made], [("x", shapes[0])], weights=[*map(weight, names, weights)])
    with pytest.raises(baton.DiagnosticError, match=said):
        baton.compile(model)


def test_parts_of_a_negative_length() -> None:
    node = helper.make_node("Split", ["x", "s"], ["y", "z"])
    model = model_of([node], [("x", [5])], ("y", "z"), [weight("s", np.array([-1, 6]))])
    with pytest.raises(baton.DiagnosticError, match=r"parts of \[-1, 6\]"):
        baton.compile(model)


def test_more_than_there_is() -> None:
    """Guards against as many as there are instead."""
    node = helper.make_node("TopK", ["x", "n"], ["y", "z"], axis=0, name="it")
    model = model_of([node], [("x", ["a", 2]), ("n", ([1], 7))], ("y", "z"))
    program, x = baton.compile(model, num_threads=1), np.arange(10, dtype="float32").reshape(5, 2)
    np.testing.assert_array_equal(program.run({"x": x, "n": np.array([3])})[0], x[::-1][:3])
    with pytest.raises(baton.DiagnosticError, match=r"node .it.: .* is 6 .* expected 5"):
        program.run({"x": x, "n": np.array([6])})


def test_a_range_without_a_step() -> None:
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], name="it")
    program = baton.compile(model_of([node], [(n, ([], 7)) for n in "abc"]), num_threads=1)
    np.testing.assert_array_equal(program.run({"a": np.array(5), "b": np.array(0), "c": np.array(-2)})[0], [5, 3, 1])
    with pytest.raises(baton.DiagnosticError, match="negative"):
        program.run({"a": np.array(0), "b": np.array(5), "c": np.array(0)})


def test_places_that_a_range_counts() -> None:
    """Guards indices that are computed from nothing but a length: written into the kernel they were trusted, and rows
    beyond the tensor were read.
    """
    nodes = [
        helper.make_node("Range", ["zero", "n", "one"], ["places"]),
        helper.make_node("Gather", ["x", "places"], ["y"], name="/rows"),
    ]
    weights = [weight("zero", np.array(0)), weight("one", np.array(1))]
    model = baton.compile(
        model_of(nodes, [("x", [5, 3]), ("n", ([], TensorProto.INT64))], weights=weights), num_threads=1
    )
    x = np.arange(15, dtype="float32").reshape(5, 3)
    np.testing.assert_array_equal(model.run({"x": x, "n": np.array(4)})[0], x[:4])
    with pytest.raises(baton.DiagnosticError, match="index 5 is out of range"):
        model.run({"x": x, "n": np.array(8)})
