"""What `T.word(...)` means as an expression: literals, constructors, intrinsics. One table, looked up by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from inspect import signature
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import dtype_limits, operators
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders import extern_calls, llvm_intrinsics, scalar_functions, system_calls
from baton._src.tir.expr import Call, FloatImm, IntImm, SizeVar, StringImm, Var
from baton._src.tir.index_map import index_map
from baton._src.tir.intrinsics import (
    INTRINSICS,
    LEADING_DTYPE,
    TRAILING_DTYPE,
    Result,
    definition,
    intrinsic,
    result_dtype,
)
from baton._src.tir.text.expressions import PREFIX
from baton._src.tir.text.scope import Scope, Word
from baton._src.values.dtype import HANDLE, DataType

Args = list[Any]
Kwargs = dict[str, Any]

_OF_OTHER_DEVICES = (
    "ptx_",
    "mma_",
    "tvm_mma",
    "tvm_bmma",
    "tvm_warp",
    "tvm_load_matrix",
    "tvm_store_matrix",
    "simdgroup_",
)
"""How TVM's words for the instructions of GPUs begin."""


def call_word(scope: Scope, node: ast.AST, name: str, args: Args, kwargs: Kwargs) -> Any:
    """The value of `T.name(*args, **kwargs)`."""
    try:
        made = _call(name, args, kwargs)
    except DiagnosticError:
        raise
    except (TypeError, IndexError, ValueError, AttributeError) as error:
        raise scope.error(node, "tir-call", f"T.{name} does not take these arguments: {_said(error)}") from None
    if made is None:
        help = "code is made for CPUs" if name.startswith(_OF_OTHER_DEVICES) else None
        raise scope.error(node, "tir-call", f"T has no expression {name!r}", help)
    return made


def _said(error: Exception) -> str:
    """What Python says of a call, without the name of the function here."""
    return re.sub(r"^[\w.<>]+\(\) ", "", str(error))


def expression_word(name: str, *args: Any, **kwargs: Any) -> Any:
    """The value of `T.name(*args, **kwargs)` where Python calls it."""
    return _call(name, list(args), kwargs)


def _call(name: str, args: Args, kwargs: Kwargs) -> Any:
    dtype = as_dtype(name)
    if dtype is not None:
        return _of_dtype(dtype, args, kwargs)
    if name in _EXACT:
        if len(args) != 2 or kwargs:
            raise TypeError(f"it takes 2, got {len(args) + len(kwargs)}")
        x, y = operators.match_types(*args)
        return _EXACT[name](x, y)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(*args, **kwargs)
    if f"tir.{name}" in INTRINSICS:
        return _intrinsic(name, args, kwargs)
    return None


def names_dtype(said: Any) -> bool:
    """Whether `T.Buffer[said]` gives a dtype behind the shape."""
    return isinstance(said, tuple) and len(said) > 1 and isinstance(said[1], str)


def as_dtype(name: str) -> DataType | None:
    """The dtype a word names (`float32`, `int8x4`, `boolean`), or None."""
    if name == "boolean":
        return DataType("bool")
    if name in ("void", "") or name in _NO_DTYPES:
        return None
    try:
        return DataType(name)
    except DiagnosticError:
        return None


_NO_DTYPES = frozenset({"float", "int", "uint", "bfloat"})


def _of_dtype(dtype: DataType, args: Args, kwargs: Kwargs) -> PrimExpr:
    """`T.int64(3)` a literal, `T.int64(x)` a conversion, `T.int64()` a variable, `T.handle("float32")` a pointer."""
    if dtype == HANDLE:
        pointee = DataType(args[0]) if args else None
        return Var("ptr", HANDLE, pointee=pointee, scope=args[1] if len(args) > 1 else kwargs.get("storage_scope", ""))
    if not args or args[0] is None:
        return SizeVar("v", dtype) if kwargs.get("is_size_var") else Var("v", dtype)
    (content,) = args
    if isinstance(content, PrimExpr):
        return operators.cast(dtype, content)
    if isinstance(content, str):
        return FloatImm(dtype, float(content))
    element = dtype.element
    made: PrimExpr = FloatImm(element, content) if dtype.is_float else IntImm(element, int(content))
    return made if dtype.lanes == 1 else tir.Broadcast(made, dtype.lanes)


