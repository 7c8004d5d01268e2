"""Sequences that a run makes as long as it needs, as exporters of TorchScript write lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax, relay
from baton._src.relay.interpreter import Interpreter
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

X = np.random.default_rng(0).standard_normal((3, 2)).astype("float32")
TRIPS: tuple[str, Any] = ("n", ([], TensorProto.INT64))


def appending(item: list[Any], state: str = "state") -> Any:
    """A loop that carries a tensor and appends `item`, which nodes compute of it, to a list."""
    tensor, sequence = helper.make_tensor_value_info, helper.make_tensor_sequence_value_info
    nodes = [helper.make_node("Identity", ["go"], ["go_on"]), *item]
    nodes.append(helper.make_node("SequenceInsert", ["list", "item"], ["longer"], name="/append"))
    inputs = [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, [])]
    inputs += [tensor("state", TensorProto.FLOAT, None), sequence("list", TensorProto.FLOAT, None)]
    outputs = [tensor("go_on", TensorProto.BOOL, []), tensor(state, TensorProto.FLOAT, None)]
    body = helper.make_graph(nodes, "body", inputs, [*outputs, sequence("longer", TensorProto.FLOAT, None)])
    return helper.make_node("Loop", ["n", "", "x", "before"], ["last", "all"], body=body, name="/loop")


DOUBLE = [helper.make_node("Add", ["state", "state"], ["twice"]), helper.make_node("Neg", ["twice"], ["item"])]
EMPTY = helper.make_node("SequenceEmpty", [], ["before"])
ONE = helper.make_node("SequenceConstruct", ["x"], ["before"])


def agrees(nodes: list[Any], *weights: Any) -> None:
    """At several sizes and lengths, by one program."""
    model = model_of(nodes, [("x", ["a", 2]), TRIPS], weights=weights, opset=17)
    program = baton.compile(model, num_threads=1)
    for rows, trips in ((3, 2), (1, 5), (2, 1)):
        feed = {"x": X[:rows], "n": np.array(trips)}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


@pytest.mark.parametrize("before", [EMPTY, ONE], ids=["empty", "one"])
@pytest.mark.parametrize(("axis", "new"), [(0, 0), (-1, 0), (0, 1), (-1, 1), (1, 1)])
def test_joined(before: Any, axis: int, new: int) -> None:
    loop = appending(DOUBLE, "twice")
    agrees([before, loop, helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=axis, new_axis=new)])


@pytest.mark.parametrize("at", [0, -1])
def test_read_and_made_longer(at: int) -> None:
    nodes = [
        ONE, appending(DOUBLE, "twice"),
        helper.make_node("SequenceInsert", ["all", "x"], ["more"]),
        helper.make_node("SequenceLength", ["more"], ["count"]),
        helper.make_node("SequenceAt", ["more", "at"], ["found"]),
        helper.make_node("Cast", ["count"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["found", "number"], ["y"]),
    ]  # fmt: skip
    agrees(nodes, weight("at", np.int64(at)))


@pytest.mark.parametrize("place", [0, 1, -1, None])
@pytest.mark.parametrize("known", [True, False], ids=["constant", "of a run"])
def test_items_are_put_in_and_taken_out_anywhere(known: bool, place: int | None) -> None:
    """Of as many as a run tells, and of known ones at a place that a run tells."""
    put_at, out_at = (["place"], ["place"]) if place is not None else ([], [])
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "minus", "twice"], ["three"])
        if known
        else helper.make_node("SplitToSequence", ["x"], ["three"], axis=0),
        helper.make_node("SequenceInsert", ["three", "more", *put_at], ["four"]),
        helper.make_node("SequenceErase", ["three", *out_at], ["two"]),
        helper.make_node("ConcatFromSequence", ["four"], ["y"], axis=0),
        helper.make_node("ConcatFromSequence", ["two"], ["z"], axis=0),
    ]
    nodes[:0] = [helper.make_node("Neg", ["x"], ["minus"]), helper.make_node("Add", ["x", "x"], ["twice"])]
    more = ("more", ["a", 2] if known else [1, 2])
    inputs = [("x", ["a", 2]), more, *([("place", ([], TensorProto.INT64))] if place is not None else [])]
    model = model_of(nodes, inputs, outputs=("y", "z"), opset=17)
    program = baton.compile(model, num_threads=1)
    for rows in (3, 2):
        feed = {"x": X[:rows], "more": X[: rows if known else 1] * 5}
        if place is not None:
            feed["place"] = np.array(place)
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))
    if place is not None:
        with pytest.raises(baton.BatonError):
            program.run({**feed, "place": np.array(9)})


def test_nothing_is_taken_out_of_an_empty_list() -> None:
    """Guards a check that stands by itself: of an empty result no element is computed, whose index could be wrong."""
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0),
        helper.make_node("SequenceErase", ["parts"], ["fewer"]),
        helper.make_node("SequenceErase", ["fewer"], ["fewest"], name="/pop"),
        helper.make_node("SequenceLength", ["fewest"], ["y"]),
        helper.make_node("ConcatFromSequence", ["fewest"], ["z"], axis=0),
    ]
    program = baton.compile(model_of(nodes, [("x", ["a", 2])], ("y", "z"), opset=17), num_threads=1)
    assert [np.asarray(o).tolist() for o in program.run({"x": X})] == [1, X[:1].tolist()]
    assert [np.asarray(o).tolist() for o in program.run({"x": X[:2]})] == [0, []]
    with pytest.raises(baton.BatonError, match="'/pop': its position is outside the sequence"):
        program.run({"x": X[:1]})


def test_a_list_of_known_length_is_read_by_a_loop() -> None:
    """What a TorchScript exporter writes of a Python list that a loop of open length indexes."""
    tensor = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Mod", ["i", "three"], ["at"]),
            helper.make_node("SequenceAt", ["parts", "at"], ["part"]),
            helper.make_node("Add", ["sum", "part"], ["more"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, []), tensor("sum", 1, ["a", 2])],
        [tensor("go_on", TensorProto.BOOL, []), tensor("more", 1, ["a", 2])],
    )
    nodes = [helper.make_node("Neg", ["x"], ["minus"]), helper.make_node("Exp", ["x"], ["power"])]
    nodes.append(helper.make_node("SequenceConstruct", ["x", "minus", "power"], ["parts"]))
    agrees([*nodes, helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], weight("three", np.int64(3)))


def test_items_of_several_shapes_need_a_known_place() -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "w"], ["parts"]),
        helper.make_node("SequenceAt", ["parts", "n"], ["y"], name="/at"),
    ]
    with pytest.raises(baton.DiagnosticError, match=r"'/at': .*items differ in shape"):
        baton.compile(model_of(nodes, [("x", ["a", 2]), TRIPS], weights=[weight("w", X)]))


@pytest.mark.parametrize("keep", [0, 1])
def test_split_of_an_open_size(keep: int) -> None:
    split = helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0, keepdims=keep)
    agrees([split, helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=1, new_axis=1 - keep)])


@pytest.mark.parametrize("known", [True, False], ids=["constant", "of a run"])
def test_split_by_a_list(known: bool) -> None:
    """Of an open size: the parts are checked to make it up."""
    lengths = np.array([1, 2, 0])
    nodes = [
        helper.make_node("SplitToSequence", ["x", "lengths"], ["parts"], axis=0, keepdims=0),
        helper.make_node("SequenceAt", ["parts", "at"], ["middle"]),
        helper.make_node("Neg", ["middle"], ["y"]),
    ]
    weights = [weight("at", np.int64(1))] + ([weight("lengths", lengths)] if known else [])
    inputs = [("x", ["a", 2])] + ([] if known else [("lengths", ([3], TensorProto.INT64))])
    model = model_of(nodes, inputs, weights=weights, opset=17)
    program = baton.compile(model, num_threads=1)
    feed = {"x": X} if known else {"x": X, "lengths": lengths}
    assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))
    with pytest.raises(baton.BatonError):
        program.run(feed | {"x": X[:2]})


@pytest.mark.parametrize(("rows", "size", "said"), [("a", 2, "parts of 2 of an open size"), (3, 0, "parts of 0")])
def test_splits_that_are_refused(rows: Any, size: int, said: str) -> None:
    split = helper.make_node("SplitToSequence", ["x", "size"], ["parts"], axis=0, name="/split")
    join = helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=0)
    with pytest.raises(baton.DiagnosticError, match=f"'/split': .*{said}"):
        baton.compile(model_of([split, join], [("x", [rows, 2])], weights=[weight("size", np.int64(size))]))


def test_no_iteration() -> None:
    """The items have their sizes nevertheless."""
    join = helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)
    model = model_of([EMPTY, appending(DOUBLE, "twice"), join], [("x", ["a", 2]), TRIPS], opset=17)
    found = baton.compile(model, num_threads=1).run({"x": X, "n": np.array(0)})[0]
    assert np.asarray(found).shape == (0, 3, 2)


def test_items_that_grow_are_refused() -> None:
    """They cannot be stacked."""
    grow = [
        helper.make_node("Concat", ["state", "state"], ["grown"], axis=0),
        helper.make_node("Identity", ["grown"], ["item"]),
    ]
    join = helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0)
    model = model_of([EMPTY, appending(grow, "grown"), join], [("x", ["a", 2]), TRIPS], opset=17)
    with pytest.raises(baton.DiagnosticError, match=r"'/loop'.*the same sizes in every iteration"):
        baton.compile(model)


def test_items_as_long_as_the_iterations_number_are_refused() -> None:
    """When importing: they failed in the run, at a node of nobody's, as each was taken to be as long as the first."""
    grow = [
        helper.make_node("Unsqueeze", ["i", "zero"], ["length"]),
        helper.make_node("Add", ["length", "length"], ["even"]),
        helper.make_node("Expand", ["number", "even"], ["item"]),
    ]
    join = helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0)
    weights = [weight("zero", np.array([0])), weight("number", np.array([2], "float32"))]
    model = model_of([EMPTY, appending(grow), join], [("x", ["a", 2]), TRIPS], weights=weights, opset=17)
    with pytest.raises(baton.DiagnosticError, match=r"'/loop'.*the same sizes in every iteration"):
        baton.compile(model)


