"""Converters of the domain `ai.onnx.ml` except trees: exported scalers, encoders and linear models of scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.learning.scores import (
    as_targets,
    class_at,
    count_of,
    labels_of,
    real,
    second_score,
    transformed,
)
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT32, INT64
from baton._src.values.meaning import STRING_IDS, scores_by_key
from baton._src.values.tensor import AnyArray


def scaler(node: OnnxNode) -> Value:
    """(x - offset) * scale"""
    g, x = node.graph, node.graph.cast(node[0], FLOAT32)
    for name, op in (("offset", "subtract"), ("scale", "multiply")):
        numbers = node.attr(name)
        x = g.call(op, x, g.constant(list(numbers), x.dtype)) if numbers else x
    return x


def normalizer(node: OnnxNode) -> Value:
    """x / norm of its row; zero rows are unchanged."""
    g, x, norm = node.graph, node.graph.cast(node[0], FLOAT32), str(node.attr("norm", "MAX"))
    axes = (x.rank - 1,)
    match norm:
        case "MAX":
            size = g.call("max", x, axis=axes, keepdims=True)
        case "L1":
            size = g.call("sum", g.call("abs", x), axis=axes, keepdims=True)
        case "L2":
            size = g.call("sqrt", g.call("sum", g.call("multiply", x, x), axis=axes, keepdims=True))
        case _:
            node.fail(f"the norm {norm!r} is not one of MAX, L1 and L2")
    return g.call("divide", x, g.call("where", g.call("equal", size, g.scalar(0, x)), g.scalar(1, x), size))


def binarizer(node: OnnxNode) -> Value:
    """1 where x is more than the threshold, which need not be whole where x is, else 0."""
    g, x = node.graph, node[0]
    real = x if x.dtype.is_float else g.cast(x, "float64")
    return g.cast(g.call("greater", real, g.scalar(float(node.attr("threshold", 0.0)), real)), x.dtype)


def imputer(node: OnnxNode) -> Value:
    """Replace missing values (NaN, or a given number) by another number."""
    g, x = node.graph, node[0]
    kind = "int64" if x.dtype.is_int else "float"
    missing = node.attr(f"replaced_value_{kind}", 0)
    numbers = node.attr(f"imputed_value_{kind}s")
    if not numbers:
        node.fail(f"it has no imputed_value_{kind}s for its input of {x.dtype}")
    there = g.call("isnan", x) if missing != missing else g.call("equal", x, g.scalar(missing, x))
    return g.call("where", there, g.constant(list(numbers), x.dtype), x)


def array_feature_extractor(node: OnnxNode) -> Value:
    """Columns of the last axis; of a vector, as the one row of a matrix."""
    g, x = node.graph, node[0]
    found = g.call("take", x, g.reshape(node[1], (-1,)), axis=x.rank - 1, mode="fast")
    return g.reshape(found, (1, -1)) if x.rank == 1 else found


def feature_vectorizer(node: OnnxNode) -> Value:
    """All inputs concatenated as float32; each truncated, or padded with zeros, to the number of columns the node
    gives.
    """
    g, wanted = node.graph, node.needed("inputdimensions")
    if len(wanted) != len(node.given):
        node.fail(f"it has {len(wanted)} inputdimensions for {len(node.given)} inputs")
    rows = [g.cast(x if x.rank > 1 else g.reshape(x, (-1, 1)), FLOAT32) for x in node.given]
    parts = [_of_columns(node, x, int(count)) for x, count in zip(rows, wanted, strict=True)]
    return parts[0] if len(parts) == 1 else g.call("concat", tuple(parts), axis=1)


def _of_columns(node: OnnxNode, x: Value, count: int) -> Value:
    g, shape = node.graph, x.shape
    if shape is None or x.rank != 2 or not isinstance(shape[1], int):
        node.fail("its inputs must be matrices with a known number of columns", code="onnx-dynamic")
    if shape[1] < count:
        return g.call("nn.pad", x, pad_width=(0, 0, 0, count - shape[1]), pad_value=0.0)
    return x if shape[1] == count else g.call("strided_slice", x, axes=(1,), begin=(0,), end=(count,), strides=(1,))


def one_hot_encoder(node: OnnxNode) -> Value:
    """(...,) -> (..., categories), float32. A value that is not a category gives zeros, or an error at run time if
    `zeros` is 0.
    """
    g, x = node.graph, node[0]
    column = g.call("expand_dims", g.cast(x, INT64), axis=(x.rank,))
    keys = _keys(node, "cats", replace(g.cast(x, INT64), meaning=x.meaning))
    same = g.call("equal", column, keys)
    if node.attr("zeros", 1) or not keys.shape:
        return g.cast(same, FLOAT32)
    count = g.dims(count_of(keys))
    known = g.call("any", same, axis=(x.rank,), keepdims=False)
    place = g.call("where", known, g.cast(g.call("argmax", g.cast(same, "int32"), axis=x.rank), INT64), count)
    return g.call("take", g.constant(np.eye(count_of(keys)), FLOAT32), place, axis=0, mode="fast")


def label_encoder(node: OnnxNode) -> Value:
    """The value mapped to each key; the default for anything else."""
    if node.attr("classes_strings"):  # its first version: a string for its place, or the other way round
        places = np.arange(len(node.attr("classes_strings")))
        return _numbered(node, node.strings(node.attr("classes_strings")), places)
    values = _listed(node, "values")
    default = node.attr("default_tensor")
    if default is None and values.meaning is not STRING_IDS:
        default = node.attr("default_float", -0.0) if values.dtype.is_float else node.attr("default_int64", -1)
    elif default is None:
        default = node.attr("default_string", "_Unused")
    default = np.asarray(default, None if values.meaning is not STRING_IDS else object).reshape(())
    return _looked_up(node, _keys(node, "keys", node[0]), values, default)


def category_mapper(node: OnnxNode) -> Value:
    """The number of a string, or the string of a number."""
    numbers = np.array(node.needed("cats_int64s"), np.int64)
    return _numbered(node, node.strings(node.needed("cats_strings")), numbers)


def _numbered(node: OnnxNode, strings: Value, numbers: AnyArray) -> Value:
    if node[0].meaning is STRING_IDS:
        return _looked_up(node, strings, node.graph.constant(numbers), np.array(node.attr("default_int64", -1)))
    default = np.array(node.attr("default_string", "_Unused"), dtype=object)
    return _looked_up(node, node.graph.constant(numbers), strings, default)


def _looked_up(node: OnnxNode, keys: Value, values: Value, default: AnyArray) -> Value:
    """For each element the value at its index among the keys."""
    g, x = node.graph, node[0]
    if keys.shape != values.shape:
        node.fail(f"it has keys {keys} for values {values}: each key needs one", code="op-shape")
    column, row = g.call("expand_dims", x, axis=(x.rank,)), g.cast(keys, x.dtype)
    same = g.call("equal", column, row)
    if x.dtype.is_float and keys.array is not None and np.isnan(keys.array).any():
        same = g.call("logical_or", same, g.call("logical_and", g.call("isnan", column), g.call("isnan", row)))
    place = g.call("argmax", g.cast(same, "int32"), axis=x.rank, keepdims=False)
    known = g.call("any", same, axis=(x.rank,), keepdims=False)
    other = g.cast(node.constant_tensor(default), values.dtype)
    return replace(g.call("where", known, g.call("take", values, place, axis=0), other), meaning=values.meaning)


def _keys(node: OnnxNode, name: str, x: Value) -> Value:
    """The keys to compare the elements of `x` with: strings if these are strings."""
    found = _listed(node, name)
    if found.meaning is not x.meaning:
        node.fail(f"its {name} and its input must both be numbers or both be strings", code="onnx-dtype")
    return found


def _listed(node: OnnxNode, name: str) -> Value:
    """The keys, values or categories of an encoder."""
    tensor = node.attr(f"{name}_tensor")
    if tensor is not None:
        return node.constant_tensor(np.asarray(tensor))
    if node.attr(f"{name}_strings"):
        return node.strings(node.attr(f"{name}_strings"))
    if node.attr(f"{name}_int64s"):
        return node.graph.constant(node.attr(f"{name}_int64s"), INT64)
    if node.attr(f"{name}_floats"):
        return node.graph.constant(node.attr(f"{name}_floats"), FLOAT32)
    node.fail(f"it has no {name}")


def _linear(node: OnnxNode, rows: int) -> Value:
    """x coefficients' + intercepts, float32 whatever the input is"""
    g, x = node.graph, real(node, node[0])
    x = x if x.rank == 2 else g.reshape(x, (1, -1))
    weights, bias = np.array(node.needed("coefficients"), np.float32), node.attr("intercepts")
    if rows < 1 or weights.size % rows or len(bias or [0] * rows) != rows:
        node.fail(f"it has {weights.size} coefficients and {len(bias or ())} intercepts for {rows} results")
    weights = weights.reshape(rows, -1)
    out = g.call("matmul", x, g.constant(np.ascontiguousarray(weights.T), x.dtype))
    found = g.call("add", out, g.constant(list(bias), x.dtype)) if bias else out
    return g.cast(found, FLOAT32)


