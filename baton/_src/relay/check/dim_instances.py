"""Instantiate a function's own dim variables at each call.

    @f : fn (Tensor[(n, m), float32]) -> Tensor[(n), float32]
    @f(%x: Tensor[(3, 4), float32]) : Tensor[(3), float32]

A call replaces them by holes, which unification with the arguments fills. Holes left open become the variable again.
Calculated dims (n + 1) of parameters unify with every dim: equality with the argument's is checked at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.ir.types import FuncType, IncompleteType, TensorType, Type, TypeKind
from baton._src.relay.check.unify import Unifier
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import AnyDim, Var


def dim_variables(type_: Any) -> list[Var]:
    """The dim variables in `type_`, calculated dims included."""
    return [part for part in post_order(type_) if isinstance(part, Var)]


def without_variables(type_: Any) -> Any:
    """`type_` with `?` for dims that are variables of another function, of which nothing is known here."""
    return _with_dims(type_, lambda dim: AnyDim() if isinstance(dim, PrimExpr) and dim_variables(dim) else dim)


class DimInstance:
    """One call of a function of type `callee`, in which the variables `own` are its own.

    `opened` is the type to instantiate and to unify with the arguments; `closed` gives the type of the call then.
    """

    def __init__(self, callee: FuncType, own: Collection[Var], unifier: Unifier) -> None:
        self._unifier = unifier
        self._holes = {variable: IncompleteType(TypeKind.ShapeVar) for variable in own}
        self.opened = callee
        if own:
            taken = _with_dims((callee.arg_types, callee.type_constraints), self._hole)
            given = _with_dims(callee.ret_type, lambda dim: self._holes.get(dim, dim))
            self.opened = callee.with_fields(arg_types=taken[0], type_constraints=taken[1], ret_type=given)

    def closed(self, result: Any) -> Any:
        """`result` with the sizes that the arguments have."""
        if not self._holes:
            return result
        for variable, hole in self._holes.items():
            if isinstance(self._unifier.find(hole), IncompleteType):
                self._unifier.unify_dims(hole, variable)
        return _with_dims(self._unifier.resolve(result), self._size)

    def _hole(self, dim: Any) -> Any:
        return AnyDim() if self._is_calculated(dim) else self._holes.get(dim, dim)

    def _size(self, dim: Any) -> Any:
        """A calculated dim, with the sizes of this call; `?` if one of them is not known."""
        if not self._is_calculated(dim):
            return dim
        sizes = {part: self._unifier.find(self._holes[part]) for part in dim_variables(dim) if part in self._holes}
        if any(isinstance(size, (AnyDim, Type)) for size in sizes.values()):
            return AnyDim()
        return Analyzer().simplify(substitute(dim, sizes))

    def _is_calculated(self, dim: Any) -> bool:
        """Whether `dim` is an expression of the function's own variables."""
        is_expression = isinstance(dim, PrimExpr) and not isinstance(dim, Var)
        return is_expression and any(part in self._holes for part in dim_variables(dim))


def _with_dims(types: Any, dim: Callable[[Any], Any]) -> Any:
    """`types` with `dim` applied to every dim."""

    def rule(found: Any) -> Any:
        if not isinstance(found, TensorType) or not isinstance(found.shape, tuple):
            return None
        shape = tuple(map(dim, found.shape))
        return None if all(a is b for a, b in zip(shape, found.shape)) else found.with_fields(shape=shape)

    return rewrite(types, rule)