def test_a_list_read_while_it_is_made_is_refused() -> None:
    read = [
        helper.make_node("SequenceLength", ["list"], ["count"], name="/length"),
        helper.make_node("Cast", ["count"], ["item"], to=TensorProto.FLOAT),
    ]
    join = helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)
    model = model_of([EMPTY, appending(read), join], [("x", ["a", 2]), TRIPS], opset=17)
    with pytest.raises(baton.DiagnosticError, match=r"(?s)'/length'.*read the sequence after the loop"):
        baton.compile(model)


@pytest.mark.parametrize("sizes", [[4, 3], ["n", 3]], ids=["known", "open"])
@pytest.mark.parametrize("kept", [0, 1])
def test_as_an_output_it_is_a_list(sizes: list[Any], kept: int) -> None:
    """Of known length a tuple of the program, of any length a stack; users see lists."""
    parts = helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0, keepdims=kept)
    model = model_of([parts, helper.make_node("Neg", ["x"], ["y"])], [("x", sizes)], ["parts", "y"], opset=17)
    model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None))
    program = baton.compile(model, num_threads=1)
    for rows in (4,) if sizes == [4, 3] else (4, 1):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        found, wanted = program.run({"x": x}), onnxruntime_outputs(model, {"x": x})
        assert isinstance(found[0], list)
        assert_as_onnxruntime([*found[0], found[1]], [*wanted[0], wanted[1]])


