"""Software prefetch of what a kernel will read or write."""

from __future__ import annotations

from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import intrinsic


def prefetched(place: tir.BufferLoad, *, near: bool = True, writing: bool = False) -> st.Stmt:
    """Prefetch the element at `place` into the first-level cache if `near`, else into the second-level one."""
    address = tir.Call("handle", intrinsic("address_of"), (place,))
    hints = (tir.IntImm("int32", int(writing)), tir.IntImm("int32", 3 if near else 2), tir.IntImm("int32", 1))
    return st.Evaluate(tir.Call("void", intrinsic("prefetch"), (address, *hints)))
