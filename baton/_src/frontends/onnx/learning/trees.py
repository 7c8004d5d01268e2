"""Tree ensembles of the domain `ai.onnx.ml`: all trees are traversed at once, one level at a time.

A row's position in each tree is a node number: (rows, trees). A step looks up the feature, the threshold and both
children of each position's node in tables and compares; leaves lead to themselves. After as many steps as the deepest
tree has levels, the values of the leaves are looked up and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.learning.classical import (
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
from baton._src.values.tensor import AnyArray

COMPARISONS = {
    "BRANCH_LEQ": "less_equal", "BRANCH_LT": "less", "BRANCH_GTE": "greater_equal", "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal", "BRANCH_NEQ": "not_equal",
}  # fmt: skip
MEMBER = "BRANCH_MEMBER"
"""Takes the true branch if the feature is in the node's set."""
MODES = (*COMPARISONS, MEMBER)
"""In TreeEnsemble's numbering."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes by number. A leaf has the mode "LEAF" and itself as both children."""

    roots: AnyArray
    features: AnyArray
    thresholds: AnyArray
    modes: list[str]
    children: AnyArray
    """(nodes, 2): the next node if the comparison is false, and if it is true."""
    missing: AnyArray
    """Whether the comparison holds of NaN."""
    leaves: AnyArray
    """(nodes, targets): what each leaf adds to each target; 0 elsewhere."""
    given: AnyArray
    """(nodes, targets): whether a leaf says anything of a target."""
    members: AnyArray
    """(nodes, size of the largest set): the set of each node whose mode is BRANCH_MEMBER; NaN elsewhere."""

    def always_named(self) -> bool:
        """Whether every row reaches, for each target, a leaf that speaks of it: some tree has no others."""
        return bool(np.any([self.given[self._leaves_below(r)].all(axis=0) for r in self.roots.tolist()], axis=0).all())

    def _leaves_below(self, root: int) -> list[int]:
        seen, pending = {root}, [root]
        while pending:
            new = {int(c) for c in self.children[pending.pop()]} - seen
            seen |= new
            pending += new
        return [k for k in seen if self.modes[k] == "LEAF"]

    @property
    def depth(self) -> int | None:
        """Steps from a root to the farthest leaf; None if some way never ends in one."""
        here, steps = set(self.roots.tolist()), 0
        while inner := [n for n in here if self.modes[n] != "LEAF"]:
            here, steps = {int(c) for n in inner for c in self.children[n]}, steps + 1
            if steps > len(self.modes):
                return None
        return steps


_OF_NODES = tuple(f"nodes_{n}" for n in ("treeids", "nodeids", "modes", "featureids", "falsenodeids", "truenodeids"))
"""What the older operators must say of each node, though ONNX's definitions call all of it optional."""


