"""What is in normal form already, with its StructInfo, so that `normalize` need not look into it."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.leaves import LITERALS
from baton._src.relax.nodes import Call, ExternFunc, Tuple, TupleGetItem, Var


def is_settled_leaf(expr: Any, context: Context) -> bool:
    """Whether `expr` is a leaf in normal form that has its StructInfo; literals are given theirs."""
    if expr.struct_info_ is None:
        if isinstance(expr, LITERALS):
            set_note(expr, "struct_info_", deduce(expr, context))
            return True
        return False
    if isinstance(expr, (Var, *LITERALS)):
        return True
    if isinstance(expr, Tuple):
        todo = list(expr.fields)
        while todo:
            part = todo.pop()
            if part.struct_info_ is None or not isinstance(part, (Var, GlobalVar, Tuple, *LITERALS)):
                return False
            if isinstance(part, Tuple):
                todo.extend(part.fields)
        return True
    return isinstance(expr, GlobalVar)


def is_settled(expr: Any, context: Context) -> bool:
    """Whether `expr` is in normal form as the right side of a binding, with its StructInfo."""
    if isinstance(expr, Call):
        if expr.struct_info_ is None or not isinstance(expr.op, (Op, Var, GlobalVar, ExternFunc)):
            return False
        return all(is_settled_leaf(a, context) for a in expr.args)
    if isinstance(expr, TupleGetItem):
        return expr.struct_info_ is not None and is_settled_leaf(expr.tuple_value, context)
    return isinstance(expr, GraphExpr) and is_settled_leaf(expr, context)
