"""Operands for which a function of our own is not exact: the C library computes these lanes."""

from __future__ import annotations

from baton._src.codegen.llvm.functions.c_library import call_lanes
from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.text import FunctionText, ModuleText, mangle


def or_c_library(m: Lanes, name: str, operands: list[str], rare: str, usual: str) -> str:
    """`usual`, but the C library's `name` of the operands in the lanes that `rare` flags, if there are any."""
    f, start = m.f, m.f.block
    any_rare = rare
    if m.count > 1:
        any_rare = f.intrinsic(f"llvm.vector.reduce.or.{mangle(m.flag)}", "i1", (m.flag, rare))
    inside, end = f.new_label("rare"), f.new_label("end")
    f.branch_if(any_rare, inside, end)
    f.place(inside)
    given = ", ".join(f"{m.kind} {operand}" for operand in operands)
    found = f.value(f"call {m.kind} {_library_function(f.module, name, m.kind, len(operands))}({given})")
    found = m.choose(rare, found, usual)
    f.branch(end)
    f.place(end)
    return f.phi(m.kind, [(usual, start), (found, inside)])


def _library_function(module: ModuleText, name: str, kind: str, count: int) -> str:
    """A function that calls the C library for each lane; it is `cold` and not inlined, so that its callers keep their
    registers.
    """
    symbol = f"baton.far_{name}.{mangle(kind)}"
    if symbol not in module.definitions:
        f = FunctionText(module)
        operands = ["%x", "%y"][:count]
        f.line(f"ret {kind} {call_lanes(f, name, kind, operands)}")
        params = ", ".join(f"{kind} {operand}" for operand in operands)
        cold = "noinline cold memory(none) nounwind willreturn"
        module.definitions[symbol] = f.finish(f"define internal {kind} @{symbol}({params}) {cold} #0")
    return f"@{symbol}"
