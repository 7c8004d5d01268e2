"""Dictionaries as inputs (DictVectorizer and CastMap of `ai.onnx.ml`), against onnxruntime where its interface for
Python takes them (those of floats), else against the numbers that ONNX's definition gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

import baton
from baton import DiagnosticError, relax, relay
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs

T = TensorProto


def dictionary(key: int, value: int, name: str = "x") -> Any:
    kind = TypeProto()
    kind.map_type.key_type = key
    kind.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(value, []))
    return helper.make_value_info(name, kind)


def learning_model(nodes: Any, declared: Any, result: int = T.FLOAT) -> onnx.ModelProto:
    outputs = [helper.make_tensor_value_info("y", result, None)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(helper.make_graph(nodes, "test", [declared], outputs), opset_imports=opsets, ir_version=8)


def node(op: str, **attributes: Any) -> Any:
    return helper.make_node(op, ["x"], ["y"], name="the one", domain="ai.onnx.ml", **attributes)


def as_onnxruntime(model: Any, *given: Any) -> None:
    compiled = baton.compile(model, num_threads=1)
    for one in given:
        expected = onnxruntime_outputs(model, {"x": one})[0]
        found = compiled.run({"x": one})[0]
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()


def gives(model: Any, given: Any, expected: list[Any]) -> None:
    found = baton.compile(model, num_threads=1).run({"x": given})[0]
    assert found.tolist() == [expected]


def test_values_in_the_order_of_a_vocabulary() -> None:
    vectorizer = node("DictVectorizer", string_vocabulary=["a", "c", "b", "z"])
    model = learning_model([vectorizer], dictionary(T.STRING, T.FLOAT))
    as_onnxruntime(model, {"a": 4.0, "c": 8.0}, {"z": 1.0, "b": 2.0, "a": 3.0})
    gives(model, {}, [0, 0, 0, 0])


@pytest.mark.parametrize("kind", [T.DOUBLE, T.INT64])
def test_values_of_other_types(kind: int) -> None:
    vectorizer = node("DictVectorizer", string_vocabulary=["a", "c"])
    gives(learning_model([vectorizer], dictionary(T.STRING, kind), kind), {"c": 2**40}, [0, 2**40])


def test_a_vocabulary_of_numbers_with_strings_as_values() -> None:
    vectorizer = node("DictVectorizer", int64_vocabulary=[7, 3])
    model = learning_model([vectorizer], dictionary(T.INT64, T.STRING), T.STRING)
    gives(model, {3: "three", 7: "seven"}, ["seven", "three"])
    gives(model, {3: "new"}, ["", "new"])


def test_what_follows_sees_a_row(tmp_path: Path) -> None:
    """As scikit-learn's pipelines of a DictVectorizer and a linear model become, saved and loaded as well."""
    nodes = [
        helper.make_node("DictVectorizer", ["x"], ["row"], domain="ai.onnx.ml", string_vocabulary=["h", "w"]),
        helper.make_node("LinearRegressor", ["row"], ["y"], domain="ai.onnx.ml", coefficients=[2.0, 3.0]),
    ]
    model = learning_model(nodes, dictionary(T.STRING, T.FLOAT))
    as_onnxruntime(model, {"h": 1.0, "w": 10.0}, {"w": 5.0})
    baton.compile(model, num_threads=1).save(tmp_path / "row.baton")
    assert baton.load(tmp_path / "row.baton").run({"x": {"w": 5.0}})[0].tolist() == [[15.0]]


@pytest.mark.parametrize(
    ("cast_to", "result", "expected"),
    [("TO_FLOAT", T.FLOAT, [2.5, 3.0]), ("TO_STRING", T.STRING, ["2.5", "3"])],
)
def test_strings_by_ascending_key(cast_to: str, result: int, expected: list[Any]) -> None:
    model = learning_model([node("CastMap", cast_to=cast_to)], dictionary(T.INT64, T.STRING), result)
    gives(model, {5: "3", 1: "2.5"}, expected)


@pytest.mark.parametrize(("cast_to", "result"), [("TO_FLOAT", T.FLOAT), ("TO_INT64", T.INT64)])
def test_numbers_by_ascending_key(cast_to: str, result: int) -> None:
    model = learning_model([node("CastMap", cast_to=cast_to)], dictionary(T.INT64, T.FLOAT), result)
    as_onnxruntime(model, {5: 3.5, 1: 2.0}, {9: 7.0})


def test_maps_by_place() -> None:
    cast = node("CastMap", map_form="SPARSE", max_map=4)
    as_onnxruntime(learning_model([cast], dictionary(T.INT64, T.FLOAT)), {2: 1.5}, {0: 1.0, 3: 2.0})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"other": 1.0}, "input x has the key 'other', which must be one of 'a', 'b'"),
        ({"a": "1"}, "input x takes numbers; '1' is a str"),
        (np.ones(2, "float32"), "input x takes a dictionary, got ndarray"),
    ],
)
def test_dictionaries_that_do_not_fit(given: Any, said: str) -> None:
    """ONNX: all keys must be in the vocabulary. onnxruntime passes others over."""
    model = learning_model([node("DictVectorizer", string_vocabulary=["a", "b"])], dictionary(T.STRING, T.FLOAT))
    with pytest.raises(DiagnosticError) as error:
        baton.compile(model).run({"x": given})
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([helper.make_node("Abs", ["x"], ["y"])], "no DictVectorizer or CastMap reads it"),
        ([node("DictVectorizer")], "it needs one vocabulary"),
        ([node("CastMap", cast_to="TO_BOOL")], "cast_to is 'TO_BOOL'"),
        (
            [
                helper.make_node("CastMap", ["x"], ["z"], domain="ai.onnx.ml"),
                node("CastMap", map_form="SPARSE", max_map=3),
            ],
            "the nodes that read it want different keys",
        ),
        (
            [helper.make_node("CastMap", ["x"], ["z"], domain="ai.onnx.ml"), helper.make_node("Abs", ["x"], ["y"])],
            "only DictVectorizer and CastMap read those of inputs",
        ),
    ],
)
def test_nodes_that_cannot_read_dictionaries(nodes: Any, said: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        baton.compile(learning_model(nodes, dictionary(T.INT64, T.FLOAT)))
    assert said in str(error.value)


@pytest.mark.parametrize("face", [relax.frontend.onnx.from_onnx, relay.frontend.from_onnx])
def test_modules_of_tensors_take_no_dictionaries(face: Any) -> None:
    with pytest.raises(DiagnosticError, match="which takes dictionaries"):
        face(learning_model([node("CastMap")], dictionary(T.INT64, T.FLOAT)))
