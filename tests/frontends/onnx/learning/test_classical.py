"""Operators of `ai.onnx.ml`, each in both languages against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from baton import relax
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((7, 3)).astype("float32")
HOLES = np.where(np.abs(X) < 0.3, np.float32("nan"), X)
ROWS_OF_ZEROS = np.vstack([X, np.zeros((1, 3), "float32")])
WHOLE = RANDOM.integers(0, 4, (6,))


def numbers(count: int) -> list[float]:
    return [float(v) for v in RANDOM.standard_normal(count).astype("float32")]


NODES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Scaler", (X,), {"offset": numbers(3), "scale": numbers(3)}),
    ("Scaler", (WHOLE.reshape(2, 3),), {"offset": [0.5], "scale": [2.0]}),
    *(("Normalizer", (ROWS_OF_ZEROS,), {"norm": norm}) for norm in ("L1", "L2")),
    ("Normalizer", (np.abs(X),), {"norm": "MAX"}),
    ("Binarizer", (X,), {"threshold": 0.2}),
    ("Imputer", (HOLES,), {"imputed_value_floats": numbers(3), "replaced_value_float": float("nan")}),
    ("Imputer", (WHOLE.reshape(2, 3),), {"imputed_value_int64s": [9], "replaced_value_int64": 2}),
    ("ArrayFeatureExtractor", (X, np.array([2, 0])), {}),
    ("ArrayFeatureExtractor", (X[0], np.array([1])), {}),
    ("FeatureVectorizer", (X, X[:, :2] * 2), {"inputdimensions": [3, 2]}),
    ("FeatureVectorizer", (X, X[:, :2] * 2), {"inputdimensions": [2, 4]}),
    ("OneHotEncoder", (WHOLE,), {"cats_int64s": [3, 1, 0], "zeros": 1}),
    ("OneHotEncoder", (WHOLE,), {"cats_int64s": [3, 1, 0, 2], "zeros": 0}),
    ("LabelEncoder", (WHOLE,), {"keys_int64s": [2, 0], "values_floats": [0.5, 1.5], "default_float": -2.0}),
    ("LinearRegressor", (X,), {"coefficients": numbers(6), "intercepts": numbers(2), "targets": 2}),
    ("SVMRegressor", (X,), {
        "coefficients": numbers(4), "support_vectors": numbers(12), "n_supports": 4, "rho": [0.3],
        "kernel_type": "RBF", "kernel_params": [0.4, 0.0, 3.0],
    }),
    ("SVMRegressor", (X,), {
        "coefficients": numbers(4), "support_vectors": numbers(12), "n_supports": 4, "rho": [0.3],
        "kernel_type": "POLY", "kernel_params": [0.4, 0.5, 3.0],
    }),
    ("SVMRegressor", (X,), {"coefficients": numbers(3), "rho": [0.1], "kernel_params": [0.0] * 3, "one_class": 1}),
]  # fmt: skip

THREE = {"coefficients": numbers(9), "intercepts": numbers(3), "classlabels_ints": [4, 1, 7]}
TWO = {"coefficients": numbers(3), "intercepts": numbers(1), "classlabels_ints": [3, 5]}
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
CLASSIFIERS = [{**THREE, "post_transform": name} for name in TRANSFORMS]
CLASSIFIERS += [{**TWO, "post_transform": name} for name in TRANSFORMS]


def _check(name: str, operands: Any, attributes: Any, outputs: int = 1, version: int = 3) -> None:
    inputs = [k for k, o in enumerate(operands) if name != "ArrayFeatureExtractor" or k == 0]
    model = model_of_node(name, operands, attributes, inputs, [f"o{k}" for k in range(outputs)], "ai.onnx.ml")
    model.opset_import[2].version = version
    feed = {f"i{k}": operands[k] for k in inputs}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


@pytest.mark.parametrize(("name", "operands", "attributes"), NODES)
def test_operator(name: str, operands: Any, attributes: Any) -> None:
    _check(name, operands, attributes)


def test_probabilities_as_places_of_the_normal_distribution() -> None:
    """PROBIT, of numbers on both sides of a half."""
    attributes = {
        "coefficients": [1.0, 0, 0, 0, 1, 0],
        "intercepts": [0.0, 0],
        "targets": 2,
        "post_transform": "PROBIT",
    }
    _check("LinearRegressor", (RANDOM.uniform(0.01, 0.99, (5, 3)).astype("float32"),), attributes)


def test_a_category_that_is_not_known() -> None:
    """Without `zeros` an error in the run, as in onnxruntime."""
    model = model_of_node("OneHotEncoder", (WHOLE,), {"cats_int64s": [3, 1], "zeros": 0}, (0,), ["y"], "ai.onnx.ml")
    program = baton.compile(model, num_threads=1)
    np.testing.assert_array_equal(program.run({"i0": np.array([1, 3, 1, 1, 1, 3])})[0][:2], [[0, 1], [1, 0]])
    with pytest.raises(baton.DiagnosticError, match=r"the_node.*index 2 is out of range"):
        program.run({"i0": np.array([1, 3, 1, 2, 1, 3])})


def test_columns_that_there_are_none_of() -> None:
    """Guards against the nearest column: here nothing counts from the end."""
    model = model_of_node("ArrayFeatureExtractor", (X, np.array([-1])), {}, (0, 1), ["y"], "ai.onnx.ml")
    with pytest.raises(baton.DiagnosticError, match="index -1 is out of range"):
        baton.compile(model, num_threads=1).run({"i0": X, "i1": np.array([-1])})


def test_nan_as_a_key() -> None:
    """From the fourth version of the operator on."""
    keys = {"keys_floats": [float("nan"), 1.0], "values_int64s": [7, 8]}
    _check("LabelEncoder", (np.array([1, 2, np.nan], "float32"),), keys, version=4)


@pytest.mark.parametrize("attributes", CLASSIFIERS)
def test_linear_classifier(attributes: Any) -> None:
    _check("LinearClassifier", (X,), attributes, outputs=2)


@pytest.mark.parametrize("counts", [[2, 3], [2, 1, 3, 2]])
@pytest.mark.parametrize("post", TRANSFORMS)
@pytest.mark.parametrize("coupled", [False, True])
def test_classes_with_support_vectors(counts: list[int], post: str, coupled: bool) -> None:
    """Pairs of classes vote; with `prob_a` and `prob_b` there are probabilities of classes, else scores of pairs."""
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    attributes: dict[str, Any] = {
        "classlabels_ints": list(range(10, 10 + classes)), "coefficients": numbers((classes - 1) * vectors),
        "kernel_params": [0.4, 0.5, 2.0], "kernel_type": "RBF", "rho": numbers(pairs), "post_transform": post,
        "support_vectors": numbers(3 * vectors), "vectors_per_class": counts,
    }  # fmt: skip
    if coupled:
        attributes |= {"prob_a": [-abs(n) for n in numbers(pairs)], "prob_b": numbers(pairs)}
    _check("SVMClassifier", (X,), attributes, outputs=2)


def trees(leaf: str, count: int, depth: int, ids: list[int], modes: list[str], low: float = -1.0) -> dict[str, Any]:
    """Complete trees of random thresholds; each leaf speaks of every one of `ids`."""
    nodes: dict[str, list[Any]] = {
        k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    said: dict[str, list[Any]] = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        for k in range(2 ** (depth + 1) - 1):
            inner = k < 2**depth - 1
            row = (
                tree, k, int(RANDOM.integers(0, 3)), float(np.float32(RANDOM.standard_normal())),
                modes[k % len(modes)] if inner else "LEAF", 2 * k + 1 if inner else 0, 2 * k + 2 if inner else 0,
            )  # fmt: skip
            for column, item in zip(nodes.values(), row, strict=True):
                column.append(item)
            for target in () if inner else ids:
                weight = float(np.float32(RANDOM.uniform(low, 1)))
                for column, item in zip(said.values(), (tree, k, target, weight), strict=True):
                    column.append(item)
    return {**{f"nodes_{k}": v for k, v in nodes.items()}, **{f"{leaf}_{k}": v for k, v in said.items()}}


LEQ = ["BRANCH_LEQ"]


@pytest.mark.parametrize("function", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_of_numbers(function: str) -> None:
    attributes = trees("target", 3, 2, [0, 1], LEQ)
    _check("TreeEnsembleRegressor", (X,), {**attributes, "n_targets": 2, "aggregate_function": function})


def test_trees_of_other_comparisons_and_of_nan() -> None:
    """Each comparison; where a node says so, NaN goes the way of what holds."""
    attributes = trees("target", 2, 3, [0], ["BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_LEQ"])
    attributes["nodes_missing_value_tracks_true"] = [k % 2 for k in range(30)]
    _check("TreeEnsembleRegressor", (HOLES,), {**attributes, "n_targets": 1, "base_values": [0.5]})


@pytest.mark.parametrize(
    ("labels", "ids", "low", "more"),
    [
        ([5, 2, 9], [0, 1, 2], 0.0, {}),
        ([5, 2, 9], [0, 1, 2], -1.0, {"post_transform": "SOFTMAX", "base_values": [0.1, 0.2, 0.3]}),
        ([5, 2], [0], -1.0, {"post_transform": "LOGISTIC", "base_values": [0.1]}),
        ([5, 2], [0], -1.0, {}),
        ([5, 2], [1], 0.0, {}),
    ],
)  # fmt: skip
def test_trees_of_classes(labels: Any, ids: Any, low: float, more: Any) -> None:
    """Of two classes leaves may speak of one: its score alone decides, and gives that of the other."""
    attributes = trees("class", 2, 2, ids, LEQ, low)
    if low == 0.0:
        attributes["class_weights"] = [w / 2 for w in attributes["class_weights"]]
    _check("TreeEnsembleClassifier", (X,), {**attributes, "classlabels_int64s": labels, **more}, outputs=2)


@pytest.mark.parametrize("post", TRANSFORMS)
@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("spoken", [0, 1])
def test_what_becomes_of_a_single_score(post: str, low: float, spoken: int) -> None:
    """Two classes, leaves that speak of one: which numbers LOGISTIC and the softmaxes make of both depends on it."""
    attributes = trees("class", 1, 1, [spoken], LEQ, low)
    attributes |= {"classlabels_int64s": [5, 2], "post_transform": post}
    _check("TreeEnsembleClassifier", (X,), attributes, outputs=2)


def test_trees_of_the_newer_operator() -> None:
    """TreeEnsemble numbers leaves apart from inner nodes: here one question, two answers."""
    tensor = helper.make_tensor
    attributes = {
        "n_targets": 1, "tree_roots": [0], "nodes_featureids": [1], "nodes_splits": tensor("s", 1, [1], [0.25]),
        "nodes_modes": tensor("m", 2, [1], [0]), "nodes_truenodeids": [0], "nodes_trueleafs": [1],
        "nodes_falsenodeids": [1], "nodes_falseleafs": [1], "leaf_targetids": [0, 0],
        "leaf_weights": tensor("w", 1, [2], [3.0, -4.0]),
    }  # fmt: skip
    model = model_of_node("TreeEnsemble", (X,), attributes, (0,), ["y"], "ai.onnx.ml", learning_opset=5)
    for _, found in in_both_languages(model, {"i0": X}):
        np.testing.assert_array_equal(found[0], np.where(X[:, 1:2] <= 0.25, 3.0, -4.0))


@pytest.fixture
def of_sets() -> dict[str, Any]:
    """Is it at most 11? One of {1.5, 3.5, 9}? One of {12, 7}? The second question's false way leads to the third."""
    tensor, nan = helper.make_tensor, float("nan")
    sets = [1.5, 3.5, 9.0, nan, 12.0, 7.0, nan]
    return {
        "n_targets": 4, "tree_roots": [0], "nodes_featureids": [0, 0, 0],
        "nodes_splits": tensor("s", 1, [3], [11.0, nan, nan]), "nodes_modes": tensor("m", 2, [3], [0, 6, 6]),
        "nodes_truenodeids": [1, 0, 1], "nodes_trueleafs": [0, 1, 1], "nodes_falsenodeids": [2, 2, 3],
        "nodes_falseleafs": [0, 0, 1], "leaf_targetids": [0, 1, 2, 3],
        "leaf_weights": tensor("w", 1, [4], [1.0, 10.0, 1000.0, 100.0]),
        "membership_values": tensor("v", 1, [len(sets)], sets),
    }  # fmt: skip


