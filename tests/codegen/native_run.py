"""Run a PrimFunc natively on NumPy arrays, like `tir.interpreter.run_prim_func`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.target import Target
from baton._src.runtime.native.library import NativeLibrary, load
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.kernel_abi import kernel_abi
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

HOST = Target("llvm")
OLD = Target("llvm -mcpu=x86-64")
_C = {
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_uint8,
}  # fmt: skip


def build(func: PrimFunc, target: Target = HOST, checked: bool = False) -> NativeLibrary:
    """Compile without any cache and load."""
    options = CompileOptions(checked=checked, cache=CacheOptions(None))
    return load(compile_module({"f": func}, target, options))


def call(library: NativeLibrary, func: PrimFunc, *arguments: Any, symbol: str = "f") -> str | None:
    """Call with arrays for buffers and numbers for scalars; shape variables come from the arrays. The fault, if any."""
    kinds: list[Any] = []
    values: list[Any] = []
    shapes: dict[Var, int] = {}
    params = kernel_abi(func).params
    for param, argument in zip(params, arguments):
        if param.buffer is not None:
            for dim, size in zip(param.buffer.shape, argument.shape):
                if isinstance(dim, Var):
                    shapes[dim] = size
            kinds.append(ctypes.c_void_p)
            values.append(argument.ctypes.data)
        else:
            kinds.append(_C[str(param.dtype)])
            values.append(argument)
    for param in params[len(arguments) :]:
        kinds.append(ctypes.c_int64)
        values.append(shapes[param.var])
    ctypes.CFUNCTYPE(None, *kinds)(library.address(symbol))(*values)
    return library.take_fault()


def run_native(func: PrimFunc, *arguments: Any, target: Target = HOST, checked: bool = False) -> str | None:
    """Compile and call."""
    return call(build(func, target, checked), func, *arguments)


def random_array(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Values that every dtype can hold: small integers, or floats in [-2, 2]."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype) if dtype != "bfloat16" else None
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if kind is not None and kind.kind in "iu":
        low = -100 if kind.kind == "i" else 0
        return generator.integers(low, 100, shape).astype(kind)
    return generator.uniform(-2, 2, shape).astype(DataType(dtype).numpy)


def loops(func: PrimFunc, kinds: list[st.ForKind], annotations: dict[str, Any] | None = None) -> PrimFunc:
    """The function with the kinds of its (single) loop nest set, outermost first."""
    root = func.body
    assert isinstance(root, st.BlockRealize)

    def mark(stmt: st.Stmt, depth: int) -> st.Stmt:
        if not isinstance(stmt, st.For):
            return stmt
        return stmt.with_fields(kind=kinds[depth], annotations=annotations or {}, body=mark(stmt.body, depth + 1))

    return func.with_fields(body=root.with_fields(block=root.block.with_fields(body=mark(root.block.body, 0))))


def agree(func: PrimFunc, *arrays: np.ndarray, target: Target | None = None, rtol: float = 1e-6) -> None:
    """Run both ways; every array must come out the same."""
    ours, theirs = [a.copy() for a in arrays], [a.copy() for a in arrays]
    fault = run_native(func, *ours, **({"target": target} if target else {}))
    assert fault is None
    run_prim_func(func, theirs)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine.astype("float64"), other.astype("float64"), rtol=rtol)


def elementwise(dtype: str, shape: tuple[Any, ...], function: Callable[[Any, Any], Any]) -> PrimFunc:
    """C[i] = function(A[i], B[i])"""
    a, b = placeholder(shape, dtype, "A"), placeholder(shape, dtype, "B")
    return create_prim_func([a, b, compute(shape, lambda *i: function(a[i], b[i]), "C")])
