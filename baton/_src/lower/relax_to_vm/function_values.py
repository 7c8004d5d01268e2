"""The abstract values of variables and leaves of a function during lowering, and the registers that hold them."""

from __future__ import annotations

from baton._src.ir.expr import GraphExpr
from baton._src.lower.relax_to_vm.abstract_values import (
    Fields,
    InRegister,
    Literal,
    Longer,
    Pending,
    Value,
    View,
    memory_of,
    resolve,
)
from baton._src.lower.relax_to_vm.function_scope import FunctionScope
from baton._src.lower.relax_to_vm.program import Program
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.runtime.executable.bytecode import Operand
from baton._src.support.diagnostics import InternalError
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.prim_func import PrimFunc

Leaf = Constant | ShapeExpr | PrimValue | StringImm | DataTypeImm | GlobalVar | ExternFunc


class FunctionValues:
    """Maps each leaf to its abstract value, and emits the instructions that put the value in a register."""

    def __init__(self, program: Program, name: str, function: Function) -> None:
        self.program = program
        self.name = name
        self.scope = FunctionScope(program.builder, function)
        self.env: dict[Var, Value] = {}
        for number, param in enumerate(function.params):
            self.env[param] = InRegister(number, param.struct_info_)

    def value(self, expr: GraphExpr) -> Value:
        """The abstract value of a leaf (or tuple of leaves)."""
        if isinstance(expr, Var):
            found = self.env.get(expr)
            if found is None:
                raise InternalError(f"lowering {self.name}: {expr.name_hint} is used before it is bound")
            return resolve(found)
        if isinstance(expr, Tuple):
            return Fields(tuple(self.value(f) for f in expr.fields))
        if isinstance(expr, TupleGetItem):
            source = self.value(expr.tuple_value)
            if isinstance(source, Fields):
                return source.fields[expr.index]
            args = [self.operand(source), self.program.builder.imm(expr.index)]
            return InRegister(self.scope.call_into("vm.builtin.tuple_getitem", args), expr.struct_info_)
        if isinstance(expr, PrimFunc):
            raise InternalError(f"lowering {self.name}: a PrimFunc stands inside an expression")
        if isinstance(expr, Leaf):
            return Literal(expr)
        raise InternalError(f"lowering {self.name}: {type(expr).__name__} where a leaf belongs (not in normal form)")

    def argument(self, expr: GraphExpr) -> Operand:
        """A leaf as an argument of an instruction."""
        return self.operand(self.value(expr))

    def operand(self, value: Value) -> Operand:
        """The value as an argument of an instruction; a constant is copied each time it is evaluated."""
        found = resolve(value)
        if isinstance(found, Literal):
            known = self.scope.literal_operand(found.expr, self.program)
            if known is not None:
                return known
        return self.program.builder.r(self.register(found))

    def register(self, value: Value) -> int:
        """The register that holds the value, which is emitted if necessary."""
        found = resolve(value)
        match found:
            case InRegister(register=register):
                return register
            case View(info=info):
                shape = self.argument(info.shape)
                tensor = self.operand(memory_of(found))
                # A value that leaves its run of kernels must not share memory with another one.
                view = self.scope.call_into("vm.builtin.reshape", [tensor, shape])
                return self.scope.call_into("vm.builtin.copy", [self.program.builder.r(view)])
            case Pending():
                raise InternalError(f"lowering {self.name}: {found.node.name} is used before it is emitted")
            case Longer():
                raise InternalError(f"lowering {self.name}: only native loops make a tensor longer by a row")
            case Fields(fields=fields):
                return self.scope.call_into("vm.builtin.make_tuple", [self.operand(f) for f in fields])
            case Literal(expr=Constant() as constant):
                return self.fresh(constant)
            case Literal(expr=ShapeExpr(values=values)):
                return self.scope.shape(values)
            case Literal(expr=PrimValue(value=prim)) if not isinstance(prim, (IntImm, FloatImm)):
                return self.scope.prim(prim)
            case Literal(expr=expr):
                operand = self.scope.literal_operand(expr, self.program)
                if operand is None:
                    raise InternalError(f"lowering {self.name}: {expr!r} cannot be a value")
                return self.scope.call_into("vm.builtin.identity", [operand])

    def fresh(self, constant: Constant) -> int:
        """An evaluated constant: a tensor with its own memory."""
        return self.scope.call_into("vm.builtin.copy", [self.program.builder.convert_constant(constant.data)])