def test_trees_that_ask_for_members_of_sets(of_sets: dict[str, Any]) -> None:
    x = np.array([[1.5], [3.5], [9], [7], [12], [13], [2], [np.nan]], np.float32)
    expected = np.zeros((8, 4), np.float32)
    expected[range(8), [0, 0, 0, 1, 1, 3, 3, 3]] = [1, 1, 1, 10, 10, 100, 100, 100]
    model = model_of_node("TreeEnsemble", (x,), of_sets, (0,), ["y"], "ai.onnx.ml", learning_opset=5)
    for _, found in in_both_languages(model, {"i0": x}):
        np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("sets", [[1.5, float("nan")], [1.5, float("nan"), 7.0]])
def test_a_set_for_each_question(of_sets: dict[str, Any], sets: list[float]) -> None:
    attributes = of_sets | {"membership_values": helper.make_tensor("v", 1, [len(sets)], sets)}
    model = model_of_node("TreeEnsemble", (X,), attributes, (0,), ["y"], "ai.onnx.ml", learning_opset=5)
    with pytest.raises(baton.DiagnosticError, match="1 whole sets for 2 nodes"):
        relax.frontend.onnx.from_onnx(model)


@pytest.mark.parametrize("attribute", ["aggregate_function", "post_transform"])
@pytest.mark.parametrize("number", [-1, 1000])
def test_numbers_that_stand_for_nothing(of_sets: dict[str, Any], attribute: str, number: int) -> None:
    """One below 0 was counted from the end of the list."""
    attributes = of_sets | {attribute: number}
    model = model_of_node("TreeEnsemble", (X,), attributes, (0,), ["y"], "ai.onnx.ml", learning_opset=5)
    with pytest.raises(baton.DiagnosticError, match=f"its {attribute} is {number}"):
        relax.frontend.onnx.from_onnx(model)


