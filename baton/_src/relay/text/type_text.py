"""Types in the text of a Relay definition: type variables have names of their own, and a scope."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from baton._src.ir.types import FuncType, GlobalTypeVar, IncompleteType, TensorType, Type, TypeVar
from baton._src.relay.check.show import show_type, show_type_params
from baton._src.relay.check.substitute import parts as type_parts
from baton._src.relay.text.unique_names import UniqueNames
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.tir.expr import Var as DimVar


class TypeText:
    """Prints types. `declared`: the types that the text defines; None where it is no module."""

    def __init__(self) -> None:
        self.declared: Collection[Any] | None = None
        self.begin()

    def begin(self) -> None:
        """A new definition: names and scope begin anew."""
        self._names = UniqueNames({header.name_hint for header in self.declared or ()})
        self._scope: set[Any] = set()
        self._texts: dict[Any, str] = {}

    def params(self, params: tuple[Any, ...]) -> str:
        """Type parameters in brackets, which are in scope from here on."""
        for param in params:
            self._names.of(param)
        self._scope.update(params)
        return show_type_params(params, self._names.given)

    def text(self, type_: Any) -> str:
        """A type."""
        found = self._texts.get(type_)
        if found is None:
            self._names.of_type(type_)
            found = self._texts[type_] = show_type(type_, self._names.given)
        return found

    def is_readable(self, type_: Type) -> bool:
        """Whether a type that was inferred can be written: nothing in it is generalised, unknown or calculated."""
        stack = [type_]
        while stack:
            top = stack.pop()
            match top:
                case IncompleteType():
                    return False
                case TypeVar() if top not in self._scope:
                    return False
                case GlobalTypeVar() if self.declared is not None and top not in self.declared:
                    return False
                case FuncType() if top.type_params:
                    return False
                case TensorType() if isinstance(top.shape, tuple):
                    if not all(isinstance(d, (int, IntImm, AnyDim, DimVar, Type)) for d in top.shape):
                        return False
            stack.extend(type_parts(top))
        return True
