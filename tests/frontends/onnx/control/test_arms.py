"""An If whose arms give different ranks: what follows it is imported once for each, with the rank known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relay
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

X = np.random.default_rng(0).standard_normal((2, 3, 5)).astype("float32")
WEIGHTS = [weight("one", np.array([1])), weight("axis", np.int64(1)), weight("size", np.int64(1))]


def squeezed(source: str, target: str) -> list[Any]:
    """`x.squeeze(1)` as PyTorch exports it where that axis is open: with it gone if it is 1, or as it is."""
    given = helper.make_tensor_value_info
    without = helper.make_node("Squeeze", [source, "one"], [f"{target}_without"])
    same = helper.make_node("Identity", [source], [f"{target}_same"])
    arms = {
        "then_branch": helper.make_graph([without], "gone", [], [given(without.output[0], TensorProto.FLOAT, None)]),
        "else_branch": helper.make_graph([same], "kept", [], [given(same.output[0], TensorProto.FLOAT, None)]),
    }
    return [
        helper.make_node("Shape", [source], [f"{target}_sizes"]),
        helper.make_node("Gather", [f"{target}_sizes", "axis"], [f"{target}_found"]),
        helper.make_node("Equal", [f"{target}_found", "size"], [f"{target}_is"]),
        helper.make_node("If", [f"{target}_is"], [target], name=f"/{target}", **arms),
    ]


BEHIND: dict[str, list[Any]] = {
    "its result": [helper.make_node("Identity", ["q"], ["y"])],
    "its last axis": [helper.make_node("Softmax", ["q"], ["y"], axis=-1)],
    "all of its axes": [helper.make_node("Flatten", ["q"], ["y"])],
    "another of its kind": [
        helper.make_node("Neg", ["q"], ["r"]), *squeezed("r", "s"),
        helper.make_node("LogSoftmax", ["s"], ["y"], axis=-1),
    ],
    "what is there before": [
        helper.make_node("Softmax", ["q"], ["p"], axis=-1), helper.make_node("ReduceSum", ["p"], ["t"], keepdims=0),
        helper.make_node("Mul", ["x", "t"], ["y"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_what_follows(behind: list[Any]) -> None:
    model = model_of([*squeezed("x", "q"), *behind], [("x", ["a", "b", "c"])], weights=WEIGHTS, opset=17)
    program = baton.compile(model, num_threads=1)
    for x in (X, X[:, :1], X[:1, :1]):
        assert_as_onnxruntime(program.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


@pytest.mark.parametrize("what", ["all of its axes", "what is there before"])
def test_what_follows_in_relay(what: str) -> None:
    """Only results need one rank there."""
    model = model_of([*squeezed("x", "q"), *BEHIND[what]], [("x", ["a", "b", "c"])], weights=WEIGHTS, opset=17)
    run = relay.create_executor("vm", relay.frontend.from_onnx(model)[0]).evaluate()
    for x in (X, X[:, :1]):
        assert_as_onnxruntime([run(x).numpy()], onnxruntime_outputs(model, {"x": x}))


def test_results_of_two_ranks_are_refused_in_relay() -> None:
    model = model_of([*squeezed("x", "q"), *BEHIND["its result"]], [("x", ["a", "b", "c"])], weights=WEIGHTS, opset=17)
    with pytest.raises(baton.DiagnosticError, match="the rank of output 'y' is known only when it runs"):
        relay.frontend.from_onnx(model)


def test_loops_that_add_axes_are_refused_in_relay() -> None:
    """The state had no axes in its type: an error of the type checker told."""
    given = helper.make_tensor_value_info
    inside = [
        helper.make_node("Unsqueeze", ["v", "first"], ["w"]), helper.make_node("Identity", ["on"], ["goes_on"]),
    ]  # fmt: skip
    inputs = [given("i", TensorProto.INT64, []), given("on", TensorProto.BOOL, []), given("v", TensorProto.FLOAT, None)]
    outputs = [given("goes_on", TensorProto.BOOL, []), given("w", TensorProto.FLOAT, None)]
    nodes = [
        helper.make_node("Loop", ["n", "", "x"], ["l"], body=helper.make_graph(inside, "body", inputs, outputs)),
        helper.make_node("Reshape", ["l", "flat"], ["y"]),
    ]
    weights = [weight("first", np.array([0])), weight("flat", np.array([-1]))]
    model = model_of(nodes, [("x", [3]), ("n", ((), TensorProto.INT64))], weights=weights, opset=17)
    with pytest.raises(baton.DiagnosticError, match="the rank of value 2 that a loop carries"):
        relay.frontend.from_onnx(model)


def test_several_outputs_of_which_some_come_before() -> None:
    nodes = [helper.make_node("Abs", ["x"], ["before"]), *squeezed("x", "q"), *BEHIND["its last axis"]]
    model = model_of(nodes, [("x", ["a", "b", "c"])], ["y", "before", "q", "x"], WEIGHTS, opset=17)
    program = baton.compile(model, num_threads=1)
    for x in (X, X[:, :1]):
        assert_as_onnxruntime(program.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


def test_an_output_that_nothing_defines_is_named() -> None:
    model = model_of(
        [*squeezed("x", "q"), *BEHIND["its last axis"]], [("x", ["a", "b", "c"])], ["z"], WEIGHTS, opset=17
    )
    with pytest.raises(baton.DiagnosticError, match="output 'z' is computed by no node"):
        baton.compile(model)


def body(name: str, nodes: list[Any], *outputs: str) -> Any:
    return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(o) for o in outputs])


def chosen(then: Any, otherwise: Any, behind: list[Any]) -> Any:
    """`q` of the arm that the input `c` chooses, and what is behind it."""
    node = helper.make_node("If", ["c"], ["q"], name="/if", then_branch=then, else_branch=otherwise)
    inputs: list[Any] = [("x", ["a", "b", "c"]), ("c", ([], TensorProto.BOOL))]
    return model_of([node, *behind], inputs, weights=[*WEIGHTS, weight("zeros", np.zeros((1, 7), "f4"))], opset=17)


FITTING = body("fitting", [helper.make_node("Neg", ["x"], ["n"])], "n")
WRONG = body("wrong", [helper.make_node("Squeeze", ["zeros", "axis"], ["s"], name="/wrong")], "s")


@pytest.mark.parametrize("taken", [True, False])
def test_an_arm_of_sizes_that_never_come(taken: bool) -> None:
    """It is reported when importing, and fails in a run that takes it; the other arm runs."""
    arms = (FITTING, WRONG) if taken else (WRONG, FITTING)
    model = chosen(*arms, [helper.make_node("Abs", ["q"], ["y"])])
    with pytest.warns(UserWarning, match=f"'/if': a run that takes its {'else' if taken else 'then'}_branch fails"):
        program = baton.compile(model, num_threads=1)
    for x in (X, X[:1, :2]):
        np.testing.assert_array_equal(program.run({"x": x, "c": np.array(taken)})[0], np.abs(x))
    with pytest.raises(baton.DiagnosticError, match=r"this part of the model cannot be run: (.|\n)*'/wrong'"):
        program.run({"x": X, "c": np.array(not taken)})


def test_sizes_of_the_arm_that_runs_are_known() -> None:
    """Guards that a result has the sizes of the only arm that gives one, so that the model is one native function."""
    model = chosen(FITTING, WRONG, [helper.make_node("Abs", ["q"], ["y"])])
    with pytest.warns(UserWarning, match="fails"):
        program = baton.compile(model, num_threads=1)
    assert program.outputs[0].shape == ("a", "b", "c")
    with pytest.raises(baton.DiagnosticError, match=r"kernel-fault(.|\n)*this part of the model cannot be run"):
        program.run({"x": X, "c": np.array(False)})


def test_what_follows_of_ranks_that_never_come() -> None:
    """`x.squeeze(1)` and a convolution of rank 2 behind it: where the axis is not 1 no arm can go on."""
    filters = weight("filters", np.ones((2, 4, 3), "f4"))
    behind = [helper.make_node("Conv", ["q", "filters"], ["y"], kernel_shape=[3])]
    model = model_of([*squeezed("x", "q"), *behind], [("x", ["a", "b", 4, "d"])], weights=[*WEIGHTS, filters], opset=17)
    with pytest.warns(UserWarning, match="a run that takes its else_branch fails"):
        program = baton.compile(model, num_threads=1)
    x = np.random.default_rng(1).standard_normal((2, 1, 4, 6)).astype("float32")
    for given in (x, x[:1, :, :, :3]):
        assert_as_onnxruntime(program.run({"x": given}), onnxruntime_outputs(model, {"x": given}))
    with pytest.raises(baton.DiagnosticError, match="cannot be run"):
        program.run({"x": np.ones((2, 3, 4, 6), "float32")})


def test_arms_that_are_both_wrong_or_use_what_is_not_there() -> None:
    with pytest.raises(baton.DiagnosticError, match="/wrong"):
        baton.compile(chosen(WRONG, WRONG, [helper.make_node("Abs", ["q"], ["y"])]))
    lost = body("lost", [helper.make_node("Neg", ["nowhere"], ["m"])], "m")
    with pytest.raises(baton.DiagnosticError, match="uses 'nowhere', which nothing before it defines"):
        baton.compile(chosen(FITTING, lost, [helper.make_node("Abs", ["q"], ["y"])]))


def listed(name: str, *items: str) -> Any:
    first = helper.make_node(items[0], ["x"], [f"{name}_a"])
    nodes = [first, helper.make_node("SequenceConstruct", [f"{name}_a", *items[1:]], [name])]
    return body(name, nodes, name)


@pytest.mark.parametrize("fewer", [("Abs", "x"), ("Abs",)])
def test_arms_that_give_sequences(fewer: tuple[str, ...]) -> None:
    """Of one length, or of two, in onnxruntime's reading."""
    behind = [
        helper.make_node("ConcatFromSequence", ["q"], ["y"], axis=1),
        helper.make_node("SequenceLength", ["q"], ["count"]),
    ]
    model = chosen(listed("t", "Neg", "x"), listed("e", *fewer), behind)
    model.graph.output.append(helper.make_empty_tensor_value_info("count"))
    program = baton.compile(model, num_threads=1)
    for flag in (True, False):
        feed = {"x": X, "c": np.array(flag)}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


