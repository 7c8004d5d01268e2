"""`ComputeDAG`: the computation of a task, for inspection; `KernelDAG`: that of a kernel of a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.tir.analysis import estimate_tir_flops
from baton._src.driver.tvm_names.tuning.auto_scheduler.workload_registry import made_workload
from baton._src.driver.tvm_names.tuning.workloads import KERNEL, workload_key
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.te.prim_func import computed_operations, create_prim_func
from baton._src.te.tensor import ComputeOp, PlaceholderOp, Tensor
from baton._src.tir.expr import Reduce
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BufferStore

_ABOUT_STATES = frozenset(
    {
        "get_init_state",
        "apply_steps_from_state",
        "infer_bound_from_state",
        "print_python_code_from_state",
        "rewrite_layout_from_state",
    }
)


class ComputeDAG:
    """The tensors of a computation, inputs and results (or a workload's key), and the operations behind them."""

    def __init__(self, compute_or_sche: Sequence[Tensor] | str) -> None:
        found = made_workload(compute_or_sche) if isinstance(compute_or_sche, str) else compute_or_sche
        computed = computed_operations(list(found))
        read = dict.fromkeys(t for op in computed for t in op.input_tensors if isinstance(t.op, PlaceholderOp))
        self.inputs = [t for t in found if isinstance(t.op, PlaceholderOp)] or list(read)
        self.tensors = [*self.inputs, *(t for t in found if t not in self.inputs)]
        self.ops: list[Any] = [*(t.op for t in self.inputs), *computed]

    @property
    def flop_ct(self) -> float:
        """The number of arithmetic operations."""
        return estimate_tir_flops(IRModule({"main": create_prim_func(self.tensors)}))

    def workload_key(self) -> str:
        """The key of the computation, equal for equal computations."""
        return json.dumps([KERNEL, workload_key(create_prim_func(self.tensors))])

    def __getattr__(self, name: str) -> Any:
        """There are no states of a search here, which TVM's methods are about."""
        if name not in _ABOUT_STATES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        help = "SearchTask.tune searches, and te.create_schedule schedules by hand"
        raise fail("api", f"{name} is about states of TVM's search", help=help, kind=AttributeError)

    def __str__(self) -> str:
        """A line for each input, and for each element that is computed."""
        inputs = [f"{t.op.name} = PLACEHOLDER {list(t.shape)}" for t in self.inputs]
        return "\n".join([*inputs, *(_line(op) for op in self.ops[len(inputs) :])])

    __repr__ = __str__


def _line(op: Any) -> str:
    if not isinstance(op, ComputeOp):
        return f"{op.name} = {type(op).__name__}({', '.join(t.op.name for t in op.input_tensors)})"
    axes = ", ".join(axis.var.name for axis in op.axis)
    return "\n".join(f"{op.name}({axes}) = {_body(body)}" for body in op.body)


def _body(body: Any) -> str:
    """What is computed; of a reduction, what is reduced over which axes."""
    if not isinstance(body, Reduce):
        return str(body)
    reduced = ", ".join(str(source) for source in body.source)
    return f"reduce({reduced}) over {', '.join(axis.var.name for axis in body.axis)}"


class KernelDAG:
    """The computation of a program's kernel, given by its blocks; it was not built from tensors of `te`."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func

    @property
    def flop_ct(self) -> float:
        """The number of arithmetic operations."""
        return estimate_tir_flops(IRModule({"main": self.func}))

    def __str__(self) -> str:
        """A line for each input, and for each element that is computed."""
        blocks = [n for n in post_order(self.func.body) if isinstance(n, Block) and n.iter_vars]
        written = {region.buffer for block in blocks for region in block.writes}
        given = [self.func.buffer_map[p] for p in self.func.params if p in self.func.buffer_map]
        inputs = [f"{b.name} = PLACEHOLDER {[_number(d) for d in b.shape]}" for b in given if b not in written]
        return "\n".join([*inputs, *(str(n) for block in blocks for n in _stores(block))])

    __repr__ = __str__


def _stores(block: Block) -> list[Any]:
    """What a block writes in each iteration, without what it begins sums with."""
    return [n for n in post_order(block.body) if isinstance(n, BufferStore)]


def _number(dim: Any) -> Any:
    """A dim as an int where it is one."""
    return getattr(dim, "value", dim)
