"""The other stages of a kernel, around the one that a rule schedules."""

from __future__ import annotations

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.shared.anchors import Anchored
from baton._src.lower.kernel_schedules.shared.stages import Kernel
from baton._src.tir import stmt as st


def surrounded(kernel: Kernel, found: Anchored, body: st.Stmt, target: Target) -> st.Stmt:
    """Place the kernel's other stages around the statement of its main stage."""
    place = kernel.stages.index(found.stage)
    before = kernel.stages[:place]
    after = kernel.stages[place + len(found.stages) :]
    parts = [emit_stages(kernel, before, target)] if before else []
    parts.append(body)
    if after:
        parts.append(emit_stages(kernel, after, target))
    return parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts))
