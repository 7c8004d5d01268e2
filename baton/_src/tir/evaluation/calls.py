"""The meaning of calls in scalar expressions: intrinsics by their NumPy functions, functions of the program and of the
process, pointers.

Each is compiled to a closure over the environment of `expressions`, which compiles the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from baton._src.ir.expr import GlobalVar
from baton._src.runtime.native.faults import CallError
from baton._src.runtime.native.packed_calls import run_packed
from baton._src.runtime.vm.packed_functions import packed_function
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, StringImm
from baton._src.tir.intrinsics import definition
from baton._src.tir.packed_calls import PACKED, TensorOperand, read_packed_call
from baton._src.tir.scalar_values import Env, Run, from_numpy
from baton._src.values.packed_func import PackedFunc
from baton._src.values.prim import shifted_left, shifted_right

_EXACT_SHIFTS = {"tir.shift_left": shifted_left, "tir.shift_right": shifted_right}


class Compiler(Protocol):
    """The interface that compiles the arguments of calls."""

    @property
    def functions(self) -> Mapping[str, Any]:
        """The functions that may be called by name."""

    @property
    def exact(self) -> bool:
        """Whether integer arithmetic is exact, without wrapping around."""

    def expr(self, node: Any) -> Run:
        """The closure of an expression."""

    def view(self, buffer: Buffer) -> Run:
        """The closure that gives the NumPy view of a buffer."""

    def indices(self, buffer: Buffer, indices: Sequence[Any]) -> Run:
        """The closure that gives the index tuple of an access."""


class Returned(Exception):
    """Raised to return from a function."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def compile_call(compiler: Compiler, node: Call) -> Run:
    """The closure of a call whose arguments are all evaluated."""
    if isinstance(node.op, GlobalVar):
        return _call_by_name(compiler, node.op.name_hint, node.args, node.span)
    row = definition(node.op)
    name = row.name if row is not None else str(node.op)
    special = _SPECIAL_CALLS.get(name)
    if special is not None:
        return special(compiler, node)
    if compiler.exact and name in _EXACT_SHIFTS and node.dtype.lanes == 1:
        number, amount, shift = *map(compiler.expr, node.args), _EXACT_SHIFTS[name]
        return lambda env: shift(number(env), amount(env))
    if row is None or row.numpy is None:
        raise fail("tir-interpret", f"the interpreter cannot run {name}", span=node.span)
    function, result = row.numpy, node.dtype
    args = [(compiler.expr(a), a.dtype.numpy if a.dtype.lanes == 1 else None) for a in node.args]

    def run(env: Env) -> Any:
        given = [a(env) if kind is None else kind.type(a(env)) for a, kind in args]
        return from_numpy(function(*given), result)

    return run


def _extern(compiler: Compiler, node: Call) -> Run:
    return _call_by_name(compiler, node.args[0].value, node.args[1:], node.span)


def packed_call(compiler: Compiler, node: Call, is_used: bool = True) -> Run:
    """The call of a packed function of those given, or else of a registered one. What it returns need only be a number
    if that `is_used`.
    """
    call = read_packed_call(node)
    words = [word for operand in call.operands for word in _words(compiler, operand)]
    site = call.site(is_used)

    def run(env: Env) -> Any:
        given = compiler.functions.get(call.name)
        try:
            function = packed_function(call.name) if given is None else PackedFunc(given, call.name)
            found = run_packed(function, site, [word(env) for word in words])
        except CallError as error:
            raise fail(error.code, error.message, span=node.span, help=error.help) from error
        return found if found is None else from_numpy(np.asarray(found, call.dtype.numpy), call.dtype)

    return run


def _words(compiler: Compiler, operand: Any) -> list[Run]:
    """What the runtime is passed for an operand: pointers as addresses."""
    if isinstance(operand, TensorOperand):
        return [_address(compiler.expr(operand.data))] + [
            compiler.expr(n) for n in (operand.offset, *operand.shape, *operand.strides)
        ]
    if isinstance(operand, StringImm):
        return []
    value = compiler.expr(operand)
    return [_address(value)] if operand.dtype.kind == "handle" else [value]


def _address(pointer: Run) -> Run:
    def run(env: Env) -> Any:
        memory = pointer(env)
        return memory if isinstance(memory, int) else memory.__array_interface__["data"][0]

    return run


def _call_by_name(compiler: Compiler, name: str, operands: Sequence[Any], span: Span | None) -> Run:
    args = [compiler.expr(a) for a in operands]

    def run(env: Env) -> Any:
        if name not in compiler.functions:
            raise fail("tir-interpret", f"the interpreter was not given the function {name}", span=span)
        return compiler.functions[name](*(a(env) for a in args))

    return run


def _reinterpret(compiler: Compiler, node: Call) -> Run:
    value, source, target = compiler.expr(node.args[0]), node.args[0].dtype, node.dtype

    def run(env: Env) -> Any:
        bits = np.atleast_1d(np.asarray(value(env), dtype=source.numpy)).view(target.numpy)
        return from_numpy(bits if target.lanes > 1 else bits[0], target)

    return run


def _index_within(compiler: Compiler, node: Call) -> Run:
    index, extent, shown = (compiler.expr(node.args[n]) for n in (0, 1, 3))
    text = node.args[2].value

    def run(env: Env) -> Any:
        found, limit = index(env), extent(env)
        if np.min(found) < 0 or np.max(found) >= limit:
            raise fail("tir-bounds", text.format(shown(env), limit), span=node.span)
        return found

    return run


def _ret(compiler: Compiler, node: Call) -> Run:
    value = compiler.expr(node.args[0])

    def run(env: Env) -> Any:
        raise Returned(value(env))

    return run


def _ptr_add(compiler: Compiler, node: Call) -> Run:
    pointer, offset = compiler.expr(node.args[0]), compiler.expr(node.args[1])
    return lambda env: pointer(env)[int(offset(env)) :]


def _access_ptr(compiler: Compiler, node: Call) -> Run:
    pointer, offset = compiler.expr(node.args[1]), compiler.expr(node.args[2])
    size = node.args[0].dtype.itemsize
    return lambda env: pointer(env)[int(offset(env)) * size :]


def _address_of(compiler: Compiler, node: Call) -> Run:
    load: BufferLoad = node.args[0]
    view, at = compiler.view(load.buffer), compiler.indices(load.buffer, load.indices)
    memory = compiler.expr(load.buffer.data)

    def run(env: Env) -> Any:
        array, whole = view(env), memory(env)
        start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return whole[start + sum(int(i) * s for i, s in zip(at(env), array.strides)) :]

    return run


def _constant_memory(compiler: Compiler, node: Call) -> Run:
    """Bytes that the program holds, spelled as hexadecimal digits."""
    memory = np.frombuffer(bytes.fromhex(node.args[0].value), np.uint8)
    return lambda env: memory


def _nothing(compiler: Compiler, node: Call) -> Run:
    return lambda env: 0


_SPECIAL_CALLS: dict[str, Callable[[Compiler, Call], Run]] = {
    "tir.call_extern": _extern,
    "tir.call_pure_extern": _extern,
    **dict.fromkeys(PACKED, packed_call),
    "tir.reinterpret": _reinterpret,
    "tir.index_within": _index_within,
    "tir.ret": _ret,
    "tir.ptr_add": _ptr_add,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.address_of": _address_of,
    "tir.constant_memory": _constant_memory,
    "tir.assume": _nothing,
    "tir.prefetch": _nothing,
    "tir.undef": _nothing,
    "tir.tvm_storage_sync": _nothing,
}
