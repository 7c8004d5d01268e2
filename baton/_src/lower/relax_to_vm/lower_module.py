"""A Relax module (normal form, legalised, functions lifted) to a `Program`: bytecode, entries, kernels."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.function_lowering import FunctionLowering
from baton._src.lower.relax_to_vm.infos import to_value_info
from baton._src.lower.relax_to_vm.program import Program
from baton._src.lower.relax_to_vm.whole_native import as_whole_native
from baton._src.relax.nodes import Function
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.value_info import FunctionValue
from baton._src.tir.prim_func import PrimFunc


def lower_module(module: IRModule, compiled: bool = True, spoils: bool = False) -> Program:
    """Lower every Relax function of `module`. Public are those with a `global_symbol`."""
    program = Program(module, compiled, spoils)
    functions = {v: f for v, f in module.functions.items() if isinstance(f, Function)}
    for var in functions:
        program.builder.declare_function(var.name_hint, "vm")
    for var, function in functions.items():
        name = var.name_hint
        _check_devices(function)
        public = "global_symbol" in function.attrs
        if compiled and as_whole_native(program, name, function, public):
            continue
        params = [p.name_hint for p in function.params]
        info = to_value_info(function.struct_info_, {})
        known = info if isinstance(info, FunctionValue) else None
        with program.builder.function(name, len(params), params, public, known):
            FunctionLowering(program, name, function).emit()
    for var, function in module.functions.items():
        if isinstance(function, PrimFunc) and "global_symbol" in function.attrs:
            program.kernels.setdefault(var, function)
    program.note_overwriting()
    return program


def _check_devices(function: Function) -> None:
    """Tensors of other devices are not taken for tensors of the CPU."""
    for param in function.params:
        for info in post_order(param.struct_info):
            if isinstance(info, TensorStructInfo) and info.vdevice is not None:
                info.vdevice.check_present(f"argument {param.name_hint}")