def test_a_compiled_tree_of_long_ways() -> None:
    """Guards the time to compile: the kernel was two and a half times as long for each question on a way."""
    depth = 14
    inner, nodes = depth - 1, 2 * depth - 1
    attributes = {
        "nodes_treeids": [0] * nodes, "nodes_nodeids": list(range(nodes)),
        "nodes_featureids": [k % 3 for k in range(nodes)], "nodes_values": [2 - 0.2 * k for k in range(nodes)],
        "nodes_modes": [LEQ[0]] * inner + ["LEAF"] * depth,
        "nodes_truenodeids": [*range(1, inner), nodes - 1] + [0] * depth,
        "nodes_falsenodeids": [*range(inner, nodes - 1)] + [0] * depth, "target_treeids": [0] * depth,
        "target_nodeids": list(range(inner, nodes)), "target_ids": [0] * depth, "target_weights": numbers(depth),
        "n_targets": 1,
    }  # fmt: skip
    model = model_of_node("TreeEnsembleRegressor", (X,), attributes, (0,), ["y"], "ai.onnx.ml", open_axes=1)
    (found,) = baton.compile(model, num_threads=1).run({"i0": X})
    assert_as_onnxruntime([np.asarray(found)], onnxruntime_outputs(model, {"i0": X}))


