"""ExpandTupleArguments, RemoveUnusedParameters, RemoveUnusedOutputs: private functions take and return only what is
used.

    f(t: Tuple(A, B))      called f((a, b))        ->  f(t_0: A, t_1: B)   called f(a, b)
    f(x, unused)           called f(a, b)          ->  f(x)                called f(a)
    f(...) -> (p, q)       used as f(...)[0]       ->  f(...) -> p         used as f(...)

Only functions without `global_symbol` change, together with all their calls; a function that is used as a value (passed
as an argument, or made a closure) is left alone. Tuples and computations that become unused are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination, remove_all_unused
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowVar,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import mentioned_symbols
from baton._src.relax.struct_info import PrimStructInfo, StructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

Arguments = Callable[[BindingRewriter, Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class ExpandTupleArguments(Pass):
    """Tuple parameters become one parameter per field."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        while changed := {
            var: _expanded(module.functions[var])
            for var in _changeable(module)
            if any(_is_tuple(p) for p in module.functions[var].params)
        }:
            module = _with_calls(module, changed)  # once for each level of tuples in tuples
        return _tidied(module, ctx)


@dataclass(frozen=True)
class RemoveUnusedParameters(Pass):
    """Remove parameters that are not mentioned. Sizes that only they show become scalar parameters (`param_n`), unless
    a call does not know such a size: then the tensor stays."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        calls = _calls(module)
        reduced = ((var, _reduced(module.functions[var], calls.get(var, ()))) for var in _changeable(module))
        changed = {var: found for var, found in reduced if found is not None}
        found = _with_calls(module, changed)
        functions = {v: remove_all_unused(f) if isinstance(f, Function) else f for v, f in found.functions.items()}
        return found.with_functions(functions) if changed else module


@dataclass(frozen=True)
class RemoveUnusedOutputs(Pass):
    """Remove fields of a result that no call uses."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        used = _used_fields(module)
        outputs: dict[GlobalVar, list[int]] = {}
        functions = dict(module.functions)
        for var in _changeable(module):
            function, fields = module.functions[var], used.get(var)
            info = function.ret_struct_info
            if fields is None or not isinstance(info, TupleStructInfo) or len(fields) == len(info.fields):
                continue
            kept = sorted(fields)
            narrowed = _narrowed(function, kept)
            if narrowed is not None:
                functions[var], outputs[var] = narrowed, kept
        if not outputs:
            return _tidied(module, ctx)
        narrowed_module = module.with_functions(functions)
        rewriter = _Projections(narrowed_module, outputs)
        functions = {
            v: _normal(narrowed_module, rewriter.function(f)) if isinstance(f, Function) else f
            for v, f in functions.items()
        }
        return _tidied(narrowed_module.with_functions(functions), ctx)


def _tidied(module: IRModule, ctx: PassContext) -> IRModule:
    """The function without copies, tuples and values that have become unused."""
    return DeadCodeElimination().run(CanonicalizeBindings().run(module, ctx), ctx)


def _changeable(module: IRModule) -> list[GlobalVar]:
    """Private Relax functions that are only called."""
    values: set[Any] = set()
    for function in module.functions.values():
        for node in post_order(function) if isinstance(function, Function) else ():
            called = node.op if isinstance(node, Call) else None
            values.update(c for c in children(node) if isinstance(c, GlobalVar) and c is not called)
            if isinstance(node, Call) and called in node.args:
                values.add(called)
    return [
        var
        for var, function in module.functions.items()
        if isinstance(function, Function) and "global_symbol" not in function.attrs and var not in values
    ]


def _is_tuple(param: Var) -> bool:
    return isinstance(param.struct_info_, TupleStructInfo)


