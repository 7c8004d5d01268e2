"""Shape variables that a group of bindings needs besides its inputs: the group's function takes them as a shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import Var
from baton._src.tir.expr import Var as TirVar


def unshown_shape_vars(group: Iterable[Any], outside: Iterable[Any]) -> list[TirVar]:
    """The shape variables that the group (bindings, expressions) uses and that are no dim of any of its inputs
    (`outside`).
    """
    shown = {v for arg in outside for v in definable_tir_vars_in_struct_info(arg.struct_info)}
    mentioned: dict[TirVar, None] = {}
    for item in (n for b in group for n in post_order(b)):
        if isinstance(item, TirVar):
            mentioned[item] = None
        elif isinstance(item, Var) and item.struct_info_ is not None:
            mentioned.update((v, None) for v in tir_vars_in_struct_info(item.struct_info))
    return [v for v in mentioned if v not in shown]
