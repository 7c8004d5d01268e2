"""Registers, the shape heap and its slots, of one function being lowered."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.relax_to_vm.program import Program
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    GlobalVar,
    MatchCast,
    PrimValue,
    ShapeExpr,
    StringImm,
)
from baton._src.relax.struct_info import StructInfo
from baton._src.runtime.executable.bytecode import Operand
from baton._src.runtime.executable.constants import Data
from baton._src.runtime.executable.exec_builder import ExecBuilder
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import FloatImm, IntImm, Var
from baton._src.values.prim import literal_prim
from baton._src.values.shape import ShapeTuple


class FunctionScope:
    """Emits the instructions; every call that has a result gets a register of its own."""

    def __init__(self, builder: ExecBuilder, function: Function) -> None:
        self.builder = builder
        self._next = len(function.params)
        self.slots: dict[Var, int] = {}
        self._bound: set[Var] = set()
        for param in function.params:
            if param.struct_info_ is not None:
                self._declare(tir_vars_in_struct_info(param.struct_info_))
                self.bind(param.struct_info_)
        for node in post_order(function.body):
            if isinstance(node, MatchCast):
                self._declare(tir_vars_in_struct_info(node.struct_info))
        self.slot_names = [v.name for v in self.slots]
        self._heap: Operand | None = None

    def _declare(self, variables: Sequence[Var]) -> None:
        for var in variables:
            self.slots.setdefault(var, len(self.slots))

    def bind(self, info: StructInfo) -> None:
        """Note that the variables in binding positions of `info` have values from here on."""
        self._bound.update(definable_tir_vars_in_struct_info(info))

    def binds(self, info: StructInfo) -> bool:
        """Whether a cast to `info` binds shape variables that have no value yet."""
        return any(v not in self._bound for v in tir_vars_in_struct_info(info))

    # ------------------------------------------------------------------------------------- instructions

    def new_register(self) -> int:
        """A fresh register."""
        self._next += 1
        return self._next - 1

    def call(self, name: str | Operand, args: Sequence[object]) -> None:
        """A call for its effect."""
        self.builder.emit_call(name, args)

    def call_into(self, name: str | Operand, args: Sequence[object]) -> int:
        """The register of a call's result."""
        register = self.new_register()
        self.builder.emit_call(name, args, self.builder.r(register))
        return register

    def copy(self, source: int, target: int) -> None:
        """target = source"""
        self.builder.emit_call("vm.builtin.identity", [self.builder.r(source)], self.builder.r(target))

    def open_heap(self) -> None:
        """Make the shape heap, if the function has shape variables."""
        if self.slots:
            size = self.builder.imm(len(self.slots))
            self._heap = self.builder.r(self.call_into("vm.builtin.alloc_shape_heap", [size]))

    def heap(self) -> Operand:
        """The shape heap as an argument; an empty one is null."""
        return self._heap if self._heap is not None else self.builder.convert_constant(None)

    def _heap_with(self, *read: PrimExpr) -> Operand:
        """The heap with what is read. Error `pass-shape`: VMShapeLower has made one already, for what it knew of."""
        needed = next((n for expr in read for n in post_order(expr) if isinstance(n, Var)), None)
        if needed is not None and self._heap is None:
            message = f"the size {needed.name} is read in a function whose sizes VMShapeLower has lowered"
            raise fail("pass-shape", message, help="run it after passes that make new calls, as LegalizeOps does")
        return self.heap()

    def slot(self, var: Var) -> Operand:
        """A register with the value of a shape variable."""
        slot = self.builder.imm(self.slots[var])
        return self.builder.r(self.call_into("vm.builtin.load_slot", [self._heap_with(var), slot]))

    # --------------------------------------------------------------------------------------- literals

    def prim(self, value: PrimExpr) -> int:
        """A register with the value of a scalar expression."""
        expr = to_dim_expr(value, self.slots)
        known = expr if str(value.dtype) in ("bool", "float64") else ["cast", str(value.dtype), expr]
        return self.call_into("vm.builtin.eval_prim", [self._heap_with(value), Data([self.slot_names, known])])

    def shape(self, dims: Sequence[PrimExpr]) -> int:
        """A register with the shape of these dims."""
        known = [to_dim_expr(d, self.slots) for d in dims]
        return self.call_into("vm.builtin.eval_shape", [self._heap_with(*dims), Data([self.slot_names, *known])])

    def literal_operand(self, expr: GraphExpr, program: Program) -> Operand | None:
        """The literal as a constant operand, if it can be one."""
        match expr:
            case StringImm(value=text):
                return self.builder.convert_constant(text)
            case DataTypeImm(value=dtype):
                return self.builder.convert_constant(dtype)
            case ShapeExpr(values=values) if all(isinstance(v, IntImm) for v in values):
                return self.builder.convert_constant(ShapeTuple(v.value for v in values if isinstance(v, IntImm)))
            case PrimValue(value=IntImm() | FloatImm() as number):
                return self.builder.convert_constant(literal_prim(number.value, number.dtype))
            case GlobalVar():
                program.demand(expr)
                return self.builder.f(expr.name_hint)
            case ExternFunc(global_symbol=symbol):
                return program.extern(symbol)
            case Constant():
                return None
            case _:
                return None
