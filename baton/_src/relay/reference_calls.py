"""A Relay operator call evaluated by `OpDef.reference`: tensors to NumPy arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.expr import Op
from baton._src.ir.op_def import NotApplicable, OpCall
from baton._src.ir.tensor_info import OBJECT, Info, TensorInfo, TupleInfo
from baton._src.ir.types import TensorType, TupleType
from baton._src.relay.check.prover import DimRules
from baton._src.relay.memory_calls import MEMORY_OPS, call_memory
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm
from baton._src.values.reference_values import from_reference, to_reference
from baton._src.values.tensor import NDArray


def call_reference(op: Op, args: Sequence[Any], node: Any) -> Any:
    """The value of calling `op` with `args` (values); `node` is the call, for its attributes and place."""
    definition = op.definition
    if op.name in MEMORY_OPS:
        return call_memory(op, args, getattr(node, "attrs", None) or definition.attrs(), getattr(node, "span", None))
    if definition is None or isinstance(definition.reference, NotApplicable):
        why = definition.reference.why if definition is not None else "it was never defined"
        span = getattr(node, "span", None)
        raise fail("relay-run", f"{op.name} has no implementation: {why}", span=span, help="register one")
    attrs = getattr(node, "attrs", None)
    if attrs is None:
        attrs = definition.attrs() if definition.attrs is not None else NO_ATTRS
    inputs = [a.data if type(a) is NDArray else to_reference(a) for a in args]
    if any(_is_open(getattr(a, "checked_type_", None)) for a in getattr(node, "args", ())):
        _judge_operands(definition, args, attrs, inputs, getattr(node, "span", None))
    try:
        with np.errstate(all="ignore"):  # floats overflow as they do in compiled code
            value = from_reference(definition.reference(inputs, attrs))
    except (ValueError, TypeError, IndexError) as error:
        given = ", ".join(_brief(a) for a in args)
        help = (
            "the interpreter checks no types: relay.transform.InferType()(module) says what is wrong with the program"
        )
        span = getattr(node, "span", None)
        raise fail("relay-run", f"{op.name} cannot be computed of {given}: {error}", span=span, help=help) from error
    _judge(value, getattr(node, "checked_type_", None), op.name, getattr(node, "span", None))
    return value


def _is_open(type_: Any) -> bool:
    """Whether a type leaves sizes to the run."""
    if isinstance(type_, TupleType):
        return any(map(_is_open, type_.fields))
    return isinstance(type_, TensorType) and not (
        isinstance(type_.shape, tuple) and all(isinstance(d, IntImm) for d in type_.shape)
    )


def _judge_operands(definition: Any, args: Sequence[Any], attrs: Any, inputs: Sequence[Any], span: Any) -> None:
    """The rules of the operator for the sizes there are: what unknown dims left open when types were inferred."""
    call = OpCall(definition, tuple(map(_info, args)), attrs, DimRules(), tuple(inputs), span)
    if definition.relay_rule is not None:
        definition.relay_rule(call)
    definition.infer(call)


def _info(value: Any) -> Info:
    if isinstance(value, NDArray):
        return TensorInfo(value.shape, value.dtype)
    return TupleInfo(tuple(map(_info, value))) if isinstance(value, (tuple, list)) else OBJECT


def _judge(value: Any, said: Any, name: str, span: Any) -> None:
    """`DiagnosticError` (`value-mismatch`) where the value has not the sizes that its type said: types that were
    inferred of unknown dims hold for the values that fit them, and compiled code counts on it."""
    if isinstance(value, tuple):
        for field, part in zip(value, said.fields if isinstance(said, TupleType) else ()):
            _judge(field, part, name, span)
    elif isinstance(value, NDArray) and isinstance(said, TensorType) and isinstance(said.shape, tuple):
        wanted = [d.value if isinstance(d, IntImm) else None for d in said.shape]
        if len(wanted) != len(value.shape) or any(w not in (None, d) for w, d in zip(wanted, value.shape)):
            raise fail(
                "value-mismatch", f"{name} gives a tensor of shape {value.shape}, its type is {said!r}", span=span
            )


def _brief(value: Any) -> str:
    if isinstance(value, NDArray):
        return f"a {value.dtype} tensor of shape {value.shape}"
    return f"({', '.join(map(_brief, value))})" if isinstance(value, (tuple, list)) else repr(value)
