"""Emit operators that are instructions of their own: the special ones, and those left to run-time compilation.

One table maps operator names to handlers; a handler returns the register of the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import OpDef
from baton._src.lower.relax_to_vm.abstract_values import Fields, InRegister, KernelCall, Literal
from baton._src.lower.relax_to_vm.function_values import FunctionValues
from baton._src.relax.nodes import Call, Constant, ExternFunc, GlobalVar, ShapeExpr, Tuple
from baton._src.relax.special.calls import output_infos
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.relax.text.scalars import scalar_text
from baton._src.runtime.executable.bytecode import Operand
from baton._src.runtime.executable.constants import Data
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir.expr import IntImm
from baton._src.tir.index_map import IndexMap, index_map_text
from baton._src.values.dtype import DataType

Handler = Callable[[FunctionValues, Call], int]


def _operands(values: FunctionValues, exprs: Sequence[GraphExpr]) -> list[Operand]:
    return [values.argument(e) for e in exprs]


def _packed_fields(values: FunctionValues, packed: GraphExpr) -> list[Operand]:
    """The values inside an argument tuple."""
    value = values.value(packed)
    if isinstance(value, Fields):
        return [values.operand(f) for f in value.fields]
    info = packed.struct_info_
    register = values.operand(value)
    count = len(info.fields)
    builder = values.program.builder
    get = "vm.builtin.tuple_getitem"
    return [builder.r(values.scope.call_into(get, [register, builder.imm(i)])) for i in range(count)]


def builtin(name: str) -> Handler:
    """The operator is a builtin of its arguments."""
    return lambda values, call: values.scope.call_into(name, _operands(values, call.args))


def _first_argument(values: FunctionValues, call: Call) -> int:
    return values.register(values.value(call.args[0]))


def _to_device(values: FunctionValues, call: Call) -> int:
    call.attrs.dst_vdevice.check_present("the result of to_vdevice")
    return values.scope.call_into("vm.builtin.to_device", _operands(values, call.args))


def _unit(values: FunctionValues, call: Call) -> int:
    """Emit nothing: memory is released with its last reference."""
    return values.scope.call_into("vm.builtin.make_tuple", [])


def call_function(values: FunctionValues, callee: GraphExpr, args: Sequence[Operand]) -> int:
    """A call of a global function, a packed function by name, or a function value."""
    if isinstance(callee, GlobalVar):
        values.program.demand(callee)
        return values.scope.call_into(callee.name_hint, args)
    if isinstance(callee, ExternFunc):
        return values.scope.call_into(values.program.extern(callee.global_symbol), args)
    function = values.argument(callee)
    return values.scope.call_into("vm.builtin.invoke_closure", [values.program.builder.vm_state(), function, *args])


def _call_packed(values: FunctionValues, call: Call) -> int:
    return call_function(values, call.args[0], _operands(values, call.args[1:]))


def _call_closure(values: FunctionValues, call: Call) -> int:
    return call_function(values, call.args[0], _packed_fields(values, call.args[1]))


def _call_with_context(values: FunctionValues, call: Call) -> int:
    if isinstance(call.args[0], ExternFunc) and call.args[0].global_symbol == "vm.builtin.alloc_shape_heap":
        return values.scope.call_into("vm.builtin.alloc_shape_tensor", _packed_fields(values, call.args[1]))
    args = [values.program.builder.vm_state(), *_packed_fields(values, call.args[1])]
    return call_function(values, call.args[0], args)


def _make_closure(values: FunctionValues, call: Call) -> int:
    function = values.argument(call.args[0])
    captured = _packed_fields(values, call.args[1])
    return values.scope.call_into("vm.builtin.make_closure", [values.program.builder.vm_state(), function, *captured])


def _null(values: FunctionValues, call: Call) -> int:
    return values.scope.call_into("vm.builtin.null_value", [])


def new_tensor(values: FunctionValues, info: TensorStructInfo) -> int:
    """The register of a fresh tensor described by `info`."""
    shape = values.argument(info.shape)
    return values.scope.call_into("vm.builtin.new_tensor", [shape, DataType(info.dtype)])


def _call_destination(values: FunctionValues, call: Call) -> int:
    """call_tir and call_dps_packed: allocate the outputs, call, return them."""
    args = _packed_fields(values, call.args[1])
    outputs = [values.program.builder.r(new_tensor(values, info)) for info in output_infos(call)]
    trailing = _integers(values, call.args[2]) if len(call.args) > 2 else []
    call_function(values, call.args[0], [*args, *outputs, *trailing])
    return _gathered(values, call, outputs)


def _integers(values: FunctionValues, shape: GraphExpr) -> list[Operand]:
    whole = values.argument(shape)
    count = shape.struct_info_.ndim
    builder = values.program.builder
    return [builder.r(values.scope.call_into("vm.builtin.shape_member", [whole, builder.imm(i)])) for i in range(count)]


def _gathered(values: FunctionValues, call: Call, outputs: Sequence[Operand]) -> int:
    if isinstance(call.sinfo_args[0], TensorStructInfo):
        return outputs[0].value
    return values.scope.call_into("vm.builtin.make_tuple", outputs)


def _call_inplace(values: FunctionValues, call: Call) -> int:
    """call_tir_inplace: some outputs are arguments, the others fresh."""
    args = _packed_fields(values, call.args[1])
    fresh: list[Operand] = []
    outputs: list[Operand] = []
    for info, place in zip(output_infos(call), call.attrs.inplace_indices):
        outputs.append(args[place] if place >= 0 else values.program.builder.r(new_tensor(values, info)))
        if place < 0:
            fresh.append(outputs[-1])
    trailing = _integers(values, call.args[2]) if len(call.args) > 2 else []
    call_function(values, call.args[0], [*args, *fresh, *trailing])
    return _gathered(values, call, outputs)


def emit_kernel_call(values: FunctionValues, call: KernelCall) -> None:
    """A single kernel call (bytecode mode): its results are in registers afterwards."""
    values.program.demand(call.kernel)
    builder = values.program.builder
    args: list[Operand] = []
    for value in call.args:
        match value:
            case Literal(expr=Constant(data=data)):
                args.append(builder.convert_constant(data))
            case _:
                args.append(values.operand(value))
    fresh: list[Operand] = []
    for result, place in zip(call.results, call.inplace):
        register = args[place].value if place >= 0 else new_tensor(values, result.info)
        if place < 0:
            fresh.append(builder.r(register))
        result.emitted = InRegister(register, result.info)
    numbers = [builder.r(values.scope.prim(s)) for s in call.scalars]
    values.scope.call(call.kernel.name_hint, [*args, *fresh, *numbers])


def _reshape(values: FunctionValues, call: Call) -> int:
    """A reshape for which there is no kernel: done by NumPy, into new memory."""
    if not isinstance(call.args[1].struct_info_, ShapeStructInfo) or _has_wildcard(call.args[1]):
        return emit_operator(values, call)
    tensor, shape = _operands(values, call.args)
    view = values.scope.call_into("vm.builtin.reshape", [tensor, shape])
    return values.scope.call_into("vm.builtin.copy", [values.program.builder.r(view)])


def _has_wildcard(shape: GraphExpr) -> bool:
    """Whether one dim is -1, to be inferred from the number of elements."""
    dims = shape.values if isinstance(shape, ShapeExpr) else ()
    return any(isinstance(d, IntImm) and d.value < 0 for d in dims)


def _alloc_tensor(values: FunctionValues, call: Call) -> int:
    shape, dtype = _operands(values, call.args[:2])
    return values.scope.call_into("vm.builtin.new_tensor", [shape, dtype])


def _vm_alloc_storage(values: FunctionValues, call: Call) -> int:
    return values.scope.call_into("vm.builtin.alloc_storage", _operands(values, call.args))


def _memory_alloc_storage(values: FunctionValues, call: Call) -> int:
    size, device, scope, dtype = _operands(values, call.args)
    return values.scope.call_into("vm.builtin.alloc_storage", [size, device, dtype, scope])


def _call_tir_dyn(values: FunctionValues, call: Call) -> int:
    """vm.call_tir_dyn(kernel, (tensors..., shape)): the members of a trailing shape are the trailing integers."""
    packed = call.args[1]
    fields = list(packed.fields) if isinstance(packed, Tuple) else []
    if not fields:
        raise InternalError("vm.call_tir_dyn: the arguments must be an in-line tuple")
    return call_function(values, call.args[0], [*_operands(values, fields[:-1]), *_integers(values, fields[-1])])


def emit_operator(values: FunctionValues, call: Call) -> int:
    """An operator that no pass could lower (its rank or dtype is unknown): compiled and called at run time."""
    definition = call.op.definition
    if not isinstance(definition, OpDef):
        raise fail("lower-operator", f"{call.op.name} cannot be run", span=call.span)
    attrs = call.attrs
    content = {f.name: plain(getattr(attrs, f.name)) for f in dataclasses.fields(attrs)} if attrs is not None else {}
    args = _operands(values, call.args)
    machine = values.program.builder.vm_state()
    return values.scope.call_into("vm.builtin.call_operator", [machine, definition.name, Data(content), *args])


def plain(content: object) -> object:
    """An attribute's content as JSON data."""
    if isinstance(content, (tuple, list)):
        return [plain(c) for c in content]
    if content is None or isinstance(content, (bool, int, float, str)):
        return str(content) if isinstance(content, DataType) else content
    if isinstance(content, IndexMap):
        return index_map_text(content, lambda index: scalar_text(index, lambda var: var.name))
    value = getattr(content, "value", None)
    if isinstance(value, (bool, int, float, str)):
        return value
    raise fail("lower-operator", f"an attribute holds {type(content).__name__}, which cannot be stored")


