"""Converters of support vector machines, of the domain `ai.onnx.ml`.

A classifier compares classes in pairs: each pair has a weight for every support vector of its two classes, and votes
for one of them. Probabilities of pairs are combined by the second method of Wu, Lin and Weng (Probability estimates for
multi-class classification by pairwise coupling, 2004), as in libsvm and onnxruntime.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.learning.scores import (
    as_targets,
    class_at,
    labels_of,
    real,
    second_score,
    transformed,
)
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL, FLOAT32, INT64
from baton._src.values.tensor import AnyArray

STEPS = 100
"""Most iterations of the coupling; then the probabilities are used as they are."""


def svm_regressor(node: OnnxNode) -> Value:
    """A weighted sum of kernels with support vectors; without vectors `coefficients` are the weights of the inputs."""
    g, x, count = node.graph, real(node, node[0]), int(node.attr("n_supports", 0))
    coefficients = np.array(node.needed("coefficients"), np.float32)
    if count < 0:
        node.fail(f"its n_supports is {count}, it must be 0 or more")
    if count:
        vectors = np.array(node.needed("support_vectors"), np.float32).reshape(count, -1)
        x = _kernel(node, x, vectors)
    out = g.call("matmul", x, g.constant(coefficients.reshape(-1, 1), x.dtype))
    out = g.call("add", out, g.constant(list(node.attr("rho", (0.0,)))[:1], x.dtype))
    if not node.attr("one_class", 0):
        return as_targets(node, out)
    inside = g.call("greater", out, g.scalar(0, out))
    return g.call("where", inside, g.scalar(1, out), g.scalar(-1, out))


def _kernel(node: OnnxNode, x: Value, vectors: AnyArray) -> Value:
    """(rows, vectors): the kernel function of each row and support vector."""
    g, kind = node.graph, str(node.attr("kernel_type", "LINEAR"))
    gamma, offset, degree = (*(float(p) for p in node.attr("kernel_params", ())), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        apart = g.call("subtract", g.call("expand_dims", x, axis=(1,)), g.constant(vectors, x.dtype))
        squares = g.call("sum", g.call("multiply", apart, apart), axis=(2,), keepdims=False)
        return g.call("exp", g.call("multiply", squares, g.scalar(-gamma, squares)))
    product = g.call("matmul", x, g.constant(np.ascontiguousarray(vectors.T), x.dtype))
    if kind == "LINEAR":
        return product
    shifted = g.call("add", g.call("multiply", product, g.scalar(gamma, product)), g.scalar(offset, product))
    if kind == "POLY":
        return g.call("power", shifted, g.scalar(degree, shifted))
    if kind == "SIGMOID":
        return g.call("tanh", shifted)
    node.fail(f"the kernel {kind!r} is not one of LINEAR, POLY, RBF and SIGMOID")


def svm_classifier(node: OnnxNode) -> list[Value]:
    """(class with most votes, probabilities of classes, or the scores of pairs without `prob_a` and `prob_b`)"""
    counts = [int(c) for c in node.attr("vectors_per_class", ())]
    if not counts or not sum(counts):
        node.fail("it has no support vectors", help="write it as a LinearClassifier")
    g, labels = node.graph, labels_of(node, "classlabels_ints")
    vectors = np.array(node.needed("support_vectors"), np.float32).reshape(sum(counts), -1)
    near = _kernel(node, g.cast(node[0], FLOAT32), vectors)
    scores = g.call("matmul", near, g.constant(_pair_weights(node, counts)))
    scores = g.call("add", scores, g.constant(np.array(node.attr("rho"), np.float32)))
    best = g.call("argmax", _votes(node, scores, len(counts)), axis=1, keepdims=False)
    chosen = class_at(node, labels, best)
    if node.attr("prob_a"):
        return [chosen, transformed(node, _probabilities(node, scores, len(counts)))]
    if len(counts) > 2:
        return [chosen, transformed(node, scores)]
    return [chosen, second_score(node, scores, node.attr("post_transform", "NONE") != "NONE")]


def _pair_weights(node: OnnxNode, counts: list[int]) -> AnyArray:
    """(vectors, pairs): a class has a row of coefficients against each of the others."""
    coefficients = np.array(node.needed("coefficients"), np.float32).reshape(len(counts) - 1, -1)
    ends = np.cumsum(counts)
    own = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    pairs = list(combinations(range(len(counts)), 2))
    found = np.zeros((int(ends[-1]), len(pairs)), np.float32)
    for p, (i, j) in enumerate(pairs):
        found[own[i], p] = coefficients[j - 1, own[i]]
        found[own[j], p] = coefficients[i, own[j]]
    return found


def _votes(node: OnnxNode, scores: Value, classes: int) -> Value:
    """(rows, classes): for the first of a pair where its score is positive, else for the second."""
    g, pairs = node.graph, list(combinations(range(classes), 2))
    first, second = (np.eye(classes, dtype=np.float32)[[pair[k] for pair in pairs]] for k in range(2))
    won = g.cast(g.call("greater", scores, g.scalar(0, scores)), FLOAT32)
    return g.call("add", g.call("matmul", won, g.constant(first - second)), g.constant(second.sum(axis=0)))


def _probabilities(node: OnnxNode, scores: Value, classes: int) -> Value:
    """(rows, classes), from each pair's probability of its first class."""
    g, a, b = node.graph, *(np.array(node.attr(f"prob_{n}"), np.float32) for n in "ab")
    line = g.call("add", g.call("multiply", scores, g.constant(a)), g.constant(b))
    first = g.call("clip", g.call("sigmoid", g.call("negative", line)), min=1e-7, max=1 - 1e-7)
    second = g.call("subtract", g.scalar(1, first), first)
    both = g.call("concat", (first, second), axis=1)
    of = np.zeros((2, classes, classes), np.int64)
    pairs = classes * (classes - 1) // 2
    for p, (i, j) in enumerate(combinations(range(classes), 2)):
        of[0, i, j], of[0, j, i] = p, p + pairs
    against = g.call("take", both, g.constant(of[0]), axis=1)  # (rows, classes, classes); its diagonal means nothing
    return _coupled(node, against, classes)


