"""Name lookup in a script: the roots `I`, `R`, `T`, variables of the program, captured Python variables.

Only objects reached from the roots (and, under a decorator, from captured variables) are ever called, so reading a
script does not execute it.
"""

from __future__ import annotations

import builtins
import difflib
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from baton._src.relax.nodes import Expr
from baton._src.relax.tensor_fields import ElementType
from baton._src.support.diagnostics import fail
from baton._src.support.python_in_scripts import OpenToText, short_range

_PLAIN = ("float", "int", "bool", "str", "len", "range", "tuple", "list", "min", "max", "abs", "sum")
SAFE_BUILTINS: Mapping[str, Any] = {name: getattr(builtins, name) for name in _PLAIN} | {
    "True": True,
    "False": False,
    "None": None,
}
_SEVERAL_DEVICES = "baton compiles for one CPU: tensors and calls that are spread over devices are not offered"
_NOT_OFFERED = dict.fromkeys(("ccl", "dist", "distributed", "device_mesh", "DTensor"), _SEVERAL_DEVICES)
"""Names of TVM's `R` that are not supported, and why."""
MISSING = object()


class ScriptNamespace(OpenToText):
    """A namespace with attributes, possibly nested: the value of `R`, `T` and `I` in a script."""

    def __init__(self, entries: Mapping[str, Any], title: str = "") -> None:
        self._entries: dict[str, Any] = {}
        self._title = title
        for dotted, value in entries.items():
            self._put(dotted, value)

    def _put(self, dotted: str, value: Any) -> None:
        head, _, rest = dotted.partition(".")
        if not rest:
            present = self._entries.get(head)
            if not isinstance(present, ScriptNamespace):
                self._entries[head] = value
            return
        inner = self._entries.get(head)
        if not isinstance(inner, ScriptNamespace):
            inner = self._entries[head] = ScriptNamespace({}, f"{self._title}.{head}")
        inner._put(rest, value)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_entries", {}).get(name, MISSING)
        if found is MISSING:
            raise AttributeError(f"{self.__dict__.get('_title', '')} has no {name!r}")
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


class Environment:
    """Names in nested scopes over fixed roots.

    `captured`: Python variables in scope at the decorator; None for text, which may use the roots only.
    """

    def __init__(self, roots: Mapping[str, Any], captured: Mapping[str, Any] | None = None) -> None:
        self.roots = roots
        self.captured = captured
        self.scopes: list[dict[str, Any]] = [{}]
        self.ended: dict[str, Any] = {}
        """Names whose scope has ended: they still resolve, so that the checker can report where they were used."""
        self.failed: set[str] = set()
        """Names whose definition had an error: their uses are not reported."""
        self.late_uses: dict[Any, Any] = {}
        """For each variable used after its scope ended: where it is defined, and the first such use."""

    @property
    def is_trusted(self) -> bool:
        """Whether the text is part of running Python code, so that captured objects may be called."""
        return self.captured is not None

    def get(self, name: str) -> Any:
        """The value of `name`, or `MISSING`."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        for table in (self.captured or {}, self.roots, SAFE_BUILTINS, self.ended):
            if name in table:
                return table[name] if table[name] is not range or self.is_trusted else short_range
        return getattr(builtins, name, MISSING) if self.is_trusted else MISSING

    def visible(self) -> dict[str, Any]:
        """Every name visible here, with its value."""
        names: dict[str, Any] = {**self.roots, **(self.captured or {})}
        for scope in self.scopes:
            names.update(scope)
        return names

    def has_ended(self, name: str) -> bool:
        """Whether `name` refers to something whose scope has ended."""
        others = (self.captured or {}, self.roots, SAFE_BUILTINS)
        return name in self.ended and not self.is_local(name) and not any(name in table for table in others)

    def near(self, name: str) -> str | None:
        """A hint that lists similar names in scope."""
        return _near(name, [n for scope in self.scopes for n in scope] + list(self.roots))

    def define(self, name: str, value: Any) -> None:
        """Bind `name` in the innermost scope."""
        self.failed.discard(name)
        self.scopes[-1][name] = value

    def is_local(self, name: str) -> bool:
        """Whether the program itself binds `name`."""
        return any(name in scope for scope in self.scopes)

    @contextmanager
    def scope(self) -> Iterator[dict[str, Any]]:
        """An inner scope; its names end with it."""
        inner: dict[str, Any] = {}
        self.scopes.append(inner)
        try:
            yield inner
        finally:
            self.scopes.pop()
            self.ended.update(inner)

    def attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`; text may access only the roots and their contents."""
        if name.startswith("_") and not self.is_trusted:
            raise fail("script-name", f"{name!r} cannot be used in a script")
        if not self.is_trusted and not isinstance(owner, _OPEN_TO_TEXT) and not _is_tensor_field(owner, name):
            raise fail("script-name", f"attribute {name!r} of {owner!r} cannot be used in a script")
        try:
            return getattr(owner, name)
        except AttributeError:
            known = [n for n in dir(owner) if not n.startswith("_")]
            help = _NOT_OFFERED.get(name) or _near(name, known)
            raise fail("script-name", f"{_title(owner)} has no {name!r}", help=help) from None


_OPEN_TO_TEXT = (OpenToText, types.ModuleType, ElementType)
_TENSOR_FIELDS = frozenset({"dtype", "ndim", "shape", "strides", "byte_offset", "elem_offset"})


def _is_tensor_field(owner: Any, name: str) -> bool:
    """Whether `owner.name` is a part of a tensor, computed when the program runs."""
    return isinstance(owner, Expr) and name in _TENSOR_FIELDS


def _title(owner: Any) -> str:
    return getattr(owner, "_title", "") or getattr(owner, "__name__", "") or repr(owner)


def _near(name: str, known: list[str]) -> str | None:
    found = difflib.get_close_matches(name, known, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(found)}?" if found else None
