"""Which parameters of a kernel are written: by stores, through views, or by pointers that are given out for it."""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.tir.expr import Call, IntImm, Var
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.packed_calls import TensorOperand, is_packed_call, read_packed_call
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BufferStore, MatchBufferRegion

_ACCESS_PTR = intrinsic("tvm_access_ptr")
_WRITES = 2


def written_params(func: PrimFunc) -> frozenset[Var]:
    """The parameters whose memory stores and `access_ptr` write, and packed functions that are given what their block
    says is written. What functions do otherwise with a bare pointer is not known, and not counted."""
    stored: set[Var] = set()
    said: set[Var] = set()
    given: set[Any] = set()
    views: dict[Var, Var] = {}
    for node in post_order(func.body):
        match node:
            case BufferStore():
                stored.add(node.buffer.data)
            case MatchBufferRegion():
                views[node.buffer.data] = node.source.buffer.data
            case Call(op=op, args=(_, Var() as pointer, _, _, IntImm(value=mask))) if op is _ACCESS_PTR:
                if mask & _WRITES:
                    stored.add(pointer)
            case Block():
                said |= {region.buffer.data for region in node.writes}
            case Call() if is_packed_call(node):
                given |= {o.data for o in read_packed_call(node).operands if isinstance(o, TensorOperand)}
    stored |= said & given
    for view in tuple(stored):
        while view in views:
            view = views[view]
            stored.add(view)
    return frozenset(param for param, buffer in func.buffer_map.items() if buffer.data in stored)
