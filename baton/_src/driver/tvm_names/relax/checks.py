"""`tvm.relax.analysis` as scripts call it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from baton._src.analysis import bindings, call_graph, compile_time
from baton._src.analysis import variables as symbols
from baton._src.ir.expr import GlobalVar, GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Type
from baton._src.passes.relax.bindings import dead_code_elimination as dead_code
from baton._src.passes.relax.machine import rewrite_dataflow_reshape as reshapes
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check import base_check, deduce, erase, lub, variables
from baton._src.relax.check.base_check import BaseCheckResult
from baton._src.relax.check.erase import erase_struct_info
from baton._src.relax.nodes import Binding, Call, DataflowBlock, Function, Var
from baton._src.relax.struct_info import FuncStructInfo, StructInfo
from baton._src.relax.well_formed import well_formed as violations
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc


def _expected(kind: type | tuple[type, ...], *given: object) -> None:
    """Raise `TypeError` unless all is of this kind: what is asked of anything else has no answer."""
    for value in given:
        if not isinstance(value, kind):
            names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            help = "mod[name] is a function of a module, expr.struct_info what an expression is"
            raise fail("api", f"expected {names}, got {type(value).__name__}", kind=TypeError, help=help)


def well_formed(obj: IRModule | Function, check_struct_info: bool = True) -> bool:
    """Whether a module (or a function alone) is well-formed, with nothing nested and something that can be called;
    warnings say what is wrong.
    """
    _expected((IRModule, Function), obj)
    found = violations(obj, check_struct_info, nested=False, entry_required=isinstance(obj, IRModule))
    for diagnostic in found:
        warnings.warn(diagnostic.render(), stacklevel=2)
    return not found


def post_order_visit(expr: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every expression of Relax once, parts before wholes; bindings, blocks and dims are none."""
    for node in post_order(expr):
        if isinstance(node, GraphExpr):
            fvisit(node)


def get_static_type(sinfo: StructInfo) -> Type:
    """The static type of struct info."""
    _expected(StructInfo, sinfo)
    return erase_struct_info(sinfo)


def erase_to_well_defined(
    sinfo: StructInfo,
    shape_var_map: Mapping[TirVar, PrimExpr] | None = None,
    var_map: Mapping[Var, Any] | None = None,
) -> StructInfo:
    """Struct info without what the maps do not define; shape variables and variables are replaced by them."""
    _expected(StructInfo, sinfo)
    return erase.erase_to_well_defined(sinfo, shape_var_map, var_map, Analyzer())


def struct_info_base_check(base: StructInfo, derived: StructInfo) -> BaseCheckResult:
    """How well `base` covers `derived`."""
    _expected(StructInfo, base, derived)
    return base_check.struct_info_base_check(base, derived, Analyzer())


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """The narrowest struct info that covers both."""
    _expected(StructInfo, lhs, rhs)
    return lub.struct_info_lca(lhs, rhs, Analyzer())


def derive_call_ret_struct_info(func_sinfo: FuncStructInfo, call: Call, ctx: BlockBuilder) -> StructInfo:
    """The StructInfo of a call's result, for a callee of `func_sinfo`; `ctx` has the functions and shapes in scope."""
    _expected(FuncStructInfo, func_sinfo)
    return deduce.derive_call_ret_struct_info(func_sinfo, call, ctx.context)


def tir_vars_in_struct_info(sinfo: StructInfo) -> list[TirVar]:
    """The shape variables that occur, each once."""
    _expected(StructInfo, sinfo)
    return variables.tir_vars_in_struct_info(sinfo)


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[TirVar]:
    """The shape variables that a value of this struct info defines."""
    _expected(StructInfo, sinfo)
    return variables.definable_tir_vars_in_struct_info(sinfo)


def collect_non_negative_expressions(sinfo: StructInfo) -> list[PrimExpr]:
    """The dims of shapes that occur."""
    _expected(StructInfo, sinfo)
    return variables.collect_non_negative_expressions(sinfo)


def defined_symbolic_vars(func: Function) -> list[TirVar]:
    """The shape variables that a function defines."""
    _expected(Function, func)
    return variables.defined_symbolic_vars(func)


def free_symbolic_vars(func: Function) -> list[TirVar]:
    """The shape variables that a function uses and does not define."""
    _expected(Function, func)
    return symbols.free_symbolic_vars(func)


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether a kernel only reshapes its operand."""
    _expected(PrimFunc, func)
    return reshapes.has_reshape_pattern(func)


def get_var2val(func: Function) -> dict[Var, Any]:
    """The value that each variable of the function is bound to."""
    _expected(Function, func)
    return bindings.get_var2val(func)


def udchain(dfb: DataflowBlock) -> dict[Var, list[Var]]:
    """For each variable that a dataflow block uses or defines: the variables whose bindings use it."""
    _expected(DataflowBlock, dfb)
    return bindings.udchain(dfb)


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """The bindings by the name of their variable."""
    _expected(Function, func)
    return bindings.name_to_binding(func)


def remove_all_unused(func: Function) -> Function:
    """The function without unused bindings in dataflow blocks."""
    _expected(Function, func)
    return dead_code.remove_all_unused(func)


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The sets of functions that call each other (or themselves)."""
    _expected(IRModule, mod)
    return call_graph.detect_recursion(mod)


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend on parameters known at compile time only."""
    _expected(Function, func)
    return compile_time.computable_at_compile_time(func)
