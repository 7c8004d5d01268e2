"""Run operators by their NumPy references. Their type rules check the values first: NumPy would add int32 to float32.

When the program was checked, little may have been known of the operands; at run time everything is, so an operator
refuses the same values here as when it is compiled on its first call (`driver/relax/operator_compiler`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.relax.check.assumed_sizes import assumed_sizes
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.interpret.checks import describe_value
from baton._src.relax.interpret.environment import Frame
from baton._src.relax.literals import host_value
from baton._src.relax.nodes import Call, Constant, ShapeExpr, StringImm, Tuple, Var
from baton._src.relax.struct_info import ObjectStructInfo, PrimStructInfo, TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm
from baton._src.values.prim import prim_dtype
from baton._src.values.reference_values import from_reference, prim_from_reference, to_reference
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

_BEFORE = -(2**31)
"""A bound that no axis reaches: it is clipped to the front."""


def by_reference(definition: OpDef[Any], args: Sequence[Any], call: Call, frame: Frame) -> Any:
    """The result of the operator of `call` on `args`; results never alias arguments (RELAX-SEM-09)."""
    _check_assumed(call, frame)
    reference = definition.reference
    if isinstance(reference, NotApplicable):
        raise fail("relax-run", f"operator {definition.name} cannot be run: {reference.why}", span=call.span)
    declared = [i for i in definition.inputs if "relax" in i.languages]
    for n, operand in enumerate(declared[: len(args)]):
        if operand.from_front:
            args = [*args[:n], _counted_from_front(args[n], call.args[n]), *args[n + 1 :]]
    operands = [_operand(value, arg) for value, arg in zip(args, call.args)]
    said = None if call.attrs is None else _attrs_of_run(call.attrs, frame)
    info = deduce(Call(call.op, operands, said, call.sinfo_args, call.span), Context())
    inputs = [to_reference(a) for a in args]
    attrs = definition.attrs() if said is None else said
    try:
        with np.errstate(all="ignore"):
            if isinstance(info, PrimStructInfo):
                return prim_from_reference(reference, inputs, attrs, info.dtype)
            return from_reference(reference(inputs, attrs), apart_from=inputs)
    except IndexError as error:
        raise fail("relax-index", f"{definition.name}: {error}", span=call.span) from error
    except ValueError as error:
        given = ", ".join(describe_value(a) for a in args)
        raise fail("value-mismatch", f"{definition.name} of {given}: {error}", span=call.span) from error


def _check_assumed(call: Call, frame: Frame) -> None:
    """What the rule assumed of sizes beforehand: NumPy would broadcast a size of 1, compiled code does not."""
    for pair in assumed_sizes(call, Context()):
        found, expected = (frame.scalar(d) if isinstance(d, PrimExpr) else d for d in pair)
        if found != expected:
            raise fail(
                "value-mismatch", f"{call.op.name}: the size {pair[0]} is {found}, expected {expected} ({pair[1]})",
                span=call.span,
            )  # fmt: skip


def _attrs_of_run(attrs: Any, frame: Frame) -> Any:
    """The attributes with numbers in place of expressions over shape variables, such as the repetitions of a tile."""

    def number(value: Any) -> Any:
        if isinstance(value, tuple):
            made = tuple([number(v) for v in value])
            return value if all(a is b for a, b in zip(made, value)) else made
        return frame.scalar(value) if isinstance(value, PrimExpr) and prim_vars(value) else value

    changed = {name: new for name, old in attrs.items() if (new := number(old)) is not old}
    return attrs.with_attrs(**changed) if changed else attrs


def _counted_from_front(value: Any, arg: Any) -> Any:
    """The numbers; one computed from sizes counts from the front, so a negative one means before everything."""
    if not isinstance(arg, Tuple):
        return value
    known = [getattr(field.struct_info, "value", None) for field in arg.fields]
    return tuple([_BEFORE if v < 0 and not (k is None or isinstance(k, IntImm)) else v for v, k in zip(value, known)])


def _operand(value: Any, arg: Any) -> Any:
    """An operand under its own name, with everything known that the type rule may ask for."""
    if isinstance(arg, Constant):
        return arg
    name = arg.name_hint if isinstance(arg, Var) else "x"
    if isinstance(value, NDArray):
        return Var(name, TensorStructInfo(value.shape, value.dtype))
    if isinstance(value, ShapeTuple):
        return ShapeExpr(value)
    if isinstance(value, tuple):
        fields = arg.fields if isinstance(arg, Tuple) else [arg] * len(value)
        return Tuple([_operand(v, f) for v, f in zip(value, fields)])
    if isinstance(value, str):
        return StringImm(value)
    return host_value(value) if prim_dtype(value) is not None else Var(name, ObjectStructInfo())
