"""The functions of `T` that are available in a Relax function: shape variables, literals, arithmetic on dims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.builders import scalar_functions
from baton._src.tir.expr import FloatImm, IntImm, SizeVar, Var
from baton._src.tir.index_map import index_map
from baton._src.tir.text.words import exact_select
from baton._src.values.dtype import DataType

_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


def _of_dtype(name: str) -> Callable[..., PrimExpr]:
    """`T.int64()` a variable, `T.int64(3)` a literal, `T.int64(x)` a conversion."""
    dtype = DataType(name)

    def word(value: Any = None, is_size_var: bool = False) -> PrimExpr:
        if value is None:
            return (SizeVar if is_size_var else Var)("v", dtype)
        if isinstance(value, PrimExpr):
            return operators.cast(dtype, value)
        return FloatImm(dtype, float(value)) if dtype.is_float else IntImm(dtype, int(value))

    word.__name__ = name
    return word


def _exactly(kind: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    """A binary node with its operands converted to a common dtype, without folding."""
    return lambda a, b: kind(*operators.match_types(a, b))


SCALARS: Mapping[str, Any] = {
    **{name: _of_dtype(name) for name in (*_DTYPES, "bool")},
    "boolean": _of_dtype("bool"),
    "var": lambda dtype, name="": Var(name, dtype),
    "Add": _exactly(tir.Add),
    "Sub": _exactly(tir.Sub),
    "Mul": _exactly(tir.Mul),
    "Div": _exactly(tir.Div),
    "Mod": _exactly(tir.Mod),
    "truncdiv": _exactly(tir.Div),
    "truncmod": _exactly(tir.Mod),
    "FloorDiv": _exactly(tir.FloorDiv),
    "FloorMod": _exactly(tir.FloorMod),
    "floordiv": _exactly(tir.FloorDiv),
    "floormod": _exactly(tir.FloorMod),
    "min": _exactly(tir.Min),
    "max": _exactly(tir.Max),
    "Min": _exactly(tir.Min),
    "Max": _exactly(tir.Max),
    "And": _exactly(tir.And),
    "Or": _exactly(tir.Or),
    "Not": lambda a: tir.Not(operators.convert(a)),
    "EQ": _exactly(tir.EQ),
    "NE": _exactly(tir.NE),
    "LT": _exactly(tir.LT),
    "LE": _exactly(tir.LE),
    "GT": _exactly(tir.GT),
    "GE": _exactly(tir.GE),
    "Select": exact_select,
    "Cast": lambda dtype, value: tir.Cast(dtype, operators.convert(value)),
    "cast": lambda value, dtype: operators.cast(dtype, value),
    "ceildiv": operators.ceildiv,
    "if_then_else": scalar_functions.if_then_else,
    "abs": scalar_functions.abs,
    "index_map": index_map,
    "target": lambda config, host=None: Target(config, host),
}
