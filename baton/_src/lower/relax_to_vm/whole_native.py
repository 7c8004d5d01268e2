"""Compile functions to a single native entry from arguments to result, with no bytecode between caller and kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from baton._src.ir.op_def import DimProver
from baton._src.lower.relax_to_vm.abstract_values import (
    Fields,
    InRegister,
    KernelCall,
    Literal,
    Pending,
    Value,
    View,
    memory_of,
    resolve,
)
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition, cast_conditions
from baton._src.lower.relax_to_vm.counted_sizes import CountedSize, as_counts, counted_sizes, fit_in_advance
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.relax_to_vm.infos import to_value_info
from baton._src.lower.relax_to_vm.kernel_calls import as_kernel_call, as_view
from baton._src.lower.relax_to_vm.native_entry import EntryBuilder, live_calls, written_into
from baton._src.lower.relax_to_vm.program import Program
from baton._src.lower.relax_to_vm.variable_values import NoValue, Values
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.narrowed import is_narrowed
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, prim_vars, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    Call,
    Constant,
    Function,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.runtime.dim_expr import slots_of
from baton._src.support.diagnostics import InternalError
from baton._src.tir.expr import Var as TirVar


def as_whole_native(program: Program, name: str, function: Function, public: bool) -> bool:
    """Add `function` as a native function if possible; return whether it was."""
    found = _collect(program, function)
    if found is None:
        return False
    calls, result, params, conditions, counted = found
    outputs = _outputs(result)
    wanted = list(dict.fromkeys((*outputs, *(c.value for c in counted))))
    live = live_calls(calls, wanted)
    if not live or any(written_into(o) is not o for o in wanted) or not fit_in_advance(live, counted):
        return False
    builder = EntryBuilder(name, live, outputs, params, program.spoils, counted)
    builder.shown = _seen_once(result)
    constants = [c for c in _constants(result) if id(c.data) not in builder.constants]
    builder.constants.update({id(c.data): c for c in constants})
    builder.conditions = conditions
    entry = builder.build()
    if entry.scalars or len(entry.inputs) != len(params):
        return False
    places = {p: i for i, p in enumerate(outputs)}
    slots = {v: i for i, v in enumerate(entry.variables)}
    shown = _result(result, places, [v for _, v in params], list(builder.constants), slots, builder.shown)
    if _counts_in_views(shown, {slots[c.var] for c in counted}):
        return False
    for call in builder.calls:
        program.use_kernel(call.kernel, call.function)
    program.add_entry(
        replace(entry, plan=replace(entry.plan, result=shown)), public, to_value_info(function.struct_info_, {})
    )
    return True


Collected = tuple[list[KernelCall], Value, list[tuple[str, InRegister]], list[CastCondition], list[CountedSize]]


def _collect(program: Program, function: Function) -> Collected | None:
    """All calls, the result and the parameters; None if the function contains anything but kernel calls and aliases."""
    if not isinstance(function.body, SeqExpr) or not parameters_fit(function):
        return None
    if not result_fits(function, program.prover):
        return None
    params = [(p.name_hint, InRegister(i, p.struct_info_)) for i, p in enumerate(function.params)]
    reading = _Reading(program, function, {p: v for p, (_, v) in zip(function.params, params)})
    try:
        if not all(reading.binding(binding) for block in function.body.blocks for binding in block.bindings):
            return None
        result = reading.env.of(function.body.body)
    except NoValue:
        return None
    if not _only_tensors(result):
        return None
    return reading.calls, result, params, reading.conditions, reading.counted


class _Reading:
    """The state of reading a function: the values of its variables, its calls, the conditions of its casts, the sizes
    that it counts.
    """

    def __init__(self, program: Program, function: Function, params: Mapping[Var, Value]) -> None:
        self.program, self.function = program, function
        self.env = Values(params)
        self.calls: list[KernelCall] = []
        self.conditions: list[CastCondition] = []
        self.counted: list[CountedSize] = []
        self.counts: dict[Var, Pending] = {}
        """The tensors that variables have as shapes."""
        self.bindable = {v for p in function.params for v in definable_tir_vars_in_struct_info(p.struct_info)}

    def binding(self, binding: Binding) -> bool:
        """Add a binding; False if a native entry cannot express it."""
        if isinstance(binding, MatchCast):
            return self._cast(binding)
        if not isinstance(binding, VarBinding) or is_narrowed(binding, self.program.prover):
            return False
        if not isinstance(binding.value, Call):
            self.env[binding.var] = self.env.of(binding.value)
            return True
        view = as_view(binding.value, binding.var, self.env.of)
        if view is not None:
            self.env[binding.var] = view
            return True
        counts = as_counts(binding.value, self.env.of)
        if counts is not None:
            self.counts[binding.var] = counts
            return True
        call = as_kernel_call(binding.value, self.program.module, self.env.of)
        if call is None:
            return False
        call.results = tuple(Pending(call, i) for i in range(len(call.outputs)))
        is_tuple = isinstance(binding.var.struct_info_, TupleStructInfo)
        self.env[binding.var] = Fields(tuple(call.results)) if is_tuple else call.results[0]
        self.calls.append(call)
        return True

    def _cast(self, binding: MatchCast) -> bool:
        if binding.value in self.counts:
            known = {*self.bindable, *(c.var for c in self.counted)}
            sizes = counted_sizes(binding, self.counts[binding.value], known, self.counted)
            self.counted += sizes or ()
            return sizes is not None
        source = self.env.of(binding.value)
        counted = {c.var for c in self.counted}
        found = _conditions(self.function, binding, source, self.bindable | counted)
        if found is None or any(counted & {*prim_vars(c.found), *prim_vars(c.expected)} for c in found):
            return False
        self.conditions += found
        self.env[binding.var] = source
        return True


def _conditions(
    function: Function, binding: MatchCast, source: Value, bindable: set[TirVar]
) -> list[CastCondition] | None:
    """The conditions on dims of a cast; None if it binds variables or checks more than dims."""
    if not set(tir_vars_in_struct_info(binding.struct_info)) <= bindable:
        return None
    name = function.attrs.get("global_symbol", "function")
    return cast_conditions(source, binding.struct_info, f"{name}: {binding.place}")


def parameters_fit(function: Function) -> bool:
    """Tensors of known dtype and dims whose shape variables can all be read off the arguments."""
    return dims_fit(param.struct_info_ for param in function.params)


def dims_fit(infos: Iterable[StructInfo | None]) -> bool:
    """Whether they are tensors of known dtype and dims, every variable of which is a dim of its own somewhere."""
    bindable: set[TirVar] = set()
    used: set[TirVar] = set()
    for info in infos:
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or info.dtype.is_void:
            return False
        bindable.update(definable_tir_vars_in_struct_info(info))
        used.update(tir_vars_in_struct_info(info))
    return used <= bindable


def result_fits(function: Function, prover: DimProver) -> bool:
    """Whether what is known about the body proves the return annotation."""
    wanted, known = function.ret_struct_info, function.body.struct_info_
    if wanted is None or isinstance(wanted, ObjectStructInfo):
        return True
    return known is not None and struct_info_base_check(wanted, known, prover) is BaseCheckResult.PASS


def _only_tensors(result: Value) -> bool:
    leaves = _leaves(result)
    return not any(isinstance(v, Literal) and not isinstance(v.expr, Constant) for v in map(memory_of, leaves))


def _leaves(result: Value) -> list[Value]:
    found: list[Value] = []
    work = [result]
    while work:
        item = resolve(work.pop())
        if isinstance(item, Fields):
            work.extend(reversed(item.fields))
        else:
            found.append(item)
    return found


def _outputs(result: Value) -> list[Pending]:
    """Results computed by kernels; one written into an argument's memory counts too."""
    return list(dict.fromkeys(v for v in map(memory_of, _leaves(result)) if isinstance(v, Pending)))