def test_a_compiled_forest_of_open_size() -> None:
    attributes = {**trees("target", 3, 4, [0], LEQ), "n_targets": 1}
    model = model_of_node("TreeEnsembleRegressor", (X,), attributes, (0,), ["y"], "ai.onnx.ml", open_axes=1)
    program = baton.compile(model, num_threads=1)
    for rows in (7, 2):
        (found,) = program.run({"i0": X[:rows]})
        assert_as_onnxruntime([np.asarray(found)], onnxruntime_outputs(model, {"i0": X[:rows]}))


def uneven_forest() -> dict[str, Any]:
    """Six trees of unlike depths, the deepest neither first nor last."""
    parts = [trees("target", 1, depth, [0], LEQ) for depth in (1, 4, 2, 0, 4, 3)]
    for tree, part in enumerate(parts):
        part.update({name: [tree] * len(part[name]) for name in ("nodes_treeids", "target_treeids")})
    return {**{name: [v for part in parts for v in part[name]] for name in parts[0]}, "n_targets": 1}


@pytest.mark.parametrize("open_axes", [1, 2])
def test_trees_that_end_before_others(open_axes: int) -> None:
    """Ended trees take no part in further steps; their leaves come back to their places. Rows may be of any length."""
    forest = uneven_forest()
    model = model_of_node("TreeEnsembleRegressor", (X,), forest, (0,), ["y"], "ai.onnx.ml", open_axes=open_axes)
    program = baton.compile(model, num_threads=1)
    for rows in (7, 1, 0):
        given = np.concatenate([X, X], 1)[:rows] if open_axes == 2 else X[:rows]
        (found,) = program.run({"i0": given})
        assert_as_onnxruntime([np.asarray(found)], onnxruntime_outputs(model, {"i0": given}))


