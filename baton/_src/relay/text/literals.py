"""Literals, attributes and the metadata section as text; the counterpart of `attribute_reader`.

Scalars print inline with the suffix of their dtype (`1f`, `3`, `2i64`, `True`); other constants as
`meta[relay.Constant][i]`, their bytes in the JSON of the metadata section.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs
from baton._src.ir.expr import PrimExpr
from baton._src.relay.check.show import show_dim
from baton._src.relay.nodes import Call, Constant
from baton._src.values.tensor import NDArray

_SUFFIXES = {
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}


TVM_DIGITS = 6
"""Significant digits TVM prints, which makes 1e+06 of a million; here a number gets as many as it needs besides."""


def scalar(data: NDArray) -> str | None:
    """A rank-zero tensor as a literal; None where there is none."""
    if data.shape != ():
        return None
    if data.dtype == "bool":
        return "True" if data.data[()] else "False"
    suffix = _SUFFIXES.get(data.dtype)
    if suffix is None:
        return None
    number: Any = data.data[()]
    if data.dtype.is_float:
        if not np.isfinite(number):
            sign = "-" if np.signbit(number) else ""
            bits = "" if data.dtype == "float32" else str(data.dtype.bits)
            return f"{sign}{'nan' if np.isnan(number) else 'inf'}f{bits}" if not np.isnan(number) else None
        shortest = np.format_float_scientific(number, unique=True, trim="-")
        digits = sum(c.isdigit() for c in shortest.partition("e")[0])
        return f"{float(shortest):.{max(digits, TVM_DIGITS)}g}{suffix}"
    return f"{int(number)}{suffix}"


def show_value(content: Any) -> str:
    """An attribute's value."""
    match content:
        case None:
            return "None"
        case bool() | np.bool_():
            return "True" if content else "False"
        case str():
            return json.dumps(content, ensure_ascii=False)
        case int() | np.integer():
            return str(int(content))
        case float() | np.floating():
            return _show_float(float(content))
        case tuple() | list():
            return f"[{', '.join(show_value(item) for item in content)}]"
        case dict():
            return f"{{{', '.join(f'{show_value(key)}: {show_value(item)}' for key, item in content.items())}}}"
        case PrimExpr():
            return show_dim(content)
        case _:
            return show_value(str(content))


def _show_float(number: float) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        return f"{'-' if number < 0 else ''}{'nan' if number != number else 'inf'}f"
    return f"{repr(number).removesuffix('.0')}f"


_defaults: dict[type, Any] = {}
"""A cache: for each class of attributes, a record of defaults (None where some have none)."""


def call_attributes(call: Call) -> list[str]:
    """`name=value` for what differs from the operator's defaults."""
    given = call.attrs
    if given is None or isinstance(given, NoAttrs):
        return []
    if isinstance(given, dict):
        return [f"{key}={show_value(content)}" for key, content in given.items()]
    default = _default(type(given))
    shown = []
    for name, content in given.items():
        if name not in getattr(default, "names", ()) or getattr(default, name) != content:
            shown.append(f"{name}={show_value(content)}")
    return shown


def _default(record: type[Attrs]) -> Any:
    if record not in _defaults:
        try:
            _defaults[record] = record()
        except TypeError:
            _defaults[record] = None
    return _defaults[record]


class Metadata:
    """Constants that are not printed inline, in order of first use."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._index: dict[Any, int] = {}

    def reference(self, constant: Constant) -> str:
        if constant not in self._index:
            self._index[constant] = len(self.entries)
            array = constant.data.data
            written = base64.b64encode(array.tobytes()).decode()  # row by row, however it lies in memory
            dtype = str(constant.data.dtype)
            self.entries.append({"dtype": dtype, "shape": list(array.shape), "data": written})
        return f"meta[relay.Constant][{self._index[constant]}]"

    def section(self) -> str:
        """The metadata section: JSON to the end of the text."""
        return "#[metadata]\n" + json.dumps({"relay.Constant": self.entries}, indent=1)
