"""Loops whose length only a run tells, as exporters write decoders that generate tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax
from baton._src.frontends.onnx.control import loops
from baton._src.ir.traverse import post_order
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight


def generating() -> Any:
    """A sequence grows by one column an iteration until all of it is large; each iteration gives the columns' sums."""
    nodes = [
        helper.make_node("ReduceSum", ["seq", "last"], ["sum"]),
        helper.make_node("Concat", ["seq", "sum"], ["longer"], axis=1),
        helper.make_node("Squeeze", ["sum", "last"], ["row"]),
        helper.make_node("ReduceMin", ["row"], ["least"], keepdims=0),
        helper.make_node("Less", ["least", "hundred"], ["go"]),
    ]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("seq", TensorProto.FLOAT, ["rows", "columns"]),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "longer", "row")]
    weights = [weight("last", np.array([1])), weight("hundred", np.float32(100))]
    body = helper.make_graph(nodes, "body", inputs, outputs, weights)
    node = helper.make_node("Loop", ["m", "yes", "x"], ["y", "rows"], body=body)
    declared: list[Any] = [("m", ([], TensorProto.INT64)), ("x", ["n", "k"])]
    return model_of([node], declared, ("y", "rows"), [weight("yes", np.array(True))])


def test_outputs_of_open_sizes_are_collected() -> None:
    """Also by a loop that does not run at all: its rows have the sizes that an iteration would give (in onnxruntime
    open ones are 0 then)."""
    model = generating()
    program = baton.compile(model, num_threads=1)
    for trips, shape in ((5, (1, 2)), (50, (3, 4)), (1, (2, 1)), (0, (2, 3))):
        feed = {"m": np.array(trips), "x": np.ones(shape, "float32")}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_array_equal(found, wanted if len(wanted) else np.zeros((0, shape[0]), "float32"))


def test_a_state_that_grows_along_one_axis() -> None:
    """Guards caches of keys: the width is known in every iteration, and so is what is computed from the cache. All of
    it was looked up in the run."""
    body = [
        helper.make_node("Concat", ["cache", "h"], ["longer"], axis=0),
        helper.make_node("Transpose", ["longer"], ["keys"], perm=[1, 0]),
        helper.make_node("MatMul", ["h", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "longer"], ["next"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    inputs = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, [1, 4])]
    inputs.append(("cache", TensorProto.FLOAT, ["t", 4]))
    outputs = [("on", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, [1, 4]), ("longer", TensorProto.FLOAT, None)]
    infos = [[helper.make_tensor_value_info(*i) for i in group] for group in (inputs, outputs)]
    loop = helper.make_node("Loop", ["m", "", "x", "c"], ["y", "z"], body=helper.make_graph(body, "body", *infos))
    declared: list[Any] = [("m", ([], TensorProto.INT64)), ("x", [1, 4]), ("c", ["n", 4])]
    model = model_of([loop], declared, ("y", "z"))
    program = baton.compile(model, num_threads=1)
    assert "call_operator" not in program.stage("bytecode")
    for trips, rows in ((5, 1), (0, 2), (3, 0)):
        feed = {"m": np.array(trips), "x": np.linspace(0, 1, 4, dtype="f4")[None], "c": np.ones((rows, 4), "f4")}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_what_a_loop_collects_has_the_sizes_that_its_iterations_share() -> None:
    """Guards recurrences exported as loops: what follows knows the batch and is compiled, not looked up in a run."""
    nodes = [helper.make_node("Add", ["h", "x"], ["next"]), helper.make_node("Less", ["i", "last"], ["go"])]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("h", TensorProto.FLOAT, ["n", 4]),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "next", "next")]
    body = helper.make_graph([*nodes, helper.make_node("Identity", ["next"], ["row"])], "body", inputs, outputs)
    body.output[2].name = "row"
    loop = helper.make_node("Loop", ["", "yes", "x"], ["h", "rows"], body=body)
    declared: list[Any] = [("x", ["n", 4]), ("last", ([], TensorProto.INT64))]
    tail = [helper.make_node("Add", ["rows", "x"], ["twice"]), helper.make_node("MatMul", ["twice", "w"], ["y"])]
    model = model_of(
        [loop, *tail], declared, ("y",), [weight("yes", np.array(True)), weight("w", np.eye(4, dtype="f4"))]
    )
    program = baton.compile(model, num_threads=1)
    assert "call_operator" not in program.stage("bytecode")
    feed = {"x": np.ones((3, 4), np.float32), "last": np.array(2)}
    np.testing.assert_array_equal(program.run(feed)[0], onnxruntime_outputs(model, feed)[0])


