"""Leaving a kernel because something is wrong: note the first fault in the runtime's cell and return."""

from __future__ import annotations

from typing import Any


def leave_with_fault(writer: Any, pattern: str, numbers: list[str]) -> None:
    """Write the fault `pattern` (with `{0}`, `{1}`, `{2}` for the i64 operands `numbers`) and return from the function.

    The message goes in last, by compare-and-exchange: the first fault wins. (Two at once may mix up their numbers.)
    """
    f = writer.f
    cell = f.module.fault_cell()
    for place, number in enumerate(numbers[:3], 1):
        where = f.value(f"getelementptr [4 x i64], ptr {cell}, i64 0, i64 {place}")
        f.line(f"store atomic i64 {number}, ptr {where} monotonic, align 8")
    text = f.value(f"ptrtoint ptr {f.module.string(pattern)} to i64")
    f.value(f"cmpxchg ptr {cell}, i64 0, i64 {text} seq_cst monotonic")
    writer.leave()
