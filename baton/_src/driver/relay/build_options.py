"""`relay.backend.Executor` and `Runtime`: options of scripts on how a program is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

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
class _Chosen:
    """A name and its options."""

    name: str
    options: Mapping[str, Any] | None = None
    attrs: dict[str, Any] = field(init=False)

    _what: ClassVar[str]
    _known: ClassVar[Mapping[str, Mapping[str, str]]]

    def __post_init__(self) -> None:
        has = self._known[_checked(self._what, self.name, self._known)]
        for option in self.options or ():
            if option not in has:
                says = f"the {self._what} {self.name!r} has no option {option!r}"
                raise fail("api", says, help=f"it has {', '.join(has)}")
        object.__setattr__(self, "attrs", {**self._unsaid(), **(self.options or {})})

    def _unsaid(self) -> dict[str, Any]:
        return {}

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    @classmethod
    def list_registered(cls) -> list[str]:
        """The names there are."""
        return list(cls._known)

    @classmethod
    def list_registered_options(cls, chosen: Any) -> dict[str, str]:
        """The options of one (or of the one of this name), each with the name of its type."""
        return dict(cls._known[_checked(cls._what, chosen, cls._known)])


class Executor(_Chosen):
    """`Executor("graph", {"link-params": True})`. All executors are faces of one machine; options are kept, unused."""

    _what, _known = "executor", _EXECUTORS

    def _unsaid(self) -> dict[str, Any]:
        return {"link-params": _LINKS_PARAMETERS[self.name]} if self.name in _LINKS_PARAMETERS else {}


class Runtime(_Chosen):
    """`Runtime("cpp")`. There is one runtime, baton's; the name and options are kept, unused."""

    _what, _known = "runtime", _RUNTIMES


def check_kinds(executor: Any, runtime: Any) -> None:
    """Refuse executors and runtimes that `relay.build` does not have; None stands for the usual one."""
    if executor is not None:
        _checked("executor", executor, _EXECUTORS)
    if runtime is not None:
        _checked("runtime", runtime, _RUNTIMES)


def _checked(what: str, described: Any, known: Mapping[str, Any]) -> str:
    name = str(getattr(described, "name", described))
    if name not in known:
        way = f"one of {', '.join(known)}"
        if what == "executor" and name in _ELSEWHERE:
            way += f"; {_ELSEWHERE[name]}"
        raise fail("api", f"there is no {what} {name!r}", help=way)
    return name
