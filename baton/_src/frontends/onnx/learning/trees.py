"""Tree ensembles of the domain `ai.onnx.ml`: all trees are traversed at once, one level at a time.

A row's position in each tree is a node number: (trees, rows), so that the nodes of one tree are in the cache while all
rows pass it. A step looks up the feature, the threshold and both children of each position's node in tables and
compares; leaves lead to themselves. Trees are left out of the steps below their deepest leaf. In the end the values of
the leaves are looked up and added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from baton._src.values.dtype import FLOAT32, INT32, INT64
from baton._src.values.tensor import AnyArray

MOST_LEFT = 7 / 8
"""Trees that have ended are left out of the next steps if at most this part of them has not."""


def reached(node: OnnxNode, forest: Forest, x: Value) -> Value:
    """What the leaves say that each row of `x` gets to: (trees, rows, targets)."""
    unknown = sorted(set(forest.modes) - {*MODES, "LEAF"})
    if unknown:
        node.fail(f"the mode {unknown[0]} is not supported; {', '.join(MODES)} are")
    if x.shape is None or x.rank != 2:
        node.fail("its input must have two axes, (rows, features)")
    depths = forest.depths
    if depths is None:
        node.fail("a path through its trees never reaches a leaf")
    g, order = node.graph, np.argsort([-d for d in depths], kind="stable")
    at = _arrived(node, replace(forest, roots=forest.roots[order]), sorted(depths, reverse=True), x)
    if (order != np.arange(len(order))).any():
        at = g.call("take", at, g.constant(np.argsort(order)), axis=0)
    return g.call("take", g.constant(forest.leaves), at, axis=0)


def _arrived(node: OnnxNode, forest: Forest, depths: Sequence[int], x: Value) -> Value:
    """The leaves that each row gets to, (trees, rows); the deepest trees come first."""
    g, features = node.graph, np.where(np.array(forest.modes) == "LEAF", 0, forest.features)
    x = _with_features(node, features, x)
    step, rows, trees = _step(node, replace(forest, features=features), x), x.known_shape()[0], len(depths)
    roots = g.constant(forest.roots.astype(np.int32).reshape(-1, 1))
    at, begins = (g.broadcast_to(v, (trees, rows)) for v in (roots, _begins(node, x)))
    ended: list[Value] = []
    for level in range(max(depths, default=0)):
        left = sum(d > level for d in depths)
        if left <= MOST_LEFT * trees:
            ended.append(_trees_of(node, at, left, trees))
            at, begins, trees = _trees_of(node, at, 0, left), _trees_of(node, begins, 0, left), left
        # One axis is one loop: a loop for each tree takes longer than a step of the only row.
        at = g.reshape(step(g.reshape(at, (-1,)), g.reshape(begins, (-1,))), (trees, rows))
    return g.call("concat", (at, *reversed(ended)), axis=0)


def _with_features(node: OnnxNode, features: AnyArray, x: Value) -> Value:
    """`x`, which has all features that the nodes ask for; only these, if their number is open."""
    needed, there = int(features.max(initial=0)) + 1, x.known_shape()[1]
    if features.min(initial=0) < 0 or (isinstance(there, int) and needed > there):
        wrong = int(features.min()) if features.min() < 0 else needed - 1
        node.fail(f"a node asks for feature {wrong}, but there are {there}, counted from 0")
    if isinstance(there, int):
        return x
    first = node.graph.call("strided_slice", x, axes=(1,), begin=(0,), end=(needed,), strides=(1,))
    return node.graph.of_shape(first, (x.known_shape()[0], needed))


def _begins(node: OnnxNode, x: Value) -> Value:
    """Where each row of `x` begins among all its numbers: (1, rows)."""
    g, (rows, features) = node.graph, x.known_shape()
    places = g.call("arange", start=0, stop=rows, step=1, dtype=INT64)
    return g.reshape(g.call("multiply", places, g.dims(features)), (1, rows))


def _trees_of(node: OnnxNode, at: Value, begin: int, end: int) -> Value:
    return node.graph.call("strided_slice", at, axes=(0,), begin=(begin,), end=(end,), strides=(1,))


def _step(node: OnnxNode, forest: Forest, x: Value) -> Callable[[Value, Value], Value]:
    """From nodes to the next ones; the other operand says where in `x` the row of each begins."""
    g = node.graph
    features, pairs = g.constant(forest.features), g.constant(forest.children.astype(np.int32).reshape(-1))
    thresholds, numbers = g.constant(forest.thresholds.astype(x.dtype.numpy)), g.reshape(x, (-1,))

    def step(at: Value, begins: Value) -> Value:
        number = g.call("take", numbers, g.call("add", begins, g.call("take", features, at, axis=0)), axis=0)
        holds = _compared(node, forest, number, g.call("take", thresholds, at, axis=0), at)
        place = g.call("add", g.call("multiply", at, g.constant(2, INT32)), g.cast(holds, INT32))
        return g.call("take", pairs, place, axis=0)

    return step


def _compared(node: OnnxNode, forest: Forest, number: Value, threshold: Value, at: Value) -> Value:
    """Whether the comparison of each place's node holds; all of one axis."""
    g, used = node.graph, sorted({m for m in forest.modes if m != "LEAF"})

    def compared(mode: str) -> Value:
        if mode != MEMBER:
            return g.call(COMPARISONS[mode], number, threshold)
        members = g.call("take", g.constant(forest.members.astype(number.dtype.numpy)), at, axis=0)
        return g.call("any", g.call("equal", g.call("expand_dims", number, axis=(1,)), members), axis=(1,))

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
    found = g.call(ops[name], reached(node, forest, x), axis=(0,), keepdims=False)
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
    is_named = g.call("greater", g.call("max", named, axis=(0,), keepdims=False), g.constant(0.0, FLOAT32))
    return g.call("where", is_named, total, g.scalar(-np.inf, total))


TREES: dict[str, Converter] = {
    "TreeEnsembleRegressor": regressor, "TreeEnsembleClassifier": classifier, "TreeEnsemble": ensemble,
}  # fmt: skip