def taking_a_list(nodes: list[Any], item: list[Any], outputs: tuple[str, ...] = ("y",)) -> Any:
    """A model whose input `list` is a sequence of such items."""
    declared = helper.make_tensor_sequence_value_info("list", TensorProto.FLOAT, item)
    made = model_of(nodes, [("x", [2])], outputs, opset=17)
    made.graph.input.insert(0, declared)
    return made


def test_lists_as_inputs() -> None:
    """Joined, counted, read and given back, of any length, by one program."""
    nodes = [
        helper.make_node("SequenceInsert", ["list", "x"], ["all"]),
        helper.make_node("ConcatFromSequence", ["all"], ["joined"], axis=0, new_axis=1),
        helper.make_node("SequenceLength", ["list"], ["count"]),
        helper.make_node("SequenceAt", ["all", "count"], ["last"]),
    ]
    model = taking_a_list(nodes, [2], ("joined", "count", "last", "all"))
    program = baton.compile(model, num_threads=1)
    for items in ([X[0], X[1]], [X[2]], [X[1], X[0], X[1]]):
        feed = {"list": items, "x": X[2]}
        found, expected = program.run(feed), onnxruntime_outputs(model, feed)
        assert_as_onnxruntime(found[:3], expected[:3])
        assert_as_onnxruntime(found[3], expected[3])
    np.testing.assert_array_equal(program.run({"list": [], "x": X[2]})[0], X[2:])


def test_lists_that_need_not_be_there() -> None:
    """Of an optional what is passed is there."""
    nodes = [
        helper.make_node("OptionalGetElement", ["list"], ["given"]),
        helper.make_node("OptionalHasElement", ["list"], ["there"]),
        helper.make_node("ConcatFromSequence", ["given"], ["y"], axis=0),
    ]
    model = taking_a_list(nodes, [2], ("y", "there", "given"))
    kind = helper.make_optional_type_proto(model.graph.input[0].type)
    model.graph.input[0].CopyFrom(helper.make_value_info("list", kind))
    joined, there, given = baton.compile(model).run({"list": [X[0], X[1]], "x": X[2]})
    np.testing.assert_array_equal(joined, X[:2].reshape(-1))
    assert there
    np.testing.assert_array_equal(given, X[:2])