_EXACT: dict[str, Callable[[Any, Any], PrimExpr]] = {
    **{kind.__name__: kind for kind in PREFIX},
    "min": tir.Min,
    "max": tir.Max,
    "truncmod": tir.Mod,
    "truncdiv": tir.Div,
    "floordiv": tir.FloorDiv,
    "floormod": tir.FloorMod,
    "div": tir.Div,
}


def exact_select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """`T.Select`: the node itself, its values converted to a common dtype."""
    a, b = operators.match_types(true_value, false_value)
    return tir.Select(operators.convert(condition), a, b)


def _cast(value: Any, dtype: Any) -> PrimExpr:
    """`T.Cast("float32", x)`, or `T.cast(x, "float32")`."""
    to, content = (value, dtype) if isinstance(value, str) else (dtype, value)
    return tir.Cast(to, operators.convert(content))


def _lanes(lanes: Any) -> int:
    if isinstance(lanes, PrimExpr) and not isinstance(lanes, IntImm):
        raise TypeError(f"vectors have a fixed number of lanes, not {lanes}")
    return int(lanes)


def _ramp(base: Any, stride: Any, lanes: Any) -> PrimExpr:
    x, y = operators.match_types(base, stride)
    return tir.Ramp(x, y, _lanes(lanes))


def _broadcast(content: Any, lanes: Any) -> PrimExpr:
    return tir.Broadcast(operators.convert(content), _lanes(lanes))


def _shuffle(vectors: Any, indices: Any) -> PrimExpr:
    return tir.Shuffle(tuple(operators.convert(v) for v in vectors), tuple(int(i) for i in indices))


def _pointer(dtype: Any, storage_scope: str = "global") -> Var:
    pointee = DataType(dtype.name if isinstance(dtype, Word) else dtype)
    return Var("ptr", HANDLE, pointee=pointee, scope=storage_scope)


def _range(begin: Any, end: Any = None) -> Range:
    first, last = operators.match_types(0, begin) if end is None else operators.match_types(begin, end)
    return Range(first, operators.subtract(last, first))


def _access_ptr(buffer: Any, mask: Any = 3, offset: Any = 0) -> PrimExpr:
    found: PrimExpr = buffer.access_ptr(mask, offset=offset)
    return found


