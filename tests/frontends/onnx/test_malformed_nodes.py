"""Nodes that ONNX forbids, found by altering ONNX's own cases: each is refused with its name and what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

WHOLE, BYTES = TensorProto.INT64, TensorProto.INT8
HEADS = {"q_num_heads": 3, "kv_num_heads": 3}
SCORES, LABELS = ("x", (3, 5)), ("labels", ((4,), WHOLE))


@pytest.mark.parametrize(("operator", "inputs", "declared", "attributes", "told"), [
    ("Concat", ["", "x"], [("x", (2, 3))], {"axis": 0}, "Concat node 'the_node': input 0 has no name"),
    ("Sum", ["x", "", "x"], [("x", (2, 3))], {}, "Sum node 'the_node': input 1 has no name"),
    ("Max", ["x", ""], [("x", (2, 3))], {}, "Max node 'the_node': input 1 has no name"),
    ("Min", [], [("x", (2, 3))], {}, "Min node 'the_node': it has no inputs"),
    ("Clip", ["x", "low"], [("x", (2, 3)), ("low", (3,))], {}, r"input 1 is float32 \(3,\), it must be a scalar"),
    ("Trilu", ["x"], [("x", (3,))], {}, r"input 0 is float32 \(3,\), it must have 2 or more axes"),
    ("Reshape", ["x", "shape"], [("x", (3,)), ("shape", ((), WHOLE))], {}, "input 1 is int64 .., it must have 1 axes"),
    ("NegativeLogLikelihoodLoss", ["x", "labels"], [SCORES, LABELS], {}, r"its labels are int64 \(4,\)"),
    ("SoftmaxCrossEntropyLoss", ["x", "labels", "w"], [SCORES, ("labels", ((3,), WHOLE)), ("w", (4,))], {},
     r"its weights are float32 \(4,\)"),
    ("Attention", ["x", "x", "x"], [("x", (1, 1, 3, 4))], {"softcap": -1.0}, "attribute 'softcap' is -1.0"),
    ("Attention", ["q", "k", "v"], [("q", (2, 4, 24)), ("k", (2, 2, 24)), ("v", (2, 6, 30))], HEADS, "its values are"),
    ("Attention", ["q", "k", "k"], [("q", (2, 4, 24)), ("k", (1, 6, 24))], HEADS, "its keys are float32 .1, 6, 24"),
    ("Attention", ["q", "k", "k"], [("q", (2, 3, 4, 8)), ("k", (2, 6, 24))], {}, "its query, key and value are"),
    ("Attention", ["q", "k", "k"], [("q", (2, 3, 4, 8)), ("k", (2, 2, 6, 8))], {}, "2 heads of keys do not divide 3"),
    ("Attention", ["q", "q", "q"], [("q", (2, 3, 4, 8))], {"qk_matmul_output_mode": 5}, "'qk_matmul_output_mode' is 5"),
    ("NonMaxSuppression", ["b", "s"], [("b", (1, 4, 4)), ("s", (1, 2, 6))], {}, r"its scores are float32 \(1, 2, 6\)"),
    ("NonMaxSuppression", ["b", "s"], [("b", (1, 6, 3)), ("s", (1, 2, 6))], {}, r"its boxes are float32 \(1, 6, 3\)"),
    ("RotaryEmbedding", ["x", "c", "s"], [("x", (1, 2, 3, 8)), ("c", (1, 3, 4)), ("s", (1, 3, 1))], {}, "its sines"),
    ("AveragePool", ["x"], [("x", (1, 1, 8, 8))], {"kernel_shape": [3, 3], "pads": [1, 1, 1, -1]}, "its pads are"),
    ("TfIdfVectorizer", ["x"], [("x", ((2, 5), WHOLE))], {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
        "ngram_indexes": [0, -1], "pool_int64s": [1, 2],
    }, "its ngram_indexes hold -1"),
    ("MatMulInteger", ["z", "b", "a"], [("z", ((3,), BYTES)), ("b", ((3, 4), BYTES)), ("a", ((2, 3), BYTES))], {},
     "its zero point is int8"),
    ("TopK", ["x", "k"], [("x", (3,)), ("k", np.array([-1]))], {}, "the -1 largest of 3"),
    ("Resize", ["x", "", "s"], [("x", (4, 4)), ("s", np.array([1, -1], "f"))], {}, "the scale of axis 1 is -1.0"),
    ("Resize", ["x", "", "", "s"], [("x", (4, 4)), ("s", np.array([-2, 4]))], {}, "axis 0 is to have the size -2"),
    ("SoftmaxCrossEntropyLoss", ["x", "labels"], [("x", (4, 5)), LABELS], {"reduction": "max"}, "'reduction' is 'max'"),
    ("RandomNormal", [], [("x", (3,))], {"shape": [-1, 2]}, r"it is to have the shape \[-1, 2\]"),
    ("Range", ["x", "x", "no"], [("x", ((), WHOLE)), ("no", np.zeros(0, int))], {}, "input 2 is int64 .0,., it must"),
    ("Range", ["x", "two", "x"], [("x", ((), WHOLE)), ("two", ((2,), WHOLE))], {}, "input 1 is int64 .2,., it must"),
    ("Split", ["x", "no"], [("x", (4,)), ("no", np.zeros(0, int))], {}, "its split names no parts"),
    ("Trilu", ["x", "k"], [("x", (3, 3)), ("k", np.array([1, 2]))], {}, "input 1 is int64 .2,., it must be one number"),
    ("ConstantOfShape", ["x"], [("x", ((2,), WHOLE))], {"value": weight("", np.zeros(2))}, "its value has 2 elements"),
    ("DFT", ["x", "", "a"], [("x", (2, 8, 2)), ("a", np.array(2))], {}, "axis 2 holds the real and the"),
    ("Transpose", ["x"], [("x", (2, 3))], {"perm": [0, 1, 2]}, r"its perm is \[0, 1, 2\]"),
    ("Transpose", ["x"], [("x", (2, 3))], {"perm": [0, -2]}, r"its perm is \[0, -2\]"),
    ("MaxUnpool", ["x", "at"], [("x", (1, 2, 3)), ("at", ((1, 2, 3), WHOLE))], {"kernel_shape": [2, 2]},
     "its kernel_shape has 2 numbers, its input 1 spatial axes"),
    ("CumSum", ["x", ""], [("x", (2, 3))], {}, "CumSum node 'the_node': it needs one axis"),
    ("Unsqueeze", ["x", ""], [("x", (2, 3))], {}, "its axes are missing"),
    ("LayerNormalization", ["x", "w"], [("x", (24,)), ("w", (2, 24))], {}, r"its scale or bias is float32 \(2, 24\)"),
    ("RMSNormalization", ["x", "w"], [("x", (3, 1)), ("w", (24,))], {}, r"its scale or bias is float32 \(24,\)"),
    ("InstanceNormalization", ["x", "w", "b"], [("x", (2, 3, 4)), ("w", (3,)), ("b", ())], {}, "one number for each"),
    ("TfIdfVectorizer", ["x"], [("x", (("n", "m"), WHOLE))], {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1 << 40, "ngram_counts": [0, 0],
        "ngram_indexes": [0], "pool_int64s": [1, 2],
    }, "its max_skip_count is 1099511627776, for rows of open length"),
])  # fmt: skip
def test_refused(operator: str, inputs: list[str], declared: Any, attributes: dict[str, Any], told: str) -> None:
    node = helper.make_node(operator, inputs, ["y"], name="the_node", **attributes)
    weights = [weight(name, content) for name, content in declared if isinstance(content, np.ndarray)]
    declared = [(name, shape) for name, shape in declared if not isinstance(shape, np.ndarray)]
    with pytest.raises(baton.DiagnosticError, match=told):
        baton.compile(model_of([node], declared, weights=weights, opset=23))


def test_a_tensor_where_a_sequence_is_wanted() -> None:
    """What the onnx package says about the types of a body's operands was an error of Python's."""
    declared = helper.make_tensor_value_info("e", TensorProto.FLOAT, [2])
    body = helper.make_graph([helper.make_node("Neg", ["e"], ["n"])], "body", [declared], [declared])
    body.output[0].name = "n"
    node = helper.make_node("SequenceMap", ["x"], ["y"], body=body, name="the_node")
    with pytest.raises(baton.DiagnosticError, match=r"the_node.*no body for it with the operands float32 \(3, 2\)"):
        baton.compile(model_of([node], [("x", (3, 2))]))


def test_labels_and_scores_of_other_lengths_fail_when_they_run() -> None:
    """Their open sizes have two names: the body that ONNX gives the operator would leave out the last scores."""
    node = helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"], name="the_node")
    program = baton.compile(model_of([node], [("x", ("n", 5)), ("labels", (("m",), WHOLE))]), num_threads=1)
    labels = np.array([1, 0, 4])
    x = np.arange(15, dtype="float32").reshape(3, 5)
    np.testing.assert_allclose(program.run({"x": x, "labels": labels})[0], -np.mean([1, 5, 14]))
    with pytest.raises(baton.DiagnosticError, match="the_node"):
        program.run({"x": x, "labels": labels[:2]})


def test_keys_and_values_of_other_lengths_fail_when_they_run() -> None:
    """Their open sizes have two names: the body that ONNX gives the operator takes values to be as many as keys."""
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], name="the_node", q_num_heads=2, kv_num_heads=2)
    declared = [("q", ("b", 4, 8)), ("k", ("b", "n", 8)), ("v", ("b", "m", 8))]
    program = baton.compile(model_of([node], declared, opset=23), num_threads=1)
    q, k = np.ones((1, 4, 8), "float32"), np.ones((1, 6, 8), "float32")
    np.testing.assert_allclose(program.run({"q": q, "k": k, "v": k})[0], q, rtol=1e-6)
    with pytest.raises(baton.DiagnosticError, match="the_node"):
        program.run({"q": q, "k": k, "v": k[:, :3]})


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_grams_with_more_skips_than_a_row_has_room_for(length: int) -> None:
    """They are not looked for one by one: a model that says a great number took all memory."""
    x = np.random.default_rng(0).integers(0, 3, (3, length))
    attributes = {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "ngram_counts": [0, 3, 7],
        "ngram_indexes": list(range(7)), "pool_int64s": [0, 1, 2, 0, 1, 1, 2, 0, 1, 2, 1, 1, 0],
    }  # fmt: skip
    few, many = (
        model_of_node("TfIdfVectorizer", (x,), {**attributes, "max_skip_count": count}, (0,), ["y"], domain="")
        for count in (8, 1 << 40)
    )
    (expected,) = onnxruntime_outputs(few, {"i0": x})
    for _, (found,) in in_both_languages(many, {"i0": x}):
        np.testing.assert_array_equal(found, expected)


def test_a_bound_that_is_a_vector_of_one_element() -> None:
    node = helper.make_node("Clip", ["x", "low"], ["y"])
    program = baton.compile(model_of([node], [("x", (2, 3)), ("low", ("n",))]), num_threads=1)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    found = program.run({"x": x, "low": np.array([2], "float32")})[0]
    np.testing.assert_array_equal(found, np.maximum(x, 2))
    with pytest.raises(baton.DiagnosticError):
        program.run({"x": x, "low": np.array([1, 2, 3], "float32")})


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("Gather", [np.array(1 << 40)]),
        ("Gather", [np.array(7)]),
        ("Slice", [np.array([0])]),
        ("Slice", [np.array([0, 1]), np.array([1])]),
        ("Unsqueeze", [np.array(3)]),
        ("Reshape", [np.array([3])]),
    ],
)
def test_what_is_taken_of_open_sizes(operator: str, operands: list[Any]) -> None:
    """Sizes are computed while importing, where operands that do not fit were errors of Python's."""
    weights = [weight(f"w{k}", o) for k, o in enumerate(operands)]
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node(operator, ["s", *(w.name for w in weights)], ["y"], name="the_node"),
    ]
    with pytest.raises(baton.DiagnosticError, match="the_node"):
        baton.compile(model_of(nodes, [("x", ["n", 3])], weights=weights)).run({"x": np.zeros((2, 3), "float32")})


