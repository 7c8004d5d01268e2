"""One row of an executable's function table."""

from __future__ import annotations

from typing import Any

from baton._src.runtime.value_info import ValueInfo, info_from_data, info_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

KINDS = ("vm", "native", "kernel", "packed")


@dataclass(frozen=True)
class FunctionEntry:
    """A function, by `kind`.

    `vm`: bytecode, instructions `start..end`. `native`: the `NativePlan` of the same name. `kernel`: one native kernel.
    `packed`: a builtin of the VM or a registered packed function. Only `public` ones are callable from outside.
    """

    kind: str
    name: str
    params: tuple[str, ...] = ()
    registers: int = 0
    start: int = 0
    end: int = 0
    public: bool = False
    info: ValueInfo | None = None
    """The types of closures over this function, for casts."""


def entry_to_data(entry: FunctionEntry) -> list[Any]:
    """The row as JSON data."""
    info = None if entry.info is None else info_to_data(entry.info)
    bounds = [entry.registers, entry.start, entry.end]
    return [entry.kind, entry.name, list(entry.params), *bounds, entry.public, info]


def entry_from_data(data: Any) -> FunctionEntry:
    """The inverse of `entry_to_data`; `DiagnosticError` (`executable-corrupt`)."""
    match data:
        case [
            str() as kind,
            str() as name,
            list() as params,
            int() as registers,
            int() as start,
            int() as end,
            public,
            info,
        ]:
            if kind in KINDS and registers >= 0:
                known = None if info is None else info_from_data(info)
                return FunctionEntry(kind, name, tuple(params), registers, start, end, bool(public), known)
        case _:
            pass
    raise fail("executable-corrupt", f"{data!r} is not a row of the function table")
