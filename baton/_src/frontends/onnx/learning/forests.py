"""The trees that attributes of the domain `ai.onnx.ml` describe, checked, as tables of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.frontends.onnx.node import OnnxNode
from baton._src.support.dataclass import dataclass
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
    def depths(self) -> list[int] | None:
        """Steps from each root to its farthest leaf; None if some way never ends in one."""
        found = [self._depth(root) for root in self.roots.tolist()]
        return None if None in found else [d for d in found if d is not None]

    def _depth(self, root: int) -> int | None:
        here, steps = {root}, 0
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
    weights = np.zeros((len(modes), targets), _kind_of(node, f"{leaf}_weights"))
    given = np.zeros(weights.shape, bool)
    places = zip(*(node.attr(f"{leaf}_{n}") for n in ("treeids", "nodeids", "ids")), strict=True)
    said = floats_of(node, f"{leaf}_weights")
    if len(said) != int(np.size(node.attr(f"{leaf}_ids"))):
        node.fail(f"it has {len(said)} {leaf}_weights for {np.size(node.attr(f'{leaf}_ids'))} {leaf}_ids")
    for (tree, k, target), weight in zip(places, said, strict=True):
        place = _found(node, number, (tree, k)), target
        weights[place] += weight
        given[place] = True
    roots = np.setdiff1d(np.arange(len(modes)), [c for k, pair in enumerate(children) for c in pair if c != k])
    return Forest(
        roots, np.array(node.attr("nodes_featureids"), np.int64), floats_of(node, "nodes_values"), modes, children,
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


def floats_of(node: OnnxNode, name: str) -> AnyArray:
    tensor = node.attr(f"{name}_as_tensor")
    return np.array(node.attr(name, ()), np.float32) if tensor is None else np.asarray(tensor)


def _kind_of(node: OnnxNode, name: str) -> Any:
    return floats_of(node, name).dtype


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
