"""Lazy packages: the public face is a table of names, each resolved on first use.

    __getattr__, __dir__, __all__ = attach(__name__, {"Call": "baton._src.relay.nodes:Call"})

A target is `module:attribute`, or a module alone for a submodule served under this name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, names: Mapping[str, str], before: Callable[[], None] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`(__getattr__, __dir__, __all__)` for the module `package`; `before` runs once, before anything is resolved."""
    pending = [before] if before is not None else []

    def resolve(name: str) -> Any:
        target = names.get(name)
        if target is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        while pending:
            pending.pop()()
        module_name, _, attribute = target.partition(":")
        found: Any = importlib.import_module(module_name)
        for part in attribute.split(".") if attribute else ():
            found = getattr(found, part)
        setattr(sys.modules[package], name, found)
        return found

    return resolve, lambda: sorted({*names, *vars(sys.modules[package])}), sorted(names)


def names(module: str, listed: str) -> dict[str, str]:
    """Table rows for several attributes of one module: `names("relay.nodes", "Call Let")`, relative to the implementation."""
    return {name: f"baton._src.{module}:{name}" for name in listed.split()}


def renamed(module: str, **public: str) -> dict[str, str]:
    """Table rows for attributes served under another name: `renamed("tir.expr", Any="AnyDim")`."""
    return {name: f"baton._src.{module}:{attribute}" for name, attribute in public.items()}


def submodules(package: str, listed: str) -> dict[str, str]:
    """Table rows for submodules of the face, imported on first use."""
    return {name: f"{package}.{name}" for name in listed.split()}
