"""Strings: `baton.compile` numbers them at the border of the model; where there is none they are refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of

TEXT, FLOAT, INT = TensorProto.STRING, TensorProto.FLOAT, TensorProto.INT64
WORDS = helper.make_tensor("words", TEXT, [2], [b"a", b"b"])
NOTHING = helper.make_tensor("word", TEXT, [1], [b"none"])
GIVEN = np.array(["a", "zz", "b", "", "zz", "ä"], dtype=object)
PLACES = np.array([2, 0, 7, 1])


def learned(name: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return helper.make_node(name, list(inputs), list(outputs), domain="ai.onnx.ml", name=f"/{name}", **attributes)


def model_with(
    nodes: Sequence[Any],
    x: tuple[int, Sequence[Any]],
    outputs: Sequence[tuple[str, int]] = (("y", 0),),
    version: int = 3,
) -> Any:
    """One input `x`; outputs without an element type say nothing about themselves."""
    results = [
        helper.make_tensor_value_info(n, kind, None) if kind else helper.make_empty_tensor_value_info(n)
        for n, kind in outputs
    ]
    declared = [helper.make_tensor_value_info("x", x[0], x[1])]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(nodes, "g", declared, results, [w for w in (WORDS, NOTHING) if w.name in used])
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def assert_as_onnxruntime(model: Any, *given: Any) -> None:
    """Strings, dictionaries and all, at several sizes."""
    program = baton.compile(model, num_threads=1)
    for x in given:
        found, wanted = program.run({"x": x}), onnxruntime_outputs(model, {"x": x})
        for ours, theirs in zip(found, wanted, strict=True):
            if isinstance(theirs, list):
                assert [row.keys() for row in ours] == [row.keys() for row in theirs]
                for row, wanted_row in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose([row[k] for k in wanted_row], list(wanted_row.values()), rtol=1e-5)
            else:
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
                np.testing.assert_array_equal(ours, theirs)


MOVES: list[tuple[str, list[Any]]] = [
    ("nothing", [helper.make_node("Identity", ["x"], ["y"])]),
    ("to themselves", [helper.make_node("Cast", ["x"], ["y"], to=TEXT)]),
    ("one behind the other", [helper.make_node("Concat", ["x", "words", "x"], ["y"], axis=0)]),
    (
        "chosen by what they are",
        [helper.make_node("Equal", ["x", "word"], ["same"]), helper.make_node("Where", ["same", "word", "x"], ["y"])],
    ),
    (
        "in two columns",
        [
            helper.make_node("Unsqueeze", ["x", "axes"], ["column"]),
            helper.make_node("Concat", ["column", "column"], ["y"], axis=1),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("nodes", [m[1] for m in MOVES], ids=[m[0] for m in MOVES])
def test_moved_about(nodes: list[Any]) -> None:
    axes = helper.make_node("Constant", [], ["axes"], value_ints=[1])
    assert_as_onnxruntime(model_with([axes, *nodes], (TEXT, ["n"]), [("y", TEXT)]), GIVEN, GIVEN[:1], GIVEN[:0])


def test_constants_and_counts() -> None:
    nodes = [
        helper.make_node("Constant", [], ["names"], value_strings=["p", "q", "r"]),
        helper.make_node("Constant", [], ["sole"], value_string="s"),
        helper.make_node("Gather", ["names", "x"], ["y"]),
        helper.make_node("Shape", ["y"], ["shape"]),
        helper.make_node("Equal", ["y", "sole"], ["same"]),
    ]
    outputs = [("y", TEXT), ("shape", 0), ("same", 0)]
    assert_as_onnxruntime(model_with(nodes, (INT, ["n"]), outputs), np.array([2, 0, 1]), np.array([1]))


ENCODERS: list[tuple[str, Any, int, dict[str, Any]]] = [
    ("LabelEncoder", GIVEN, 3, {"keys_strings": ["zz", "b"], "values_int64s": [7, 9], "default_int64": -3}),
    ("LabelEncoder", GIVEN, 3, {"keys_strings": ["zz", "b"], "values_floats": [0.5, 1.5]}),
    ("LabelEncoder", GIVEN, 3, {"keys_strings": ["zz", "b"], "values_strings": ["b", "k"], "default_string": "no"}),
    ("LabelEncoder", PLACES, 3, {"keys_int64s": [7, 2], "values_strings": ["u", "v"]}),
    ("LabelEncoder", GIVEN, 4, {
        "keys_tensor": WORDS, "values_tensor": helper.make_tensor("v", INT, [2], [4, 5]),
        "default_tensor": helper.make_tensor("d", INT, [1], [-2]),
    }),
    ("LabelEncoder", GIVEN, 1, {"classes_strings": ["zz", "b"], "default_int64": 5}),
    ("LabelEncoder", PLACES, 1, {"classes_strings": ["zz", "b"], "default_string": "other"}),
    ("CategoryMapper", GIVEN, 1, {"cats_strings": ["zz", "b"], "cats_int64s": [4, 2]}),
    ("CategoryMapper", PLACES, 1, {"cats_strings": ["zz", "b"], "cats_int64s": [4, 2]}),
    ("OneHotEncoder", GIVEN, 3, {"cats_strings": ["b", "zz"], "zeros": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "version", "attributes"), ENCODERS)
def test_encoders(name: str, given: Any, version: int, attributes: Any) -> None:
    kind = TEXT if given.dtype.hasobject else INT
    model = model_with([learned(name, ["x"], ["y"], **attributes)], (kind, ["n"]), version=version)
    assert_as_onnxruntime(model, given, given[:1])


@pytest.mark.parametrize("labels", [{"classlabels_strings": ["u", "v", "w"]}, {"classlabels_int64s": [4, 1, 7]}])
def test_classes_with_their_scores(labels: Any, tmp_path: Path) -> None:
    """What scikit-learn's classifiers become unless they are told otherwise, saved and loaded as well."""
    coefficients = {"coefficients": [1.0, 2.0, 3.0, -1.0, 2.0, 1.0, 0.0, 0.0, 1.0], "intercepts": [0.0, 0.1, 0.2]}
    names = {"classlabels_ints" if name == "classlabels_int64s" else name: found for name, found in labels.items()}
    nodes = [
        learned("LinearClassifier", ["x"], ["label", "scores"], **coefficients, **names, post_transform="SOFTMAX"),
        learned("ZipMap", ["scores"], ["by_class"], **labels),
    ]
    model = model_with(nodes, (FLOAT, ["n", 3]), [("label", 0), ("by_class", 0)])
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    assert_as_onnxruntime(model, x, x[:1])
    program = baton.compile(model, num_threads=1)
    program.save(tmp_path / "classes.baton")
    again = baton.load(tmp_path / "classes.baton").run({"x": x})
    first = program(x)
    np.testing.assert_array_equal(again[0], first[0])
    assert again[1] == first[1]


