"""LazyGetInput and LazySetOutput: fetch parameters at their first use, deliver results as soon as they are ready.

    main(x, w0, w1)  num_input=1     ->     main(x, fget_param)
                                                w0_untyped = fget_param(R.prim_value(0), R.str("w0"))
                                                w0 = R.match_cast(w0_untyped, R.Tensor((4, 4), "float32"))
                                                ...
    return (a, b)                    ->     _ = fset_output(R.prim_value(0), a)      right after `a` is bound
                                            return R.tuple()

Weights that do not fit in memory together can then be loaded, transformed and stored one by one. Public functions are
changed. `fget_param` is taken to be pure, a function that calls `fset_output` is not. Parameters used only inside a
branch or a local function are fetched before it. Calls of these functions within the module go on as they were
(`calls_within`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.interfaces.calls_within import keep_calls_within
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo, TupleStructInfo, empty_derive
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

# Packed functions, for that is what a host passes: a type with parameters asks for a closure (rule MATCH-6).
_GET = FuncStructInfo(None, ObjectStructInfo(), True, derive_func=empty_derive)
_SET = FuncStructInfo(None, ObjectStructInfo(), False, derive_func=empty_derive)


@dataclass(frozen=True)
class LazyGetInput(FunctionPass):
    """Parameters from `num_input` on (all, without that attribute) come from a function `(number, name) -> value`."""

    function_class = Function

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return keep_calls_within(module, super().run(module, ctx))

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        count = int(function.attrs.get("num_input", 0))
        if "global_symbol" not in function.attrs or count >= len(function.params):
            return function
        getter = Var("fget_param", _GET)

        def request(number: int, name: str) -> Call:
            return Call(getter, [PrimValue(number), StringImm(name)], None, (ObjectStructInfo(),))

        body = Fetching(request, function, count).body()
        attrs = {**function.attrs, "num_input": count + 1}  # nothing that is left is a weight
        return normal(module, Function((*function.params[:count], getter), body, None, function.is_pure, attrs))


class Fetching:
    """Fetches parameters before the first of the body's own bindings that needs them. `request(number, name)` is the
    call that fetches the parameter with this number and name.
    """

    def __init__(self, request: Callable[[int, str], Call], function: Function, count: int) -> None:
        self.request, self.function = request, function
        self.waiting = {p: n for n, p in enumerate(function.params[count:])}
        self.known = {v for p in function.params[:count] for v in definable_tir_vars_in_struct_info(p.struct_info)}
        """The shape variables that are bound already."""
        self.definers: dict[TirVar, Var] = {}
        """The parameters that bind the other shape variables."""
        for param in self.waiting:
            for var in definable_tir_vars_in_struct_info(param.struct_info):
                if var not in self.known:
                    self.definers.setdefault(var, param)

    def body(self) -> SeqExpr:
        seq = self.function.body
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            made: list[Binding] = []
            for binding in block.bindings:
                made += self._fetched(binding, DataflowVar if isinstance(block, DataflowBlock) else Var)
                made.append(binding)
            blocks.append(block.with_fields(bindings=tuple(made)))
        last = self._fetched(seq.body, Var)
        return SeqExpr([*blocks, BindingBlock(last)] if last else blocks, seq.body, seq.span)

    def _fetched(self, node: Any, kind: type[Var]) -> list[Binding]:
        """The bindings that fetch what `node` needs; unchecked values are held in variables of class `kind`."""
        made: list[Binding] = []
        needed = sorted(self._needed(node), key=self.waiting.__getitem__)
        while needed:
            param = next((p for p in needed if self.known.issuperset(_only_mentioned(p.struct_info))), needed[0])
            needed.remove(param)
            number, info = self.waiting.pop(param), param.struct_info
            self.known.update(definable_tir_vars_in_struct_info(info))
            call = self.request(number, param.name_hint)
            if isinstance(info, ObjectStructInfo):
                made.append(VarBinding(param, call))
                continue
            value = kind(f"{param.name_hint}_untyped", ObjectStructInfo())
            made += [VarBinding(value, call), MatchCast(param, value, info)]
        return made

    def _needed(self, node: Any) -> set[Var]:
        """The parameters not fetched yet that `node` mentions, or whose shape variables it needs."""
        found: set[Var] = set()
        todo = [node]
        while todo:
            for part in post_order(todo.pop(), notes=True):
                param = self.definers.get(part) if isinstance(part, TirVar) else part
                if isinstance(param, Var) and param in self.waiting and param not in found:
                    found.add(param)
                    todo.append(param.struct_info)
        return found


def _only_mentioned(info: StructInfo) -> set[TirVar]:
    """The shape variables that something else has to bind before a cast to `info`."""
    return set(tir_vars_in_struct_info(info)).difference(definable_tir_vars_in_struct_info(info))


@dataclass(frozen=True)
class LazySetOutput(FunctionPass):
    """Results are passed to a function `(number, value)` as soon as they are computed; the function itself returns
    nothing.
    """

    function_class = Function

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return keep_calls_within(module, super().run(module, ctx))

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if "global_symbol" not in function.attrs:
            return function
        setter = Var("fset_output", _SET)
        flat = ToNonDataflow().run_function(function, module, ctx)
        count = flat.attrs.get("num_input")
        place = len(flat.params) if count is None else int(count)
        params = (*flat.params[:place], setter, *flat.params[place:])
        attrs = dict(flat.attrs) if count is None else {**flat.attrs, "num_input": place + 1}

        def give(number: int, value: GraphExpr) -> Call:
            return Call(setter, [PrimValue(number), value], None, (TupleStructInfo(()),))

        return normal(module, Function(params, giving(give, flat.params, flat.body), None, False, attrs))


def giving(deliver: Callable[[int, Any], Call], params: Sequence[Var], body: Any) -> SeqExpr:
    """The body with `deliver(number, value)` after the binding of each result; results without a binding come last."""
    bindings = [b for block in body.blocks for b in block.bindings]
    values = {b.var: b.value for b in bindings if isinstance(b, VarBinding)}
    result = values.get(body.body, body.body)
    parts = list(result.fields) if isinstance(result, Tuple) else [body.body]
    used = {v for b in bindings for v in used_vars(b)}
    due: dict[Any, list[int]] = {}
    for number, part in enumerate(parts):
        due.setdefault(part, []).append(number)
    made: list[Binding] = []

    def give(key: Any) -> None:
        made.extend(VarBinding(Var("_"), deliver(n, parts[n])) for n in due.pop(key, ()))

    for param in params:
        give(param)
    for binding in bindings:
        if isinstance(result, Tuple) and binding.var is body.body and body.body not in used:
            continue  # the tuple itself is not needed any more
        made.append(binding)
        give(binding.var)
    for key in list(due):
        give(key)
    return SeqExpr([BindingBlock(made)], Tuple([]), body.span)


def normal(module: IRModule, function: Function) -> Function:
    """The function in normal form, with the StructInfo of every binding."""
    found: Function = BlockBuilder(module).normalize(function)
    return found
