"""Constants of an executable as data: tensors go to the tensor file, everything else is JSON in the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from baton._src.runtime.dim_expr import Evaluate, compile_dim
from baton._src.runtime.value_info import ValueInfo, info_from_data, info_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.prim import literal_prim, prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import AnyArray, NDArray


@dataclass(frozen=True, eq=False)
class Data:
    """JSON data for a builtin (codes of a check, dims of a shape, attributes of an operator)."""

    content: Any

    @cached_property
    def functions(self) -> list[Evaluate]:
        """For data of the form [slot names, expression, ...]: the expressions, compiled once."""
        names, *expressions = self.content
        return [compile_dim(e, names) for e in expressions]

    @cached_property
    def remembered(self) -> dict[str, Any]:
        """A cache for the builtin that is given this data: what it computed once stays for later calls."""
        return {}


@dataclass(frozen=True)
class LateConstant:
    """A placeholder for a tensor that is bound after loading (`late_constants`)."""

    name: str
    shape: tuple[int, ...]
    dtype: DataType

    def __str__(self) -> str:
        return f"tensor of shape {self.shape} and dtype {self.dtype}"


def constants_to_data(constants: Sequence[Any]) -> tuple[list[Any], dict[str, AnyArray]]:
    """The constants as JSON data, and the tensors they refer to by name."""
    tensors: dict[str, AnyArray] = {}
    return [_to_data(c, tensors) for c in constants], tensors


def _to_data(value: Any, tensors: dict[str, AnyArray]) -> list[Any]:
    if isinstance(value, NDArray):
        name = str(len(tensors))
        tensors[name] = value.data
        return ["tensor", name]
    if isinstance(value, LateConstant):
        return ["late", value.name, list(value.shape), str(value.dtype)]
    if isinstance(value, ValueInfo):
        return ["info", info_to_data(value)]
    if isinstance(value, ShapeTuple):
        return ["shape", list(value)]
    if isinstance(value, tuple):
        return ["tuple", [_to_data(v, tensors) for v in value]]
    if isinstance(value, Data):
        return ["data", value.content]
    if value is None:
        return ["null"]
    if isinstance(value, DataType):
        return ["dtype", str(value)]
    if isinstance(value, str):
        return ["string", value]
    dtype = prim_dtype(value)
    if dtype is not None:
        plain = value if dtype.is_bool else float(value).hex() if dtype.is_float else int(value)
        return ["prim", str(dtype), plain]
    raise fail("executable-constant", f"a {type(value).__name__} cannot be a constant of an executable")


def constants_from_data(data: Sequence[Any], tensors: Mapping[str, AnyArray]) -> list[Any]:
    """The inverse of `constants_to_data`; `DiagnosticError` (`executable-corrupt`)."""
    return [_from_data(d, tensors) for d in data]


def _from_data(data: Any, tensors: Mapping[str, AnyArray]) -> Any:
    match data:
        case ["tensor", str() as name] if name in tensors:
            return NDArray(tensors[name])
        case ["late", str() as name, list() as dims, str() as dtype]:
            return LateConstant(name, tuple(dims), DataType(dtype))
        case ["info", info]:
            return info_from_data(info)
        case ["shape", list() as dims]:
            return ShapeTuple(dims)
        case ["tuple", list() as fields]:
            return tuple([_from_data(f, tensors) for f in fields])
        case ["data", content]:
            return Data(content)
        case ["null"]:
            return None
        case ["dtype", str() as name]:
            return DataType(name)
        case ["string", str() as text]:
            return text
        case ["prim", str() as dtype, value]:
            return literal_prim(float.fromhex(value) if isinstance(value, str) else value, dtype)
        case _:
            raise fail("executable-corrupt", f"{data!r} is not a constant")
