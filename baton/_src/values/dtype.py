"""Element types: `DataType` is the string users write ("float32", "int8x4", "bool"), with its parts at hand."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from baton._src.support.diagnostics import fail

AnyDtype = np.dtype[Any]
AnyArray = npt.NDArray[Any]
"""An array of any elements; which they are is not known to type checkers."""
_NAME = re.compile(r"(int|uint|float|bfloat|handle)(\d*)(?:x(\d+))?\Z")
_BOOLS = re.compile(r"^bool(?=x\d+$|$)")
_V0_19_NAME = re.compile(r"^(e4m3|e5m2)_float8")
_SMALL_NAME = re.compile(r"((?:float8|float4)_\w+?)(?:x(\d+))?\Z")
_FLOAT_BITS = {16, 32, 64}
_SMALL_FLOATS = {
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
}
_SMALL_INTS = {
    "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2,
}  # fmt: skip
_EXTENDED: dict[str, type] = {"bfloat16": ml_dtypes.bfloat16, **_SMALL_FLOATS, **_SMALL_INTS}


_finfo: Any = ml_dtypes.finfo  # which has no types


class DataTypeCode(IntEnum):
    """The numbers of kinds of elements (DLPack's, as far as it has them)."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    E4M3Float = 6
    E5M2Float = 7


_CODES = {
    "int": DataTypeCode.INT,
    "uint": DataTypeCode.UINT,
    "bool": DataTypeCode.UINT,
    "float": DataTypeCode.FLOAT,
    "bfloat": DataTypeCode.BFLOAT,
    "handle": DataTypeCode.HANDLE,
    "void": DataTypeCode.HANDLE,
}


class NumberOfBytes(int):
    """A number that may be called: `itemsize` is a method in TVM v0.19, and a property since."""

    def __call__(self) -> int:
        return int(self)


class DataType(str):
    """An element type with lanes. It *is* its canonical string, so `dtype == "float32"` holds and it hashes as one.

    Canonical spellings: `int8..int64`, `uint8..`, `bool`, `float16/32/64`, `bfloat16`, the 8- and 4-bit floats of
    ml_dtypes (`float8_e4m3fn`, `float4_e2m1fn`, ...), `handle`, and `void` (unknown or absent; also written `""`);
    lanes as `float32x4`. TVM v0.19's `e4m3_float8` and `e5m2_float8` are read, too.
    Raises `DiagnosticError` (`dtype-unknown`) for anything else. Source: seed 001, DataType notes.
    """

    __slots__ = ("bits", "kind", "lanes")
    kind: str
    """One of `int`, `uint`, `float`, `bfloat`, `bool`, `handle`, `void`."""
    bits: int
    lanes: int

    def __new__(cls, name: object = "void") -> DataType:
        if isinstance(name, DataType):
            return name
        if isinstance(name, np.dtype):
            return _of_numpy(name)
        spelled = _spell(name)
        known = _INTERNED.get(spelled)
        if known is None:
            known = _INTERNED[spelled] = _parse(spelled)
        return known

    @property
    def type_code(self) -> DataTypeCode:
        """The number of its kind."""
        if self.kind == "float" and self.bits <= 8:
            return DataTypeCode.E5M2Float if self.startswith("float8_e5m2") else DataTypeCode.E4M3Float
        return _CODES[self.kind]

    @property
    def is_void(self) -> bool:
        return self.kind == "void"

    @property
    def is_float(self) -> bool:
        """Any floating kind, bfloat16 and the 8- and 4-bit floats included."""
        return self.kind in ("float", "bfloat")

    @property
    def is_narrow(self) -> bool:
        """A floating type too small to compute in: float16, bfloat16, float8, float4. Kernels and references compute in
        float32.
        """
        return self.is_float and self.bits < 32

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integers; bool is not one."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def int_range(self) -> tuple[int, int]:
        """The smallest and the largest number an integer type holds."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @property
    def largest_float(self) -> float:
        """The largest finite number of a floating type."""
        return float(_finfo(self.numpy).max)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number of a floating type that has all its digits: below it they vanish, one by one."""
        return float(_finfo(self.numpy).smallest_normal)

    @property
    def itemsize(self) -> int:
        """Size of one element (all lanes) in memory, in bytes; types below a byte take one byte."""
        return NumberOfBytes((self.bits + 7) // 8 * self.lanes)

    def with_lanes(self, lanes: int) -> DataType:
        """The same element type with `lanes` lanes."""
        base = str(self.element)
        return DataType(base if lanes == 1 else f"{base}x{lanes}")

    @property
    def element(self) -> DataType:
        """The type of one lane."""
        return self if self.lanes == 1 else DataType(re.sub(r"x\d+$", "", str(self)))

    @property
    def numpy(self) -> AnyDtype:
        """The NumPy dtype of one lane (ml_dtypes where NumPy itself has none)."""
        name = str(self.element)
        if name in _EXTENDED:
            return _numpy(_EXTENDED[name])
        if self.kind in ("void", "handle"):
            raise fail("dtype-unknown", f"{self} has no NumPy counterpart")
        try:
            return np.dtype(name)
        except TypeError:  # integers of odd widths
            raise fail("dtype-unknown", f"{self} has no NumPy counterpart") from None

    def __repr__(self) -> str:
        return f"DataType({str(self)!r})"


def _numpy(scalar: type) -> AnyDtype:
    found: AnyDtype = np.dtype(scalar)
    return found


_INTERNED: dict[str, DataType] = {}


@cache
def _of_numpy(dtype: AnyDtype) -> DataType:
    """Cached: every access to a tensor's dtype comes here, and NumPy takes microseconds to spell a name."""
    return DataType(dtype.name)


def _spell(name: object) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, type) and issubclass(name, (np.generic, bool, int, float)):
        return np.dtype(name).name
    raise fail("dtype-unknown", f"{name!r} is not a data type", help='write it as a string, e.g. "float32"')


def _parse(name: str) -> DataType:
    if name in ("", "void"):
        return _make("void", "void", 0, 0)
    spelled = _BOOLS.sub("uint1", name)
    spelled = _V0_19_NAME.sub(lambda found: {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}[found[1]], spelled)
    small = _SMALL_NAME.match(spelled)
    if small and small[1] in _SMALL_FLOATS and int(small[2] or 1) >= 1:
        return _vector(small[1], "float", int(small[1][5]), int(small[2] or 1))
    match = _NAME.match(spelled)
    if match:
        kind, bits_text, lanes_text2 = match[1], match[2], match[3]
        bits = int(bits_text) if bits_text else {"handle": 64}.get(kind, 32)
        lanes = int(lanes_text2) if lanes_text2 else 1
        if _is_legal(kind, bits) and lanes >= 1:
            plain = kind if kind == "handle" else f"{kind}{bits}"
            if kind == "uint" and bits == 1:
                kind, plain = "bool", "bool"
            return _vector(plain, kind, bits, lanes)
    raise fail(
        "dtype-unknown",
        f"unknown data type {name!r}",
        help='e.g. "float32", "int64", "bool", "bfloat16", "int8x4"',
        kind=ValueError,
    )


def _vector(plain: str, kind: str, bits: int, lanes: int) -> DataType:
    return _make(plain if lanes == 1 else f"{plain}x{lanes}", kind, bits, lanes)


def _is_legal(kind: str, bits: int) -> bool:
    if kind == "float":
        return bits in _FLOAT_BITS
    if kind == "bfloat":
        return bits == 16
    if kind == "handle":
        return bits == 64
    return 1 <= bits <= 64


class _Void(DataType):
    """The absent element type. TVM's scripts see it as `""`: `attrs.out_dtype or data.dtype`, `== ""`."""

    __slots__ = ()
    __hash__ = DataType.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(other) in ("void", "")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return False


def _make(name: str, kind: str, bits: int, lanes: int) -> DataType:
    value = str.__new__(_Void if kind == "void" else DataType, name)
    value.kind, value.bits, value.lanes = kind, bits, lanes
    return value


EXTENDED = tuple(DataType(name) for name in _EXTENDED)
"""The element types whose NumPy dtype is one of ml_dtypes."""
VOID = DataType("void")
BOOL = DataType("bool")
INT32 = DataType("int32")
INT64 = DataType("int64")
FLOAT32 = DataType("float32")
FLOAT64 = DataType("float64")
HANDLE = DataType("handle")
