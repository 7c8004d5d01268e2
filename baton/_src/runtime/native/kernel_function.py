"""`KernelFunction`: one native kernel as a function of tensors and scalars, for calls from bytecode and by hand.

It follows `tir.kernel_abi`: the PrimFunc's params in order, then its shape variables, which are read from the shapes of
the tensors given. Tensors are checked against the kernel's buffers, so a wrong shape is a diagnostic and never an
out-of-bounds access.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.runtime.dim_expr import slots_of
from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.native.faults import forget_fault
from baton._src.runtime.value_checks import Matcher
from baton._src.runtime.value_errors import argument_count, mismatch
from baton._src.runtime.value_info import PrimScalar, TensorValue, info_from_data, info_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.convert import contiguous
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


@dataclass(frozen=True)
class KernelSignature:
    """`params` in order: a `TensorValue` for a buffer, a `PrimScalar` for a scalar (its `value` is its own slot).

    `variables` names the slots: scalars that are shape variables and those passed after the params (`trailing` slots).
    `written` are the places of the tensors that the kernel stores to.
    """

    symbol: str
    params: tuple[TensorValue | PrimScalar, ...]
    variables: tuple[str, ...] = ()
    trailing: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    written: tuple[int, ...] = ()


def signature_to_data(signature: KernelSignature) -> list[Any]:
    """The signature as JSON data."""
    params = [info_to_data(p) for p in signature.params]
    lists = (signature.variables, signature.trailing, signature.names, signature.written)
    return [signature.symbol, params, *map(list, lists)]


def signature_from_data(data: Any) -> KernelSignature:
    """The inverse of `signature_to_data`."""
    try:
        symbol, params, variables, trailing, names, written = data
        infos = tuple(info_from_data(p) for p in params)
    except (TypeError, ValueError) as error:
        raise fail("executable-corrupt", f"the signature of a kernel is malformed: {error}") from error
    kept = tuple(i for i in infos if isinstance(i, (TensorValue, PrimScalar)))
    if len(kept) != len(infos):
        raise fail("executable-corrupt", f"kernel {symbol}: parameters are tensors and scalars")
    return KernelSignature(symbol, kept, tuple(variables), tuple(trailing), tuple(names), tuple(written))


class KernelFunction:
    """Callable with one value per param; returns the empty tuple. Errors: `argument-count`, `value-mismatch`,
    `tensor-read-only` and `tensor-layout` of what it writes to, `kernel-fault`, and what packed functions raise that
    the kernel calls."""

    def __init__(self, signature: KernelSignature, address: int, library: Any = None) -> None:
        self.signature = signature
        self.name = signature.symbol
        self._raise_fault: Callable[[str], None] = getattr(library, "raise_fault", lambda name: None)
        self.library = library
        self._converters = [_converter(p) for p in signature.params]
        types = [c for c, _ in self._converters] + [ctypes.c_int64] * len(signature.trailing)
        self._entry = ctypes.CFUNCTYPE(None, *types)(address)
        self._scalar_facts = _scalar_facts(signature)
        self._recent: tuple[list[Any], list[int]] = ([None], [])
        """What had to be checked of the last call's arguments, and its further words."""

    def __call__(self, *values: Any) -> tuple[()]:
        facts = [
            ((array := v.data).shape, array.dtype, array.flags.num) if type(v) is NDArray else fact(v)
            for v, fact in zip(values, self._scalar_facts)
        ]
        known, further = self._recent
        if facts == known and len(values) == len(self._scalar_facts):
            words = [data_address(v.data) if type(v) is NDArray else v for v in values]
            forget_fault()
            self._entry(*words, *further)
        else:
            call = self.bound(*values)
            if all(not isinstance(fact, tuple) or fact[2] & _USABLE == _USABLE for fact in facts):  # passed as they are
                heap = bind_arguments(self.signature, values)
                self._recent = (facts, [heap[slot] for slot in self.signature.trailing])
            forget_fault()
            call()
        self._raise_fault(self.name)
        return ()

    def bound(self, *values: Any) -> Callable[[], None]:
        """The call on `values`, checked now rather than at each call: for measuring. Its faults are not raised."""
        signature = self.signature
        heap = bind_arguments(signature, values)
        keep: list[Any] = []
        arguments = [convert(v, keep) for (_, convert), v in zip(self._converters, values)]
        words = (*arguments, *[heap[slot] for slot in signature.trailing])
        entry, used = self._entry, (keep, values, self.library)

        def call(used: Any = used) -> None:
            entry(*words)

        return call


