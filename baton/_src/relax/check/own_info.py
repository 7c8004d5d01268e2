"""The StructInfo of expressions that have one before normalisation: literals, tuples of literals, functions.

A call has none yet: it is deduced when a BlockBuilder normalises the call.
"""

from __future__ import annotations

from typing import Any

from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
)
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.support.trampoline import Task, run

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
        case Function():
            complete = expr.ret_struct_info is not None
            return deduce(expr, Context()) if complete else None
        case _:
            return deduce(expr, Context()) if isinstance(expr, _ALONE) else None