def scanning(batch_first: int, backward: int, out_axis: int, out_backward: int) -> Any:
    """Running sums over a sequence of open length, and each of them beside its step."""
    nodes = [
        helper.make_node("Add", ["before", "step"], ["after"]),
        helper.make_node("Concat", ["after", "step"], ["both"], axis=1),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["b", 4]) for n in ("before", "step")]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("after", "both")]
    attributes: dict[str, Any] = {
        "scan_input_axes": [batch_first],
        "scan_input_directions": [backward],
        "scan_output_axes": [out_axis],
        "scan_output_directions": [out_backward],
    }
    body = helper.make_graph(nodes, "body", inputs, outputs)
    node = helper.make_node("Scan", ["start", "x"], ["total", "y"], body=body, num_scan_inputs=1, **attributes)
    shape = ["b", "t", 4] if batch_first else ["t", "b", 4]
    return model_of([node], [("start", ["b", 4]), ("x", shape)], ("total", "y"))


@pytest.mark.parametrize("how", [(0, 0, 0, 0), (1, 1, 1, 0), (1, 0, -1, 1), (0, 1, 0, 1)])
def test_a_scan_over_an_open_length(how: tuple[int, int, int, int]) -> None:
    model = scanning(*how)
    program = baton.compile(model, num_threads=1)
    for batch, steps in ((1, 1), (2, 5), (3, 2)):
        shape = (batch, steps, 4) if how[0] else (steps, batch, 4)
        x = np.random.default_rng(0).random(shape, np.float32)
        feed = {"start": np.ones((batch, 4), "float32"), "x": x}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_state_of_unknown_size_is_collected() -> None:
    """Guards each row beside the one before it: the first one's size is another's, so that its state has none, and what
    was collected before it had 0."""
    nodes = [helper.make_node("Identity", ["step"], ["next"]), helper.make_node("Identity", ["before"], ["seen"])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("before", "step")]
    body = helper.make_graph(nodes, "body", inputs, [helper.make_empty_tensor_value_info(n) for n in ("next", "seen")])
    node = helper.make_node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1)
    model = model_of([node], [("start", ["k"]), ("x", ["t", "m"])], ("last", "y"))
    feed = {"start": np.ones(3, "float32"), "x": np.arange(6, dtype="float32").reshape(2, 3)}
    found = baton.compile(model, num_threads=1).run(feed)
    for mine, wanted in zip(found, onnxruntime_outputs(model, feed), strict=True):
        np.testing.assert_array_equal(mine, wanted)