def _constants(result: Value) -> list[Constant]:
    memories = map(memory_of, _leaves(result))
    return [v.expr for v in memories if isinstance(v, Literal) and isinstance(v.expr, Constant)]


def _result(
    value: Value,
    outputs: dict[Pending, int],
    params: list[InRegister],
    constants: list[int],
    slots: dict[TirVar, int],
    shown: Mapping[Pending, TensorStructInfo],
) -> Any:
    """The plan's description of the returned value."""
    match value:
        case View() if (source := memory_of(value)) in shown:
            assert isinstance(source, Pending)
            return outputs[source]
        case Pending():
            return outputs[value]
        case InRegister():
            return ["input", params.index(value)]
        case Fields(fields=fields):
            return ["tuple", [_result(f, outputs, params, constants, slots, shown) for f in fields]]
        case View(info=info):
            source = _result(memory_of(value), outputs, params, constants, slots, shown)
            return ["view", source, [to_dim_expr(d, slots) for d in info.shape.values]]
        case Literal(expr=Constant() as constant):
            return ["const", constants.index(id(constant.data))]
        case _:
            raise InternalError(f"{value!r} cannot be the result of a native function")


def _seen_once(result: Value) -> dict[Pending, TensorStructInfo]:
    """The outputs that only one view of the result shows, with its shape: they are given out under that shape."""
    leaves = _leaves(result)
    sources = [memory_of(leaf) for leaf in leaves]
    return {
        source: leaf.info
        for leaf, source in zip(leaves, sources)
        if isinstance(leaf, View) and isinstance(source, Pending) and sources.count(source) == 1
    }


def _counts_in_views(result: Any, slots: set[int]) -> bool:
    """Whether the shape of a view that the caller makes depends on what is counted."""
    match result:
        case ["tuple", fields]:
            return any(_counts_in_views(f, slots) for f in fields)
        case ["view", source, dims]:
            return any(slots & slots_of(d) for d in dims) or _counts_in_views(source, slots)
        case _:
            return False
