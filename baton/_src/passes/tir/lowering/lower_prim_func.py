"""Lower a scheduled PrimFunc to plain loops over flat memory, the input of code generation.

Params afterwards are those of the C signature (`tir.kernel_abi`): a data pointer for each buffer, scalars, then the
shape variables as int64. There is no buffer map; the attribute `buffer_extents` keeps the element count behind each
pointer for checked builds.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.tir.lowering.check_indices import INDEX_WITHIN, check_indices, has_suspects, numbers
from baton._src.passes.tir.lowering.check_sizes import SizeTests, size_tests
from baton._src.passes.tir.lowering.flatten_buffers import element_count, flatten_buffers
from baton._src.passes.tir.lowering.lower_blocks import lower_blocks
from baton._src.passes.tir.lowering.private_memory import with_private_buffers
from baton._src.passes.tir.lowering.separate_calls import separate_calls
from baton._src.passes.tir.lowering.unroll_loops import unroll_loops
from baton._src.passes.tir.lowering.vectorize_loops import vectorize_loops
from baton._src.passes.tir.storage_alignment import with_aligned_buffers
from baton._src.support.remembered import remembered
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.kernel_abi import kernel_abi
from baton._src.tir.packed_calls import is_packed_call
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64

LEAVE_IF_FAULT = INTRINSICS["tir.leave_if_fault"]


def lower_prim_func(func: PrimFunc, target: Target, unscheduled: PrimFunc | None = None) -> PrimFunc:
    """`func` as plain loops; also for a function without buffer map (a native entry).

    `unscheduled` is the kernel before scheduling: `func` needs exactly its checks. Without it, sizes are assumed to be
    right: the indices of a schedule are too many to prove.
    """
    body = lower_blocks(with_private_buffers(with_aligned_buffers(func.body)))
    abi = kernel_abi(func).params
    # One that was lowered is checked; the flat shapes of its views mention variables of their offsets, out of scope.
    if "buffer_extents" not in func.attrs:
        tests = size_tests(unscheduled) if unscheduled is not None else SizeTests()
        if tests.inside or has_suspects(unscheduled or func):
            buffers = [p.buffer for p in abi if p.buffer is not None]
            sizes = {dim for b in buffers for dim in b.shape if isinstance(dim, tir.Var)}
            body = check_indices(body, [b.data for b in buffers], numbers(func), tests.inside, sizes)
        if unscheduled is not None and tests.first:
            renamed = _renamed_sizes(unscheduled, func)
            body = st.SeqStmt((*(substitute(test, renamed) for test in tests.first), body))
    body = flatten_buffers(body)
    body = vectorize_loops(body, target)
    body = separate_calls(unroll_loops(body))
    params: list[tir.Var] = []
    extents: dict[tir.Var, PrimExpr] = {}
    narrow: list[tuple[tir.Var, tir.Var]] = []
    for param in abi:
        if param.buffer is not None:
            params.append(param.buffer.data)
            extents[param.buffer.data] = element_count(param.buffer)
        elif param.is_shape and param.var.dtype != INT64:
            wide = tir.Var(param.var.name, INT64)
            params.append(wide)
            narrow.append((param.var, wide))
        else:
            params.append(param.var)
    for var, wide in reversed(narrow):
        body = st.LetStmt(var, tir.Cast(var.dtype, wide), body)
    return PrimFunc(params, body, func.ret_type, {}, {**func.attrs, "buffer_extents": extents}, func.span)


def _renamed_sizes(unscheduled: PrimFunc, func: PrimFunc) -> dict[Any, PrimExpr]:
    """The sizes of `unscheduled` in terms of `func`: scheduling may have widened them to other variables."""
    shapes = ((b.shape, func.buffer_map[p].shape) for p, b in unscheduled.buffer_map.items() if p in func.buffer_map)
    dims = (pair for old, new in shapes for pair in zip(old, new))
    return {
        old: tir.Cast(old.dtype, new)
        for old, new in dims
        if isinstance(old, tir.Var) and isinstance(new, tir.Var) and old is not new
    }


@remembered
def may_fault(func: PrimFunc) -> bool:
    """Whether the kernel could end with a fault: it or one it calls asserts something or calls packed functions, or an
    index may be outside."""
    leaves = any(isinstance(n, st.AssertStmt) or _may_leave(n) for n in post_order(func.body))
    return leaves or has_suspects(func) or bool(size_tests(func))


def _may_leave(node: Node) -> bool:
    return isinstance(node, tir.Call) and (node.op in (LEAVE_IF_FAULT, INDEX_WITHIN) or is_packed_call(node))
