"""The StructInfo of expressions that have one before normalisation: literals, tuples of literals, functions, and what
has a variable's.

A call has none yet: it is deduced when a BlockBuilder normalises the call.
"""

from __future__ import annotations

from typing import Any

from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.check.erase import drop_variables
from baton._src.relax.check.lub import struct_info_lca
from baton._src.relax.check.signatures import signature_info
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
)
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.support.trampoline import Task, run
from baton._src.tir.arith.analyzer import Analyzer

_ALONE = (Constant, PrimValue, StringImm, DataTypeImm, ShapeExpr, ExternFunc)


def own_info(expr: Any) -> StructInfo | None:
    """The StructInfo of an expression that has none yet, from its parts alone; None if that is not enough."""
    found: StructInfo | None = run(_own(expr))
    return found


def _own(expr: Any) -> Task[StructInfo | None]:
    known: StructInfo | None = expr.struct_info_
    if known is not None:
        return known
    match expr:
        case Tuple(fields=parts):
            infos: list[StructInfo] = []
            for part in parts:
                info = yield _own(part)
                if info is None:
                    return None
                infos.append(info)
            return TupleStructInfo(infos)
        case TupleGetItem(tuple_value=whole, index=index):
            found = yield _own(whole)
            there = isinstance(found, TupleStructInfo) and 0 <= index < len(found.fields)
            return found.fields[index] if there else None
        case SeqExpr(body=body):
            found = yield _own(body)
            return found if found is None or _is_known_outside(found, expr) else None
        case If(true_branch=true_branch, false_branch=false_branch):
            left = yield _own(true_branch)
            right = yield _own(false_branch)
            return None if left is None or right is None else struct_info_lca(left, right, Analyzer())
        case Function(ret_struct_info=ret, body=body):
            if ret is None and body is not None:
                ret = yield _own(body)
            return None if ret is None else signature_info(expr.params, ret, expr.is_pure)
        case _:
            return deduce(expr, Context()) if isinstance(expr, _ALONE) else None


def _is_known_outside(info: StructInfo, expr: SeqExpr) -> bool:
    """Whether `info` mentions no variable that the blocks of `expr` bind. (The function may have bound it before: which
    is told by normalising.)
    """
    bindings = [b for block in expr.blocks for b in block.bindings]
    casts = [b.struct_info for b in bindings if isinstance(b, MatchCast)]
    dims = {v for cast in casts for v in definable_tir_vars_in_struct_info(cast)}
    return drop_variables(info, dims, {b.var for b in bindings if b.var is not None}) is info