HANDLERS: dict[str, Handler] = {
    "relax.call_tir": _call_destination,
    "relax.call_tir_with_grad": _call_destination,
    "relax.call_dps_packed": _call_destination,
    "relax.call_tir_inplace": _call_inplace,
    "relax.call_pure_packed": _call_packed,
    "relax.call_inplace_packed": _call_packed,
    "relax.call_builtin_with_ctx": _call_with_context,
    "relax.invoke_closure": _call_closure,
    "relax.invoke_pure_closure": _call_closure,
    "relax.make_closure": _make_closure,
    "relax.null_value": _null,
    "relax.print": builtin("relax.run.print"),
    "relax.assert_op": builtin("relax.run.assert_op"),
    "relax.shape_of": builtin("vm.builtin.shape_of"),
    "relax.tensor_to_shape": builtin("vm.builtin.tensor_to_shape"),
    "relax.shape_to_tensor": builtin("vm.builtin.shape_to_tensor"),
    "relax.builtin.alloc_tensor": _alloc_tensor,
    "relax.builtin.stop_lift_params": _first_argument,
    "relax.hint_on_device": _first_argument,
    "relax.to_vdevice": _to_device,
    "relax.memory.alloc_storage": _memory_alloc_storage,
    "relax.memory.alloc_tensor": builtin("vm.builtin.alloc_tensor"),
    "relax.memory.kill_storage": _unit,
    "relax.memory.kill_tensor": _unit,
    "relax.reshape": _reshape,
    "relax.memory.view": builtin("vm.builtin.view"),
    "relax.memory.ensure_zero_offset": builtin("vm.builtin.ensure_zero_offset"),
    "relax.vm.alloc_storage": _vm_alloc_storage,
    "relax.vm.alloc_tensor": builtin("vm.builtin.alloc_tensor"),
    "relax.vm.kill_object": _unit,
    "relax.vm.call_tir_dyn": _call_tir_dyn,
    "relax.inspect.tensor_ndim": builtin("vm.builtin.tensor_ndim"),
    "relax.inspect.tensor_dtype_code": builtin("vm.builtin.tensor_dtype_code"),
    "relax.inspect.tensor_dtype_bits": builtin("vm.builtin.tensor_dtype_bits"),
    "relax.inspect.tensor_dtype_lanes": builtin("vm.builtin.tensor_dtype_lanes"),
    "relax.inspect.tensor_shape_i": builtin("vm.builtin.tensor_shape_i"),
    "relax.inspect.tensor_stride_i": builtin("vm.builtin.tensor_stride_i"),
    "relax.inspect.tensor_byte_offset": builtin("vm.builtin.tensor_byte_offset"),
    "relax.inspect.tensor_elem_offset": builtin("vm.builtin.tensor_elem_offset"),
}
"""Special operators by name."""
CLAIMED = frozenset(
    f"relax.{name}" for name in ("call_pure_packed", "call_inplace_packed", "invoke_closure", "invoke_pure_closure")
)
"""Operators that return a function's result, whose StructInfo the call declares and the caller must check."""
