"""The memory plan of an executable, as people read it."""

from __future__ import annotations

from baton._src.runtime.dim_expr import format_dim
from baton._src.runtime.executable import Executable
from baton._src.runtime.native_plan import NativePlan
from baton._src.values.tensor import NDArray


def memory_report(executable: Executable) -> str:
    """Constants, and for every native function its arena and where each intermediate lies."""
    size = sum(c.data.nbytes for c in executable.constants if isinstance(c, NDArray))
    lines = [f"constants: {size} bytes"]
    for plan in executable.natives.values():
        lines += _plan_lines(plan)
    return "\n".join(lines)


def _plan_lines(plan: NativePlan) -> list[str]:
    names = plan.variables
    lines = [f"{plan.name}: {len(plan.steps)} kernels, arena of {format_dim(plan.arena_bytes, names)} bytes"]
    for number, step in enumerate(plan.steps):
        places = []
        for index, place in enumerate(step.tensors):
            mark = "*" if index in step.writes else ""
            dims = ", ".join(format_dim(d, names) for d in place.dims)
            places.append(f"{mark}{place.space}+{format_dim(place.at, names)} {place.dtype}[{dims}]")
        lines.append(f"  {number:>4}  {step.kernel}: {'; '.join(places)}")
    return lines
