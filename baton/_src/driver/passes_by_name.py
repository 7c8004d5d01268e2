"""`find_pass(name)`: find the pass that a user's pass names by `required=["InferType"]`.

Every pass is in a module below `passes.relax`, `passes.relay` or `passes.tir` (those are called `tir.Simplify`); they
are searched, which happens rarely. A name in both graph languages refers to that of the module it runs on.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes import relax as relax_passes
from baton._src.passes import relay as relay_passes
from baton._src.passes import tir as tir_passes
from baton._src.relay import nodes as relay
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.passes import Pass


def find_pass(name: str) -> Pass:
    """The pass named `name` with its default options. Error `pass-unknown`: none, or one that needs options."""
    found = [_first(package, called) for package, called in _places(name)]
    there = [p for p in found if p is not None]
    if not there:
        raise fail("pass-unknown", f"a pass requires {name!r}, but there is no such pass")
    return there[0] if len(there) == 1 else _OfLanguage(name, *there)


@dataclass(frozen=True)
class _OfLanguage(Pass):
    """The Relax or the Relay pass of one name, by the module."""

    title: str
    relax_pass: Pass
    relay_pass: Pass

    @property
    def name(self) -> str:
        return self.title

    @property
    def info(self) -> PassInfo:
        return self.relax_pass.info

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        is_relay = any(isinstance(f, relay.Function) for f in module.functions.values())
        return (self.relay_pass if is_relay else self.relax_pass).run(module, ctx)


def name_unknown(name: str) -> str | None:
    """None if a pass is called so, else what that was probably meant to be ("" if nothing is near)."""
    if any(next(passes_named(package, called), None) is not None for package, called in _places(name)):
        return None
    return next(iter(get_close_matches(name, _names(), 1)), "")


def _places(name: str) -> list[tuple[ModuleType, str]]:
    """The packages that a pass of this name may be in, each with its name there."""
    if name.startswith("tir."):
        return [(tir_passes, name.removeprefix("tir."))]
    return [(relax_passes, name), (relay_passes, name)]


def _names() -> list[str]:
    """The names of all passes that modules define."""
    named = ((relax_passes, ""), (relay_passes, ""), (tir_passes, "tir."))
    return [before + c.__name__ for package, before in named for m in _modules(package) for c in vars(m).values()
            if inspect.isclass(c) and issubclass(c, Pass) and c.__module__ == m.__name__]  # fmt: skip


def _first(package: ModuleType, name: str) -> Pass | None:
    for make in passes_named(package, name):
        try:
            made = make()
        except TypeError as error:
            message = f"a pass requires {name!r}, which has no default options"
            raise fail("pass-unknown", message, help="give the pass itself in a Sequential") from error
        if isinstance(made, Pass):
            return made
    return None


def passes_named(package: ModuleType, name: str) -> Iterator[Any]:
    """What modules of the package define under the name: a class of passes, or a function that makes one."""
    for module in _modules(package):
        found = getattr(module, name, None)
        is_pass = inspect.isclass(found) and issubclass(found, Pass)
        if found is not None and found.__module__ == module.__name__ and (is_pass or inspect.isfunction(found)):
            yield found


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.ispkg:
            yield importlib.import_module(info.name)