def test_as_lists_as_bytes_and_bound_when_compiling() -> None:
    model = model_with([helper.make_node("Concat", ["x", "words"], ["y"], axis=0)], (TEXT, ["n"]))
    program = baton.compile(model)
    for given in (["k", "a"], np.array(["k", "a"]), np.array([b"k", b"a"])):
        assert program.run({"x": given})[0].tolist() == ["k", "a", "a", "b"]
    assert baton.compile(model, params={"x": np.array(["k"])}).run({})[0].tolist() == ["k", "a", "b"]
    assert str(program.inputs[0]) == "x: string[n]"
    with pytest.raises(baton.DiagnosticError, match="input x takes strings; 1 is a int"):
        program.run({"x": np.array([1])})


def refused(node: Any, kind: int, run: Any) -> str:
    with pytest.raises(baton.DiagnosticError) as caught:
        run(model_with([node], (kind, ["n"])))
    return str(caught.value)


WITHOUT_A_BORDER: list[tuple[str, Any, int, str]] = [
    ("an input", helper.make_node("Identity", ["x"], ["y"], name="/id"), TEXT, "node '/id'"),
    ("a weight", helper.make_node("Equal", ["words", "words"], ["y"], name="/eq"), FLOAT, "'/eq'"),
    ("an attribute", helper.make_node("Constant", [], ["y"], value=WORDS, name="/c"), FLOAT, "node '/c'"),
    ("a word", helper.make_node("Constant", [], ["y"], value_string="a", name="/c"), FLOAT, "node '/c'"),
    ("a cast", helper.make_node("Cast", ["x"], ["y"], to=TEXT, name="/to"), FLOAT, "'/to'"),
    ("categories", learned("OneHotEncoder", ["x"], ["y"], cats_strings=["a"]), INT, "/OneHotEncoder"),
    ("labels", learned("LabelEncoder", ["x"], ["y"], keys_int64s=[1], values_strings=["a"]), INT, "/LabelEncoder"),
]


