"""`tvm.contrib.random`: tensors of random numbers, drawn anew by each call of the kernel that has them."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.te.computation import extern
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.extern_calls import call_packed


def randint(low: int, high: int, size: Sequence[PrimExpr | int], dtype: str = "int32") -> Tensor:
    """Integers of `low` up to, without it, `high`."""
    if "int" not in dtype:
        raise fail("api", f"randint draws integers, not {dtype}", kind=TypeError)
    return _drawn("randint", int(low), int(high), size, dtype)


def uniform(low: float, high: float, size: Sequence[PrimExpr | int]) -> Tensor:
    """float32 numbers of `low` up to, without it, `high`, each as likely."""
    return _drawn("uniform", float(low), float(high), size, "float32")


def normal(loc: float, scale: float, size: Sequence[PrimExpr | int]) -> Tensor:
    """float32 numbers around `loc`, with the standard deviation `scale`."""
    return _drawn("normal", float(loc), float(scale), size, "float32")


def _drawn(name: str, first: float, second: float, size: Sequence[PrimExpr | int], dtype: str) -> Tensor:
    function = f"tvm.contrib.random.{name}"
    return extern(tuple(size), [], lambda ins, outs: call_packed(function, first, second, outs[0]), name, dtype)