def _expanded(function: Function) -> tuple[Function, Arguments]:
    params: list[Var] = []
    made: list[Binding] = []
    plan: list[int | None] = []
    renamed: dict[Any, Any] = {}
    for param in function.params:
        if not _is_tuple(param):
            params.append(param)
            plan.append(None)
            continue
        parts = [Var(f"{param.name_hint}_{n}", info) for n, info in enumerate(param.struct_info.fields)]
        params.extend(parts)
        plan.append(len(parts))
        own = Var(param.name_hint, param.struct_info)
        made.append(VarBinding(own, Tuple(parts).with_fields(struct_info_=param.struct_info)))
        renamed[param] = own
    body = substitute(function.body, renamed, notes=False)
    blocks = body.blocks if isinstance(body, SeqExpr) else ()
    result = body.body if isinstance(body, SeqExpr) else body
    whole = SeqExpr([BindingBlock(made), *blocks], result).with_fields(struct_info_=function.body.struct_info_)

    def arguments(at: BindingRewriter, given: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for arg, count in zip(given, plan):
            if count is None:
                found.append(arg)
            else:
                found.extend(at.emit(TupleGetItem(arg, n)) for n in range(count))
        return found

    return function.with_fields(params=tuple(params), body=whole, struct_info_=None), arguments


def _calls(module: IRModule) -> dict[GlobalVar, list[Call]]:
    """The calls of each function."""
    found: dict[GlobalVar, list[Call]] = {}
    for function in module.functions.values():
        for node in post_order(function) if isinstance(function, Function) else ():
            if isinstance(node, Call) and isinstance(node.op, GlobalVar):
                found.setdefault(node.op, []).append(node)
    return found


def _reduced(function: Function, calls: Sequence[Call]) -> tuple[Function, Arguments] | None:
    """The function without the parameters that it does not need; None if it needs all."""
    mentioned = {n for n in post_order(function.body) if isinstance(n, Var)}
    kept = [p for p in function.params if p in mentioned]
    hidden = _hidden(function, kept)
    known = [set(map_parameters(_passed(function, call.args))) for call in calls]
    for param in function.params:
        own = set(hidden).intersection(definable_tir_vars_in_struct_info(param.struct_info))
        if own and (isinstance(param.struct_info, PrimStructInfo) or not all(own <= sizes for sizes in known)):
            kept = [p for p in function.params if p in kept or p is param]
            hidden = _hidden(function, kept)
    if len(kept) == len(function.params):
        return None

    def arguments(at: BindingRewriter, given: Sequence[Any]) -> list[Any]:
        sizes = map_parameters(_passed(function, given))
        return [*(a for p, a in zip(function.params, given) if p in kept), *(PrimValue(sizes[v]) for v in hidden)]

    scalars = [Var(f"param_{v.name}", PrimStructInfo(v.dtype, v)) for v in hidden]
    return function.with_fields(params=(*kept, *scalars), struct_info_=None), arguments


def _passed(function: Function, args: Sequence[Any]) -> list[tuple[StructInfo, StructInfo]]:
    return [(p.struct_info, a.struct_info) for p, a in zip(function.params, args)]


def _hidden(function: Function, kept: Sequence[Var]) -> list[TirVar]:
    """The shape variables of the function's own that it needs and that none of these parameters shows."""
    parts = [function.body, *(p.struct_info for p in kept)]
    parts += [] if function.ret_struct_info is None else [function.ret_struct_info]
    needed = mentioned_symbols(parts)
    shown = {v for p in kept for v in definable_tir_vars_in_struct_info(p.struct_info)}
    own = {v for p in function.params for v in definable_tir_vars_in_struct_info(p.struct_info)}
    return [v for v in needed if v in own and v not in shown]


def _with_calls(module: IRModule, changed: dict[GlobalVar, tuple[Function, Arguments]]) -> IRModule:
    """The module with new functions, and arguments at their calls."""
    if not changed:
        return module
    whole = module.with_functions({v: changed[v][0] if v in changed else f for v, f in module.functions.items()})
    normal = whole.with_functions({v: _normal(whole, f) if v in changed else f for v, f in whole.functions.items()})
    caller = _Caller(normal, {v: arguments for v, (_, arguments) in changed.items()})
    functions = {v: caller.function(f) if isinstance(f, Function) else f for v, f in normal.functions.items()}
    return normal.with_functions(functions)


def _normal(module: IRModule, function: Function) -> Function:
    found: Function = BlockBuilder(module).normalize(function)
    return found


class _Caller(BindingRewriter):
    def __init__(self, module: IRModule, arguments: dict[GlobalVar, Arguments]) -> None:
        super().__init__(module)
        self.arguments = arguments

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        arguments = (
            self.arguments.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        )
        if arguments is None:
            return value
        made = value.with_fields(args=tuple(arguments(self, value.args)), struct_info_=None)
        return self.normalized(made)


def _used_fields(module: IRModule) -> dict[GlobalVar, set[int] | None]:
    """By function the fields of its results that are looked at; None where a result is used as a whole."""
    found: dict[GlobalVar, set[int] | None] = {}
    for function in module.functions.values():
        if not isinstance(function, Function):
            continue
        nodes = post_order(function)
        home = {
            b.var: b.value.op
            for b in nodes
            if isinstance(b, VarBinding) and isinstance(b.value, Call) and isinstance(b.value.op, GlobalVar)
        }
        for callee in home.values():
            found.setdefault(callee, set())
        for node in nodes:
            if isinstance(node, TupleGetItem) and node.tuple_value in home:
                fields = found[home[node.tuple_value]]
                if fields is not None:
                    fields.add(node.index)
                continue
            uses = [node.value] if isinstance(node, (VarBinding, MatchCast)) else children(node)
            found.update((home[c], None) for c in uses if isinstance(c, Var) and c in home)
    return found


def _narrowed(function: Function, kept: list[int]) -> Function | None:
    """The function with only these fields of its result; None if that is not known to be a tuple."""
    body, promised = function.body, function.ret_struct_info
    if not isinstance(promised, TupleStructInfo) or not isinstance(body, SeqExpr):
        return None
    if not isinstance(body.body.struct_info, TupleStructInfo):
        return None
    values = {b.var: b.value for block in body.blocks for b in block.bindings}
    result, last = body.body, None
    while isinstance(result, Var) and result in values:
        result, last = values[result], result
    infos = [promised.fields[n] for n in kept]
    fields = [result.fields[n] for n in kept] if isinstance(result, Tuple) else [Var("item", info) for info in infos]
    info: Any = infos[0] if len(kept) == 1 else TupleStructInfo(infos)
    whole: Any = fields[0] if len(kept) == 1 else Tuple(fields).with_fields(struct_info_=info)
    blocks = list(body.blocks)
    if not isinstance(result, Tuple):
        blocks += [BindingBlock([VarBinding(item, TupleGetItem(body.body, n)) for item, n in zip(fields, kept)])]
    elif any(isinstance(f, DataflowVar) for f in fields):
        var = Var("result", info)
        blocks, whole = [_with_binding(block, last, VarBinding(var, whole)) for block in blocks], var
    narrowed = SeqExpr(blocks, whole).with_fields(struct_info_=info)
    return remove_all_unused(function.with_fields(body=narrowed, ret_struct_info=info, struct_info_=None))


def _with_binding(block: BindingBlock, after: Var | None, made: Binding) -> BindingBlock:
    """The block with a binding right after that of `after`, if this is there: it may use the same variables."""
    bindings = [m for b in block.bindings for m in ((b, made) if b.var is after else (b,))]
    return block if len(bindings) == len(block.bindings) else type(block)(bindings, block.span)


class _Projections(BindingRewriter):
    """Projections of results that lost fields."""

    def __init__(self, module: IRModule, outputs: dict[GlobalVar, list[int]]) -> None:
        super().__init__(module)
        self.outputs = outputs
        self.new: dict[Any, tuple[Var, list[int]]] = {}

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op in self.outputs:
            made = self.normalized(value.with_fields(struct_info_=None))
            var = type(binding.var)(binding.var.name_hint, made.struct_info)
            self.keep(VarBinding(var, made))
            self.new[binding.var] = var, self.outputs[value.op]
        elif isinstance(value, TupleGetItem) and value.tuple_value in self.new:
            whole, kept = self.new[value.tuple_value]
            item: Any = whole if len(kept) == 1 else self.normalized(TupleGetItem(whole, kept.index(value.index)))
            self.keep(VarBinding(binding.var, item))
        else:
            self.keep(binding)