def test_what_a_scan_has_collected_is_scanned_back() -> None:
    """Viterbi's best path: which state was best before, from the first step to the last, and the path back. Sizes that
    a loop leaves open have names behind it: what it collects had a rank only, and the way back was refused."""
    declare, number = helper.make_tensor_value_info, TensorProto.INT64
    forward = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["best", "two"], ["from"]),
            helper.make_node("Add", ["from", "moves"], ["paths"]),
            helper.make_node("ReduceMax", ["paths"], ["most"], axes=[1], keepdims=0),
            helper.make_node("ArgMax", ["paths"], ["origin"], axis=1, keepdims=0),
            helper.make_node("Add", ["most", "step"], ["next"]),
        ],
        "forward",
        [declare("best", TensorProto.FLOAT, ["b", 3]), declare("step", TensorProto.FLOAT, ["b", 3])],
        [declare("next", TensorProto.FLOAT, ["b", 3]), declare("origin", number, ["b", 3])],
    )
    back = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["at", "one"], ["column"]),
            helper.make_node("GatherElements", ["origin", "column"], ["before"], axis=1),
            helper.make_node("Squeeze", ["before", "one"], ["state"]),
            helper.make_node("Identity", ["state"], ["seen"]),
        ],
        "back",
        [declare("at", number, ["b"]), declare("origin", number, ["b", 3])],
        [declare("state", number, ["b"]), declare("seen", number, ["b"])],
    )
    nodes = [
        helper.make_node("Scan", ["start", "x"], ["scores", "origins"], body=forward, num_scan_inputs=1),
        helper.make_node("ArgMax", ["scores"], ["last"], axis=1, keepdims=0),
        helper.make_node("Scan", ["last", "origins"], ["first", "y"], body=back, num_scan_inputs=1,
                         scan_input_directions=[1], scan_output_directions=[1]),
    ]  # fmt: skip
    draw = np.random.default_rng(0)
    weights = [weight("one", np.array([1])), weight("two", np.array([2]))]
    weights.append(weight("moves", draw.standard_normal((1, 3, 3)).astype("float32")))
    model = model_of(nodes, [("start", ["b", 3]), ("x", ["t", "b", 3])], ("scores", "y"), weights, opset=17)
    program = baton.compile(model, num_threads=1)
    for batch, steps in ((1, 1), (2, 5), (3, 2)):
        feed = {"start": np.zeros((batch, 3), "float32")}
        feed["x"] = draw.standard_normal((steps, batch, 3)).astype("float32")
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_scanned_sequences_are_equally_long() -> None:
    """Guards against reading beyond the shorter of two."""
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in ("a", "b")]
    nodes = [helper.make_node("Mul", ["a", "b"], ["c"])]
    body = helper.make_graph(nodes, "body", inputs, [helper.make_empty_tensor_value_info("c")])
    node = helper.make_node("Scan", ["x", "z"], ["y"], body=body, num_scan_inputs=2, name="pairs")
    program = baton.compile(model_of([node], [("x", ["n"]), ("z", ["m"])]), num_threads=1)
    two = np.array([2, 3], "float32")
    np.testing.assert_array_equal(program.run({"x": two, "z": two})[0], [4, 9])
    with pytest.raises(baton.DiagnosticError, match="operand_of_pairs"):
        program.run({"x": two, "z": two[:1]})


@pytest.mark.parametrize("go_on", [True, False])
def test_a_condition_that_is_a_constant(go_on: bool) -> None:
    """A body that ends by a constant false runs once."""
    f = TensorProto.FLOAT
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "before"], ["after"]), helper.make_node("Identity", ["after"], ["seen"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", f, [2]),
        ],
        [helper.make_empty_tensor_value_info(n) for n in ("further", "after", "seen")],
        [weight("further", np.array(go_on))],
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["y", "z"], body=body)
    model = model_of([node], [("x", [2])], ("y", "z"), weights=[weight("count", np.int64(3))])
    y, z = baton.compile(model).run({"x": np.ones(2, np.float32)})
    times = 3 if go_on else 1
    np.testing.assert_array_equal(y, np.full(2, 2.0**times))
    assert z.shape == (times, 2)


def test_a_loop_that_is_known_not_to_run() -> None:
    """What it would have collected has the shape of its body's output; it was refused."""
    inputs = [
        helper.make_tensor_value_info(n, kind, [])
        for n, kind in (("i", TensorProto.INT64), ("on", TensorProto.BOOL), ("before", TensorProto.FLOAT))
    ]
    nodes = [helper.make_node("Add", ["before", "x"], ["row"]), helper.make_node("ReduceSum", ["row"], ["after"])]
    nodes[1].attribute.append(helper.make_attribute("keepdims", 0))
    nodes.append(helper.make_node("Identity", ["on"], ["further"]))
    body = helper.make_graph(
        nodes, "body", inputs, [helper.make_empty_tensor_value_info(n) for n in ("further", "after", "row")]
    )
    node = helper.make_node("Loop", ["count", "", "start"], ["y", "z"], body=body)
    weights = [weight("count", np.int64(0)), weight("start", np.float32(3))]
    y, z = baton.compile(model_of([node], [("x", [2, 3])], ("y", "z"), weights)).run({"x": np.ones((2, 3), "float32")})
    assert (float(y), z.shape) == (3, (0, 2, 3))


