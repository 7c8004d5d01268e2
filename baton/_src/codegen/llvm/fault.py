"""Leave a kernel because of an error: the first fault is recorded in a cell (`runtime.native.faults`).

What records it is a function of the module that is never inlined: kernels have many places to leave from, and code that
nearly never runs would be most of what LLVM reads.
"""

from __future__ import annotations

from baton._src.codegen.llvm.function_writer import FunctionWriter
from baton._src.codegen.llvm.text import FunctionText, ModuleText

_SITE, _CLAIM = 4, 5
"""Words of the cell: where in the program it was, whether somebody notes a fault."""
_NUMBERS = 3
"""Words for numbers; they follow that of the message."""


def leave_with_fault(writer: FunctionWriter, pattern: str, numbers: list[str]) -> None:
    """Write the fault `pattern`, with `{0}`, `{1}`, `{2}` for the i64 operands `numbers`, and return."""
    f = writer.f
    given = "".join(f", i64 {number}" for number in [*numbers, "0", "0", "0"][:_NUMBERS])
    f.line(f"call void {note_fault(f.module)}(ptr {f.module.string(pattern)}{given})")
    writer.leave()


def note_fault(module: ModuleText) -> str:
    """What records a fault, `void (message, number, number, number)`: the thread that claims the cell writes the
    numbers first, then the message.
    """
    name = "note_fault"
    if name not in module.definitions:
        f = FunctionText(module)
        cell = f.value(f"call ptr {module.fault_cell()}()")
        with f.aside(f.value(f"xor i1 {_first(f, _word(f, cell, _CLAIM), '1')}, true"), "late", "first"):
            f.line("ret void")
        for place in range(1, _NUMBERS + 1):
            f.line(f"store i64 %n{place}, ptr {_word(f, cell, place)}, align 8")
        f.line(f"store atomic i64 {f.value('ptrtoint ptr %message to i64')}, ptr {cell} release, align 8")
        f.line("ret void")
        params = ", ".join(f"i64 %n{place}" for place in range(1, _NUMBERS + 1))
        module.definitions[name] = f.finish(f"define internal void @{name}(ptr %message, {params}) cold noinline #0")
    return f"@{name}"


def leave_if_fault(writer: FunctionWriter, site: str = "") -> None:
    """After the call of a kernel that may fail: if it did, record the call site, if there is one, and return too."""
    f = writer.f
    cell = f.value(f"call ptr {f.module.fault_cell()}()")
    message = f.value(f"load atomic i64, ptr {cell} acquire, align 8")
    with f.aside(f.value(f"icmp ne i64 {message}, 0"), "fault", "fine"):
        if site:
            _first(f, _word(f, cell, _SITE), f.value(f"ptrtoint ptr {f.module.string(site)} to i64"))
        writer.leave()


def _word(f: FunctionText, cell: str, number: int) -> str:
    return f.value(f"getelementptr i64, ptr {cell}, i64 {number}")


def _first(f: FunctionText, where: str, value: str) -> str:
    """Write `value` if nothing is there yet; return whether this call wrote it."""
    pair = f.value(f"cmpxchg ptr {where}, i64 0, i64 {value} seq_cst monotonic")
    return f.value(f"extractvalue {{ i64, i1 }} {pair}, 1")
