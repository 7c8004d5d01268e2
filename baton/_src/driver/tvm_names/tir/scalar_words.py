"""Builders of scalar expressions with the parameters that TVM v0.19 gives them: its names, and `span` as the last one.

    tir.if_then_else(cond=x > 0, t=x, f=0)
    tir.floordiv(a, b, node.span)

What they build is that of `tir.operators`, `tir.scalar_functions` and their neighbours; a result made from nothing else
than an operand keeps that operand's own place.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.spans import Span
from baton._src.tir import dtype_limits, operators
from baton._src.tir.builders import extern_calls, llvm_intrinsics, scalar_functions, system_calls
from baton._src.tir.expr import Var


def _word(build: Callable[..., Any], parameters: str) -> Callable[..., Any]:
    """`build` with TVM's `parameters` (`*args` among them: `span` is given by name); `x=` has None for a default."""
    kind = Parameter.KEYWORD_ONLY if "*" in parameters else Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature([*map(_parameter, parameters.split()), Parameter("span", kind, default=None)])

    def word(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named)
        span = given.arguments.pop("span", None)
        return _placed(build(*given.args), span)

    word.__name__ = word.__qualname__ = build.__name__
    word.__doc__ = build.__doc__
    word.__signature__ = signature  # type: ignore[attr-defined]
    return word


def _parameter(name: str) -> Parameter:
    if name.startswith("*"):
        return Parameter(name[1:], Parameter.VAR_POSITIONAL)
    default = None if name.endswith("=") else Parameter.empty
    return Parameter(name.removesuffix("="), Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _placed(value: PrimExpr, span: Span | None) -> PrimExpr:
    """`value` at this place, if it has none; a variable is not copied, for that would be another one."""
    return value if span is None or value.span is not None or isinstance(value, Var) else value.with_fields(span=span)


def assume(cond: Any = None) -> PrimExpr:
    """Tells the compiler that `cond` holds."""
    return scalar_functions.assume(cond)


def tvm_access_ptr(ptype: object, data: Var, offset: Any, extent: Any, rw_mask: Any) -> PrimExpr:
    """The pointer `data` moved by `offset` elements of `ptype`; mask 1 reads, 2 writes, 3 both."""
    return extern_calls.tvm_access_ptr(ptype, data, offset, extent, rw_mask)


add = _word(operators.add, "lhs rhs")
subtract = _word(operators.subtract, "lhs rhs")
multiply = _word(operators.multiply, "lhs rhs")
divide = _word(operators.divide, "lhs rhs")
div = _word(operators.div, "a b")
indexdiv = _word(operators.indexdiv, "a b")
indexmod = _word(operators.indexmod, "a b")
truncdiv = _word(operators.truncdiv, "a b")
truncmod = _word(operators.truncmod, "a b")
floordiv = _word(operators.floordiv, "a b")
floormod = _word(operators.floormod, "a b")
ceildiv = _word(operators.ceildiv, "lhs rhs")
power = _word(operators.power, "x y")
pow = _word(scalar_functions.pow, "x y")
bitwise_and = _word(operators.bitwise_and, "x y")
bitwise_or = _word(operators.bitwise_or, "x y")
bitwise_xor = _word(operators.bitwise_xor, "x y")
bitwise_not = _word(operators.bitwise_not, "x")
all = _word(operators.all, "*args")
any = _word(operators.any, "*args")
const = _word(operators.const, "value dtype=")

abs = _word(scalar_functions.abs, "x")
ceil = _word(scalar_functions.ceil, "x")
floor = _word(scalar_functions.floor, "x")
isfinite = _word(scalar_functions.isfinite, "x")
isinf = _word(scalar_functions.isinf, "x")
isnan = _word(scalar_functions.isnan, "x")
nearbyint = _word(scalar_functions.nearbyint, "x")
round = _word(scalar_functions.round, "x")
trunc = _word(scalar_functions.trunc, "x")
if_then_else = _word(scalar_functions.if_then_else, "cond t f")
likely = _word(scalar_functions.likely, "cond")
reinterpret = _word(scalar_functions.reinterpret, "dtype value")
ret = _word(scalar_functions.ret, "val")

infinity = _word(dtype_limits.infinity, "dtype")
max_value = _word(dtype_limits.max_value, "dtype")
min_value = _word(dtype_limits.min_value, "dtype")

address_of = _word(extern_calls.address_of, "buffer_load")
call_extern = _word(extern_calls.call_extern, "dtype func_name *args")
call_intrin = _word(extern_calls.call_intrin, "dtype func_name *args")
call_packed = _word(extern_calls.call_packed, "*args")
call_pure_extern = _word(extern_calls.call_pure_extern, "dtype func_name *args")
isnullptr = _word(extern_calls.isnullptr, "x")
call_llvm_intrin = _word(llvm_intrinsics.call_llvm_intrin, "dtype name *args")
call_llvm_pure_intrin = _word(llvm_intrinsics.call_llvm_pure_intrin, "dtype name *args")
lookup_param = _word(system_calls.lookup_param, "param_name")