def _coupled(node: OnnxNode, against: Value, classes: int) -> Value:
    """The probabilities p that minimise p' Q p, row by row, by iteration until convergence or for `STEPS` steps."""
    g = node.graph
    swapped = g.transpose(against, (0, 2, 1))
    others = g.constant(1 - np.eye(classes, dtype=np.float32))
    squares = g.call("sum", g.call("multiply", g.call("multiply", swapped, swapped), others), axis=(2,), keepdims=True)
    products = g.call("multiply", g.call("multiply", against, swapped), others)
    q = g.call("subtract", g.call("multiply", squares, g.constant(np.eye(classes, dtype=np.float32))), products)
    rows = against.known_shape()[0]
    start = g.broadcast_to(g.constant(np.full((1, classes), 1 / classes, np.float32)), (rows, classes))

    def step(state: list[Value]) -> list[Value]:
        _, i, p = state
        following, moving = _improved(node, q, p, classes)
        i = g.call("add", i, g.constant(np.int64(1)))
        more = g.call("less", i, g.constant(np.int64(STEPS)))
        return [g.call("logical_and", more, g.call("any", moving, axis=(0, 1), keepdims=False)), i, following]

    infos = [TensorInfo((), BOOL), TensorInfo((), INT64), start.info]
    return g.loop([g.constant(np.array(True)), g.constant(np.int64(0)), start], infos, step)[2]


def _improved(node: OnnxNode, q: Value, p: Value, classes: int) -> tuple[Value, Value]:
    """(p after a step for each class in turn, (rows, 1): whether a row was still to be improved)"""
    g, before, one = node.graph, p, node.graph.scalar(1, p)
    slope = g.call("squeeze", g.call("matmul", q, g.call("expand_dims", p, axis=(2,))), axis=(2,))
    mean = g.call("sum", g.call("multiply", p, slope), axis=(1,), keepdims=True)
    error = g.call("max", g.call("abs", g.call("subtract", slope, mean)), axis=(1,), keepdims=True)
    moving = g.call("greater_equal", error, g.scalar(0.005 / classes, error))
    for t in range(classes):
        place = g.constant(np.array([t]))
        row = g.call("squeeze", g.call("take", q, place, axis=1), axis=(1,))
        own, at = g.call("take", row, place, axis=1), g.call("take", slope, place, axis=1)
        by = g.call("divide", g.call("subtract", mean, at), own)
        whole = g.call("add", by, one)
        grown = g.call("add", g.call("multiply", by, own), g.call("multiply", at, g.scalar(2, at)))
        mean = g.call("add", mean, g.call("multiply", by, grown))
        mean = g.call("divide", mean, g.call("multiply", whole, whole))
        slope = g.call("divide", g.call("add", slope, g.call("multiply", by, row)), whole)
        here = g.constant(np.eye(classes, dtype=np.float32)[t : t + 1])
        p = g.call("divide", g.call("add", p, g.call("multiply", by, here)), whole)
    return g.call("where", moving, p, before), moving


SUPPORT_VECTORS: dict[str, Converter] = {"SVMClassifier": svm_classifier, "SVMRegressor": svm_regressor}
