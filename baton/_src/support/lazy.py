"""Lazy packages: the public face is a table of names, each resolved on first use.

    __getattr__, __dir__, __all__ = attach(__name__, {"Call": "baton._src.relay.nodes:Call"})

A target is `module:attribute`, or a module alone for a submodule served under this name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any


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
            if name not in further:
                raise AttributeError(_missing(package, name, listing))
            found = further[name]
        else:
            found = _load(table[name])
        setattr(sys.modules[package], name, found)
        return found

    def listing() -> list[str]:
        extend()
        return sorted({*table, *further, *vars(sys.modules[package])})

    return resolve, listing, sorted(table)


def _missing(package: str, name: str, known: Callable[[], Iterable[str]]) -> str:
    """What to say about a name that is not served: the reason where TVM has it, else the name nearest to it."""
    if name.startswith("_"):  # Python asks modules for some such names by itself.
        return f"module {package!r} has no attribute {name!r}"
    path = f"{package}.{name}".partition(".")[2]
    why = _load("baton._src.driver.tvm_names.absent:reason")(path)
    said = f"module {package!r} has no attribute {name!r}"
    if why:
        return f"{said}: baton leaves it out; {why}"
    listed = [k for k in known() if not k.startswith("_")]
    inner = dir(importlib.import_module(f"{package}.nn")) if "nn" in listed and package.count(".") == 1 else []
    paths = {**{n: f"nn.{n}" for n in inner}, **{n: n for n in listed}}
    near = [paths[n] for n in get_close_matches(name, paths, n=1)]
    return f"{said}; did you mean {near[0]}?" if near else said


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
    """Table rows for submodules of the face, imported on first use."""
    return {name: f"{package}.{name}" for name in listed.split()}
