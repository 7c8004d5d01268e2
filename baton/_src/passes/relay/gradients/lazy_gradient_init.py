"""LazyGradientInit: materialise the tensors of zeros and ones that gradients start from only when they are needed.

Every float tensor becomes a `GradCell` of the Prelude: a value (`Raw`), or a function that makes ones or zeros.

    add(zeros_like(%x), %y)      becomes      @AddGradCell(add, Zero(fn () { zeros_like(%x) }), Raw(%y))

which is just `Raw(%y)` when it runs. Sums and products of cells of one type use `AddGradCell` and `MultiplyGradCell`;
all other operators get the tensors. Functions of the module keep their interfaces.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, FuncType, TensorType, TupleType, Type, TypeCall
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.first_order.adt_twins import TwinBody, TypeTwins
from baton._src.passes.relay.first_order.monomorphic_form import monomorphic_form, translated_attrs
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import parts, with_parts
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relay.prelude.load import constructor_of, import_text
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType

LAZY = {"zeros_like": "Zero", "zeros": "Zero", "ones_like": "One", "ones": "One"}
COMBINED = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}


@dataclass(frozen=True)
class LazyGradientInit(Pass):
    """See the module's docstring. A function that takes or returns functions, or data that contains tensors, is left
    unchanged.
    """

    opt_level: ClassVar[int] = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        prepared = monomorphic_form(module)
        whole = import_text("gradient", prepared, CATALOGUE, complete=True)
        cells = _Cells(prepared, whole)
        old = {v: f for v, f in prepared.functions.items() if isinstance(f, Function) and not f.type_params}
        for var in old:
            cells.names[var.name_hint] = GlobalVar(free_name(f"{var.name_hint}_lazy", whole))
        made = dict(whole.functions)
        for var, function in old.items():
            made[cells.names[var.name_hint]] = run(_Function(cells).function(function))
            made[var] = cells.entry(var, function)
        return infer_type(cells.twins.with_definitions(whole).with_functions(made))


class _Cells:
    """Types and values as cells."""

    def __init__(self, module: IRModule, whole: IRModule) -> None:
        self.names: dict[str, GlobalVar] = {}
        self._whole = whole
        self._cell = whole.get_global_type_var("GradCell")
        self.twins = TypeTwins(module, "_lazy", self.is_cell, lambda t: TypeCall(self._cell, (t,)))

    @staticmethod
    def is_cell(type_: Type) -> bool:
        """Whether values of a type are represented by cells."""
        return isinstance(type_, TensorType) and isinstance(type_.dtype, DataType) and type_.dtype.is_float

    def make(self, constructor: str, value: GraphExpr) -> Call:
        """`Raw(value)`, `Zero(value)`, `One(value)`"""
        return Call(constructor_of(self._whole, "GradCell", constructor), (value,))

    def call(self, name: str, *args: Any) -> Call:
        """A function of the Prelude."""
        return Call(self._whole.get_global_var(name), args)

    def packed(self, value: GraphExpr, type_: Type) -> Any:
        """Convert tensors to cells; recursion is only as deep as the declared interface."""
        if isinstance(type_, TupleType):
            return Tuple([self.packed(TupleGetItem(value, i), t) for i, t in enumerate(type_.fields)])
        return self.make("Raw", value) if self.is_cell(type_) else value

    def unpacked(self, value: GraphExpr, type_: Type) -> Any:
        """Convert cells to tensors."""
        if isinstance(type_, TupleType):
            return Tuple([self.unpacked(TupleGetItem(value, i), t) for i, t in enumerate(type_.fields)])
        return self.call("FromGradCell", value) if self.is_cell(type_) else value

    def entry(self, var: GlobalVar, function: Function) -> Function:
        """The function with its original interface."""
        type_ = function.checked_type
        if not all(_is_plain(t) for t in (*type_.arg_types, type_.ret_type)):
            return function
        params = [Var(p.name_hint, t) for p, t in zip(function.params, type_.arg_types)]
        args = [self.packed(p, t) for p, t in zip(params, type_.arg_types)]
        result = Var("result")
        body = Let(result, Call(self.names[var.name_hint], args), self.unpacked(result, type_.ret_type))
        return Function(params, body, type_.ret_type, None, translated_attrs(function))


def _is_plain(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return all(_is_plain(f) for f in type_.fields)
    return isinstance(type_, TensorType)


class _Function(TwinBody):
    """One function in A-normal form, over cells."""

    def __init__(self, cells: _Cells) -> None:
        super().__init__(cells.twins)
        self._cells = cells

    def function(self, function: Function) -> Task[Any]:
        type_ = function.checked_type
        assert isinstance(type_, FuncType)
        params = [self._var(p) for p in function.params]
        body = yield self._chain(function.body)
        result = self._cells.twins.type(type_.ret_type)
        return Function(params, body, result, None, translated_attrs(function), function.span)

    def _value(self, expr: GraphExpr, name: Var | None) -> Task[Any]:
        match expr:
            case Function():
                return (yield self.function(expr))
            case If():
                branches = ((yield self._chain(expr.true_branch)), (yield self._chain(expr.false_branch)))
                return If(self._atom(expr.cond), *branches, span=expr.span)
            case Match():
                clauses = []
                for clause in expr.clauses:
                    rhs = yield self._chain(clause.rhs)
                    clauses.append(clause.with_fields(lhs=self._cells.twins.pattern(clause.lhs, self._var), rhs=rhs))
                return Match(self._atom(expr.data), tuple(clauses), expr.complete, span=expr.span)
            case Call() if isinstance(expr.op, Op):
                return self._operator(expr)
            case Call():
                args = [self._atom(a) for a in expr.args]
                return Call(self._atom(expr.op), args, None, self._cells.twins.type_args(expr), expr.span)
            case Var() | Constant() | Constructor():
                return self._atom(expr)
            case _:
                return with_parts(expr, {p: self._atom(p) for p in parts(expr)})

    def _operator(self, call: Call) -> Any:
        cells, type_, name = self._cells, call.checked_type, call.op.name
        args = [a if isinstance(a, Constant) else cells.unpacked(self._atom(a), a.checked_type) for a in call.args]
        plain = Call(call.op, args, call.attrs, span=call.span)
        if not cells.is_cell(type_):
            return cells.packed(plain, type_)
        if name in LAZY:
            return cells.make(LAZY[name], Function((), plain, type_))
        same = all(str(a.checked_type) == str(type_) for a in call.args)
        if name in COMBINED and same:
            left, right = Var("a", type_), Var("b", type_)
            combine = Function([left, right], Call(call.op, (left, right), call.attrs), type_)
            return cells.call(COMBINED[name], combine, *(self._atom(a) for a in call.args))
        return cells.make("Raw", plain)

    def _atom(self, expr: GraphExpr) -> Any:
        match expr:
            case Var():
                return self._var(expr)
            case Constant():
                return self._cells.packed(expr, expr.checked_type)
            case GlobalVar():
                return self._cells.names.get(expr.name_hint, expr)
            case Constructor():
                return self._cells.twins.constructor(expr)
            case _:
                return expr
