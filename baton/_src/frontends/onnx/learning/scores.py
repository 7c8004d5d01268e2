"""What models of the domain `ai.onnx.ml` make of their sums: scores after a `post_transform`, and classes by labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.values.dtype import FLOAT32, INT64


def real(node: OnnxNode, x: Value) -> Value:
    """Convert to float32, in which these operators compute; float64 stays."""
    return x if x.dtype == "float64" else node.graph.cast(x, FLOAT32)


ZERO = 1e-7
"""Up to here a score counts as 0, as in onnxruntime and ONNX's reference."""


def _softmax_but_zeros(node: OnnxNode, scores: Value) -> Value:
    """The softmax of the scores that are not 0; those that are stay as small as they are."""
    g = node.graph
    most = g.call("max", scores, axis=(1,), keepdims=True)
    none = g.call("less_equal", g.call("abs", scores), g.scalar(ZERO, scores))
    powers = g.call("where", none, g.scalar(0, scores), g.call("exp", g.call("subtract", scores, most)))
    small = g.call("multiply", scores, g.call("exp", g.call("negative", most)))
    total = g.call("sum", powers, axis=(1,), keepdims=True)
    return g.call("divide", g.call("where", none, small, powers), total)


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
        case "SOFTMAX_ZERO":
            return _softmax_but_zeros(node, scores)
        case "PROBIT":
            return _probit(node, scores)
        case _:
            node.fail(f"the post_transform {name} is not one of NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO and PROBIT")


def _probit(node: OnnxNode, p: Value) -> Value:
    """Where the normal distribution reaches `p`: sqrt(2) erfinv(2 p - 1), by Winitzki's approximation of the inverse
    (A handy approximation for the error function and its inverse, 2008), which onnxruntime takes, too."""
    g, a = node.graph, 0.147
    x = g.call("subtract", g.call("multiply", p, g.scalar(2, p)), g.scalar(1, p))
    log = g.call("log", g.call("multiply", g.call("subtract", g.scalar(1, p), x), g.call("add", g.scalar(1, p), x)))
    half = g.call("add", g.call("multiply", log, g.scalar(0.5, p)), g.scalar(2 / (np.pi * a), p))
    inner = g.call("subtract", g.call("multiply", half, half), g.call("multiply", log, g.scalar(1 / a, p)))
    size = g.call("sqrt", g.call("subtract", g.call("sqrt", inner), half))
    size = g.call("multiply", size, g.scalar(2**0.5, p))
    return g.call("where", g.call("less", x, g.scalar(0, p)), g.call("negative", size), size)


def labels_of(node: OnnxNode, name: str) -> Value:
    """The classes; strings are not needed if the label output is unused."""
    found, strings = node.attr(name), node.attr("classlabels_strings", ())
    if found:
        return node.graph.constant(list(found), INT64)
    if node.known_strings is None and any(node.outputs[:1]):
        help = (
            "number the classes when training, export the model without its output of labels, or use baton.compile, "
            "which takes strings"
        )
        node.fail("its classes are strings, which are not supported", help=help)
    return node.graph.constant(range(len(strings)), INT64) if node.known_strings is None else node.strings(strings)


def count_of(listed: Value) -> int:
    """The number of elements of a constant."""
    assert listed.array is not None
    return listed.array.size


def class_at(node: OnnxNode, labels: Value, place: Value) -> Value:
    """The class of each row from its index among all classes."""
    return replace(node.graph.call("take", labels, place, axis=0), meaning=labels.meaning)


def second_score(node: OnnxNode, score: Value, complement: bool) -> Value:
    """The scores of both classes from the score s of the second, (rows, 1): 1 - s and s if `complement`, else -s and s.

    ONNX does not specify `post_transform` for a single score. As in onnxruntime, LOGISTIC applies to both, and a
    softmax leaves them unchanged; onnxruntime's results for PROBIT are not a pair of scores.
    """
    g = node.graph
    opposite = g.call("negative", score)
    if node.attr("post_transform") == "PROBIT":
        node.fail("PROBIT is not supported for one score of two classes", help="give each class a score of its own")
    if node.attr("post_transform") == "LOGISTIC":
        return g.call("sigmoid", g.call("concat", (opposite, score), axis=1))
    first = g.call("subtract", g.scalar(1, score), score) if complement else opposite
    return g.call("concat", (first, score), axis=1)


def as_targets(node: OnnxNode, scores: Value, applied: str = "NONE") -> Value:
    """The results of a regressor. For a single target onnxruntime ignores all transforms except `applied`."""
    name = str(node.attr("post_transform", "NONE"))
    if scores.shape is None or scores.shape[-1] != 1 or name in ("NONE", applied):
        return transformed(node, scores)
    help = "apply it by a node of its own, such as Sigmoid"
    node.fail(f"with a single target {name} is ambiguous:  ONNX applies it, onnxruntime does not", help=help)