def forest_of(node: OnnxNode, leaf: str, targets: int) -> Forest:
    """The trees of TreeEnsembleRegressor (`leaf` "target") and TreeEnsembleClassifier ("class")."""
    for name in (*_OF_NODES, *(f"{leaf}_{n}" for n in ("treeids", "nodeids", "ids"))):
        node.needed(name)
    _check_lists(node, "nodes_", int(np.size(node.attr("nodes_modes"))))
    _check_lists(node, f"{leaf}_", int(np.size(node.attr(f"{leaf}_ids"))))
    _check_numbers(node, f"{leaf}_ids", targets)
    trees, ids = (np.array(node.attr(f"nodes_{n}", ()), np.int64) for n in ("treeids", "nodeids"))
    number = {key: k for k, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    modes = [str(m) for m in node.attr("nodes_modes")]
    if MEMBER in modes:
        node.fail(f"the mode {MEMBER} is one of TreeEnsemble's")
    children = np.tile(np.arange(len(modes))[:, None], (1, 2))
    for side, name in enumerate(("falsenodeids", "truenodeids")):
        for k, (tree, child) in enumerate(zip(trees.tolist(), node.attr(f"nodes_{name}"), strict=True)):
            if modes[k] != "LEAF":
                children[k, side] = _found(node, number, (tree, child))
    weights = np.zeros((len(modes), targets), _kind(node, f"{leaf}_weights"))
    given = np.zeros(weights.shape, bool)
    places = zip(*(node.attr(f"{leaf}_{n}") for n in ("treeids", "nodeids", "ids")), strict=True)
    said = _floats(node, f"{leaf}_weights")
    if len(said) != int(np.size(node.attr(f"{leaf}_ids"))):
        node.fail(f"it has {len(said)} {leaf}_weights for {np.size(node.attr(f'{leaf}_ids'))} {leaf}_ids")
    for (tree, k, target), weight in zip(places, said, strict=True):
        place = _found(node, number, (tree, k)), target
        weights[place] += weight
        given[place] = True
    roots = np.setdiff1d(np.arange(len(modes)), [c for k, pair in enumerate(children) for c in pair if c != k])
    return Forest(
        roots, np.array(node.attr("nodes_featureids"), np.int64), _floats(node, "nodes_values"), modes, children,
        np.array(node.attr("nodes_missing_value_tracks_true") or [0] * len(modes), bool), weights,
        given, np.empty((len(modes), 0)),
    )  # fmt: skip


def _check_lists(node: OnnxNode, prefix: str, count: int) -> None:
    """Refuse lists of what all nodes, or all leaves, have that are of another length than `count`."""
    for name, given in node.attributes.items():
        # Hit rates are hints.
        if name.startswith(prefix) and not name.startswith("nodes_hitrates") and np.size(given) not in (0, count):
            node.fail(f"it has {np.size(given)} {name}, but {count} of the attributes that go with them")


def _check_numbers(node: OnnxNode, name: str, count: int) -> None:
    wrong = [int(i) for i in node.attr(name) if not 0 <= i < count]
    if wrong:
        node.fail(f"its {name} speak of {wrong[0]}, but there are {count}, counted from 0")


def _found(node: OnnxNode, number: dict[tuple[int, int], int], key: tuple[int, int]) -> int:
    if key not in number:
        node.fail(f"tree {key[0]} has no node {key[1]}")
    return number[key]


def _floats(node: OnnxNode, name: str) -> AnyArray:
    tensor = node.attr(f"{name}_as_tensor")
    return np.array(node.attr(name, ()), np.float32) if tensor is None else np.asarray(tensor)


def _kind(node: OnnxNode, name: str) -> Any:
    return _floats(node, name).dtype


def ensemble_of(node: OnnxNode) -> Forest:
    """The trees of TreeEnsemble: inner nodes, then leaves, are numbered apart."""
    numbers = [int(m) for m in node.attr("nodes_modes")]
    if any(m >= len(MODES) for m in numbers):
        node.fail(f"nodes_modes are 0 to {len(MODES) - 1}, but one is {max(numbers)}")
    modes = [MODES[m] for m in numbers]
    inner, weights = len(modes), np.asarray(node.attr("leaf_weights"))
    _check_lists(node, "nodes_", inner)
    _check_lists(node, "leaf_", weights.size)
    _check_numbers(node, "leaf_targetids", int(node.attr("n_targets", 1)))
    leaves = np.zeros((inner + len(weights), int(node.attr("n_targets", 1))), weights.dtype)
    places = inner + np.arange(len(weights)), np.array(node.attr("leaf_targetids"), np.int64)
    leaves[places] = weights
    given = np.zeros(leaves.shape, bool)
    given[places] = True
    children = np.tile(np.arange(len(leaves))[:, None], (1, 2))
    _check_numbers(node, "tree_roots", inner)
    for side, name in enumerate(("false", "true")):
        ids, is_leaf = (np.array(node.attr(f"nodes_{name}{what}"), np.int64) for what in ("nodeids", "leafs"))
        for target, leaf in zip(ids.tolist(), is_leaf.tolist(), strict=True):
            kind, count = ("leaf", len(weights)) if leaf else ("node", inner)
            if not 0 <= target < count:
                node.fail(f"its nodes_{name}nodeids speak of {kind} {target}, but there are {count}, counted from 0")
        children[:inner, side] = ids + inner * (is_leaf != 0)
    pad = [0] * len(weights)
    return Forest(
        np.array(node.attr("tree_roots"), np.int64), np.array([*node.attr("nodes_featureids"), *pad], np.int64),
        np.concatenate([np.asarray(node.attr("nodes_splits")), np.zeros(len(pad), weights.dtype)]),
        [*modes, *["LEAF"] * len(pad)], children,
        np.array([*(node.attr("nodes_missing_value_tracks_true") or [0] * inner), *pad], bool), leaves, given,
        _members(node, modes, len(leaves)),
    )  # fmt: skip


def _members(node: OnnxNode, modes: list[str], count: int) -> AnyArray:
    """The sets of membership_values, each ended by NaN, go to the nodes of that mode in their order."""
    values = np.asarray(node.attr("membership_values", np.empty(0)))
    owners = [k for k, mode in enumerate(modes) if mode == MEMBER]
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != len(owners) or (values.size and not np.isnan(values[-1])):
        help = "each set is ended by NaN"
        node.fail(f"membership_values holds {len(ends)} whole sets for {len(owners)} nodes of {MEMBER}", help=help)
    starts = [0, *(ends + 1)][: len(ends)]
    table = np.full((count, max(ends - starts, default=0)), np.nan, values.dtype)
    for owner, start, end in zip(owners, starts, ends, strict=True):
        table[owner, : end - start] = values[start:end]
    return table


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
    base = _floats(node, "base_values")
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
    name = ("AVERAGE", "SUM", "MIN", "MAX")[int(node.attr("aggregate_function", 1))]
    total = _aggregated(node, ensemble_of(node), node[0], name)
    kinds: Sequence[str] = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    node.attributes["post_transform"] = kinds[int(node.attr("post_transform", 0))]
    return as_targets(node, total, "PROBIT")


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
    base = _floats(node, "base_values")
    if base.size > 1:
        node.fail(f"its leaves refer to one class, but it has {base.size} base_values", help="give one")
    if base.size and spoken == [0]:
        score = g.call("add", score, g.constant(base[-1:], score.dtype))
    positive = bool((_floats(node, "class_weights") >= 0).all())
    chosen = g.call("greater", g.reshape(score, (-1,)), g.scalar(0.5 if positive else 0.0, score))
    scores = second_score(node, score, positive) if spoken == [0] else transformed(node, total)
    return [class_at(node, labels, g.cast(chosen, INT64)), scores]


def _of_named(node: OnnxNode, forest: Forest, x: Value, total: Value) -> Value:
    """The scores, -inf for classes that none of the leaves names which a row reaches: onnxruntime does not choose them.
    With base_values every class has a score."""
    if forest.always_named() or _floats(node, "base_values").size:
        return total
    g = node.graph
    named = reached(node, replace(forest, leaves=forest.given.astype(np.float32)), x)
    is_named = g.call("greater", g.call("max", named, axis=(1,), keepdims=False), g.constant(0.0, FLOAT32))
    return g.call("where", is_named, total, g.scalar(-np.inf, total))


TREES: dict[str, Converter] = {
    "TreeEnsembleRegressor": regressor, "TreeEnsembleClassifier": classifier, "TreeEnsemble": ensemble,
}  # fmt: skip
