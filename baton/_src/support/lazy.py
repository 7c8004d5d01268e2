"""Lazy packages: the public face is a table of names, each resolved on first use.

    __getattr__, __dir__, __all__ = attach(__name__, {"Call": "baton._src.relay.nodes:Call"})

A target is `module:attribute`, or a module alone for a submodule served under this name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

# Loaded when a name is missing, not before: `difflib` and the list of names left out cost `import baton` too much.
_MISSING = "baton._src.support.missing_name:message"
_WHY_LEFT_OUT = "baton._src.driver.tvm_names.absent:reason"
_SPLIT_OFF = "baton._src.driver.tvm_names.split_modules:serving"


def attach(
    package: str,
    table: Mapping[str, str],
    before: Callable[[], None] | None = None,
    more: Callable[[], Mapping[str, Any]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`(__getattr__, __dir__, __all__)` for the module `package`.

    `before` runs once, before anything is resolved; `more` gives further names (operators' builders) on first need.
    """
    pending = [before] if before is not None else []
    further: dict[str, Any] = {}

    def extend() -> None:
        if more is not None and not further:
            further.update(more())

    def resolve(name: str) -> Any:
        while pending:
            pending.pop()()
        if name not in table:
            if not name.startswith("_"):
                extend()
            if name in further:
                found = further[name]
            elif (served_by := _load(_SPLIT_OFF)(f"{package}.{name}".partition(".")[2])) is not None:
                found = _load(served_by)
            else:
                raise AttributeError(_load(_MISSING)(package, name, listing, _load(_WHY_LEFT_OUT)))
        else:
            found = _load(table[name])
        setattr(sys.modules[package], name, found)
        return found

    def listing() -> list[str]:
        extend()
        there = vars(sys.modules[package]).items()  # what makes the table is no name of the package
        found = {name for name, value in there if name.startswith("__") or isinstance(value, ModuleType)}
        return sorted({*table, *further, *found})

    return resolve, listing, sorted(table)


def _load(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    found: Any = importlib.import_module(module_name)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, part)
    return found


def names(module: str, listed: str) -> dict[str, str]:
    """Table rows for attributes of one module of the implementation: `names("relay.nodes", "Call Let")`."""
    return {name: f"baton._src.{module}:{name}" for name in listed.split()}


def renamed(module: str, **public: str) -> dict[str, str]:
    """Table rows for attributes served under another name: `renamed("tir.expr", Any="AnyDim")`."""
    return {name: f"baton._src.{module}:{attribute}" for name, attribute in public.items()}


def submodules(package: str, listed: str) -> dict[str, str]:
    """Rows of the table for submodules of the public package, imported on first use."""
    return {name: f"{package}.{name}" for name in listed.split()}
