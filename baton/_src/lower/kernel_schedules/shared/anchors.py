"""A kernel's main stage (a product, a convolution), and the elementwise stage that follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.shared.affine import same
from baton._src.lower.kernel_schedules.shared.stages import Kernel, Stage
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


@dataclass(frozen=True, eq=False)
class Anchored:
    """A reduction and, if there is one, the elementwise stage that consumes it point by point."""

    stage: Stage
    epilogue: Stage | None

    @property
    def stages(self) -> list[Stage]:
        return [self.stage] if self.epilogue is None else [self.stage, self.epilogue]

    def store(self, value: PrimExpr, places: Mapping[tir.Var, PrimExpr]) -> st.Stmt:
        """Store the finished sum `value` at the point where the stage's axes have the values `places` (default: the
        axis variable).
        """
        spatial = {a.var: ops.cast(a.var.dtype, places.get(a.var, a.var)) for a in self.stage.spatial}
        if self.epilogue is None:
            return st.BufferStore(self.stage.buffer, value, tuple(spatial.values()))
        buffer = self.stage.buffer

        def rule(node: object) -> PrimExpr | None:
            return value if isinstance(node, tir.BufferLoad) and node.buffer.data is buffer.data else None

        moved = {own.var: at for own, at in zip(self.epilogue.spatial, spatial.values())}
        replaced = rewrite(self.epilogue.value, rule)
        indices = tuple(moved.values())
        return st.BufferStore(self.epilogue.buffer, substitute_and_fold(replaced, moved), indices)


def find_anchor(kernel: Kernel, wanted: Callable[[Stage], bool]) -> Anchored | None:
    """Return the first stage that is `wanted`, with its epilogue."""
    for place, stage in enumerate(kernel.stages):
        if not isinstance(stage, Stage) or not wanted(stage):
            continue
        readers = [s for s in kernel.stages if stage.buffer in s.reads]
        following = kernel.stages[place + 1] if place + 1 < len(kernel.stages) else None
        if stage.buffer in kernel.local and len(readers) == 1 and readers[0] is following:
            if isinstance(following, Stage) and _is_pointwise(following, stage):
                return Anchored(stage, following)
        return Anchored(stage, None)
    return None


def _is_pointwise(reader: Stage, stage: Stage) -> bool:
    if reader.reduce or len(reader.spatial) != len(stage.spatial):
        return False
    if reader.buffer in stage.reads:
        return False  # it is written when all sums are there
    if not all(same(a.extent, b.extent) for a, b in zip(reader.spatial, stage.spatial)):
        return False
    uses = [load for load in reader.loads if load.buffer is stage.buffer]
    return all(all(i is a.var for i, a in zip(load.indices, reader.spatial)) for load in uses)
