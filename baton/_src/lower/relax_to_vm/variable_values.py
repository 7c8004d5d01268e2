"""What the variables of a function stand for while it is read: values that are computed, tuples, constants, shapes."""

from __future__ import annotations

from baton._src.ir.expr import GraphExpr
from baton._src.lower.relax_to_vm.abstract_values import Fields, Literal, Value
from baton._src.relax.nodes import Constant, ShapeExpr, Tuple, TupleGetItem, Var


class NoValue(Exception):
    """Raised for an expression whose value is unknown when compiling."""


class Values(dict[Var, Value]):
    """The values by variable."""

    def of(self, expr: GraphExpr) -> Value:
        """The value of a name, a tuple, a field, a constant or a shape; `NoValue` for anything else."""
        match expr:
            case Var():
                if expr in self:
                    return self[expr]
            case Tuple(fields=fields):
                return Fields(tuple(self.of(f) for f in fields))
            case TupleGetItem(tuple_value=source, index=index):
                whole = self.of(source)
                if isinstance(whole, Fields):
                    return whole.fields[index]
            case Constant() | ShapeExpr():
                return Literal(expr)
            case _:
                pass
        raise NoValue