@pytest.mark.parametrize("there", [True, False])
def test_an_optional_without_a_value(there: bool) -> None:
    """What asks whether it is there is told; who takes it out nevertheless is refused."""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    made = helper.make_node("Optional", ["x"] if there else [], ["maybe"], **({} if there else {"type": kind}))
    asked = helper.make_node("OptionalHasElement", ["maybe"], ["known"])
    taken = helper.make_node("OptionalGetElement", ["maybe"], ["content"], name="taking")
    arms = {
        f"{name}_branch": helper.make_graph([node], name, [], [helper.make_empty_tensor_value_info(node.output[0])])
        for name, node in (("then", taken), ("else", helper.make_node("Neg", ["x"], ["other"])))
    }
    x = np.array([1, 2], "float32")
    choice = model_of([made, asked, helper.make_node("If", ["known"], ["y"], **arms)], [("x", [2])], opset=18)
    np.testing.assert_array_equal(baton.compile(choice).run({"x": x})[0], x if there else -x)
    if not there:
        for nodes, wanted, said in (
            ([made, taken], "content", "node 'taking'.* no value"),
            ([made], "maybe", "'maybe'"),
        ):
            with pytest.raises(baton.DiagnosticError, match=said):
                baton.compile(model_of(nodes, [("x", [2])], [wanted], opset=18))


def test_what_is_done_to_each_item() -> None:
    """SequenceMap of a list that the model is given."""
    given = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Mul", ["item", "number"], ["made"])],
        "each",
        [given("item", TensorProto.FLOAT, [2]), given("number", TensorProto.FLOAT, [2])],
        [given("made", TensorProto.FLOAT, [2])],
    )
    nodes = [
        helper.make_node("SequenceMap", ["list", "x"], ["all"], body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1),
    ]
    program = baton.compile(taking_a_list(nodes, [2]), num_threads=1)
    for items in (X, X[:1]):
        np.testing.assert_array_equal(program.run({"list": list(items), "x": X[1]})[0], items * X[1])


def test_lists_that_are_refused() -> None:
    model = taking_a_list([helper.make_node("ConcatFromSequence", ["list"], ["y"], axis=0)], ["n"])
    program = baton.compile(model, num_threads=1)
    np.testing.assert_array_equal(program.run({"list": [X[0], X[1]], "x": X[0]})[0], X[:2].reshape(-1))
    for items, said in (([X[0], X[0, :1]], "of one shape"), ([], "is an empty list"), (1.0, "takes a list of arrays")):
        with pytest.raises(baton.DiagnosticError, match=said):
            program.run({"list": items, "x": X[0]})
    with pytest.raises(baton.DiagnosticError, match="is a sequence, which is not supported here"):
        relax.frontend.onnx.from_onnx(model)


@pytest.mark.parametrize("operator", ["SequenceAt", "SequenceErase"])
@pytest.mark.parametrize("place", [2, -3])
def test_a_position_behind_the_last_item_is_refused(operator: str, place: int) -> None:
    """SequenceErase took nothing away."""
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node(operator, ["s", "p"], ["y"])]
    with pytest.raises(
        baton.DiagnosticError, match=rf"position {place} is outside a sequence of 2\n.*s: a sequence of 2"
    ):
        baton.compile(model_of(nodes, [("x", [3])], weights=[weight("p", np.array(place))]))


def test_a_position_that_a_run_finds_wrong_fails_in_relay_too() -> None:
    """What a whole model demands was forgotten: the last item went instead."""
    nodes = [helper.make_node("Neg", ["x"], ["z"]), helper.make_node("SequenceConstruct", ["x", "z"], ["s"])]
    nodes.append(helper.make_node("SequenceErase", ["s", "p"], ["e"], name="/erase"))
    nodes.append(helper.make_node("ConcatFromSequence", ["e"], ["y"], axis=0))
    model = model_of(nodes, [("x", [2]), ("p", ([], TensorProto.INT64))])
    module, _ = relay.frontend.from_onnx(model)
    main = Interpreter(module).global_value(module.get_global_var("main"))
    x = np.array([1, 2], "float32")
    np.testing.assert_array_equal(main(x, np.array(-1)), x)
    with pytest.raises(baton.DiagnosticError, match=r"/erase.*: its position is outside the sequence"):
        main(x, np.array(5))
