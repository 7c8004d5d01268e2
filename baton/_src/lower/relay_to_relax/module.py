"""Convert a typed Relay module to a Relax module: the compiler's own lowering, and `relax.from_relay`.

Every Relay function becomes a Relax function of the same name; functions of Relax and TIR in the module stay. Types are
inferred first. The result is normalised and carries StructInfo throughout.
"""

from __future__ import annotations

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node, set_note
from baton._src.ir.types import FuncType
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter
from baton._src.lower.relay_to_relax.operators_by_sizes import is_sized_by_numbers
from baton._src.lower.relay_to_relax.scope_lowering import ScopeLowering
from baton._src.lower.relay_to_relax.types import TypeLowering
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.operator_rule import is_unknown
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function, RefCreate, RefRead, RefWrite
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import run


def lower(module: IRModule) -> IRModule:
    """The equivalent Relax module. `DiagnosticError` if a type is wrong or an entry function is polymorphic."""
    typed = infer_type(module)
    functions = {v: f for v, f in typed.functions.items() if isinstance(f, Function)}
    pure = not any(_has_effects(f) for f in functions.values())
    types = TypeLowering()
    names = {v.name_hint: GlobalVar(v.name_hint, span=v.span) for v in functions}
    schemes: dict[str, FuncType] = {v.name_hint: f.checked_type for v, f in functions.items()}
    others = {v: f for v, f in typed.functions.items() if not isinstance(f, Function)}
    builder = BlockBuilder(IRModule(others, None, typed.attrs, typed.global_infos))
    for var in functions:
        _check_entry(var, functions[var])
        set_note(names[var.name_hint], "struct_info_", types.function(schemes[var.name_hint], pure))
    for var, function in functions.items():
        emitter = BindingEmitter(types, names, schemes, pure, typed.type_definitions)
        emitter.keeps_infos = any(map(is_sized_by_numbers, walk(function)))
        lowering = ScopeLowering(function, emitter)
        made = run(lowering.function(function, schemes[var.name_hint]))
        named = made.with_attr("global_symbol", var.name_hint)
        builder.update_func(names[var.name_hint], builder.normalize(named))
    return builder.get()


def _has_effects(function: Function) -> bool:
    """Whether the module uses references or stateful operators: then evaluation order matters everywhere."""
    for node in walk(function):
        if isinstance(node, (RefCreate, RefRead, RefWrite)):
            return True
        if (
            isinstance(node, Op)
            and node.definition is not None
            and (node.definition.stateful or not node.definition.pure)
        ):
            return True
    return False


def _check_entry(var: GlobalVar, function: Function) -> None:
    """Check that the types of `main`'s parameters are known, since it is called from outside, and that of its result if
    operators need it: it may be an empty list of anything. What nothing calls in it may have any type."""
    type_ = function.checked_type
    if var.name_hint != "main" or not isinstance(type_, FuncType):
        return
    visible = (*type_.arg_types, type_.ret_type) if type_.type_constraints else type_.arg_types
    seen = {leaf for part in visible for leaf in leaves(part)}
    if seen.isdisjoint(type_.type_params):
        return
    message = f"@main is polymorphic, so it cannot be compiled as an entry: its type is {show_type(type_)}"
    span, help = var.span, "annotate the parameters of @main"
    undecided = next(filter(_is_undecided, walk(function)), None)
    if undecided is not None:
        span, help = undecided.span or span, f"{help}: {undecided.op.name} needs the types of all its operands"
        if undecided.op.definition.infer_inputs is not None:
            help += ", or attributes that tell the shapes of its weights, such as channels and kernel_size, or units"
    raise fail("relay-infer", message, span=span, help=help)


def _is_undecided(node: Node) -> bool:
    """Whether this is a call of an operator whose type depends on the callers of the function."""
    return isinstance(node, Call) and isinstance(node.op, Op) and any(is_unknown(a.checked_type) for a in node.args)
