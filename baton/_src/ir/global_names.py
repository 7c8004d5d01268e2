"""Normalise the names of a module's functions: unique, and for public functions equal to their global_symbol."""

from __future__ import annotations

from collections.abc import Container, Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.support.diagnostics import fail


def normalize_global_vars(module: IRModule) -> IRModule:
    """The module with every public function named as its `global_symbol` says and private ones moved out of the way.

    Two public functions with one symbol are an error (`RELAX-WF-13`). The same module comes back if nothing changes.
    """
    public: dict[GlobalVar, str] = {}
    taken: set[str] = set()
    for var, function in module.functions.items():
        symbol = function.attrs.get("global_symbol")
        if symbol is not None:
            if str(symbol) in taken:
                raise fail("RELAX-WF-13", f"two functions have the global_symbol {symbol!r}", span=function.span)
            public[var] = str(symbol)
            taken.add(str(symbol))
    renamed: dict[GlobalVar, GlobalVar] = {}
    for var in module.functions:
        name = public[var] if var in public else free_name(var.name_hint, taken)
        taken.add(name)
        if name != var.name_hint:
            renamed[var] = var.with_fields(name_hint=name)
    if not renamed:
        return module
    functions: dict[GlobalVar, Node] = {
        renamed.get(var, var): substitute(function, renamed, notes=False) for var, function in module.functions.items()
    }
    return module.with_functions(functions)


def names_beside(module: IRModule, added: Mapping[GlobalVar, Node]) -> dict[GlobalVar, GlobalVar]:
    """The variable of each of the functions `added` next to those of the module: another one where the name is taken.

    A function that the module has under this name already is that one.
    """
    known = {var.name_hint: var for var in module.functions}
    taken = set(known)
    found: dict[GlobalVar, GlobalVar] = {}
    for var, function in added.items():
        other = known.get(var.name_hint)
        if other is not None and (other is var or structural_equal(module.functions[other], function)):
            found[var] = other
            continue
        name = free_name(var.name_hint, taken)
        taken.add(name)
        found[var] = var if name == var.name_hint else var.with_fields(name_hint=name)
    return found


def free_name(hint: str, taken: Container[str], joint: str = "") -> str:
    """`hint`, or the first of `hint1`, `hint2`, ... that is not `taken`, with `joint` in front of the number."""
    name, count = hint, 0
    while name in taken:
        count += 1
        name = f"{hint}{joint}{count}"
    return name