def bind_arguments(signature: KernelSignature, values: Sequence[Any]) -> list[Any]:
    """The values of the signature's slots, after every argument was checked. Errors: see `KernelFunction`."""
    names = signature.names or [str(i) for i in range(len(signature.params))]
    if len(values) != len(signature.params):
        hint = ": results are arguments as well"
        argument_count(signature.symbol, len(signature.params), len(values), signature.names, hint)
    heap: list[Any] = [None] * len(signature.variables)
    matcher = Matcher(heap, signature.variables)
    places = [f"{signature.symbol}: argument {n}" for n in names]
    for value, param, place in zip(values, signature.params, places):
        if isinstance(param, PrimScalar):
            _check_scalar(value, DataType(param.dtype), place)
            if param.value is not None:
                heap[param.value[1]] = value
        else:
            matcher.bind(value, param, place)
    for value, param, place in zip(values, signature.params, places):
        if isinstance(param, TensorValue):
            matcher.check(value, param, place)
    for number in signature.written:
        flags = values[number].data.flags
        if not flags.writeable:
            message = f"{places[number]}: the kernel writes to this tensor, whose memory may only be read"
            raise fail("tensor-read-only", message, help="give a copy of it")
        if not flags.carray:
            message = f"{places[number]}: the kernel writes to this tensor, which is not contiguous"
            raise fail("tensor-layout", message, help="give a copy of it")
    return heap


def _check_scalar(value: Any, dtype: DataType, place: str) -> None:
    """Refuse what is not a number, and integers beyond the parameter's range, which C would truncate."""
    integers = (int, np.integer, np.bool_)
    if not isinstance(value, (*integers, float, np.floating) if dtype.is_float else integers):
        raise mismatch(place, f"a scalar of dtype {dtype}", f"{value!r} ({type(value).__name__})")
    if not dtype.is_float and not dtype.int_range[0] <= value <= dtype.int_range[1]:
        raise mismatch(place, "a scalar of dtype {}, {} to {}".format(dtype, *dtype.int_range), str(value), ValueError)


_USABLE = 0x501
"""The flags of arrays that are C-contiguous, aligned and writeable."""


def _scalar_facts(signature: KernelSignature) -> list[Callable[[Any], object]]:
    """For each param, what of a scalar must be as in a call that was checked for this one to need no checks: its value,
    if sizes depend on it. Something that is like nothing else, if it has to be checked each time.
    """
    dims = [dim for param in signature.params if isinstance(param, TensorValue) for dim in param.dims or ()]
    sizes = {*signature.trailing, *(slot for dim in dims for slot in slots_of(dim))}
    return [_scalar_fact(param, sizes) for param in signature.params]


def _scalar_fact(param: TensorValue | PrimScalar, sizes: set[int]) -> Callable[[Any], object]:
    if isinstance(param, TensorValue) or str(param.dtype) not in _C_TYPES:
        return lambda value: object()
    if param.value is not None and param.value[1] in sizes:
        return lambda value: value if type(value) is int else object()
    dtype = DataType(param.dtype)
    if dtype.is_float:
        return lambda value: True if type(value) is float else object()
    lowest, highest = dtype.int_range
    return lambda value: True if type(value) is int and lowest <= value <= highest else object()


Converter = Callable[[Any, list[Any]], Any]


def _converter(param: TensorValue | PrimScalar) -> tuple[Any, Converter]:
    """The C type of a parameter, and how its value becomes one."""
    if isinstance(param, TensorValue):
        return ctypes.c_size_t, _tensor_address
    dtype = DataType(param.dtype)
    if dtype.is_float and dtype.bits == 16:
        return ctypes.c_uint16, lambda value, keep: _bits16(value, dtype)
    python = float if dtype.is_float else int
    if str(dtype) not in _C_TYPES:
        raise fail(
            "kernel-argument",
            f"a parameter is a {dtype}, which cannot be passed from Python",
            help="give the pointer a buffer: T.match_buffer(a, shape), or tir.PrimFunc([buffer, ...], body)",
        )
    return _C_TYPES[str(dtype)], lambda value, keep: python(value)


def _bits16(value: float, dtype: DataType) -> int:
    return int.from_bytes(dtype.numpy.type(value).tobytes(), "little")


_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


def _tensor_address(value: NDArray, keep: list[Any]) -> int:
    """The address of a tensor; of a copy, kept in `keep`, if it is strided or misaligned, and so only read."""
    array = value.data
    if not array.flags.carray:
        array = contiguous(array)
        keep.append(array)
    return data_address(array)
