"""Collect the variables that occur in a piece of Relax, which a closure may capture."""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import Node
from baton._src.ir.traverse import children
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import Binding, Function, MatchCast, Var
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.tir.expr import Var as TirVar


def mentioned_variables(root: Any) -> tuple[list[Var], list[TirVar], set[Any]]:
    """Every Relax variable and shape variable that occurs in `root`, and those that it may bind.

    A shape variable that stands alone in a local function's parameter is bound there only if it has no value outside.
    """
    used: dict[Var, None] = {}
    shapes: dict[TirVar, None] = {}
    bound: set[Any] = set()
    seen: set[Any] = set()
    todo: list[Any] = [root]
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        match item:
            case Var():
                used[item] = None
                _note_info(item.struct_info_, used, shapes)
            case TirVar():
                shapes[item] = None
            case Function():
                bound.update(item.params)
                for param in item.params:
                    if param.struct_info_ is not None:
                        bound.update(definable_tir_vars_in_struct_info(param.struct_info_))
            case MatchCast():
                bound.update(definable_tir_vars_in_struct_info(item.struct_info))
            case _:
                pass
        if isinstance(item, Binding) and item.var is not None:
            bound.add(item.var)
        if isinstance(item, StructInfo):
            _note_info(item, used, shapes)
        elif isinstance(item, Node) and not isinstance(item, Var):
            todo.extend(reversed(children(item)))
    return list(used), list(shapes), bound


def _note_info(info: StructInfo | None, used: dict[Var, None], shapes: dict[TirVar, None]) -> None:
    if info is None:
        return
    shapes.update((v, None) for v in tir_vars_in_struct_info(info))
    if isinstance(info, TensorStructInfo) and isinstance(info.shape, Var):
        used[info.shape] = None
