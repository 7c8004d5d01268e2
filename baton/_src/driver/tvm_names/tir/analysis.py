"""Analyses of kernels under TVM's names (`tvm.tir.analysis`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import defined_by
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import ScheduleError, fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.buffer_scopes import access_scopes
from baton._src.tir.analysis.outside_indices import outside_indices
from baton._src.tir.analysis.regions import access_regions, pointer_uses
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.intrinsics import Effect, is_pure_call
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


def undefined_vars(node: Any, defs: Iterable[tir.Var] | None = None) -> list[tir.Var]:
    """The variables that `node` uses and neither it nor `defs` defines, in order of use."""
    known = {*(defs or ())}
    order = post_order(node)
    for item in order:
        match item:
            case st.Stmt():
                known |= set(defined_by(item))
            case tir.Let():
                known.add(item.var)
            case PrimFunc():
                known |= {*item.params, *(b.data for b in item.buffer_map.values())}
                known |= {d for b in item.buffer_map.values() for d in b.shape if isinstance(d, tir.Var)}
            case _:
                pass
    return [n for n in order if isinstance(n, tir.Var) and n not in known]


def get_block_read_write_region(
    block: st.Block, buffer_var_map: Mapping[tir.Var, Buffer] | None = None
) -> list[list[BufferRegion]]:
    """[what the block reads, what it writes], as its body and init have it. What it uses by pointer, of the buffers in
    `buffer_var_map`, is both, all of it."""
    reads, writes, opaque = get_block_access_region(block, buffer_var_map)
    hidden = {r.buffer for r in opaque}
    return [[r for r in regions if r.buffer not in hidden] + opaque for regions in (reads, writes)]


def get_block_access_region(
    block: st.Block, buffer_var_map: Mapping[tir.Var, Buffer] | None = None
) -> list[list[BufferRegion]]:
    """[reads, writes, opaque accesses]: the last are those by pointer, of which all of the buffer counts. A pointer
    that says what it is for (`access_ptr` to read, or to write) is a read or a write of all of it."""
    reads, writes = access_regions(block.body, block.init, block.match_buffers)
    found: list[list[BufferRegion]] = [reads, writes, []]
    buffers = buffer_var_map or {}
    for var, mask in pointer_uses(block.body, buffers).items():
        kind = {1: 0, 2: 1}.get(mask, 2)
        others = [r for r in found[kind] if r.buffer is not buffers[var]]
        found[kind] = [*others, st.full_region(buffers[var])]
    return found


def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, st.For | st.Block | None]:
    """For each buffer the innermost loop or block around all of its accesses; None if there is none."""
    return access_scopes(func.body)


@dataclass(frozen=True)
class OOBChecker(PrimFuncPass):
    """Raises `ScheduleError` for kernels that certainly use elements outside of their buffers (building does too)."""

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        faults = outside_indices(function, str(function.attrs.get("global_symbol", "")))
        if faults:
            raise ScheduleError(faults)
        return function


# ---- sizes


def _bytes(item: Any) -> dict[str, int]:
    """The bytes that a statement itself allocates, by scope. Symbolic sizes count as 0, as in TVM."""
    if isinstance(item, st.Allocate):
        parts = [(item.dtype, item.extents, item.buffer_var.scope)]
    elif isinstance(item, st.Block):
        parts = [(b.dtype, b.shape, b.scope()) for b in item.alloc_buffers]
    else:
        parts = []
    found: dict[str, int] = {}
    for dtype, dims, scope in parts:
        sizes = [d.value for d in dims if isinstance(d, tir.IntImm)]
        if len(sizes) == len(dims):
            found[scope or "global"] = found.get(scope or "global", 0) + math.prod(sizes) * dtype.itemsize
    return found


def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """The most memory that allocations of `func` hold at one time, each rounded up to the alignment."""
    held: dict[Any, int] = {}
    for node in post_order(func.body):
        own = sum(-(-size // workspace_byte_alignment) * workspace_byte_alignment for size in _bytes(node).values())
        held[node] = own + max((held.get(c, 0) for c in children(node)), default=0)
    return held[func.body]


def calculate_constant_bytes(func: PrimFunc, constant_byte_alignment: int = 1) -> int:
    """The bytes of `func`'s constants (`T.allocate_const`), each rounded up to the alignment."""
    sizes = (node.data.data.nbytes for node in post_order(func.body) if isinstance(node, st.AllocateConst))
    return sum(-(-size // constant_byte_alignment) * constant_byte_alignment for size in sizes)


def calculate_allocated_bytes(func_or_mod: PrimFunc | IRModule) -> dict[str, Any]:
    """For each kernel the bytes of all its allocations by storage scope."""
    if isinstance(func_or_mod, PrimFunc):
        return {"main": _allocated(func_or_mod)}
    kernels = {v.name_hint: f for v, f in func_or_mod.functions.items() if isinstance(f, PrimFunc)}
    return {name: _allocated(f) for name, f in kernels.items()}


def _allocated(func: PrimFunc) -> dict[str, int]:
    total: dict[str, int] = {}
    for node in post_order(func.body):
        for scope, size in _bytes(node).items():
            total[scope] = total.get(scope, 0) + size
    return total


# ---- work


def estimate_tir_flops(stmt_or_mod: Any) -> float:
    """How many operations run: each operator and intrinsic on values counts as one, times the iterations of the loops
    around, and indices of loads as none. Loops of symbolic extents are an error (`tir-extent`); of two branches the
    dearer counts. The attribute `estimated_flops` of a kernel is taken instead.
    """
    if isinstance(stmt_or_mod, IRModule):
        return sum(_kernel_flops(f) for f in stmt_or_mod.functions.values() if isinstance(f, PrimFunc))
    return _kernel_flops(stmt_or_mod) if isinstance(stmt_or_mod, PrimFunc) else _flops(stmt_or_mod)


def _kernel_flops(func: PrimFunc) -> float:
    told = func.attrs.get("estimated_flops")
    return _flops(func.body) if told is None else float(told)


def _flops(root: Any) -> float:
    found: dict[Any, float] = {}
    for node in post_order(root, below=_counted):
        if isinstance(node, st.IfThenElse):
            other = 0.0 if node.else_case is None else found[node.else_case]
            found[node] = found[node.condition] + max(found[node.then_case], other)
            continue
        inside = sum(found.get(c, 0.0) for c in _counted(node))
        if isinstance(node, st.For):
            if not isinstance(node.extent, tir.IntImm):
                raise fail("tir-extent", f"the loop over {node.loop_var.name} has no constant extent", span=node.span)
            inside = found[node.body] * max(node.extent.value, 0)
        found[node] = inside + _own_flops(node)
    return found[root]


def _counted(node: Any) -> list[Any]:
    """The parts of a node whose operations count: those on values, not on places."""
    match node:
        case tir.BufferLoad():
            return []
        case st.For():
            return [node.body]
        case st.BlockRealize():
            return [node.block]
        case st.Block():
            return [node.body]
        case _:
            return children(node)


def _own_flops(node: Any) -> float:
    counted = isinstance(node, tir.BinaryOp | tir.CompareOp | tir.LogicalOp | tir.Not)
    called = isinstance(node, tir.Call) and node.dtype.is_float
    return float(node.dtype.lanes) if counted or called else 0.0


def find_anchor_block(mod: IRModule) -> st.Block | None:
    """The block with a reduction that computes most; None if there is none."""
    best: tuple[float, st.Block] | None = None
    for func in mod.functions.values():
        loops: list[Any] = [(func.body, 1.0)] if isinstance(func, PrimFunc) else []
        while loops:
            node, times = loops.pop()
            if isinstance(node, st.For) and isinstance(node.extent, tir.IntImm):
                times *= node.extent.value
            if isinstance(node, st.Block) and node.init is not None:
                work = times * max(_flops(node.body), 1.0)
                best = (work, node) if best is None or work > best[0] else best
            loops += [(c, times) for c in st.inner_statements(node)]
    return None if best is None else best[1]


# ---- effects


def is_pure_function(func: PrimFunc) -> bool:
    """Whether `func` writes to none of its buffers and calls nothing with effects."""
    params = {b.data for b in func.buffer_map.values()} | set(func.params)
    for node in post_order(func.body):
        if isinstance(node, st.BufferStore) and node.buffer.data in params:
            return False
        if isinstance(node, tir.Call) and not is_pure_call(node, Effect.READ, Effect.JUMP):
            return False
    return True


def assert_pure_function(func: PrimFunc) -> bool:
    """True; an AssertionError if `func` has effects."""
    if not is_pure_function(func):
        raise AssertionError("the function writes to its buffers or calls something with effects")
    return True


def verify_memory(func: PrimFunc) -> bool:
    """Whether code of the host touches only memory of the host: on CPUs all memory is."""
    return isinstance(func, PrimFunc)
