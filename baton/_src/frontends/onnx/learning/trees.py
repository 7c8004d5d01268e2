"""Tree ensembles of the domain `ai.onnx.ml`: all trees are traversed at once, one level at a time.

A row's position in each tree is a node number: (rows, trees). A step looks up the feature, the threshold and both
children of each position's node in tables and compares; leaves lead to themselves. After as many steps as the deepest
tree has levels, the values of the leaves are looked up and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.learning.forests import (
    COMPARISONS,
    MEMBER,
    MODES,
    Forest,
    ensemble_of,
    floats_of,
    forest_of,
)
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


def reached(node: OnnxNode, forest: Forest, x: Value) -> Value:
    """What the leaves say that each row of `x` gets to: (rows, trees, targets)."""
    g = node.graph
    unknown = sorted(set(forest.modes) - {*MODES, "LEAF"})
    if unknown:
        node.fail(f"the mode {unknown[0]} is not supported; {', '.join(MODES)} are")
    if x.shape is None or x.rank != 2:
        node.fail("its input must have two axes, (rows, features)")
    depth = forest.depth
    if depth is None:
        node.fail("a path through its trees never reaches a leaf")
    features, pairs = g.constant(forest.features), g.constant(forest.children.astype(np.int64).reshape(-1))
    thresholds = g.constant(forest.thresholds.astype(x.dtype.numpy))
    at = g.broadcast_to(g.constant(forest.roots.astype(np.int64).reshape(1, -1)), (x.shape[0], len(forest.roots)))
    for _ in range(depth):
        number = g.call("gather_elements", x, g.call("take", features, at, axis=0), axis=1)
        holds = _compared(node, forest, number, g.call("take", thresholds, at, axis=0), at)
        place = g.call("add", g.call("multiply", at, g.constant(2, INT64)), g.cast(holds, INT64))
        at = g.call("take", pairs, place, axis=0)
    return g.call("take", g.constant(forest.leaves), at, axis=0)


def _compared(node: OnnxNode, forest: Forest, number: Value, threshold: Value, at: Value) -> Value:
    """Whether the comparison of each place's node holds."""
    g, used = node.graph, sorted({m for m in forest.modes if m != "LEAF"})

    def compared(mode: str) -> Value:
        if mode != MEMBER:
            return g.call(COMPARISONS[mode], number, threshold)
        members = g.call("take", g.constant(forest.members.astype(number.dtype.numpy)), at, axis=0)
        return g.call("any", g.call("equal", g.call("expand_dims", number, axis=(2,)), members), axis=(2,))

    found = compared(used[0])
    for mode in used[1:]:
        is_it = g.call("take", g.constant(np.array([m == mode for m in forest.modes])), at, axis=0)
        found = g.call("where", is_it, compared(mode), found)
    if not forest.missing.any():
        return found
    missing = g.call("take", g.constant(forest.missing), at, axis=0)
    return g.call("logical_or", found, g.call("logical_and", missing, g.call("isnan", number)))


def _based(node: OnnxNode, total: Value) -> Value:
    base = floats_of(node, "base_values")
    return node.graph.call("add", total, node.graph.constant(base, total.dtype)) if base.size else total


ABSENT = {"MIN": np.inf, "MAX": -np.inf}
"""What a leaf that says nothing of a target counts as."""


def _aggregated(node: OnnxNode, forest: Forest, x: Value, name: str) -> Value:
    """(rows, targets): what the leaves that the rows reach say of each target; 0 where they say nothing."""
    g, ops = node.graph, {"SUM": "sum", "AVERAGE": "mean", "MIN": "min", "MAX": "max"}
    if name not in ops:
        node.fail(f"the aggregate_function {name!r} is not one of {', '.join(ops)}")
    absent = ABSENT.get(name, 0)
    if absent:
        forest = replace(forest, leaves=np.where(forest.given, forest.leaves, absent).astype(forest.leaves.dtype))
    found = g.call(ops[name], reached(node, forest, x), axis=(1,), keepdims=False)
    if not absent or forest.always_named():
        return found
    return g.call("where", g.call("isinf", found), g.scalar(0, found), found)


def regressor(node: OnnxNode) -> Value:
    forest = forest_of(node, "target", int(node.attr("n_targets", 1)))
    name = str(node.attr("aggregate_function", "SUM"))
    total = _based(node, _aggregated(node, forest, real(node, node[0]), name))
    return as_targets(node, node.graph.cast(total, "float32"), "PROBIT")


def ensemble(node: OnnxNode) -> Value:
    name = _named(node, "aggregate_function", ("AVERAGE", "SUM", "MIN", "MAX"), 1)
    total = _aggregated(node, ensemble_of(node), node[0], name)
    transforms = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    node.attributes["post_transform"] = _named(node, "post_transform", transforms, 0)
    return as_targets(node, total, "PROBIT")


def _named(node: OnnxNode, attribute: str, names: Sequence[str], default: int) -> str:
    """The name that TreeEnsemble gives by its number."""
    number = int(node.attr(attribute, default))
    if not 0 <= number < len(names):
        meant = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
        node.fail(f"its {attribute} is {number}", help=f"it is one of {meant}")
    return names[number]


def classifier(node: OnnxNode) -> list[Value]:
    """(class of the largest score, scores); leaves of two classes may speak of one of them only.

    What is said of the first alone means the second: onnxruntime's reading, which exporters rely on.
    """
    g, labels = node.graph, labels_of(node, "classlabels_int64s")
    classes = count_of(labels)
    spoken = sorted(set(node.needed("class_ids")))
    forest, x = forest_of(node, "class", classes), real(node, node[0])
    total = g.cast(_aggregated(node, forest, x, "SUM"), "float32")
    if classes != 2 or len(spoken) != 1:
        total = _based(node, total)
        best = g.call("argmax", _of_named(node, forest, x, total), axis=1, keepdims=False)
        return [class_at(node, labels, best), transformed(node, total)]
    score = g.call("strided_slice", total, axes=(1,), begin=(spoken[0],), end=(spoken[0] + 1,), strides=(1,))
    base = floats_of(node, "base_values")
    if base.size > 1:
        node.fail(f"its leaves refer to one class, but it has {base.size} base_values", help="give one")
    if base.size and spoken == [0]:
        score = g.call("add", score, g.constant(base[-1:], score.dtype))
    positive = bool((floats_of(node, "class_weights") >= 0).all())
    chosen = g.call("greater", g.reshape(score, (-1,)), g.scalar(0.5 if positive else 0.0, score))
    scores = second_score(node, score, positive) if spoken == [0] else transformed(node, total)
    return [class_at(node, labels, g.cast(chosen, INT64)), scores]


def _of_named(node: OnnxNode, forest: Forest, x: Value, total: Value) -> Value:
    """The scores, -inf for classes that none of the leaves names which a row reaches: onnxruntime does not choose them.
    With base_values every class has a score."""
    if forest.always_named() or floats_of(node, "base_values").size:
        return total
    g = node.graph
    named = reached(node, replace(forest, leaves=forest.given.astype(np.float32)), x)
    is_named = g.call("greater", g.call("max", named, axis=(1,), keepdims=False), g.constant(0.0, FLOAT32))
    return g.call("where", is_named, total, g.scalar(-np.inf, total))


TREES: dict[str, Converter] = {
    "TreeEnsembleRegressor": regressor, "TreeEnsembleClassifier": classifier, "TreeEnsemble": ensemble,
}  # fmt: skip