def _scan(*inputs: str, **attributes: Any) -> Any:
    """Sums of a state and each row, and their doubles."""
    declared = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("state", "row")]
    nodes = [helper.make_node("Add", ["state", "row"], ["sum"]), helper.make_node("Add", ["sum", "sum"], ["double"])]
    body = helper.make_graph(
        nodes, "body", declared, [helper.make_empty_tensor_value_info(n) for n in ("sum", "double")]
    )
    return helper.make_node("Scan", inputs, ["y", "z"], body=body, num_scan_inputs=1, name="the_node", **attributes)


def test_a_scan_of_no_steps() -> None:
    """The state stays; nothing is collected. (onnxruntime fails.)"""
    model = model_of([_scan("start", "x")], [("start", [3]), ("x", [0, 3])], ("y", "z"))
    y, z = baton.compile(model).run({"start": np.ones(3, "float32"), "x": np.zeros((0, 3), "float32")})
    np.testing.assert_array_equal(y, [1, 1, 1])
    assert z.shape == (0, 3)


@pytest.mark.parametrize(("inputs", "attributes", "told"), [
    (("x", "start"), {}, "a scanned input has no axes"),
    (("start", "x"), {"scan_input_axes": [2]}, "scan_input_axes 2 is out of range for rank 2"),
    (("start", "x"), {"scan_input_axes": [0, 1]}, r"its scan_input_axes are \[0, 1\]"),
    (("start", "x"), {"scan_output_directions": [0, 1]}, r"its scan_output_directions are \[0, 1\]"),
])  # fmt: skip
def test_scans_that_do_not_fit(inputs: Any, attributes: dict[str, Any], told: str) -> None:
    model = model_of([_scan(*inputs, **attributes)], [("start", []), ("x", [4, 3])], ("y", "z"))
    with pytest.raises(baton.DiagnosticError, match=told) as error:
        baton.compile(model)
    assert "Scan node 'the_node'" in str(error.value)


def _carrying(nodes: list[Any], states: list[Any], carried: list[str], weights: list[Any] = [], **loop: Any) -> Any:  # noqa: B006
    """A Loop of `m` iterations, as long as `go` holds, of states (name before, name after, shape): its last states."""
    declare = helper.make_tensor_value_info
    inputs = [declare("i", TensorProto.INT64, []), declare("on", TensorProto.BOOL, [])]
    inputs += [declare(before, TensorProto.FLOAT, shape) for before, _, shape in states]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("further", *(after for _, after, _ in states))]
    body = helper.make_graph([*nodes, helper.make_node("Identity", ["on"], ["further"])], "body", inputs, outputs)
    found = [f"y{k}" for k in range(len(states))]
    node = helper.make_node("Loop", ["m", "go", *carried], found, body=body, name="the_loop")
    declared = [("m", ([], TensorProto.INT64)), ("go", ([], TensorProto.BOOL)), ("x", [2, 3])]
    return model_of([node], declared, tuple(found), weights)


