"""`relay.backend.Executor` and `Runtime`: options of scripts on how a program is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_EXECUTORS = {
    "graph": {"link-params": "IntImm"},
    "aot": {
        "link-params": "IntImm",
        "unpacked-api": "IntImm",
        "interface-api": "runtime.String",
        "workspace-byte-alignment": "IntImm",
        "constant-byte-alignment": "IntImm",
    },
}
_RUNTIMES = {"cpp": {"system-lib": "IntImm"}, "crt": {"system-lib": "IntImm"}}
"""Their options, with TVM's names of the types."""
_ELSEWHERE = {
    "vm": "relay.vm.compile compiles for the virtual machine",
    "debug": 'build for "graph"; contrib.debugger.debug_executor.create runs what is built step by step',
}
"""Executors of other functions."""
_LINKS_PARAMETERS = {"graph": False, "aot": True}
"""What `link-params` is where a script does not say."""


@dataclass(frozen=True)
class Executor:
    """`Executor("graph", {"link-params": True})`. All executors are faces of one machine; options are kept, unused."""

    name: str
    options: Mapping[str, Any] | None = None
    attrs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        _check_options("executor", self.name, self.options, _EXECUTORS)
        unsaid = {"link-params": _LINKS_PARAMETERS[self.name]} if self.name in _LINKS_PARAMETERS else {}
        object.__setattr__(self, "attrs", {**unsaid, **(self.options or {})})

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    @staticmethod
    def list_registered() -> list[str]:
        """The names of executors."""
        return list(_EXECUTORS)

    @staticmethod
    def list_registered_options(executor: Any) -> dict[str, str]:
        """The options of an executor (or of the one of this name), each with the name of its type."""
        return dict(_EXECUTORS[_checked("executor", executor, _EXECUTORS)])


@dataclass(frozen=True)
class Runtime:
    """`Runtime("cpp")`. There is one runtime, baton's; the name and options are kept, unused."""

    name: str
    options: Mapping[str, Any] | None = None
    attrs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        _check_options("runtime", self.name, self.options, _RUNTIMES)
        object.__setattr__(self, "attrs", dict(self.options or {}))

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    @staticmethod
    def list_registered() -> list[str]:
        """The names of runtimes."""
        return list(_RUNTIMES)

    @staticmethod
    def list_registered_options(runtime: Any) -> dict[str, str]:
        """The options of a runtime (or of the one of this name), each with the name of its type."""
        return dict(_RUNTIMES[_checked("runtime", runtime, _RUNTIMES)])


def check_kinds(executor: Any, runtime: Any) -> None:
    """Refuse executors and runtimes that `relay.build` does not have; None stands for the usual one."""
    if executor is not None:
        _checked("executor", executor, _EXECUTORS)
    if runtime is not None:
        _checked("runtime", runtime, _RUNTIMES)


def _check_options(what: str, name: Any, options: Mapping[str, Any] | None, known: Mapping[str, Any]) -> None:
    has = known[_checked(what, name, known)]
    for option in options or ():
        if option not in has:
            raise fail("api", f"the {what} {name!r} has no option {option!r}", help=f"it has {', '.join(has)}")


def _checked(what: str, described: Any, known: Mapping[str, Any]) -> str:
    name = str(getattr(described, "name", described))
    if name not in known:
        way = f"one of {', '.join(known)}"
        if what == "executor" and name in _ELSEWHERE:
            way += f"; {_ELSEWHERE[name]}"
        raise fail("api", f"there is no {what} {name!r}", help=way)
    return name
