"""Dual numbers in Relay, `(T, ref(T))`: a float tensor with a reference to its gradient; how they are built and
read.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import RelayRefType, TensorType, TupleType, Type
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.first_order.adt_twins import TypeTwins
from baton._src.relay.nodes import Constant, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType

UNIT = TupleType(())


class Duals:
    """The types of dual numbers: `T` becomes `(T, ref(T))` for a float tensor."""

    def __init__(self, module: IRModule) -> None:
        self.twins = TypeTwins(module, "_ad", self.is_float, lambda t: TupleType((t, RelayRefType(t))))

    def type(self, type_: Type | None) -> Any:
        """The type of the dual number of a value."""
        return self.twins.type(type_)

    @staticmethod
    def is_float(type_: Type) -> bool:
        """Whether values of this type have gradients of their own."""
        if not isinstance(type_, TensorType):
            return False
        if not isinstance(type_.dtype, DataType):
            raise fail(
                "relay-gradient", "cannot differentiate a tensor whose dtype is a type variable", help="specialise it"
            )
        return type_.dtype.is_float

    def has_floats(self, type_: Type) -> bool:
        """Whether there are float tensors in a tensor or tuple."""
        if isinstance(type_, TupleType):
            return any(self.has_floats(f) for f in type_.fields)
        return self.is_float(type_)


class Lets:
    """Collects lets in order, and types them."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self._made: list[tuple[Var, Any]] = []

    def bind(self, value: Any, hint: str, type_: Type | None = None) -> Any:
        """A variable for `value`; names are not bound again."""
        if isinstance(value, (Var, Constant)):
            return value
        var = Var(hint)
        set_note(var, "checked_type_", type_ if type_ is not None else value.checked_type_)
        self._made.append((var, value))
        return var

    def name(self, var: Var, value: GraphExpr) -> None:
        """Bind a variable of the program."""
        self._made.append((var, value))

    def around(self, body: Any) -> Any:
        """The lets, then `body`."""
        for var, value in reversed(self._made):
            body = Let(var, value, body)
        return body

    def item(self, value: GraphExpr, index: int, type_: Type) -> Any:
        """A projection with its type."""
        made = TupleGetItem(value, index)
        set_note(made, "checked_type_", type_)
        return made

    def read(self, ref: Any, type_: Type) -> Any:
        """The content of a reference, bound to a variable."""
        return self.bind(RefRead(ref), "g", type_)

    def accumulate(self, ref: Any, grad: Any, type_: Type) -> None:
        """Add to the gradient that a reference holds."""
        self.bind(RefWrite(ref, self.build.op("add", self.read(ref, type_), grad)), "_", UNIT)


class Translation:
    """The part common to functions and the entry: values with their gradients, component by component."""

    def __init__(self, duals: Duals, names: dict[str, GlobalVar]) -> None:
        self.duals = duals
        self.names = names
        self.build = Build()

    def lifted(self, value: GraphExpr, type_: Type, lets: Lets) -> Any:
        """A value of the program as a dual number with gradient zero."""
        if isinstance(type_, TupleType):
            fields = [lets.item(value, i, t) for i, t in enumerate(type_.fields)]
            named = [lets.bind(f, "p") for f in fields]
            return lets.bind(Tuple([self.lifted(f, t, lets) for f, t in zip(named, type_.fields)]), "d", UNIT)
        if self.duals.is_float(type_):
            zero = RefCreate(self.build.op("zeros_like", value))
            return lets.bind(Tuple((value, lets.bind(zero, "r", RelayRefType(type_)))), "d", UNIT)
        return value

    def primal(self, dual: Any, type_: Type, lets: Lets) -> Any:
        """The value of a dual number (or of a tuple of them)."""
        if not self.duals.has_floats(type_) or isinstance(dual, Constant):
            return dual
        if isinstance(type_, TupleType):
            fields = [lets.bind(TupleGetItem(dual, i), "d", self.duals.type(t)) for i, t in enumerate(type_.fields)]
            return self.build.tuple(*(self.primal(f, t, lets) for f, t in zip(fields, type_.fields)))
        return lets.bind(lets.item(dual, 0, type_), "p")

    def add_gradient(self, dual: Any, type_: Type, grad: Any, lets: Lets) -> None:
        """Add `grad`, a tensor or a tuple, to the gradient of a dual number."""
        if grad is None or not self.duals.has_floats(type_) or isinstance(dual, Constant):
            return
        if isinstance(type_, TupleType):
            for i, field in enumerate(type_.fields):
                if self.duals.has_floats(field):
                    part = lets.bind(TupleGetItem(dual, i), "d", self.duals.type(field))
                    self.add_gradient(part, field, self.build.item(grad, i), lets)
            return
        lets.accumulate(TupleGetItem(dual, 1), grad, type_)

    def gradient(self, dual: Any, type_: Type, lets: Lets) -> Any:
        """The gradient accumulated in a dual number; zeros for a value without one."""
        if isinstance(type_, TupleType):
            fields = [lets.bind(TupleGetItem(dual, i), "d", t) for i, t in enumerate(type_.fields)]
            return self.build.tuple(*(self.gradient(f, t, lets) for f, t in zip(fields, type_.fields)))
        if self.duals.is_float(type_):
            return lets.read(TupleGetItem(dual, 1), type_)
        return self.build.op("zeros_like", dual)
