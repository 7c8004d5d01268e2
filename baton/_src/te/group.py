"""`Schedule.create_group`: the stages between some tensors, placed together.

group = s.create_group(outputs=B2, inputs=A)
group.compute_at(s[C], C.op.axis[0])          # B2, and all it is computed from out of A, inside C's loop
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.support.dataclass import dataclass
from baton._src.te.stage import Stage, refuse
from baton._src.te.tensor import Operation, Tensor
from baton._src.tir.expr import IterVar


@dataclass(frozen=True, eq=False)
class Group:
    """Stages that move as one; each still has its own loops."""

    stages: tuple[Stage, ...]

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute what an iteration of `scope` needs of all of them, inside it."""
        for stage in self.stages:
            stage.compute_at(parent, scope)

    def compute_root(self) -> None:
        """Compute each by itself, before its readers."""
        for stage in self.stages:
            stage.compute_root()


def grouped(
    stages: Sequence[Stage], outputs: Sequence[Tensor], inputs: Sequence[Tensor], include_inputs: bool
) -> Group:
    """The stages on the ways from `inputs` to `outputs`, those of the outputs included."""
    made_of = {stage.op: [tensor.op for tensor in stage.op.input_tensors] for stage in stages}
    starts = {tensor.op for tensor in inputs}
    behind: set[Operation] = set(starts)
    for op, sources in made_of.items():  # inputs come first
        if any(source in behind for source in sources):
            behind.add(op)
    needed: set[Operation] = set()
    pending = [tensor.op for tensor in outputs]
    while pending:
        op = pending.pop()
        if op not in needed:
            needed.add(op)
            pending += [] if op in starts else made_of.get(op, [])
    found = [s for s in stages if s.op in needed & behind and (include_inputs or s.op not in starts)]
    if not found:
        raise refuse("there is no stage between these inputs and outputs")
    return Group(tuple(found))