def linear_regressor(node: OnnxNode) -> Value:
    return as_targets(node, _linear(node, int(node.attr("targets", 1))), "PROBIT")


def linear_classifier(node: OnnxNode) -> list[Value]:
    """(class of the largest score, scores); for two classes there may be a single score, that of the second."""
    g, labels = node.graph, labels_of(node, "classlabels_ints")
    classes = count_of(labels)
    single = len(node.attr("intercepts", ())) == 1 and classes == 2
    scores = _linear(node, 1 if single else classes)
    if not single:
        best = g.call("argmax", scores, axis=1, keepdims=False)
        return [class_at(node, labels, best), transformed(node, scores)]
    positive = g.cast(g.call("greater", g.reshape(scores, (-1,)), g.scalar(0, scores)), INT64)
    return [class_at(node, labels, positive), second_score(node, scores, True)]


def zip_map(node: OnnxNode) -> Value:
    """The scores; the model converts them to dictionaries for its caller (`scores_by_key`)."""
    if node.known_strings is None:
        help = (
            "export the model with the scores as a tensor: options={'zipmap': False} in skl2onnx; or use "
            "baton.compile, which gives dictionaries"
        )
        node.fail("a sequence of dictionaries is not supported as a result", help=help)
    keys, scores = node.attr("classlabels_int64s") or node.needed("classlabels_strings"), node[0]
    scores = scores if scores.rank == 2 else node.graph.reshape(scores, (1, -1))
    count = None if scores.shape is None else scores.shape[1]
    if isinstance(count, int) and count != len(keys):
        node.fail(f"it has {len(keys)} keys for {count} scores")
    return replace(scores, meaning=scores_by_key(tuple(keys)))


CLASSICAL: dict[str, Converter] = {
    "Scaler": scaler, "Normalizer": normalizer, "Binarizer": binarizer, "Imputer": imputer,
    "ArrayFeatureExtractor": array_feature_extractor, "FeatureVectorizer": feature_vectorizer,
    "OneHotEncoder": one_hot_encoder, "LabelEncoder": label_encoder, "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier, "ZipMap": zip_map, "CategoryMapper": category_mapper,
}  # fmt: skip
