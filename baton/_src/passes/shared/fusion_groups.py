"""Which operators run as one kernel: grouping over the post-dominator tree, for Relay and Relax alike.

A value's post-dominator is the nearest later value through which everything computed from it passes. An operator joins
its post-dominator's group if every path between them is simple enough (`Fusion` classes of nodes and edges), in phases:

0. a matmul or convolution takes in the elementwise operators after it; elementwise operators join what follows them,
   reductions included;
1. injective operators (reshape, transpose, slices) and tuples join injective ones;
2. injective operators join tuples that were fused already.

At most one anchor (matmul, convolution, reduction) a group; opaque operators stay alone. Algorithm of TVM's FuseOps
(facts relay-language §8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from baton._src.ir.op_def import Fusion
from baton._src.support.dataclass import dataclass

OPAQUE, TUPLE = Fusion.OPAQUE, Fusion.TUPLE


@dataclass(slots=True)
class FusionNode:
    """One operator. `users`: (number of the user, class of the edge). `escapes`: its value is used outside, too."""

    pattern: Fusion
    users: list[tuple[int, Fusion]] = field(default_factory=list)
    escapes: bool = False


@dataclass(slots=True)
class _Group:
    """A group, by one of its nodes; the last one in data flow is the root."""

    pattern: Fusion
    size: int = 1
    parent: _Group | None = None

    def root(self) -> _Group:
        top = self
        while top.parent is not None:
            top = top.parent
        at = self
        while at.parent is not None:  # shorten the path for the next question
            at.parent, at = top, at.parent
        return top


@dataclass(slots=True)
class _TreeNode:
    """A node of the post-dominator tree. `pattern` is the worst class on the way to `parent`."""

    parent: int | None
    depth: int
    pattern: Fusion


def fusion_groups(nodes: Sequence[FusionNode], max_depth: int = 256) -> list[int]:
    """For each node (in order of data flow) the number of its group's last node.

    `max_depth` bounds the operators of one group.
    """
    return _Partition(nodes, max_depth).run()


class _Partition:
    def __init__(self, nodes: Sequence[FusionNode], max_depth: int) -> None:
        self.nodes = nodes
        self.max_depth = max_depth
        self.groups = [_Group(n.pattern) for n in nodes]
        self.tree = _post_dominators(nodes)

    def run(self) -> list[int]:
        for phase in range(3):
            for number in range(len(self.nodes)):
                self._consider(number, phase)
        last = {id(self.groups[n].root()): n for n in range(len(self.nodes))}
        return [last[id(g.root())] for g in self.groups]

    def _consider(self, number: int, phase: int) -> None:
        """Fuse a node into its post-dominator if the rules of the phase allow it."""
        group, tree = self.groups[number], self.tree[number]
        sink = tree.parent
        if group.pattern is OPAQUE or sink is None:
            return
        target = self.groups[sink]
        if phase == 2:
            root = target.root()
            tuple_inside = target.pattern is TUPLE and root.pattern <= Fusion.INJECTIVE
            if group.pattern <= Fusion.INJECTIVE and tuple_inside:
                self._fuse_if(number, sink, lambda kind, at_sink: kind <= Fusion.INJECTIVE)
            return
        if group.root() is target.root() or target.pattern is TUPLE:
            return
        if group.pattern is Fusion.OUT_EWISE_FUSABLE:
            if phase == 0 and tree.pattern is Fusion.ELEMWISE:
                self._fuse_if(number, sink, lambda kind, at_sink: kind <= Fusion.BROADCAST)
        elif group.pattern <= Fusion.BROADCAST:
            if tree.pattern <= Fusion.INJECTIVE or tree.pattern is Fusion.COMM_REDUCE:
                self._fuse_if(number, sink, _elementwise_joins)
        elif group.pattern in (Fusion.INJECTIVE, TUPLE) and phase == 1:
            self._fuse_if(number, sink, lambda kind, at_sink: kind <= Fusion.INJECTIVE)

    def _fuse_if(self, number: int, sink: int, allows: Callable[[Fusion, bool], bool]) -> None:
        """Fuse everything between a node and `sink` if each group on the way is allowed and the result not too big."""
        between = self._between(number, sink)
        if between is None or not allows(self.groups[sink].root().pattern, True):
            return
        if not all(allows(self.groups[n].root().pattern, False) for n in between if n != number):
            return
        roots = {id(g): g for g in (self.groups[n].root() for n in (*between, sink))}
        if sum(g.size for g in roots.values()) > self.max_depth:
            return
        if sum(g.pattern > Fusion.INJECTIVE and g.pattern is not TUPLE for g in roots.values()) > 1:
            return  # two anchors
        target = self.groups[sink].root()
        for group in roots.values():
            if group is not target:
                group.parent = target
                target.size += group.size
                if group.pattern is not TUPLE:  # a tuple inside makes nobody one: phase 2 asks what is around it
                    target.pattern = max(target.pattern, group.pattern)

    def _between(self, number: int, sink: int) -> list[int] | None:
        """The nodes on paths from a node to its post-dominator, the node included; None if there are too many."""
        found = [number]
        seen = {number, sink}
        for at in found:
            for user, _ in self.nodes[at].users:
                if user not in seen:
                    seen.add(user)
                    found.append(user)
            if len(found) > self.max_depth:
                return None
        return found


def _elementwise_joins(kind: Fusion, at_sink: bool) -> bool:
    """Where elementwise operators may go: through injective ones, into anything that is not opaque."""
    return kind <= (Fusion.OUT_EWISE_FUSABLE if at_sink else Fusion.INJECTIVE)


def _post_dominators(nodes: Sequence[FusionNode]) -> list[_TreeNode]:
    """The post-dominator of each node, users before producers. A value that escapes has none."""
    tree = [_TreeNode(None, 1, OPAQUE) for _ in nodes]
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        if node.escapes or not node.users:
            continue
        parent: int | None = node.users[0][0]
        pattern = node.users[0][1]
        for user, edge in node.users[1:]:
            pattern = max(pattern, edge)
            parent, pattern = _common(tree, parent, user, pattern)
        depth = 1 if parent is None else tree[parent].depth + 1
        tree[number] = _TreeNode(parent, depth, pattern)
    return tree


def _common(tree: list[_TreeNode], a: int | None, b: int | None, pattern: Fusion) -> tuple[int | None, Fusion]:
    """The nearest common post-dominator, and the worst class on the way to it."""
    while a != b:
        if a is None or b is None:
            return None, OPAQUE
        if tree[a].depth < tree[b].depth:
            pattern = max(pattern, tree[b].pattern)
            b = tree[b].parent
        elif tree[b].depth < tree[a].depth:
            pattern = max(pattern, tree[a].pattern)
            a = tree[a].parent
        else:
            pattern = max(pattern, tree[a].pattern, tree[b].pattern)
            a, b = tree[a].parent, tree[b].parent
    return a, pattern
