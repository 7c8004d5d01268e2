"""The domain `ai.onnx.ml` apart from its trees: what scikit-learn's scalers, encoders and linear models become."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import WITHOUT_TEXTS
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT32, INT64, DataType
from baton._src.values.tensor import AnyArray


def real(node: OnnxNode, x: Value) -> Value:
    """As float32, which these operators compute in; float64 stays."""
    return x if x.dtype == "float64" else node.graph.cast(x, FLOAT32)


def scaler(node: OnnxNode) -> Value:
    """(x - offset) * scale"""
    g, x = node.graph, node.graph.cast(node[0], FLOAT32)
    for name, op in (("offset", "subtract"), ("scale", "multiply")):
        numbers = node.attr(name)
        x = g.call(op, x, g.constant(list(numbers), x.dtype)) if numbers else x
    return x


def normalizer(node: OnnxNode) -> Value:
    """x / norm of its row; rows of zeros stay."""
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
            node.fail(f"the norm {norm!r} is none of MAX, L1 and L2")
    return g.call("divide", x, g.call("where", g.call("equal", size, g.scalar(0, x)), g.scalar(1, x), size))


def binarizer(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    return g.cast(g.call("greater", x, g.constant(float(node.attr("threshold", 0.0)), x.dtype)), x.dtype)


def imputer(node: OnnxNode) -> Value:
    """Another number for what stands for none: NaN, or a number that says so."""
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
    found = g.call("take", x, g.reshape(node[1], (-1,)), axis=x.rank - 1)
    return g.reshape(found, (1, -1)) if x.rank == 1 else found


def feature_vectorizer(node: OnnxNode) -> Value:
    """All inputs side by side, as float32."""
    g = node.graph
    parts = [g.cast(x if x.rank > 1 else g.reshape(x, (-1, 1)), FLOAT32) for x in node.given]
    return parts[0] if len(parts) == 1 else g.call("concat", tuple(parts), axis=1)


def one_hot_encoder(node: OnnxNode) -> Value:
    """(...,) -> (..., categories), float32"""
    g, x, known = node.graph, node[0], node.attr("cats_int64s")
    if not known:
        node.fail("only categories that are integers are supported, not texts", help=WITHOUT_TEXTS)
    column = g.call("expand_dims", g.cast(x, INT64), axis=(x.rank,))
    return g.cast(g.call("equal", column, g.constant(list(known), INT64)), FLOAT32)


def label_encoder(node: OnnxNode) -> Value:
    """The value that belongs to each key; the default for what is no key."""
    g, x = node.graph, node[0]
    keys, values = _numbers(node, "keys"), _numbers(node, "values")
    default = node.attr("default_tensor")
    if default is None:
        default = node.attr("default_float", -0.0) if values.dtype.kind == "f" else node.attr("default_int64", -1)
    column, row = g.call("expand_dims", x, axis=(x.rank,)), g.constant(keys, x.dtype)
    same = g.call("equal", column, row)
    if x.dtype.is_float and np.isnan(keys).any():
        same = g.call("logical_or", same, g.call("logical_and", g.call("isnan", column), g.call("isnan", row)))
    place = g.call("argmax", g.cast(same, "int32"), axis=x.rank, keepdims=False)
    known = g.call("any", same, axis=(x.rank,), keepdims=False)
    other = g.constant(np.asarray(default).reshape(()), DataType(values.dtype))
    return g.call("where", known, g.call("take", g.constant(values), place, axis=0), other)


def _numbers(node: OnnxNode, name: str) -> AnyArray:
    """The keys or values of an encoder."""
    tensor = node.attr(f"{name}_tensor")
    if tensor is not None:
        return np.asarray(tensor)
    if node.attr(f"{name}_int64s"):
        return np.array(node.attr(f"{name}_int64s"), np.int64)
    if node.attr(f"{name}_floats"):
        return np.array(node.attr(f"{name}_floats"), np.float32)
    node.fail(f"only {name} that are numbers are supported, not texts", help=WITHOUT_TEXTS)


def transformed(node: OnnxNode, scores: Value) -> Value:
    """Scores (rows, classes or targets) after `post_transform`."""
    g, name = node.graph, str(node.attr("post_transform", "NONE"))
    match name:
        case "NONE":
            return scores
        case "LOGISTIC":
            return g.call("sigmoid", scores)
        case "SOFTMAX":
            return g.call("nn.softmax", scores, axis=-1)
        case "SOFTMAX_ZERO":  # what is 0 stays 0
            zero = g.call("equal", scores, g.scalar(0, scores))
            shifted = g.call("subtract", scores, g.call("max", scores, axis=(1,), keepdims=True))
            powers = g.call("where", zero, g.scalar(0, scores), g.call("exp", shifted))
            return g.call("divide", powers, g.call("sum", powers, axis=(1,), keepdims=True))
        case _:
            node.fail(f"the post_transform {name} is not supported; NONE, LOGISTIC, SOFTMAX and SOFTMAX_ZERO are")


def labels_of(node: OnnxNode, name: str) -> Value:
    """The classes, which must be integers where they are asked for."""
    found = node.attr(name)
    if found:
        return node.graph.constant(list(found), INT64)
    if any(node.outputs[:1]):
        help = "number the classes when training, or export the model without its output of labels"
        node.fail("its classes are texts, which are not supported", help=help)
    return node.graph.constant(range(len(node.attr("classlabels_strings", ()))), INT64)


def second_score(node: OnnxNode, score: Value, complement: bool) -> Value:
    """The scores of both classes from that of the second, (rows, 1): 1 - s and s if `complement`, else -s and s."""
    g = node.graph
    first = g.call("subtract", g.scalar(1, score), score) if complement else g.call("negative", score)
    both = g.call("concat", (first, score), axis=1)
    return both if complement else transformed(node, both)


def _linear(node: OnnxNode, rows: int) -> Value:
    """x coefficients' + intercepts"""
    g, x = node.graph, real(node, node[0])
    x = x if x.rank == 2 else g.reshape(x, (1, -1))
    weights = np.array(node.attr("coefficients"), np.float32).reshape(rows, -1)
    out = g.call("matmul", x, g.constant(np.ascontiguousarray(weights.T), x.dtype))
    bias = node.attr("intercepts")
    return g.call("add", out, g.constant(list(bias), x.dtype)) if bias else out


