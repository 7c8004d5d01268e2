"""What is required of kernels that scripts write: that they access no memory outside of their buffers.

A `Select` evaluates both of its values. Where one could read out of bounds, or calls a function that may have effects,
it becomes an `if_then_else`.

B[i] = T.Select(i >= 4, A[i - 4], 0)        ->      B[i] = T.if_then_else(i >= 4, A[i - 4], 0)

Others stay, since vectors are faster without branches. (`RewriteUnsafeSelect` changes all that read memory.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.access_scope import AccessScope
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir.analysis.guarded_accesses import Access, guarded_accesses
from baton._src.tir.analysis.outside_indices import outside_indices
from baton._src.tir.builders import scalar_functions
from baton._src.tir.effects import is_pure
from baton._src.tir.prim_func import PrimFunc


def safe_kernels(kernels: Mapping[GlobalVar, Any]) -> dict[GlobalVar, PrimFunc]:
    """The kernels among functions whose selects had to change. Raises `DiagnosticError` for kernels that certainly
    access memory outside of their buffers.
    """
    found = {var: f for var, f in kernels.items() if isinstance(f, PrimFunc)}
    faults = [fault for var, f in found.items() for fault in outside_indices(f, var.name_hint)]
    if faults:
        raise DiagnosticError(faults)
    return {var: safe for var, f in found.items() if (safe := with_safe_selects(f)) is not f}


def with_safe_kernels(module: IRModule) -> IRModule:
    """The module with `safe_kernels`."""
    changed = safe_kernels(module.functions)
    return module.with_functions({**module.functions, **changed}) if changed else module


def with_safe_selects(func: PrimFunc) -> PrimFunc:
    """`func` with choices in place of such selects; the same object if there are none."""
    selects = [n for n in post_order(func.body) if isinstance(n, tir.Select)]
    wanted = {load for node in selects for load in _loads(node)}
    if not wanted and not any(map(_acts, selects)):
        return func
    found = [a for a in guarded_accesses(func.body, selects_choose=False) if a.node in wanted]
    inside = {a.node for a in found} - {a.node for a in found if not _is_inside(a)}

    def rule(node: Node) -> Node | None:
        if not isinstance(node, tir.Select) or node.condition.dtype.lanes > 1:
            return None
        if _loads(node) <= inside and not _acts(node):
            return None
        return scalar_functions.if_then_else(node.condition, node.true_value, node.false_value)

    return func.with_fields(body=rewrite(func.body, rule))


def _loads(node: tir.Select) -> set[Any]:
    return {n for n in post_order([node.true_value, node.false_value]) if isinstance(n, tir.BufferLoad)}


def _acts(node: tir.Select) -> bool:
    return not (is_pure(node.true_value) and is_pure(node.false_value))


def _is_inside(access: Access) -> bool:
    """Whether indices are provably in range wherever the access may happen."""
    scope, node = AccessScope(access.path), access.node
    pairs = zip(node.indices, node.buffer.shape)
    return all(scope.is_inside(scope.resolved(index), scope.resolved(extent)) for index, extent in pairs)
