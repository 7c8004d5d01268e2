"""`tvm.contrib.cblas` and `tvm.contrib.mkl`: products of matrices as calls of packed functions, which NumPy computes.

They are here for scripts that show how a kernel calls a library. `topi.matmul` is compiled, and faster.
"""

from __future__ import annotations

from typing import Any

from baton._src.te.computation import extern
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.extern_calls import call_packed
from baton._src.tir.expr import Max


def cblas_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """`lhs @ rhs`, either transposed if so wanted; `kwargs` go to `te.extern`."""
    return _product("cblas.matmul", lhs, rhs, transa, transb, kwargs)


def mkl_matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """`lhs @ rhs`, either transposed if so wanted; `kwargs` go to `te.extern`."""
    return _product("mkl.matmul", lhs, rhs, transa, transb, kwargs)


def mkl_matmul_u8s8s32(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """`lhs @ rhs` of uint8 and int8 in int32 (`dtype="int32"` goes to `te.extern` like all `kwargs`)."""
    return _product("mkl.matmul_u8s8s32", lhs, rhs, transa, transb, kwargs)


def cblas_batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> Tensor:
    """The products of two batches of matrices. `iterative` calls another function, which computes the same."""
    return _batch_product("cblas.batch_matmul" + "_iterative" * iterative, lhs, rhs, transa, transb, kwargs)


def mkl_batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> Tensor:
    """The products of two batches of matrices. `iterative` calls another function, which computes the same."""
    return _batch_product("mkl.batch_matmul" + "_iterative" * iterative, lhs, rhs, transa, transb, kwargs)


def _product(function: str, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: dict[str, Any]) -> Tensor:
    shape = (lhs.shape[int(transa)], rhs.shape[1 - int(transb)])
    return _called(function, shape, lhs, rhs, transa, transb, options)


def _batch_product(
    function: str, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: dict[str, Any]
) -> Tensor:
    shape = (Max(lhs.shape[0], rhs.shape[0]), lhs.shape[1 + int(transa)], rhs.shape[2 - int(transb)])
    return _called(function, shape, lhs, rhs, transa, transb, options)


def _called(
    function: str, shape: Any, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: dict[str, Any]
) -> Tensor:
    def call(ins: Any, outs: Any) -> Any:
        return call_packed(f"tvm.contrib.{function}", ins[0], ins[1], outs[0], transa, transb)

    found: Tensor = extern(shape, [lhs, rhs], call, **{"name": "C", **options})
    return found