@pytest.mark.parametrize(
    ("node", "kind", "named"), [c[1:] for c in WITHOUT_A_BORDER], ids=[c[0] for c in WITHOUT_A_BORDER]
)
def test_a_module_has_no_strings(node: Any, kind: int, named: str) -> None:
    said = refused(node, kind, relax.frontend.onnx.from_onnx)
    assert named in said
    assert "help: number the strings before they get to the model" in said


BEYOND: list[tuple[str, Any, int, str]] = [
    ("their order", helper.make_node("Unique", ["x"], ["y"], name="/u"), TEXT, "'/u' computes on strings"),
    ("two kinds", helper.make_node("Concat", ["x", "words"], ["y"], axis=0, name="/c"), INT, "mixes strings"),
    ("the keys", learned("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1]), FLOAT, "be strings"),
    ("categories", learned("OneHotEncoder", ["x"], ["y"], cats_int64s=[1]), TEXT, "both be strings"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "kind", "said"), [c[1:] for c in BEYOND], ids=[c[0] for c in BEYOND])
def test_what_computes_on_strings_is_refused(node: Any, kind: int, said: str) -> None:
    assert said in refused(node, kind, baton.compile)


def test_updates_that_would_be_sums_of_strings() -> None:
    """Of their numbers, some other string."""
    node = helper.make_node("ScatterElements", ["x", "at", "x"], ["y"], reduction="add", name="/s")
    model = model_of([node], [("x", ([2], TEXT)), ("at", ([2], INT))])
    with pytest.raises(baton.DiagnosticError, match="'/s': its reduction 'add' of strings"):
        baton.compile(model)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("size", [["n"], ["rows", "n"]])
def test_words_that_stand_together(mode: str, size: list[str]) -> None:
    """Single words, pairs with up to two words between them, triples; rows shorter than these, and of any length."""
    words = ["a", "b", "ä", "a", "b", "b", "b", "b", "a", "a"]
    attributes: dict[str, Any] = {
        "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 2, "ngram_counts": [0, 3, 7],
        "ngram_indexes": [5, 0, 1, 2, 4, 3], "weights": [0.5, 2, 3, 4, 0.25, 1], "pool_strings": words,
    }  # fmt: skip
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode=mode, **attributes)
    strings = np.array(["b", "b", "a", "none", "b", "a", "a", "b", "b", "ä", "b", "a"], dtype=object)
    given = [strings, strings[:2]] if len(size) == 1 else [strings.reshape(2, 6), strings.reshape(6, 2)]
    assert_as_onnxruntime(model_with([node], (TEXT, size)), *given)


def test_a_pool_of_other_things() -> None:
    attributes: dict[str, Any] = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "mode": "TF"}
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], ngram_counts=[0], ngram_indexes=[0], **attributes)
    with pytest.raises(baton.DiagnosticError, match="has 1 ngram_indexes for 0 n-grams"):
        baton.compile(model_with([node], (INT, ["n"])))
    with pytest.raises(baton.DiagnosticError, match="must both be numbers or both be strings"):
        baton.compile(model_with([node], (TEXT, ["n"])))