def linear_regressor(node: OnnxNode) -> Value:
    return transformed(node, _linear(node, int(node.attr("targets", 1))))


def linear_classifier(node: OnnxNode) -> list[Value]:
    """(class of the largest score, scores); of two classes there may be one score, that of the second."""
    g, labels = node.graph, labels_of(node, "classlabels_ints")
    classes = int(labels.shape[0]) if labels.shape else 0  # type: ignore[arg-type]
    single = len(node.attr("intercepts", ())) == 1 and classes == 2
    scores = _linear(node, 1 if single else classes)
    if not single:
        best = g.call("argmax", scores, axis=1, keepdims=False)
        return [g.call("take", labels, best, axis=0), transformed(node, scores)]
    positive = g.cast(g.call("greater", g.reshape(scores, (-1,)), g.scalar(0, scores)), INT64)
    return [g.call("take", labels, positive, axis=0), second_score(node, transformed(node, scores), True)]


def zip_map(node: OnnxNode) -> Value:
    node.fail(
        "a sequence of dictionaries is not supported as a result",
        help="export the model with the scores as a tensor: options={'zipmap': False} in skl2onnx",
    )


CLASSICAL: dict[str, Converter] = {
    "Scaler": scaler, "Normalizer": normalizer, "Binarizer": binarizer, "Imputer": imputer,
    "ArrayFeatureExtractor": array_feature_extractor, "FeatureVectorizer": feature_vectorizer,
    "OneHotEncoder": one_hot_encoder, "LabelEncoder": label_encoder, "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier, "ZipMap": zip_map,
}  # fmt: skip
