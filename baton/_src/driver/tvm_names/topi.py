"""`tvm.topi`: the operators' computations as functions of `te` tensors, by the operators' own names.

topi.nn.relu(a);  topi.add(a, b);  topi.nn.softmax(a, axis=-1);  topi.reshape(a, (2, 3))
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from baton._src.ir.op_def import Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.builders import Namespace, make_attrs, signature
from baton._src.ops.catalogue import CATALOGUE
from baton._src.te.computation import compute, placeholder
from baton._src.te.tensor import Tensor
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import INT64, DataType


def topi_functions(namespace: str = "") -> Mapping[str, Any]:
    """The functions below `namespace` (`""`: all, with the namespaces in them)."""
    found: dict[str, Any] = {}
    for definition in CATALOGUE:
        if isinstance(definition.compute, NotApplicable):
            continue
        for name in {definition.name, definition.relay_op.name if definition.relay_op else definition.name}:
            _put(found, name.split("."), partial(apply, definition))
    place: Any = found
    for part in namespace.split(".") if namespace else ():
        place = place.get(part, {})
    return {name: Namespace(entry) if isinstance(entry, dict) else entry for name, entry in place.items()}


def _put(tree: dict[str, Any], path: list[str], entry: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = entry


def apply(definition: OpDef[Any], *args: Any, **options: Any) -> Any:
    """The tensor (or tuple of tensors) an operator computes."""
    bound = signature(definition, "relax").bind(*args, **options)
    bound.apply_defaults()
    given = dict(bound.arguments)
    inputs = [(i, given.pop(i.named("relax"))) for i in definition.inputs if i.named("relax") in given]
    while inputs and inputs[-1][1] is None:
        inputs.pop()
    attrs = make_attrs(definition, {k: v for k, v in given.items() if v is not inspect.Parameter.empty})
    record = attrs if attrs is not None else definition.attrs()
    infos = tuple(_info(operand, value) for operand, value in inputs)
    out = definition.infer(OpCall(definition, infos, record, Analyzer()))
    assert not isinstance(definition.compute, NotApplicable)
    return definition.compute(tuple(_operand(value) for _, value in inputs), record, out)


def _operand(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        scalar = placeholder((), "float32" if isinstance(value, float) else "int32", "scalar")
        return compute(scalar.shape, lambda: value, "scalar")
    return tuple(value) if isinstance(value, list) else value


def _info(operand: Input, value: Any) -> Info:
    if isinstance(value, Tensor):
        return TensorInfo(tuple(d.value if isinstance(d, IntImm) else d for d in value.shape), value.dtype)
    if operand.kind == "tensors":
        return TupleInfo(tuple(_info(operand, v) for v in value))
    if operand.kind == "shape":
        return ShapeInfo(tuple(d.value if isinstance(d, IntImm) else d for d in value))
    if isinstance(value, (list, tuple)):
        return TupleInfo(tuple(_info(operand, v) for v in value))
    if operand.kind == "tensor":
        return TensorInfo((), DataType("float32" if isinstance(value, float) else "int32"))
    return PrimInfo(INT64 if isinstance(value, int) else DataType("float64"), value)