HEADS_OF_TWO = {"num_heads": 2}


@pytest.mark.parametrize(("operator", "inputs", "declared", "attributes", "told"), [
    ("MultiHeadAttention", ["q", "q", "q"], [("q", ((1, 3, 8), WHOLE))], HEADS_OF_TWO, "must be floats, got int64"),
    ("MultiHeadAttention", ["q", "q", "q"], [("q", (1, 3, 0))], HEADS_OF_TWO, "its heads have no elements"),
    ("GatherBlockQuantized", ["d", "at", "s", "z"], [
        ("d", ((4, 16), BYTES)), ("at", ((2,), WHOLE)), ("s", (4,)), ("z", ((4, 1), BYTES))
    ], {"block_size": 16}, r"its scales are float32 \(4,\)"),
])  # fmt: skip
def test_contributed_operators_refuse(
    operator: str, inputs: list[str], declared: Any, attributes: dict[str, Any], told: str
) -> None:
    """These were errors of Python's, which name no node."""
    node = helper.make_node(operator, inputs, ["y"], name="the_node", domain="com.microsoft", **attributes)
    with pytest.raises(baton.DiagnosticError, match=told):
        baton.compile(model_of([node], declared, opset=20))


def test_what_a_converter_stumbles_over_has_a_place() -> None:
    """A kind of attribute that nobody checks: the error of Python's named no node and no shapes."""
    node = helper.make_node("LayerNormalization", ["x", "w"], ["y"], name="the_node", epsilon=[1e-5])
    with pytest.raises(baton.InternalError, match=r"LayerNormalization node 'the_node' \(x: float32 \(2, 3\)"):
        baton.compile(model_of([node], [("x", (2, 3)), ("w", (3,))], opset=13))


def test_a_number_that_a_dtype_does_not_reach() -> None:
    node = helper.make_node("ThresholdedRelu", ["x"], ["y"], name="the_node", alpha=-1.0)
    with pytest.raises(baton.DiagnosticError, match=r"(?s)-1.0 is no number of dtype uint8.*the_node"):
        baton.compile(model_of([node], [("x", ((3,), TensorProto.UINT8))], opset=13))