def test_a_feature_that_rows_do_not_have() -> None:
    """Guards reading beyond a row: it would be a number of the next one."""
    forest = uneven_forest()
    forest["nodes_featureids"][1] = -1
    _check("TreeEnsembleRegressor", (X,), forest)
    forest["nodes_featureids"][0] = 3
    model = model_of_node("TreeEnsembleRegressor", (X,), forest, (0,), ["y"], "ai.onnx.ml", open_axes=1)
    with pytest.raises(baton.BatonError, match="feature 3, but there are 3"):
        baton.compile(model)
    model = model_of_node("TreeEnsembleRegressor", (X,), forest, (0,), ["y"], "ai.onnx.ml", open_axes=2)
    with pytest.raises(baton.BatonError, match="is 3"):
        baton.compile(model).run({"i0": X})


@pytest.mark.parametrize(
    ("name", "attributes", "said"),
    [
        ("ZipMap", {"classlabels_int64s": [0, 1, 2]}, "options=.'zipmap': False"),
        ("LinearClassifier", {"coefficients": numbers(3), "classlabels_strings": ["a", "b"]}, "classes are strings"),
        ("LinearRegressor", {"coefficients": numbers(3), "post_transform": "LOGISTIC"}, "LOGISTIC is ambiguous"),
        (
            "LinearRegressor",
            {"coefficients": numbers(6), "targets": 2, "post_transform": "TANH"},
            "post_transform TANH",
        ),
        ("LinearClassifier", {**TWO, "post_transform": "PROBIT"}, "PROBIT is not supported"),
        ("FeatureVectorizer", {}, "'inputdimensions' is missing"),
        (
            "LinearRegressor",
            {"coefficients": numbers(6), "intercepts": [1.0], "targets": 2},
            "1 intercepts for 2 results",
        ),
        ("LinearRegressor", {"coefficients": numbers(5), "targets": 2}, "5 coefficients"),
        ("LabelEncoder", {"keys_floats": [1.0, 2, 3], "values_floats": [1.0, 2]}, "each key needs one"),
        ("TreeEnsembleRegressor", {**trees("target", 1, 1, [0], LEQ), "target_ids": [0, 1]}, "1, but there are 1"),
        ("TreeEnsembleRegressor", {**trees("target", 1, 1, [0], LEQ), "target_ids": [0]}, "2 target_nodeids, but 1"),
        ("TreeEnsembleRegressor", {**trees("target", 1, 1, [0], LEQ), "nodes_values": [0.5]}, "1 nodes_values, but 3"),
        (
            "TreeEnsembleClassifier",
            {
                **trees("class", 1, 1, [0], LEQ),
                "classlabels_int64s": [1, 2],
                "base_values": [0.1, 0.2],
            },
            "2 base_values",
        ),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "strings are not supported"),
    ],
)
def test_what_is_not_supported_is_refused(name: str, attributes: Any, said: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=said):
        relax.frontend.onnx.from_onnx(model_of_node(name, (X,), attributes, (0,), ["y"], "ai.onnx.ml"))


