"""`relay.TypeFunctor`, `TypeVisitor`, `TypeMutator`: users' walks over types (`visit_tensor_type`, ...).

Types are as deep as somebody wrote them, so these recurse plainly.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.types import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
)
from baton._src.support.diagnostics import fail

METHODS: dict[type, str] = {
    TypeVar: "visit_type_var",
    IncompleteType: "visit_incomplete_type",
    TensorType: "visit_tensor_type",
    FuncType: "visit_func_type",
    TupleType: "visit_tuple_type",
    TypeRelation: "visit_type_relation",
    RelayRefType: "visit_ref_type",
    GlobalTypeVar: "visit_global_type_var",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
    Constructor: "visit_constructor",
}


class TypeFunctor:
    """Calls the method for a type's class."""

    methods: ClassVar[dict[type, str]] = METHODS

    def visit(self, typ: Any) -> Any:
        """The result for `typ`."""
        name = self.methods.get(type(typ))
        if name is None:
            raise fail("api", f"{type(self).__name__} has no method for a {type(typ).__name__}")
        return getattr(self, name)(typ)

    def _missing(self, typ: Any) -> Any:
        name = self.methods[type(typ)]
        raise fail("api", f"{type(self).__name__} has no {name}", help=f"define {name}(self, type)")

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = visit_tuple_type = _missing
    visit_type_relation = visit_ref_type = visit_global_type_var = visit_type_call = visit_type_data = _missing
    visit_constructor = _missing


def type_parts(typ: Any) -> tuple[Any, ...]:
    """The types directly in `typ`; type parameters are binders and left out."""
    match typ:
        case FuncType():
            return (*typ.arg_types, typ.ret_type)
        case TupleType():
            return tuple(typ.fields)
        case TypeRelation():
            return tuple(typ.args)
        case RelayRefType():
            return (typ.value,)
        case TypeCall():
            return (typ.func, *typ.args)
        case TypeData():
            return (typ.header, *typ.constructors)
        case Constructor():
            return tuple(typ.inputs)
        case _:
            return ()


class TypeVisitor(TypeFunctor):
    """Visits every type inside."""

    def _visit_parts(self, typ: Any) -> Any:
        for part in type_parts(typ):
            self.visit(part)

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = visit_tuple_type = _visit_parts
    visit_type_relation = visit_ref_type = visit_global_type_var = visit_type_call = visit_type_data = _visit_parts
    visit_constructor = _visit_parts


class TypeMutator(TypeFunctor):
    """Rebuilds types from their parts' results; what does not change stays the same object."""

    def _each(self, types: Any) -> tuple[Any, ...]:
        made = tuple(self.visit(t) for t in types)
        return types if all(a is b for a, b in zip(made, types)) else made

    def _same(self, typ: Any) -> Any:
        return typ

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_global_type_var = _same

    def visit_func_type(self, ft: Any) -> Any:
        return ft.with_fields(arg_types=self._each(ft.arg_types), ret_type=self.visit(ft.ret_type))

    def visit_tuple_type(self, tt: Any) -> Any:
        return tt.with_fields(fields=self._each(tt.fields))

    def visit_type_relation(self, tr: Any) -> Any:
        return tr.with_fields(args=self._each(tr.args))

    def visit_ref_type(self, rt: Any) -> Any:
        return rt.with_fields(value=self.visit(rt.value))

    def visit_type_call(self, tc: Any) -> Any:
        return tc.with_fields(func=self.visit(tc.func), args=self._each(tc.args))

    def visit_type_data(self, td: Any) -> Any:
        return td.with_fields(constructors=self._each(td.constructors))

    def visit_constructor(self, c: Any) -> Any:
        return c.with_fields(inputs=self._each(c.inputs))
