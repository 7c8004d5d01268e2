"""Leave a kernel because of an error: the first fault is recorded in a cell (`runtime.native.faults`)."""

from __future__ import annotations

from typing import Any

_SITE, _CLAIM = 4, 5
"""Words of the cell: where in the program it was, whether somebody notes a fault."""


def leave_with_fault(writer: Any, pattern: str, numbers: list[str]) -> None:
    """Write the fault `pattern` (with `{0}`, `{1}`, `{2}` for the i64 operands `numbers`) and return from the function.

    The thread that claims the cell writes the numbers first, then the message.
    """
    f = writer.f
    cell = f.value(f"call ptr {f.module.fault_cell()}()")
    mine, leave = f.new_label("first"), f.new_label("leave")
    f.branch_if(_first(f, _word(f, cell, _CLAIM), "1"), mine, leave)
    f.place(mine)
    for place, number in enumerate(numbers[:3], 1):
        f.line(f"store i64 {number}, ptr {_word(f, cell, place)}, align 8")
    f.line(f"store atomic i64 {_address(f, pattern)}, ptr {cell} release, align 8")
    f.branch(leave)
    f.place(leave)
    writer.leave()


def leave_if_fault(writer: Any, site: str) -> None:
    """After the call of a kernel that may fail: if it did, record the call site, and return too."""
    f = writer.f
    cell = f.value(f"call ptr {f.module.fault_cell()}()")
    message = f.value(f"load atomic i64, ptr {cell} acquire, align 8")
    bad, good = f.new_label("fault"), f.new_label("fine")
    f.branch_if(f.value(f"icmp ne i64 {message}, 0"), bad, good)
    f.place(bad)
    _first(f, _word(f, cell, _SITE), _address(f, site))
    writer.leave()
    f.place(good)


def _word(f: Any, cell: str, number: int) -> str:
    return str(f.value(f"getelementptr i64, ptr {cell}, i64 {number}"))


def _address(f: Any, text: str) -> str:
    return str(f.value(f"ptrtoint ptr {f.module.string(text)} to i64"))


def _first(f: Any, where: str, value: str) -> str:
    """Write `value` if nothing is there yet; return whether this call wrote it."""
    pair = f.value(f"cmpxchg ptr {where}, i64 0, i64 {value} seq_cst monotonic")
    return str(f.value(f"extractvalue {{ i64, i1 }} {pair}, 1"))