def test_a_loop_of_hundreds_of_steps_gives_one_tensor() -> None:
    """The nearest neighbours of scikit-learn: a Scan over every row that was learned."""
    nodes = [
        helper.make_node("Sub", ["x", "row"], ["apart"]),
        helper.make_node("ReduceSumSquare", ["apart"], ["out"], axes=[1], keepdims=0),
        helper.make_node("Identity", ["x"], ["same"]),
    ]
    inputs = [helper.make_empty_tensor_value_info(n) for n in ("x", "row")]
    outputs = [helper.make_tensor_value_info(n, 1, None) for n in ("same", "out")]
    body = helper.make_graph(nodes, "distance", inputs, outputs)
    rows = RANDOM.standard_normal((200, 3)).astype("float32")
    node = helper.make_node("Scan", ["x", "rows"], ["last", "y"], body=body, num_scan_inputs=1)
    graph = helper.make_graph(
        [node], "scan", [helper.make_tensor_value_info("x", 1, [7, 3])],
        [helper.make_empty_tensor_value_info("y")], [helper.make_tensor("rows", 1, rows.shape, rows.ravel())],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for _, found in in_both_languages(model, {"x": X}):
        np.testing.assert_allclose(found[0], ((X[None] - rows[:, None]) ** 2).sum(2), rtol=1e-4)


ONE_LEAF: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 1], "nodes_nodeids": [0, 1, 2, 0], "nodes_featureids": [0] * 4,
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], "nodes_values": [0.0] * 4,
    "nodes_truenodeids": [1, 0, 0, 0], "nodes_falsenodeids": [2, 0, 0, 0],
}  # fmt: skip
"""A tree that asks for the sign of the first feature, and one that is a leaf."""


def of_leaves(leaf: str, *rows: tuple[int, int, int, float]) -> dict[str, Any]:
    """What leaves say: (tree, node, class or target, weight)."""
    trees, nodes, ids, weights = (list(column) for column in zip(*rows, strict=True))
    return {
        **ONE_LEAF, f"{leaf}_treeids": trees, f"{leaf}_nodeids": nodes, f"{leaf}_ids": ids, f"{leaf}_weights": weights,
    }  # fmt: skip


@pytest.mark.parametrize("function", ["MIN", "MAX", "SUM"])
def test_leaves_that_say_nothing_of_a_target(function: str) -> None:
    """The least and the greatest are of what leaves say; nothing said was taken for a 0 among them."""
    rows = ((0, 1, 0, 3.0), (0, 1, 1, -2.0), (0, 2, 1, 4.0), (1, 0, 1, 0.5), (1, 0, 0, -1.0), (0, 2, 2, -7.0))
    attributes = of_leaves("target", *rows)
    _check("TreeEnsembleRegressor", (X,), {**attributes, "n_targets": 3, "aggregate_function": function})


@pytest.mark.parametrize("more", [{}, {"base_values": [0.5, 0.1, -3.0]}])
def test_classes_that_no_leaf_names(more: dict[str, Any]) -> None:
    """A class without a score is not chosen, even if all scores are below 0; with base_values each has one."""
    rows = ((0, 1, 0, -3.0), (0, 1, 1, -2.0), (0, 2, 1, -4.0), (1, 0, 1, -0.5))
    _check("TreeEnsembleClassifier", (X,), {**of_leaves("class", *rows), "classlabels_int64s": [4, 1, 7], **more}, 2)


@pytest.mark.parametrize("attributes", [THREE, TWO])
def test_scores_are_float32_whatever_the_features_are(attributes: dict[str, Any]) -> None:
    _check("LinearClassifier", (X.astype("float64"),), {**attributes, "post_transform": "LOGISTIC"}, 2)


def test_a_softmax_of_scores_that_are_nearly_zero() -> None:
    """They count as 0, as in ONNX's reference: one of 1e-9 became a score among the others."""
    weights = {"coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], "intercepts": [0.0] * 3}
    x = np.array([[1e-9, 2.0, 3.0], [0.0, -1.0, 1e-8], [1e-6, 0.5, 0.0]], "float32")
    attributes = {**weights, "classlabels_ints": [4, 1, 7], "post_transform": "SOFTMAX_ZERO"}
    _check("LinearClassifier", (x,), attributes, 2)


@pytest.mark.parametrize("threshold", [-0.5, 0.5, 1.0])
def test_a_threshold_of_integers_need_not_be_whole(threshold: float) -> None:
    """It was cut to an integer: 0 was not more than -0.5. (onnxruntime has no Binarizer of integers.)"""
    x = np.array([-1, 0, 1, 2])
    model = model_of_node("Binarizer", (x,), {"threshold": threshold}, (0,), ["y"], "ai.onnx.ml")
    for _, (found,) in in_both_languages(model, {"i0": x}):
        np.testing.assert_array_equal(found, (x > threshold).astype("int64"))
