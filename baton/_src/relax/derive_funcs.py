"""The two derivations every packed function can have (facts: relax-language §6): what a call of it gives."""

from __future__ import annotations

from typing import Any

from baton._src.relax.nodes import Call
from baton._src.relax.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo, TupleStructInfo


def default_derive(call: Call, context: Any) -> StructInfo:
    """What the call says itself: no struct info argument means any object, one means it, several their tuple."""
    said = call.sinfo_args
    if not said:
        return ObjectStructInfo()
    return said[0] if len(said) == 1 else TupleStructInfo(said)


def empty_derive(call: Call, context: Any) -> StructInfo:
    """Any object."""
    return ObjectStructInfo()


def extern_func_info() -> FuncStructInfo:
    """The StructInfo of an `ExternFunc`: opaque and impure, results by `default_derive`."""
    return FuncStructInfo.opaque_func(ret=ObjectStructInfo(), derive_func=default_derive)
