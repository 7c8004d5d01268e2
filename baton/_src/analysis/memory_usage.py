"""What a module's functions allocate, before and after memory planning (`relax.analysis.estimate_memory_usage`).

After CallTIRRewrite every tensor counts by itself; after StaticPlanBlockMemory the shared storages are counted as well,
and the difference is what planning saves. Sizes that depend on shape variables are counted separately.
"""

from __future__ import annotations

import math

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Call, DataTypeImm, Function, ShapeExpr
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm


@dataclass
class _Counts:
    """Allocations of one kind."""

    known: int = 0
    size: int = 0
    symbolic: int = 0

    def add(self, call: Call, shape: int, dtype: int | None = None) -> None:
        """Count an allocation by the numbers of its operands; without a dtype the shape counts bytes."""
        dims, kind = call.args[shape], None if dtype is None else call.args[dtype]
        sizes = [d.value for d in dims.values if isinstance(d, IntImm)] if isinstance(dims, ShapeExpr) else None
        if sizes is not None and len(sizes) == len(dims):
            self.known += 1
            itemsize = kind.value.itemsize if isinstance(kind, DataTypeImm) else 1
            self.size += math.prod(sizes) * itemsize
        else:
            self.symbolic += 1

    def text(self) -> str:
        found = f"{self.known} allocation{'' if self.known == 1 else 's'} of {self.size / 2**20:.4g} MiB in total"
        return f"{found}, and {self.symbolic} of sizes known when run" if self.symbolic else found


def estimate_memory_usage(mod: IRModule | Function) -> str:
    """A report on each function: the memory of its tensors without planning, and that of the planned storages."""
    module = mod if isinstance(mod, IRModule) else IRModule({"main": mod})
    lines = ["Memory usage:"]
    for var, function in module.functions.items():
        if isinstance(function, Function):
            lines += _report(var.name_hint, function)
    return "\n".join(lines)


def _report(name: str, function: Function) -> list[str]:
    tensors, alone, storages = _Counts(), _Counts(), _Counts()
    for node in post_order(function):
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            continue
        match node.op.name:
            case "relax.builtin.alloc_tensor":
                tensors.add(node, 0, 1)
                alone.add(node, 0, 1)
            case "relax.memory.alloc_tensor" | "relax.vm.alloc_tensor":
                tensors.add(node, 2, 3)
            case "relax.memory.alloc_storage" | "relax.vm.alloc_storage":
                storages.add(node, 0)
            case _:
                continue
    lines = [f"- {name}:", f"    tensors by themselves: {tensors.text()}"]
    if not storages.known + storages.symbolic:
        return [*lines, "    memory is not planned (StaticPlanBlockMemory does that)"]
    planned = _Counts(storages.known + alone.known, storages.size + alone.size, storages.symbolic + alone.symbolic)
    lines.append(f"    with planned memory: {planned.text()}")
    if tensors.size and not planned.symbolic + tensors.symbolic:
        lines.append(f"    which is {planned.size / tensors.size:.1%} of it")
    return lines
