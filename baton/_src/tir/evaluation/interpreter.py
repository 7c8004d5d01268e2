"""The oracle of TIR: runs a PrimFunc over NumPy arrays, one statement at a time, in program order.

Every kind of loop runs serially, blocks run literally (axes bound, predicate, init at the start of the reduce axes),
accesses are checked against the buffers' shapes, and fresh memory is filled with NaN (integers with a conspicuous
pattern), so that a read before a write becomes visible. Compiled code is tested against this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import Buffer
from baton._src.tir.evaluation.calls import Returned
from baton._src.tir.evaluation.statements import StmtCompiler
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.scalar_values import Env, Run


def run_prim_func(
    func: PrimFunc, arguments: Sequence[Any], functions: Mapping[str, Callable[..., Any] | PrimFunc] | None = None
) -> Any:
    """Run `func`; arrays given for buffers are changed in place. Returns what the function returns, else None.

    `arguments` follow `func.params`: arrays for buffers (NumPy, the buffer's dtype and shape), numbers for scalars.
    Shape variables are read from the arrays; they may also be given after the arguments, as in the kernel's C
    signature. `functions` are the PrimFuncs and external functions it may call, by name; those get their pointers as
    uint8 arrays. Raises `DiagnosticError`: `argument-count` and `value-mismatch` for arguments that do not fit,
    `tir-bounds` for accesses outside a buffer.
    """
    if len(arguments) < len(func.params):
        raise fail("argument-count", f"the function takes {len(func.params)} arguments, got {len(arguments)}")
    callable_functions = {name: _as_callable(f, functions or {}) for name, f in (functions or {}).items()}
    compiler = StmtCompiler(callable_functions)
    binding = _ArgumentBinding(compiler)
    for param, argument in zip(func.params, arguments):
        binding.bind(param, func.buffer_map.get(param), argument)
    run = compiler.whole(func.body)
    checks = binding.checks()
    env: Env = [None] * len(compiler.slots)
    for owner, value in binding.values.items():
        env[compiler.slots[owner]] = value
    for check in checks:
        check(env)
    with compiler.running():
        try:
            run(env)
        except Returned as returned:
            return returned.value
        finally:
            binding.copy_back()
    return None


def _as_callable(function: Any, functions: Mapping[str, Any]) -> Callable[..., Any]:
    if not isinstance(function, PrimFunc):
        found: Callable[..., Any] = function
        return found
    return lambda *arguments: run_prim_func(function, arguments, functions)


class _ArgumentBinding:
    """Matches arguments to params: memory for pointers, values for shape variables."""

    def __init__(self, compiler: StmtCompiler) -> None:
        self.compiler = compiler
        self.values: dict[Any, Any] = {}
        self.pending: list[tuple[PrimExpr, int, str]] = []
        self.copies: list[tuple[Any, Any]] = []

    def bind(self, param: Var, buffer: Buffer | None, argument: Any) -> None:
        """Bind one argument."""
        if buffer is None:
            self._set(param, argument if param.dtype.kind == "handle" else _scalar(argument, param))
            return
        array = argument if isinstance(argument, np.ndarray) else np.asarray(argument)
        is_memory = array.dtype == np.uint8 and array.ndim == 1 and buffer.dtype != "uint8"
        if not is_memory:
            self._match(buffer, array)
        memory = self._strided(buffer, array) if buffer.strides and not is_memory else self._compact(array)
        self._set(param, memory)
        self._set(buffer.data, memory)

    def _match(self, buffer: Buffer, array: Any) -> None:
        if array.dtype != buffer.dtype.numpy:
            raise fail("value-mismatch", f"{buffer.name} takes {buffer.dtype}, got an array of {array.dtype}")
        if array.ndim != buffer.ndim:
            raise fail("value-mismatch", f"{buffer.name} takes {buffer.ndim} dims, got an array of shape {array.shape}")
        for axis, (dim, size) in enumerate(zip(buffer.shape, array.shape)):
            self._must_be(dim, size, f"dim {axis} of {buffer.name}")
        if buffer.elem_offset is not None:
            self._must_be(buffer.elem_offset, 0, f"the offset of {buffer.name}")

    def _must_be(self, expr: PrimExpr, number: int, what: str) -> None:
        """A variable has the number; of any other expression it is checked once all variables are known."""
        if isinstance(expr, Var) and expr not in self.values:
            self._set(expr, number)
        else:
            self.pending.append((expr, number, what))

    def _strided(self, buffer: Buffer, array: Any) -> Any:
        """The memory from the array's first element to its last, in which elements are as far apart as it says."""
        apart = [step // array.itemsize for step in array.strides]
        if any(step % array.itemsize or step < 0 for step in array.strides):
            raise fail("value-mismatch", f"{buffer.name} takes an array whose elements follow each other")
        for axis, (stride, step, size) in enumerate(zip(buffer.strides, apart, array.shape)):
            if size != 1 or isinstance(stride, Var):
                self._must_be(stride, step, f"stride {axis} of {buffer.name}")
        span = 1 + sum((size - 1) * step for size, step in zip(array.shape, apart)) if array.size else 0
        return np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,)).view(np.uint8)

    def _compact(self, array: Any) -> Any:
        """The elements one after the other: of an array where they are not, a copy that is given back."""
        flat = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        if flat is not array:
            self.copies.append((array, flat))
        return flat.reshape(-1).view(np.uint8)

    def _set(self, owner: Any, value: Any) -> None:
        self.compiler.slot(owner)
        self.values[owner] = value

    def checks(self) -> list[Callable[[Env], None]]:
        """The checks that remain once every variable is bound."""
        return [self._check(self.compiler.expr(dim), size, what) for dim, size, what in self.pending]

    def _check(self, dim: Run, size: int, what: str) -> Callable[[Env], None]:
        def check(env: Env) -> None:
            expected = dim(env)
            if expected != size:
                raise fail("value-mismatch", f"{what} must be {expected}, got {size}")

        return check

    def copy_back(self) -> None:
        """Copy what was written back to arrays that are not contiguous."""
        for array, flat in self.copies:
            array[...] = flat.reshape(array.shape)


def _scalar(argument: Any, param: Var) -> Any:
    """The number as the parameter holds it; an integer beyond its range is refused, as compiled kernels refuse it."""
    dtype = param.dtype
    if dtype.is_bool:
        return bool(argument)
    if not dtype.is_int:
        return dtype.numpy.type(argument)
    low, high = dtype.int_range
    if not low <= int(argument) <= high:
        raise fail("value-mismatch", f"{param.name} takes a scalar of dtype {dtype}, {low} to {high}, got {argument}")
    return int(argument)
