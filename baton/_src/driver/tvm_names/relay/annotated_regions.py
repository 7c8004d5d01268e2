"""`relay.analysis.AnnotatedRegionSet`: the regions between annotations such as `compiler_begin` and `compiler_end`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from baton._src.ir.expr import Op
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call
from baton._src.support.dataclass import dataclass
from baton._src.support.disjoint_sets import DisjointSets


@dataclass(eq=False)
class AnnotatedRegion:
    """`ins`: the calls of the begin mark; `outs`: those of the end mark; `nodes`: everything in the region, these
    included."""

    ins: list[Any] = field(default_factory=list)
    outs: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)


class AnnotatedRegionSet:
    """The regions of an expression. What lies between marks and is connected without crossing one is one region."""

    def __init__(self, expr: Any, region_begin_op: Op, region_end_op: Op) -> None:
        self._begin, self._end = region_begin_op, region_end_op
        self._sets: DisjointSets[Any] = DisjointSets()
        order = walk(expr)
        for node in order:
            self._place(node)
        self._regions: dict[Any, AnnotatedRegion] = {}
        for node in order:
            if node in self._sets:
                region = self._regions.setdefault(self._sets.find(node), AnnotatedRegion())
                region.nodes.append(node)
                if _calls(node, self._begin):
                    region.ins.append(node)
                elif _calls(node, self._end):
                    region.outs.append(node)

    def _place(self, node: Any) -> None:
        """Begin marks open regions; what uses a node of a region is in it, but for the users of its end marks."""
        if _calls(node, self._begin):
            self._sets.find(node)
            return
        for part in [p for p in parts(node) if p in self._sets and not _calls(p, self._end)]:
            self._sets.join(node, part)

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self._regions.values())

    def get_region(self, expr: Any) -> AnnotatedRegion | None:
        """The region `expr` is in; None if it is in none."""
        return self._regions[self._sets.find(expr)] if expr in self._sets else None


def _calls(node: Any, op: Op) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == op.name
