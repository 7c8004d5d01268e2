"""Unification of Relay types: holes are bound, dims and dtypes compared, every difference named.

Holes are `IncompleteType`s of a kind (Type, Shape, ShapeVar, BaseType). Each has a level: the depth of let-bound
function literals it was made in; a let-bound function generalises the holes of its own level (see `solver`).
Rules: facts relay-language §1, Unify.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeVar,
)
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves, map_type
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import AnyDim, IntImm, Var
from baton._src.values.dtype import DataType


class Mismatch(Exception):
    """Two types do not unify; the text names the parts that differ."""


class Unifier:
    """The substitution built so far. `on_bind` is called for every hole that is bound."""

    def __init__(self, on_bind: Callable[[Any], None], instantiate: Callable[[FuncType], FuncType]) -> None:
        self.bindings: dict[Any, Any] = {}
        self.levels: dict[Any, int] = {}
        self.numeric: set[Any] = set()
        """Dtype holes of text literals: they never become bool (contradictions B-02)."""
        self.poison: set[Any] = set()
        """Holes for the types of expressions already reported: they unify with everything."""
        self.level = 0
        self._on_bind = on_bind
        self._instantiate = instantiate

    # ---- holes

    def hole(self, kind: TypeKind = TypeKind.Type) -> IncompleteType:
        """A new hole of the current level."""
        made = IncompleteType(kind)
        self.levels[made] = self.level
        return made

    def literal_hole(self) -> IncompleteType:
        """The open dtype of an unsuffixed literal: one constant, so it is never generalised."""
        made = IncompleteType(TypeKind.BaseType)
        self.levels[made] = 0
        self.numeric.add(made)
        return made

    def poisoned(self) -> IncompleteType:
        """The type of an expression that was reported already."""
        made = self.hole()
        self.poison.add(made)
        return made

    def find(self, type_: Any) -> Any:
        """The representative of `type_`: bound holes are followed at the root."""
        if type(type_) is not IncompleteType:
            return type_
        bindings = self.bindings
        seen = []
        while type(type_) is IncompleteType and type_ in bindings:
            seen.append(type_)
            type_ = bindings[type_]
        for hole in seen[:-1]:
            bindings[hole] = type_
        return type_

    def resolve(self, type_: Any) -> Any:
        """`type_` with everything known filled in."""

        def leaf(found: Any) -> Any:
            root = self.find(found)
            return root if root is found or isinstance(root, (TypeVar, IncompleteType)) else map_type(root, leaf)

        return map_type(type_, leaf)

    def open_holes(self, type_: Any) -> list[IncompleteType]:
        """The unbound holes in `type_`."""
        return [leaf for leaf in leaves(self.resolve(type_)) if isinstance(leaf, IncompleteType)]

    def _bind(self, hole: Any, type_: Any) -> None:
        level = self.levels.get(hole, 0)
        for leaf in leaves(self.resolve(type_)):
            if leaf is hole:
                raise Mismatch(f"a type would contain itself: {show_type(self.resolve(type_))}")
            if type(leaf) is IncompleteType and self.levels.get(leaf, 0) > level:
                self.levels[leaf] = level
        if hole in self.poison or (type(type_) is IncompleteType and type_ in self.poison):
            self.poison.update(h for h in (hole, type_) if type(h) is IncompleteType)
        self.bindings[hole] = type_
        self._on_bind(hole)

    # ---- unification

    def unify(self, left: Any, right: Any) -> Any:
        """Unify both types and return the result; `Mismatch` if they differ."""
        left, right = self.find(left), self.find(right)
        if left is right:
            return left
        if type(left) is IncompleteType or type(right) is IncompleteType:
            return self._unify_hole(left, right)
        left, right = _as_call(left), _as_call(right)
        match left, right:
            case TensorType(), TensorType():
                return self._unify_tensors(left, right)
            case TupleType(), TupleType() if len(left.fields) == len(right.fields):
                return TupleType(tuple(self.unify(a, b) for a, b in zip(left.fields, right.fields)))
            case FuncType(), FuncType():
                return self._unify_functions(left, right)
            case RelayRefType(), RelayRefType():
                return RelayRefType(self.unify(left.value, right.value))
            case TypeCall(), TypeCall() if left.func is right.func and len(left.args) == len(right.args):
                return TypeCall(left.func, tuple(self.unify(a, b) for a, b in zip(left.args, right.args)))
        raise self._mismatch(left, right)

    def _mismatch(self, left: Any, right: Any, detail: str = "") -> Mismatch:
        text = f"{show_type(self.resolve(left))} does not fit {show_type(self.resolve(right))}"
        return Mismatch(f"{text}: {detail}" if detail else text)

    def _unify_hole(self, left: Any, right: Any) -> Any:
        if type(left) is not IncompleteType:
            left, right = right, left
        if type(right) is IncompleteType and left in self.numeric and right not in self.numeric:
            left, right = right, left
        if left.kind is not TypeKind.Type and isinstance(right, (TensorType, TupleType, FuncType)):
            raise self._mismatch(left, right)
        self._bind(left, right)
        return right

    def _unify_tensors(self, left: TensorType, right: TensorType) -> TensorType:
        try:
            shape = self._unify_shapes(left.shape, right.shape)
            dtype = self.unify_dtypes(left.dtype, right.dtype)
        except Mismatch as error:
            raise self._mismatch(left, right, str(error)) from None
        return left if shape is left.shape and dtype is left.dtype else left.with_fields(shape=shape, dtype=dtype)

    def _met(self, left: Any, right: Any) -> Any:
        """What both are if they are one thing, or one of them is a hole, which is then bound; else None."""
        if left is right:
            return left
        for one, other in ((left, right), (right, left)):
            if type(one) is IncompleteType:
                self._bind(one, other)
                return other
        return None

    def _unify_shapes(self, left: Any, right: Any) -> Any:
        left, right = self.find(left), self.find(right)
        if (found := self._met(left, right)) is not None:
            return found
        if isinstance(left, TypeVar) or isinstance(right, TypeVar):
            raise Mismatch("a shape parameter is not a particular shape")
        if len(left) != len(right):
            raise Mismatch(f"rank {len(left)} against rank {len(right)}")
        dims: list[Any] = []
        differing: list[str] = []
        for axis, (a, b) in enumerate(zip(left, right)):
            found = self.unify_dims(a, b)
            if found is None:
                differing.append(f"dim {axis} is {show_type(self.find(a))} against {show_type(self.find(b))}")
            dims.append(found)
        if differing:
            raise Mismatch(", ".join(differing))
        return left if all(a is b for a, b in zip(left, dims)) else tuple(dims)

    def unify_dims(self, left: Any, right: Any) -> Any:
        """The dim both are, or None. `?` fits every dim and stays `?` (facts: either Any gives Any)."""
        left, right = self.find(left), self.find(right)
        if (found := self._met(left, right)) is not None:
            return found
        for one in (left, right):
            if isinstance(one, AnyDim):
                return one
        if isinstance(left, IntImm) and isinstance(right, IntImm):
            return left if left.value == right.value else None
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Var):
                return other  # a dim variable fits any dim; that the values agree is checked when running
        if isinstance(left, PrimExpr) and isinstance(right, PrimExpr) and Analyzer().can_prove_equal(left, right):
            return left
        return None

    def unify_dtypes(self, left: Any, right: Any) -> Any:
        left, right = self.find(left), self.find(right)
        if left is right or (isinstance(left, DataType) and left == right):
            return left
        if type(left) is IncompleteType or type(right) is IncompleteType:
            if type(left) is not IncompleteType or (type(right) is IncompleteType and left in self.numeric):
                left, right = right, left
            if left in self.numeric and (isinstance(right, TypeVar) or right == "bool"):
                raise Mismatch(f"a number is not of dtype {show_type(right)}")
            self._bind(left, right)
            return right
        raise Mismatch(f"dtype {show_type(left)} against {show_type(right)}")

    def _unify_functions(self, left: FuncType, right: FuncType) -> Any:
        if len(left.arg_types) != len(right.arg_types):
            raise self._mismatch(left, right, f"{len(left.arg_types)} against {len(right.arg_types)} parameters")
        if left.type_params and len(left.type_params) == len(right.type_params):
            renamed = dict(zip(right.type_params, left.type_params))
            right = map_type(right, lambda leaf: renamed.get(leaf, leaf))
        else:
            # A polymorphic function where a particular one is wanted: this use decides its parameters.
            left = self._instantiate(left) if left.type_params else left
            right = self._instantiate(right) if right.type_params else right
        args = tuple(self.unify(a, b) for a, b in zip(left.arg_types, right.arg_types))
        return left.with_fields(arg_types=args, ret_type=self.unify(left.ret_type, right.ret_type))


def _as_call(type_: Type) -> Type:
    """`Nat` and `Nat[]` are the same type (contradictions B-08)."""
    return TypeCall(type_, ()) if isinstance(type_, GlobalTypeVar) else type_
