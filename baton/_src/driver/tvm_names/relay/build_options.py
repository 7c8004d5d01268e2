"""`relay.backend.Executor` and `Runtime`: options of scripts on how a program is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton._src.support.diagnostics import fail

_EXECUTORS = ("graph", "aot", "vm")
_RUNTIMES = ("cpp", "crt")


@dataclass(frozen=True)
class Executor:
    """`Executor("graph", {"link-params": True})`. All executors are faces of one machine; options are kept, unused."""

    name: str
    options: Mapping[str, Any] | None = None
    attrs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        _check("executor", self.name, _EXECUTORS)
        object.__setattr__(self, "attrs", dict(self.options or {}))

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]


@dataclass(frozen=True)
class Runtime:
    """`Runtime("cpp")`. There is one runtime, baton's; the name and options are kept, unused."""

    name: str
    options: Mapping[str, Any] | None = None
    attrs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        _check("runtime", self.name, _RUNTIMES)
        object.__setattr__(self, "attrs", dict(self.options or {}))

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]


def _check(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise fail("api", f"there is no {what} {name!r}", help=f"one of {', '.join(known)}")
