"""Apply the computation of an operator to `te` tensors: the basis of every function of `tvm.topi`."""

from __future__ import annotations

import inspect
from typing import Any

from baton._src.driver.tvm_names.topi.matched_operands import matched, of_scalars
from baton._src.driver.tvm_names.topi.tagging import tag_of
from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.builders import signature
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, placeholder
from baton._src.te.index_dtype import with_narrow_axes
from baton._src.te.tag import default_tag
from baton._src.te.tensor import Tensor
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import FLOAT64, INT64, DataType

_PLACES = {"a": 0, "x": 0, "array": 0, "data": 0, "gen": 0, "slope": 1, "n": 1}
"""Names topi has for operands, and which operand they are."""


def apply(definition: OpDef[Any], *args: Any, **options: Any) -> Any:
    """The tensor (or tuple of tensors) an operator computes; arguments as in Relax, operands by the names of either
    language or topi.
    """
    named = signature(definition, "relax")
    operands = [i.named("relax") for i in definition.inputs if "relax" in i.languages]
    renamed = {name: operands[place] for name, place in _PLACES.items() if place < len(operands)}
    renamed |= {i.named("relay"): i.named("relax") for i in definition.inputs} | {n: n for n in named.parameters}
    bound = named.bind(*args, **{renamed.get(n, n): v for n, v in options.items()})
    bound.apply_defaults()
    given = dict(bound.arguments)
    inputs = [given.pop(i.named("relax"), None) for i in definition.inputs if "relax" in i.languages]
    attributes = {n: v for n, v in given.items() if v is not inspect.Parameter.empty}
    return computed(definition, inputs, attributes)


def call(name: str, *operands: Any, **attributes: Any) -> Any:
    """The operator of this neutral name, on operands in order."""
    return computed(CATALOGUE.get(name), list(operands), attributes)


def computed(definition: OpDef[Any], operands: list[Any], attributes: dict[str, Any]) -> Any:
    """Inference, then the kernel; trailing operands that are None are left out."""
    if isinstance(definition.compute, NotApplicable):
        why = f"{definition.name} has no kernel of its own: {definition.compute.why}"
        raise fail("topi", why, help="call it in Relay or Relax")
    while operands and operands[-1] is None:
        operands.pop()
    record = make_attrs(definition, attributes)
    record = record if record is not None else definition.attrs()
    inputs = [i for i in definition.inputs if "relax" in i.languages]
    is_elementwise = definition.fusion is Fusion.BROADCAST and [i.kind for i in inputs] == ["tensor", "tensor"]
    if is_elementwise and len(operands) == 2:
        scalar = of_scalars(definition.name, *operands)
        if scalar is not None:
            return scalar
        operands = matched(*operands)
    infos = tuple(_info(operand, value) for operand, value in zip(inputs, operands))
    out = definition.infer(OpCall(definition, infos, record, Analyzer()))
    if isinstance(out, TensorInfo) and out.shape is None:
        shapes = ", ".join(str(i.shape) for i in infos if isinstance(i, TensorInfo))
        raise fail("topi", f"{definition.name} of {shapes}: the sizes do not say the shape of the result")
    return of_shape(definition, tuple(map(_operand, inputs, operands)), record, out)


def of_shape(definition: OpDef[Any], operands: tuple[Any, ...], record: Any, out: Info) -> Any:
    """The operator's kernel on these operands, whose result is known to be `out`."""
    with default_tag(tag_of(definition)):
        found = definition.compute(operands, record, out)  # type: ignore[operator]
    return _like_operands(found, operands)


def _like_operands(found: Any, given: tuple[Any, ...]) -> Any:
    """What was computed, over axes as narrow as those of the operands."""
    tensors = [t for one in given for t in (one if isinstance(one, tuple) else (one,)) if isinstance(t, Tensor)]
    if any(d.dtype == INT64 for t in tensors for d in t.shape):
        return found
    if isinstance(found, Tensor):
        return with_narrow_axes((found,), tensors)[0]
    return type(found)(with_narrow_axes(tuple(found), tensors)) if isinstance(found, (tuple, list)) else found


def number_of(dim: Any) -> Any:
    """A dim as an int where it is one."""
    return dim.value if isinstance(dim, IntImm) else dim


def shape_of(tensor: Tensor) -> tuple[Any, ...]:
    """A tensor's dims, as ints where they are."""
    return tuple(number_of(d) for d in tensor.shape)


def _operand(operand: Input, value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and operand.kind == "tensor":
        scalar = placeholder((), "float32" if isinstance(value, float) else "int32", "scalar")
        return compute(scalar.shape, lambda: value, "scalar")
    return tuple(value) if isinstance(value, list) else value


def _info(operand: Input, value: Any) -> Info:
    if isinstance(value, Tensor):
        return TensorInfo(shape_of(value), value.dtype)
    if operand.kind == "tensors":
        return TupleInfo(tuple(_info(operand, v) for v in value))
    if operand.kind == "shape":
        return ShapeInfo(tuple(number_of(d) for d in value))
    if isinstance(value, (list, tuple)):
        return TupleInfo(tuple(_info(operand, v) for v in value))
    if operand.kind == "tensor":
        return TensorInfo((), DataType("float32" if isinstance(value, float) else "int32"))
    if isinstance(value, PrimExpr):
        return PrimInfo(value.dtype, number_of(value))
    return PrimInfo(INT64 if isinstance(value, int) else FLOAT64, value)