def test_what_a_body_returns_unchanged_is_no_state() -> None:
    """Guards weights that TensorFlow's loops carry: as states they were neither packed nor known, and checked again in
    each iteration. The second one is returned through copies."""
    nodes = [
        helper.make_node("MatMul", ["h", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["next"]),
        helper.make_node("Identity", ["b"], ["copy"]),
        helper.make_node("Identity", ["copy"], ["same"]),
    ]
    states = [("w", "w", [3, 3]), ("h", "next", [2, 3]), ("b", "same", [3])]
    draw = np.random.default_rng(0)
    weights = [weight("v", draw.random((3, 3), np.float32)), weight("bias", draw.random(3, np.float32))]
    model = _carrying(nodes, states, ["v", "x", "bias"], weights)
    module = baton.relax.frontend.onnx.from_onnx(model)
    main = module["main"]
    (loop,) = [n for n in post_order(main.body) if isinstance(n, relax.Function)]
    assert [p.struct_info.ndim for p in loop.params] == [0, 0, 2]
    program = baton.compile(model, num_threads=1)
    for trips in (0, 1, 4):
        feed = {"m": np.array(trips), "go": np.array(True), "x": np.ones((2, 3), np.float32)}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def _defining(weights: list[Any]) -> Any:
    """A sum of rank 0 gets the rank of what is added to it in the first iteration."""
    nodes = [
        helper.make_node("Add", ["before", "x"], ["after"]),
        helper.make_node("Concat", ["after", "x"], ["next"], axis=0),
        helper.make_node("Slice", ["next", "one", "three"], ["rows"]),
    ]
    weights = [weight("zero", np.float32(0)), weight("one", np.array([1])), weight("three", np.array([3])), *weights]
    return _carrying(nodes, [("before", "rows", None), ("h", "after", [2, 3])], ["zero", "x"], weights)


def test_a_rank_that_changes_in_the_first_iteration() -> None:
    """As PaddlePaddle writes variables that its loop defines. Without iterations they have the rank from before."""
    model = _defining([])
    program = baton.compile(model, num_threads=1)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for trips, go_on in ((1, True), (2, True), (5, True), (0, True), (3, False)):
        feed = {"m": np.array(trips), "go": np.array(go_on), "x": x}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_first_iteration_that_is_known_to_run() -> None:
    """Then ranks are known behind the loop, too."""
    model = _defining([])
    del model.graph.input[:2]
    loop = model.graph.node[0]
    loop.input[0], loop.input[1] = "many", ""
    model.graph.initializer.append(weight("many", np.array(1 << 16)))
    program = baton.compile(model, num_threads=1)
    assert "call_operator" not in program.stage("bytecode")


def test_sizes_that_are_the_same_in_another_form() -> None:
    """Frames that overlap: the end of one is carried to the next, min(n, 3) + 2 - 2 long. It was of unknown size."""
    body = [
        helper.make_node("Concat", ["end", "part"], ["frame"], axis=0),
        helper.make_node("Slice", ["frame", "two", "far"], ["next"]),
    ]
    states = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("end", "part", "next", "frame")]
    graph = helper.make_graph(body, "body", states[:2], states[2:])
    nodes = [
        helper.make_node("Slice", ["x", "zero", "three"], ["first"]),
        helper.make_node("Scan", ["first", "parts"], ["last", "frames"], body=graph, num_scan_inputs=1),
        helper.make_node("Identity", ["frames"], ["y"]),
    ]
    numbers = {"zero": 0, "two": 2, "three": 3, "far": 2**63 - 1}
    weights = [weight(name, np.array([value])) for name, value in numbers.items()]
    model = model_of(nodes, [("x", ["n"]), ("parts", ["k", 2])], weights=weights)
    program = baton.compile(model, num_threads=1)
    assert "call_operator" not in program.stage("bytecode")
    for n, k in ((7, 4), (2, 3), (3, 1)):
        feed = {"x": np.arange(n, dtype=np.float32), "parts": np.arange(2 * k, dtype=np.float32).reshape(k, 2)}
        np.testing.assert_array_equal(program.run(feed)[0], onnxruntime_outputs(model, feed)[0], strict=True)


