"""`well_formed`: is this module a Relax program? Every violation is reported, each with the code of its criterion.

Codes: `RELAX-WF-1` ... `RELAX-WF-28` as in seed 001, Well-Formedness (and beyond), `RELAX-NF-n` for normal form,
`RELAX-SCOPE-n` for scopes, `relax-struct-info` and `relax-purity` for what deduction finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.check.findings import Findings
from baton._src.relax.check.normal_form import check_normal_form
from baton._src.relax.check.purity import calls_in, check_purity, functions_in
from baton._src.relax.check.recursion import call_graph, detect_recursion
from baton._src.relax.check.report import STRUCT_INFO, described
from baton._src.relax.check.scope_walk import ScopeWalk
from baton._src.relax.nodes import Binding, Function, If, SeqExpr, Tuple, TupleGetItem, definition_of
from baton._src.relax.normalize import Normalizer
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import StructInfo
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.graphs import components
from baton._src.tir.prim_func import PrimFunc


def well_formed(
    module: IRModule | Function,
    check_struct_info: bool = True,
    *,
    normalized: bool = False,
    nested: bool = True,
    entry_required: bool = False,
) -> list[Diagnostic]:
    """Every violation in `module` (or in a function by itself); an empty list if it is well-formed. Those of rules that
    only say what is intended (computed scalars, WF 18) are warnings: such programs run.

    `check_struct_info`: also deduce StructInfo anew and check purity. `normalized`: the program claims to be in normal
    form, so those criteria count too. `nested`: expressions may be nested where it does not. `entry_required`: some
    function must be public (WF 12), as building demands.
    """
    if isinstance(module, Function):
        module = IRModule({str(module.attrs.get("global_symbol", "main")): module})
    findings = Findings()
    _check_module(module, findings, entry_required)
    names = {v.name_hint: f for v, f in module.functions.items()}
    recursive = _recursive_partners(module)
    walk = ScopeWalk(findings, frozenset(names), recursive)
    for var, function in module.functions.items():
        if isinstance(function, Function):
            walk.global_function(var.name_hint, function)
            findings.function = var.name_hint
            if normalized or not nested:
                check_normal_form(function, findings, only_nesting=not normalized)
    findings.function = ""
    if check_struct_info and not findings.has_errors:
        _check_infos(module, names, findings)
    return findings.diagnostics


def _check_module(module: IRModule, findings: Findings, entry_required: bool) -> None:
    """Criteria on the module's functions as a whole: 8, 12, 13."""
    recursive = {v for group in detect_recursion(module) for v in group}
    for var, function in module.functions.items():
        if not isinstance(function, (Function, PrimFunc)):
            if type(function).__module__.startswith("baton._src.relax"):
                findings.add("RELAX-GRAMMAR-38", f"{var.name_hint} is a {type(function).__name__}, not a function")
            continue
        symbol = function.attrs.get("global_symbol")
        if symbol is not None and symbol != var.name_hint and isinstance(function, Function):
            findings.add(
                "RELAX-WF-13", f"function {var.name_hint} has the global_symbol {symbol!r}", span=function.span,
                help="NormalizeGlobalVar gives both the same name",
            )  # fmt: skip
        if var in recursive and isinstance(function, Function) and function.ret_struct_info is None:
            findings.add(
                "RELAX-WF-8", f"function {var.name_hint} is recursive and has no return annotation", span=function.span
            )
        if isinstance(function, Function):
            _check_local_recursion(var.name_hint, function, findings)
    if entry_required:
        check_entry(module, findings)


def check_entry(module: IRModule, findings: Findings) -> None:
    """Criterion 12, for modules that have functions at all."""
    functions = module.functions.values()
    if functions and not any("global_symbol" in f.attrs for f in functions if isinstance(f, (Function, PrimFunc))):
        findings.add(
            "RELAX-WF-12", "no function of the module has a global_symbol, so nothing can call it",
            help="make one public: @R.function without private=True",
        )  # fmt: skip


def _check_local_recursion(name: str, function: Function, findings: Findings) -> None:
    """Criterion 8 for local functions: one bound to a variable it mentions needs a return annotation."""
    for binding in _bindings(function):
        value = getattr(binding, "value", None)
        if not isinstance(value, Function) or value.ret_struct_info is not None or binding.var is None:
            continue
        if binding.var.struct_info_ is None and any(n is binding.var for n in post_order(value)):
            findings.function = name
            findings.add(
                "RELAX-WF-8", f"local function {binding.var.name_hint} is recursive and not annotated",
                span=binding.span or value.span,
            )  # fmt: skip
            findings.function = ""


def _bindings(function: Function) -> Iterator[Binding]:
    """The bindings of a function and of everything inside it."""
    for node in post_order(function):
        if isinstance(node, SeqExpr):
            for block in node.blocks:
                yield from block.bindings


def _recursive_partners(module: IRModule) -> dict[str, frozenset[str]]:
    partners: dict[str, frozenset[str]] = {}
    for group in components(call_graph(module)):
        names = frozenset(v.name_hint for v in group)
        partners.update((name, names) for name in names)
    return partners


# -------------------------------------------------------------------------------------------- what deduction finds


def _check_infos(module: IRModule, names: dict[str, Any], findings: Findings) -> None:
    context = Context(functions=dict(module.functions))
    for var, function in module.functions.items():
        if not isinstance(function, Function):
            continue
        findings.function = var.name_hint
        try:
            checked = Normalizer(context).function(function)
            _compare_stored(checked, context, findings)
        except DiagnosticError as error:
            findings.extend(list(error.diagnostics))
            continue
        check_purity(checked, names, findings)
    findings.function = ""


def _compare_stored(function: Function, context: Context, findings: Findings) -> None:
    """Compare stored StructInfo with what is deduced now, and check the operators' own conditions."""
    for inner in functions_in(function):
        for call, _, binding in calls_in(inner.body):
            span = call.span or (binding.span if binding is not None else None)
            try:
                _compare(call, "a call is declared to give", call.struct_info, deduce(call, context), context, findings)
                definition = definition_of(call)
                if isinstance(definition, SpecialOp) and definition.validate is not None:
                    definition.validate(call, context)
            except DiagnosticError as error:
                findings.extend([d.at(span) for d in error.diagnostics])
    for node in post_order(function):
        match node:
            case Function(ret_struct_info=StructInfo() as promised, body=SeqExpr() as body):
                _compare(node, "a function promises", promised, body.struct_info, context, findings)
            case If() | SeqExpr() | Tuple() | TupleGetItem() if node.struct_info_ is not None:
                claim = f"a {type(node).__name__} is declared to give"
                _compare(node, claim, node.struct_info, deduce(node, context), context, findings)
            case _:
                pass


def _compare(
    expr: Any, claim: str, stored: StructInfo, found: StructInfo, context: Context, findings: Findings
) -> None:
    if struct_info_base_check(stored, found, context.prover) is BaseCheckResult.FAIL_L0:
        findings.add(STRUCT_INFO, f"{claim} {described(stored)} but gives {described(found)}", span=expr.span)
