"""What models compute from open sizes while they are imported is what onnxruntime computes when it runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import baton
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.models import model_of, weight

SHAPES = ((2, 3), (4, 1), (9, 8), (3, 0))
FAR = 2**63 - 1


def ints(name: str, *values: int) -> Any:
    return weight(name, np.array(values, np.int64))


def assert_as_onnxruntime(nodes: Any, *weights: Any, shapes: Any = SHAPES, inputs: Any = (), feed: Any = None) -> None:
    """One program of open sizes gives what onnxruntime gives, dtypes and shapes included."""
    model = model_of(nodes, [("x", ["n", "m"]), *inputs], weights=weights)
    compiled = baton.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for shape in shapes:
        given = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape), **(feed or {})}
        found, wanted = compiled.run(given)[0], session.run(None, given)[0]
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found, wanted)


def test_a_converted_size_has_the_type_asked_for() -> None:
    nodes = [make_node("Shape", ["x"], ["s"]), make_node("Cast", ["s"], ["y"], to=TensorProto.INT32)]
    assert_as_onnxruntime(nodes)


@pytest.mark.parametrize(("op", "more"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})])
@pytest.mark.parametrize(("moved", "by"), [(-3, 2), (-7, -2), (3, -2), (5, 4)])
def test_division_rounds_to_zero(op: str, more: Any, moved: int, by: int) -> None:
    nodes = [make_node("Shape", ["x"], ["s"]), make_node("Add", ["s", "k"], ["t"])]
    weights = [ints("k", moved), ints("d", by)]
    assert_as_onnxruntime([*nodes, make_node(op, ["t", "d"], ["y"], **more)], *weights)
    weights = [ints("k", 20 * moved), ints("d", by)]
    assert_as_onnxruntime([*nodes, make_node(op, ["d", "t"], ["y"], **more)], *weights)


def test_a_size_less_some_may_be_the_marker_it_is_compared_with() -> None:
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Sub", ["s", "three"], ["t"]),
        make_node("Equal", ["t", "marker"], ["e"]),
        make_node("Where", ["e", "other", "t"], ["y"]),
    ]
    assert_as_onnxruntime(nodes, ints("three", 3), ints("marker", -1), ints("other", 77))


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_corners_computed_from_sizes_may_count_from_the_end(start: bool, step: int) -> None:
    corners = ["c", "to"] if start else ["from", "c"]
    nodes = [
        make_node("Shape", ["x"], ["s"], end=1),
        make_node("Sub", ["s", "four"], ["c"]),
        make_node("Slice", ["x", *corners, "zero", "step"], ["y"]),
    ]
    weights = [ints("four", 4), ints("zero", 0), ints("step", step)]
    ends = (ints("to", -FAR if step < 0 else FAR), ints("from", FAR if step < 0 else 0))
    assert_as_onnxruntime(nodes, *weights, *ends, shapes=[(k, 2) for k in (0, 1, 2, 3, 4, 7)])


CUTS = [(-5, -9, -1), (1, -3, -1), (9, 0, -2), (-1, -FAR, -3), (0, -1, 1), (-3, -1, 1), (5, 2, 1), (2, 5, -1)]


@pytest.mark.parametrize(("start", "stop", "step"), CUTS)
@pytest.mark.parametrize("known", [True, False])
def test_corners_beyond_either_end(start: int, stop: int, step: int, known: bool) -> None:
    node = make_node("Slice", ["x", "start", "stop", "zero", "step"], ["y"])
    shapes = [(k, 2) for k in (0, 1, 2, 4, 6)]
    bounds = {"start": np.array([start]), "stop": np.array([stop])}
    weights = [ints("zero", 0), ints("step", step)]
    if known:
        assert_as_onnxruntime([node], *weights, *(weight(k, v) for k, v in bounds.items()), shapes=shapes)
    else:
        inputs = [(k, ((1,), TensorProto.INT64)) for k in bounds]
        assert_as_onnxruntime([node], *weights, shapes=shapes, inputs=inputs, feed=bounds)


@pytest.mark.parametrize("how", [{"noop_with_empty_axes": 1, "keepdims": 0}, {}])
def test_a_product_of_sizes_has_the_rank_it_should(how: Any) -> None:
    nodes = [make_node("Shape", ["x"], ["s"]), make_node("ReduceProd", ["s"], ["y"], **how)]
    assert_as_onnxruntime(nodes)


def test_products_of_the_rows_of_a_table_of_sizes() -> None:
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Gather", ["s", "table"], ["t"]),
        make_node("ReduceProd", ["t", "one"], ["y"], keepdims=0),
    ]
    assert_as_onnxruntime(nodes, weight("table", np.array([[0, 1], [1, 1]])), ints("one", 1))


@pytest.mark.parametrize(("start", "stop", "step"), CUTS)
def test_slices_of_a_list_of_sizes(start: int, stop: int, step: int) -> None:
    corners = [make_node("Slice", ["s", "start", "stop", "zero", "step"], ["y"])]
    weights = [ints("start", start), ints("stop", stop), ints("zero", 0), ints("step", step)]
    assert_as_onnxruntime([make_node("Shape", ["x"], ["s"]), *corners], *weights)


def test_the_size_that_is_picked_by_a_size() -> None:
    nodes = [make_node("Shape", ["x"], ["s"], end=1), make_node("Gather", ["table", "s"], ["y"])]
    assert_as_onnxruntime(nodes, ints("table", *range(10, 20)))


@pytest.mark.parametrize("mark", ["?", "-1", "None"])
def test_sizes_that_nobody_named_may_differ(mark: str) -> None:
    """Guards models whose exporter writes one mark for all sizes that it does not know."""
    compiled = baton.compile(model_of([make_node("Neg", ["x"], ["y"])], [("x", [mark, mark])]))
    (found,) = compiled.run({"x": np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(found, -np.ones((2, 3), np.float32))


def scaled_size(*after: Any) -> Any:
    """Twice the second size of x, found through floats, as exporters scale maps and count cells."""
    return [
        make_node("Shape", ["x"], ["s"]),
        make_node("Gather", ["s", "one"], ["size"]),
        make_node("Cast", ["size"], ["real"], to=TensorProto.FLOAT),
        make_node("Mul", ["real", "two"], ["twice"]),
        make_node("Floor", ["twice"], ["floored"]),
        *after,
    ]


SCALES = (weight("one", np.array(1)), weight("two", np.array(2, np.float32)))


@pytest.mark.parametrize(("start", "step"), [(0, 1), (1, 2), (-3, 1), (9, -2)])
def test_a_range_of_floats_counts_whole_sizes(start: int, step: int) -> None:
    """Guards cells of grids, which are counted in floats: their number is a size like any other."""
    ends = (weight("start", np.array(start, np.float32)), weight("step", np.array(step, np.float32)))
    assert_as_onnxruntime(scaled_size(make_node("Range", ["start", "floored", "step"], ["y"])), *SCALES, *ends)


def test_sizes_scaled_by_floats_are_sizes() -> None:
    """Guards sizes that go through floats and back: nothing of them is left to compute in a run."""
    nodes = scaled_size(
        make_node("Cast", ["floored"], ["whole"], to=TensorProto.INT64),
        make_node("Unsqueeze", ["whole", "axis"], ["shape"]),
        make_node("Expand", ["half", "shape"], ["y"]),
    )
    weights = (*SCALES, ints("axis", 0), weight("half", np.array(0.5, np.float32)))
    assert_as_onnxruntime(nodes, *weights)
    text = baton.compile(model_of(nodes, [("x", ["n", "m"])], weights=weights)).stage("final")
    assert 'R.Tensor(("m * 2",), dtype="float32")' in text
    assert "tensor_to_shape" not in text


def test_fractions_of_sizes_are_not_taken_for_whole() -> None:
    nodes = scaled_size(make_node("Mul", ["floored", "third"], ["y"]))
    assert_as_onnxruntime(nodes, *SCALES, weight("third", np.array(0.3, np.float32)))
    nodes = scaled_size(make_node("Div", ["floored", "four"], ["y"]))
    assert_as_onnxruntime(nodes, *SCALES, weight("four", np.array(4, np.float32)))


def test_sizes_are_split() -> None:
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Split", ["s", "parts"], ["none", "rows", "columns"]),
        make_node("Concat", ["columns", "rows"], ["turned"], axis=0),
        make_node("Reshape", ["x", "turned"], ["y"]),
    ]
    assert_as_onnxruntime(nodes, ints("parts", 0, 1, 1), shapes=SHAPES[:3])


def test_a_run_tells_only_the_sizes_that_are_not_known() -> None:
    """Guards a column (n, 1) of as many rows as a run tells, which is broadcast: its width is no size like others."""
    nodes = [
        make_node("ReduceMax", ["rows"], ["most"], keepdims=1),
        make_node("Concat", ["most", "one"], ["shape"], axis=0),
        make_node("Expand", ["half", "shape"], ["column"]),
        make_node("Add", ["column", "line"], ["y"]),
    ]
    weights = (ints("one", 1), weight("half", np.array(0.5, np.float32)), weight("line", np.ones((1, 5), np.float32)))
    feed = {"rows": np.array([2, 3, 1], np.int64)}
    assert_as_onnxruntime(nodes, *weights, inputs=[("rows", ([3], TensorProto.INT64))], feed=feed, shapes=[(2, 3)])


def test_the_last_of_as_many_as_a_size_allows() -> None:
    """Sizes of inputs are not negative, so (n - 1) / 2 + 1 elements have a last one, by which all are divided: it was
    taken to be as many as all of them.
    """
    nodes = [
        make_node("Shape", ["x"], ["n"], end=1),
        make_node("Sub", ["n", "one"], ["before"]),
        make_node("Div", ["before", "two"], ["halves"]),
        make_node("Add", ["halves", "one"], ["count"]),
        make_node("Expand", ["half", "count"], ["many"]),
        make_node("CumSum", ["many", "axis"], ["sums"]),
        make_node("Slice", ["sums", "last", "end"], ["total"]),
        make_node("Div", ["sums", "total"], ["y"]),
    ]
    weights = [ints("one", 1), ints("two", 2), ints("last", -1), ints("end", FAR), weight("axis", np.array(0))]
    assert_as_onnxruntime(nodes, *weights, weight("half", np.full(1, 0.5, np.float32)), shapes=((1, 3), (5, 3), (8, 3)))


def test_a_power_of_a_size() -> None:
    """As exporters write it of the patches of a square image."""
    nodes = [
        make_node("Shape", ["x"], ["n"], start=0, end=1),
        make_node("Div", ["n", "two"], ["side"]),
        make_node("Pow", ["side", "two"], ["patches"]),
        make_node("Expand", ["half", "patches"], ["y"]),
    ]
    half = weight("half", np.full(1, 0.5, np.float32))
    assert_as_onnxruntime(nodes, ints("two", 2), half, shapes=((2, 3), (9, 1), (0, 1)))


@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1), (-1,)])
def test_of_a_matrix_of_one_size_the_axes_asked_for_go(axes: tuple[int, ...]) -> None:
    """All of them went."""
    nodes = [make_node("Shape", ["x"], ["s"]), make_node("Gather", ["s", "places"], ["matrix"])]
    nodes.append(make_node("Squeeze", ["matrix", "axes"] if axes else ["matrix"], ["y"]))
    assert_as_onnxruntime(nodes, weight("places", np.array([[1]])), *([ints("axes", *axes)] if axes else []))


def test_a_size_without_a_name_is_no_other_one() -> None:
    """It was taken for the size that another input calls as this one was called in messages."""
    node = make_node("Concat", ["x", "other"], ["y"], axis=0)
    program = baton.compile(model_of([node], [("x", [None, 2]), ("other", ["x_0", 2])]), num_threads=1)
    feed = {"x": np.ones((2, 2), "float32"), "other": np.zeros((3, 2), "float32")}
    np.testing.assert_array_equal(program.run(feed)[0], np.concatenate(list(feed.values())))


def test_widths_in_pairs_turned_around_are_sizes() -> None:
    """As PyTorch writes F.pad: (first, last) of the last axis first, as a matrix that is reversed and transposed. As
    numbers that only a run tells they named all sizes after them, and a network ran in pieces.
    """
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Mod", ["s", "four"], ["more"]),
        make_node("Split", ["more"], ["rows", "columns"], num_outputs=2),
        make_node("Concat", ["zero", "columns", "zero", "rows"], ["flat"], axis=0),
        make_node("Reshape", ["flat", "pairs"], ["matrix"]),
        make_node("Slice", ["matrix", "last", "front", "zero", "last"], ["back"]),
        make_node("Transpose", ["back"], ["turned"], perm=[1, 0]),
        make_node("Reshape", ["turned", "last"], ["widths"]),
        make_node("Pad", ["x", "widths"], ["y"]),
    ]
    constants = (ints("four", 4), ints("zero", 0), ints("pairs", -1, 2), ints("last", -1), ints("front", -FAR))
    assert_as_onnxruntime(nodes, *constants, shapes=((2, 3), (4, 1), (9, 8)))
    module = from_onnx(model_of(nodes, [("x", ["n", "m"])], weights=constants))
    assert "size_" not in module.script()


def test_a_size_that_is_no_marker_by_its_remainder_is_told_from_it() -> None:
    """As PyTorch writes expand: -1 in the shape stands for what is there, and whole blocks less some are never it."""
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Mul", ["s", "four"], ["t"]),
        make_node("Sub", ["t", "four"], ["u"]),
        make_node("Equal", ["u", "marker"], ["e"]),
        make_node("Where", ["e", "one", "u"], ["v"]),
        make_node("Expand", ["number", "v"], ["y"]),
    ]
    constants = (ints("four", 4), ints("marker", -1), ints("one", 1), ints("number", 7))
    assert_as_onnxruntime(nodes, *constants, shapes=((2, 3), (4, 2), (9, 8)))
    assert "size_" not in from_onnx(model_of(nodes, [("x", ["n", "m"])], weights=constants)).script()
