"""Names for a printed program: each variable one name, no two the same, and always something the lexer reads."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.types import TensorType, Type, TypeVar
from baton._src.relay.check.substitute import parts
from baton._src.relay.text.type_reader import dtype_named
from baton._src.tir.expr import Var as DimVar

_WORD = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_GLOBAL = re.compile(r"[A-Za-z_]\w*(?:[./][A-Za-z_]\w*)*\Z", re.ASCII)
_RESERVED = {"Tensor", "fn", "fun", "ref", "_"}


class UniqueNames:
    """`given` maps each variable named so far (of expressions, types and dims) to its name. `known` are the names of
    types, which no variable in a type may have."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known
        self.given: dict[Any, str] = {}
        self._taken: dict[str, int] = {}
        self._seen_types: set[Any] = set()

    def of(self, variable: Any) -> str:
        """The name of a variable."""
        found = self.given.get(variable)
        if found is None:
            hint = str(variable.name_hint)
            found = self._unused(
                hint if _WORD.match(hint) else _readable(hint), isinstance(variable, (TypeVar, DimVar))
            )
            self.given[variable] = found
        return found

    def _unused(self, hint: str, in_types: bool) -> str:
        while in_types and (hint in _RESERVED or hint in self._known or dtype_named(hint) is not None):
            hint = f"{hint}_"
        count = self._taken.get(hint)
        if count is None:
            self._taken[hint] = 0
            return hint
        while True:
            count += 1
            candidate = f"{hint}{count}"
            if candidate not in self._taken:
                self._taken[hint] = count
                self._taken[candidate] = 0
                return candidate

    def of_type(self, type_: Type) -> None:
        """Name the type variables and dim variables in a type."""
        if type_ in self._seen_types:
            return
        stack = [type_]
        while stack:
            top = stack.pop()
            if isinstance(top, TypeVar):
                self.of(top)
            elif isinstance(top, TensorType) and isinstance(top.shape, tuple):
                for dim in top.shape:
                    if isinstance(dim, DimVar):
                        self.of(dim)
            if isinstance(top, Type):
                self._seen_types.add(top)
                stack.extend(reversed(list(parts(top))))


def _readable(hint: str) -> str:
    word = re.sub(r"\W", "_", hint, flags=re.ASCII) or "v"
    return word if _WORD.match(word) else f"v{word}"


def global_name(var: GlobalVar) -> str:
    """A global's name as text; one that is no word (`fused-1`, `a b`) is quoted."""
    name = var.name_hint
    return name if _GLOBAL.match(name) else json.dumps(name, ensure_ascii=False)