def _comm_reducer(combiner: Callable[..., Any], identity: Any) -> tir.CommReducer:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`: parameters have the dtypes of the identity elements."""
    elements = tuple(operators.convert(element) for element in identity)
    names = list(signature(combiner).parameters)
    if len(names) != 2 * len(elements):
        raise TypeError(f"{len(elements)} identity elements need {2 * len(elements)} parameters, got {len(names)}")
    params = [Var(name, element.dtype) for name, element in zip(names, elements * 2)]
    combined = combiner(*params)
    results = combined if isinstance(combined, (tuple, list)) else (combined,)
    return tir.CommReducer(
        lhs=tuple(params[: len(elements)]),
        rhs=tuple(params[len(elements) :]),
        result=tuple(operators.convert(part) for part in results),
        identity_element=elements,
    )


def _packed(function: Callable[..., PrimExpr]) -> Callable[..., PrimExpr]:
    """Packed calls give an int32, unless scripts say otherwise."""

    def call(*args: Any, dtype: object = None) -> PrimExpr:
        made: Any = function(*args)
        return made if dtype is None else Call(DataType(dtype), made.op, made.args)

    return call


def _dtype_first(function: Callable[..., PrimExpr]) -> Callable[..., PrimExpr]:
    """Calls of functions by name state their dtype first, or by name behind all arguments, as older TVM prints them."""

    def call(*args: Any, dtype: object = None) -> PrimExpr:
        return function(*args) if dtype is None else function(dtype, *args)

    return call


_SPECIAL: dict[str, Callable[..., Any]] = {
    "Not": lambda a: tir.Not(operators.convert(a)),
    "Select": exact_select,
    "Cast": _cast,
    "cast": _cast,
    "Ramp": _ramp,
    "Broadcast": _broadcast,
    "Shuffle": _shuffle,
    "ramp": _ramp,
    "broadcast": _broadcast,
    "comm_reducer": _comm_reducer,
    "let": lambda var, value, body: tir.Let(var, operators.convert(value, var.dtype), operators.convert(body)),
    "Range": _range,
    "meta_var": lambda value: value,
    "Any": lambda: tir.AnyDim(),
    "StringImm": lambda text: StringImm(text),
    "var": lambda dtype, name="v": Var(name, dtype),
    "size_var": lambda name="v", dtype="int32": SizeVar(name, dtype),
    "Var": Var,
    "SizeVar": SizeVar,
    "IntImm": IntImm,
    "FloatImm": FloatImm,
    "IterVar": tir.IterVar,
    "iter_var": lambda v, dom, iter_type, thread_tag="": tir.IterVar(
        dom, v, getattr(tir.IterVar, iter_type), thread_tag
    ),
    "Call": Call,
    "BufferLoad": tir.BufferLoad,
    "call_intrin": _dtype_first(extern_calls.call_intrin),
    "index_map": index_map,
    "target": lambda config, host=None: Target(config, host),
    **dict.fromkeys(("Ptr", "ptr", "buffer_var"), _pointer),
    "ceildiv": operators.ceildiv,
    "indexdiv": operators.indexdiv,
    "indexmod": operators.indexmod,
    "power": operators.power,
    "abs": scalar_functions.abs,
    "infinity": dtype_limits.infinity,
    "min_value": dtype_limits.min_value,
    "max_value": dtype_limits.max_value,
    "access_ptr": _access_ptr,
    "call_llvm_intrin": _dtype_first(llvm_intrinsics.call_llvm_intrin),
    "call_llvm_pure_intrin": _dtype_first(llvm_intrinsics.call_llvm_pure_intrin),
    "llvm_lookup_intrinsic_id": llvm_intrinsics.llvm_lookup_intrinsic_id,
    "call_packed": _packed(extern_calls.call_packed),
    "call_cpacked": _packed(system_calls.call_cpacked),
    "call_packed_lowered": _packed(system_calls.call_packed_lowered),
    "call_cpacked_lowered": _packed(system_calls.call_cpacked_lowered),
}


def _intrinsic(name: str, args: Args, kwargs: Kwargs) -> PrimExpr:
    op = intrinsic(name)
    row = definition(op)
    assert row is not None
    stated = kwargs.pop("dtype", None)
    if kwargs:
        raise TypeError(f"unexpected {', '.join(kwargs)}")
    given = list(args)
    if row.name in LEADING_DTYPE and stated is None:
        stated = given.pop(0)
    if row.name in TRAILING_DTYPE and stated is None:
        stated = given.pop()
    if row.arity not in (-1, len(given)):
        raise TypeError(f"it takes {row.arity}, got {len(given)}")
    operands = _adapted([a.data if isinstance(a, Buffer) else a for a in given], row.result)
    dtype = DataType(stated) if stated is not None else result_dtype(row, operands)
    if dtype is None:
        raise TypeError('its dtype has to be stated: dtype="..."')
    return Call(dtype, op, operands)


def _adapted(args: Args, result: Result) -> list[PrimExpr]:
    """Python numbers as literals, of the dtype of the operands beside them where they have to agree."""
    first = 1 if result is Result.SECOND else 0
    pattern = next((a.dtype for a in args[first:] if isinstance(a, PrimExpr)), None)
    agree = pattern if result in (Result.SAME, Result.SECOND, Result.BOOL) else None
    return [operators.convert(a, agree if i >= first else None) for i, a in enumerate(args)]


WORDS: frozenset[str] = frozenset({*_EXACT, *_SPECIAL})
"""The words that are neither dtypes nor intrinsics."""