def test_loops_whose_length_is_a_size() -> None:
    """A Loop over windows of a signal of open length, as many as a Shape says, none if it is short: the output has that
    size, and the program is one native function. The machine took ten times as long for ten iterations."""
    body = [
        helper.make_node("Mul", ["i", "two"], ["begin"]),
        helper.make_node("Reshape", ["begin", "one"], ["from"]),
        helper.make_node("Add", ["from", "three"], ["to"]),
        helper.make_node("Slice", ["x", "from", "to"], ["window"]),
        helper.make_node("Add", ["window", "h"], ["next"]),
        helper.make_node("Identity", ["next"], ["row"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    inputs = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, [3])]
    outputs = [("on", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, [3]), ("row", TensorProto.FLOAT, [3])]
    infos = [[helper.make_tensor_value_info(*i) for i in group] for group in (inputs, outputs)]
    nodes = [
        helper.make_node("Shape", ["x"], ["n"]),
        helper.make_node("Sub", ["n", "one"], ["less"]),
        helper.make_node("Div", ["less", "two"], ["trips"]),
        helper.make_node("Loop", ["trips", "", "h0"], ["h", "rows"], body=helper.make_graph(body, "body", *infos)),
        helper.make_node("ReduceSum", ["rows"], ["sums"], keepdims=0),
        helper.make_node("Add", ["h", "sums"], ["y"]),
    ]
    numbers = {"one": np.array([1]), "two": np.array(2), "three": np.array([3]), "h0": np.zeros(3, np.float32)}
    model = model_of(nodes, [("x", ["n"])], weights=[weight(name, value) for name, value in numbers.items()])
    program = baton.compile(model, num_threads=1)
    assert program.stage("bytecode").strip() == "@main(x):  # native"
    for n in (0, 1, 2, 3, 4, 9):
        feed = {"x": np.arange(n, dtype=np.float32)}
        np.testing.assert_array_equal(program.run(feed)[0], onnxruntime_outputs(model, feed)[0], strict=True)


def test_a_loop_that_ends_before_its_limit() -> None:
    """Guards a condition that only the number of the iteration decides: it holds in the first one, not always."""
    body = [
        helper.make_node("Less", ["i", "last"], ["on"]),
        helper.make_node("Add", ["h", "x"], ["next"]),
        helper.make_node("Identity", ["next"], ["row"]),
    ]
    inputs = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, None)]
    outputs = [("on", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, None), ("row", TensorProto.FLOAT, None)]
    infos = [[helper.make_tensor_value_info(*i) for i in group] for group in (inputs, outputs)]
    nodes = [
        helper.make_node("Loop", ["trips", "", "x"], ["h", "rows"], body=helper.make_graph(body, "body", *infos)),
        helper.make_node("ReduceSum", ["rows", "zero"], ["sums"], keepdims=0),
        helper.make_node("Add", ["h", "sums"], ["y"]),
    ]
    numbers = {"trips": np.array(4), "last": np.array(2), "zero": np.array([0])}
    model = model_of(nodes, [("x", ["n"])], weights=[weight(name, value) for name, value in numbers.items()])
    feed = {"x": np.arange(3, dtype=np.float32)}
    found = baton.compile(model, num_threads=1).run(feed)[0]
    np.testing.assert_array_equal(found, onnxruntime_outputs(model, feed)[0], strict=True)


