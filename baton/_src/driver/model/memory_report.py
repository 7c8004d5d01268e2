"""The memory plan of an executable as readable text."""

from __future__ import annotations

from baton._src.runtime.dim_expr import DimExpr, format_dim
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.native.native_plan import NativeOutput, NativePlan
from baton._src.values.dtype import DataType


def memory_report(executable: Executable) -> str:
    """What a run needs, and for every native function its arena and the place of each intermediate."""
    size = executable.constant_bytes
    lines = [f"constants: {size} bytes"]
    for plan in executable.natives.values():
        lines += [_peak_line(plan, size), *_plan_lines(plan)]
    return "\n".join(lines)


def _peak_line(plan: NativePlan, constants: int) -> str:
    """The memory of one call: constants, arena and outputs; inputs are the caller's."""
    fixed, open_parts = constants, []
    sizes = [("arena", plan.arena_bytes), *[(f"output {i}", _bytes(o)) for i, o in enumerate(plan.outputs)]]
    for name, size in sizes:
        if isinstance(size, int):
            fixed += size
        else:
            open_parts.append(f"{name}: {format_dim(size, plan.variables)}")
    more = "".join(f" + ({part})" for part in open_parts)
    return f"{plan.name}: a call needs {fixed} bytes{more}: constants, arena and outputs"


def _bytes(output: NativeOutput) -> DimExpr:
    size: DimExpr = DataType(output.dtype).itemsize
    for dim in output.dims:
        size = size * dim if isinstance(size, int) and isinstance(dim, int) else ["*", size, dim]
    return size


def _plan_lines(plan: NativePlan) -> list[str]:
    names = plan.variables
    lines = [f"{plan.name}: {len(plan.steps)} kernels, arena of {format_dim(plan.arena_bytes, names)} bytes"]
    lines += [f"  {names[c.slot]} is counted, at most {format_dim(c.most, names)}" for c in plan.counts]
    for number, step in enumerate(plan.steps):
        places = []
        for index, place in enumerate(step.tensors):
            mark = "*" if index in step.writes else ""
            dims = ", ".join(format_dim(d, names) for d in place.dims)
            places.append(f"{mark}{place.space}+{format_dim(place.at, names)} {place.dtype}[{dims}]")
        lines.append(f"  {number:>4}  {step.kernel}: {'; '.join(places)}")
    return lines