def test_an_arm_that_gives_a_tensor_for_a_sequence() -> None:
    arms = (listed("t", "Neg", "x"), body("e", [helper.make_node("Abs", ["x"], ["e"])], "e"))
    with pytest.raises(baton.DiagnosticError, match="produces a sequence, the other one a tensor"):
        baton.compile(chosen(*arms, [helper.make_node("ConcatFromSequence", ["q"], ["y"], axis=1)]))


def optionals(*behind: Any) -> Any:
    """A model in which only a run knows whether an optional, `o`, has a value; where not, it is `x` itself."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    value = helper.make_node("Optional", ["x"], ["value"])
    nothing = helper.make_node("Optional", [], ["nothing"], type=tensor)
    arms = {
        f"{name}_branch": helper.make_graph([arm], name, [], [helper.make_empty_tensor_value_info(arm.output[0])])
        for name, arm in (("then", value), ("else", nothing))
    }
    nodes = [helper.make_node("If", ["c"], ["o"], name="the_if", **arms), *behind]
    return model_of(nodes, [("x", ["n"]), ("c", ((), TensorProto.BOOL))], [behind[-1].output[0] if behind else "o"])


@pytest.mark.parametrize("there", [True, False])
def test_whether_an_optional_has_a_value(there: bool) -> None:
    """It was refused, as a sequence that is no tensor."""
    inner = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(*call, [name])], name, [], [helper.make_empty_tensor_value_info(name)]
        )
        for name, call in (("then", ("OptionalGetElement", ["o"])), ("else", ("Neg", ["x"])))
    }
    model = optionals(
        helper.make_node("OptionalHasElement", ["o"], ["h"]), helper.make_node("If", ["h"], ["y"], **inner)
    )
    x = np.ones(3, "float32")
    (found,) = baton.compile(model).run({"x": x, "c": np.array(there)})
    np.testing.assert_array_equal(found, x if there else -x)


def test_an_optional_as_a_result_of_the_model() -> None:
    with pytest.raises(baton.DiagnosticError, match="an optional without a value") as error:
        baton.compile(optionals())
    assert "the_if" in str(error.value)


@pytest.mark.parametrize("known", [True, False])
def test_outputs_that_no_branch_has(known: bool) -> None:
    """They were passed over unless something used them."""
    arms = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node("Neg", ["x"], [name])], name, [], [helper.make_empty_tensor_value_info(name)]
        )
        for name in ("then", "else")
    }
    node = helper.make_node("If", ["c"], ["y", "z"], name="the_if", **arms)
    inputs: list[Any] = [("x", [2])] if known else [("x", [2]), ("c", ((), TensorProto.BOOL))]
    model = model_of([node], inputs, weights=[weight("c", np.array(True))] if known else [])
    with pytest.raises(baton.DiagnosticError, match="it has 2 outputs, its branches have 1"):
        baton.compile(model)