@pytest.mark.parametrize("is_inner", [False, True])
def test_loops_whose_length_is_data(is_inner: bool) -> None:
    """A limit that only a run tells, negative or zero too, at the top and in an arm: memory for all rows is there
    before the loop, which is one kernel. Ten iterations took 36 us, now 21 (onnxruntime 23)."""
    body = [
        helper.make_node("Add", ["h", "x"], ["next"]),
        helper.make_node("ReduceSum", ["next"], ["row"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    inputs = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, None)]
    outputs = [("on", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, None), ("row", TensorProto.FLOAT, [1])]
    infos = [[helper.make_tensor_value_info(*i) for i in group] for group in (inputs, outputs)]
    nodes = [
        helper.make_node("Cast", ["x"], ["whole"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["whole"], ["trips"], keepdims=0),
        helper.make_node("Loop", ["trips", "", "x"], ["h", "y"], body=helper.make_graph(body, "body", *infos)),
    ]
    if is_inner:
        arms = [
            helper.make_graph(group, name, [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
            for name, group in (("loop", nodes), ("other", [helper.make_node("Unsqueeze", ["most", "zeros"], ["y"])]))
        ]
        nodes = [
            helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
            helper.make_node("Less", ["most", "ten"], ["small"]),
            helper.make_node("If", ["small"], ["y"], then_branch=arms[0], else_branch=arms[1]),
        ]
    model = model_of(nodes, [("x", ["n"])], weights=[weight("zeros", np.array([0, 1])), weight("ten", np.float32(10))])
    program = baton.compile(model, num_threads=1)
    assert "main_loop" not in program.stage("bytecode")
    for x in ([1, 2], [0], [-3, 1], [2], [300], [9, 9, 9]):
        feed = {"x": np.array(x, np.float32)}
        np.testing.assert_array_equal(program.run(feed)[0], onnxruntime_outputs(model, feed)[0], strict=True)


def _counted(count: int, nodes: list[Any], weights: list[Any]) -> tuple[Any, int]:
    """A Loop of `count` iterations, and how many functions are in its program."""
    model = _carrying(nodes, [("h", "next", [2, 3])], ["x"], [weight("many", np.array(count)), *weights])
    model.graph.node[0].input[0], model.graph.node[0].input[1] = "many", ""
    del model.graph.input[:2]
    body = relax.frontend.onnx.from_onnx(model)["main"].body
    return model, len([n for n in post_order(body) if isinstance(n, relax.Function)])


def test_long_loops_whose_sizes_stay_are_functions() -> None:
    """Guards their compile time: 1000 iterations of four nodes took 14 s, those of a function 0.3."""
    halves = [helper.make_node("Mul", ["h", "half"], ["less"]), helper.make_node("Add", ["less", "x"], ["next"])]
    model, functions = _counted(3000, halves, [weight("half", np.float32(0.5))])
    assert functions == 1
    feed = {"x": np.ones((2, 3), np.float32)}
    np.testing.assert_array_equal(baton.compile(model).run(feed)[0], onnxruntime_outputs(model, feed)[0])


def test_long_loops_whose_sizes_differ_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each iteration has sizes of its own, which as a function only a run would tell."""
    monkeypatch.setattr(loops, "FEW_NODES", 0)
    nodes = [
        helper.make_node("Unsqueeze", ["i", "zero"], ["end"]),
        helper.make_node("Slice", ["x", "zero", "end", "one"], ["columns"]),
        helper.make_node("ReduceSum", ["columns"], ["total"], keepdims=0),
        helper.make_node("Add", ["h", "total"], ["next"]),
    ]
    model, functions = _counted(4, nodes, [weight("zero", np.array([0])), weight("one", np.array([1]))])
    assert functions == 0
    feed = {"x": np.ones((2, 3), np.float32)}
    np.testing.assert_array_equal(baton.compile(model).run(feed)[0], onnxruntime_outputs(model, feed)[0])


@pytest.mark.parametrize("trips", [0, -1])
def test_no_iterations_collect_nothing(trips: int) -> None:
    """A negative number of them was an IndexError."""
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, [])]
    inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    nodes = [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Add", ["x", "x"], ["part"])]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "part")]
    node = helper.make_node("Loop", ["m", ""], ["y"], body=helper.make_graph(nodes, "body", inputs, outputs))
    model = model_of([node], [("x", [2, 3])], weights=[weight("m", np.array(trips))])
    (found,) = baton.compile(model, num_threads=1).run({"x": np.ones((2, 3), "float32")})
    assert (found.dtype, found.shape) == ("float32", (0, 2, 3))


@pytest.mark.parametrize("constant", [True, False])
def test_an_unrolled_body_has_each_weight_once(constant: bool) -> None:
    """It was read, kept and packed once for each iteration."""
    matrix = weight("w", np.eye(2, dtype="float32"))
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, [])]
    inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    inputs.append(helper.make_tensor_value_info("state", TensorProto.FLOAT, None))
    nodes = [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("MatMul", ["state", "w"], ["next"])]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "next")]
    if constant:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=matrix))
    body = helper.make_graph(nodes, "body", inputs, outputs, [] if constant else [matrix])
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    module = relax.frontend.onnx.from_onnx(model_of([node], [("x", [1, 2])], weights=[weight("m", np.array(5))]))
    assert len({id(n) for n in post_order(module["main"]) if isinstance(n, relax.Constant)}) == 1
