"""Turn operator calls and primitive functions into kernels over tensors, with tuple operands flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from baton._src.ir.node import Node, set_note
from baton._src.ir.types import FuncType, TensorType, TupleType, Type
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.relay.expressions import replace
from baton._src.relay.nodes import Call, Constant, Function, Tuple, Var
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import INT64, DataType
from baton._src.values.tensor import NDArray

N = TypeVar("N", bound=Node)
PRIMITIVE = {"Primitive": 1}


def int64(value: Any) -> Constant:
    """An int64 constant."""
    numbers = np.asarray(value, np.int64)
    return typed(Constant(NDArray(numbers)), TensorType(tuple(IntImm("int32", d) for d in numbers.shape), INT64))


def tensors(type_: Type) -> list[TensorType] | None:
    """The tensor types in a type, from left to right; None if it contains anything but tensors and tuples."""
    if isinstance(type_, TensorType):
        return [type_] if isinstance(type_.shape, tuple) and isinstance(type_.dtype, DataType) else None
    if not isinstance(type_, TupleType):
        return None
    found: list[TensorType] = []
    for each in type_.fields:
        inner = tensors(each)
        if inner is None:
            return None
        found += inner
    return found


def known_dims(type_: TensorType) -> tuple[int, ...]:
    """The dims of a tensor type, with -1 for those that are not constant."""
    return tuple(d.value if isinstance(d, IntImm) else -1 for d in type_.shape)


def kernel_of_call(call: Call) -> tuple[Function, list[Any]]:
    """An operator call as a primitive function of flat tensors, and its arguments. Constant scalars, vectors and
    operands that determine the result's shape stay inside: types depend on them.
    """
    kept = call.op.definition.shape_values
    params: list[Var] = []
    parts, args = [], []
    for index, arg in enumerate(call.args):
        if isinstance(arg, Constant) and (index in kept or len(arg.data.shape) <= 1):
            parts.append(arg)
        else:
            parts.append(_structured(arg.checked_type, params))
            args.append(arg)
    body = typed(Call(call.op, parts, call.attrs, span=call.span), call.checked_type)
    return primitive(params, body), args


def primitive(params: Sequence[Var], body: Any) -> Function:
    """A kernel of typed parameters and a typed body."""
    type_ = FuncType(tuple(p.checked_type for p in params), body.checked_type)
    return typed(Function(params, body, body.checked_type, attrs=PRIMITIVE), type_)


def typed_tuple(fields: Sequence[Any]) -> Tuple:
    """A tuple of typed fields."""
    return typed(Tuple(fields), TupleType(tuple(f.checked_type for f in fields)))


def shape_type(rank: int) -> TensorType:
    """The type of shapes."""
    return TensorType((IntImm("int32", rank),), INT64)


def typed(made: N, type_: Type) -> N:
    """A new expression with its type filled in: the output of the pass needs no type inference."""
    set_note(made, "checked_type_", type_)
    return made


def flat_function(function: Function) -> Function:
    """A primitive function over tensors, with tuples flattened. It shares no binding with `function`."""
    function = fresh_copy(function)
    params: list[Var] = []
    parts = {p: _structured(p.checked_type_ or p.type_annotation, params) for p in function.params}
    type_ = FuncType(tuple(p.checked_type for p in params), function.checked_type.ret_type)
    return typed(function.with_fields(params=tuple(params), body=replace(function.body, parts)), type_)


def _structured(type_: Any, params: list[Var]) -> Any:
    """New parameters for the tensors of a type, and the value of that type built from them."""
    if isinstance(type_, TensorType):
        params.append(typed(Var(f"p{len(params)}", type_), type_))
        return params[-1]
    return typed_tuple([_structured(each, params) for each in type_.fields])
