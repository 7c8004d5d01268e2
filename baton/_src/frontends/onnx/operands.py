"""A node's operands and outputs against ONNX's definition of its operator: how many there may be, and integers or
booleans where it has no other numbers (shapes, indices, conditions). How many axes they may have is said here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.definitions import definition
from baton._src.frontends.onnx.microsoft.definitions import COUNTS
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import DataType
from baton._src.values.meaning import PLAIN

MANY = 1 << 10
RANKS: dict[str, tuple[tuple[int, int], ...]] = {
    **dict.fromkeys(("Gather", "GatherElements", "ScatterElements", "Split", "SplitToSequence", "TopK"), ((1, MANY),)),
    **dict.fromkeys(("GatherND", "ScatterND"), ((1, MANY), (1, MANY))),
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization", "LRN"), ((2, MANY),)),
    "BatchNormalization": ((1, MANY),),
    "EyeLike": ((2, 2),),
    "Reshape": ((0, MANY), (1, 1)),
    "MaxUnpool": ((3, MANY), (3, MANY)),
    "RoiAlign": ((4, 4), (2, 2), (1, 1)),
    "RotaryEmbedding": ((3, 4), (2, 3), (2, 3)),
    "STFT": ((2, 3), (0, 1), (1, 1)),
    "TensorScatter": ((1, MANY), (1, MANY), (1, 1)),
    "Trilu": ((2, MANY),),
}
"""The least and the most axes that operands may have, of operators that count on some."""
ONE_NUMBER: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("CumProd", "CumSum", "OneHot", "SequenceAt", "SequenceErase", "Trilu"), (1,)),
    **dict.fromkeys(("DFT", "Dropout"), (1, 2)),
    "If": (0,),
    "Loop": (0, 1),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2, 3, 4),
    "Range": (0, 1, 2),
    "STFT": (1, 3),
    "SequenceInsert": (2,),
}
"""Operands that hold one number, whether or not they have axes."""
CONTRIBUTED_RANKS: dict[str, tuple[tuple[int, int], ...]] = {
    **dict.fromkeys(("EmbedLayerNormalization", "NGramRepeatBlock", "QEmbedLayerNormalization"), ((2, 2),)),
    "GatedRMSNorm": ((1, MANY), (1, MANY)),
    "Trilu": ((2, MANY),),
}
"""The same of operators in other domains, whose namesakes in ONNX's own may take other operands."""


@dataclass(frozen=True, slots=True)
class Signature:
    """How many operands and outputs an operator has at most; of each operand the only kind of numbers it may have, None
    where there are several. Behind the last one stand more of its kind."""

    operands: int
    outputs: int
    kinds: tuple[str | None, ...]
    listed_from: int
    """The first operand of a list of tensors (of Concat, Sum, ...), none of which may be left out."""


def check_operands(node: OnnxNode) -> None:
    """Refuse (`onnx-node`, `onnx-dtype`) what the operator does not take. Operators that ONNX does not define
    are not looked at."""
    found = _signature(node.op_type, node.opset)
    if found is None:
        return
    _check_counts(node, found.operands, found.outputs, f"in opset {node.opset}", "see ONNX's table")
    if len(node.inputs) <= found.listed_from < MANY:
        node.fail("it has no inputs", help=f"{node.op_type} takes a list of one tensor or more")
    if None in node.inputs[found.listed_from :]:
        place = node.inputs.index(None, found.listed_from)
        node.fail(f"input {place} has no name", help=f"{node.op_type} takes a list of tensors: delete it, or name it")
    for place, value in enumerate(node.inputs[: _count(node.inputs)]):
        wanted = found.kinds[min(place, len(found.kinds) - 1)]
        kind = None if value is None else _kind_of(value)
        if wanted is not None and kind is not None and kind != wanted:
            assert value is not None
            help = f"cast it before: {node.op_type} takes {wanted} there"
            node.fail(f"input {place} is {value.dtype}, it must be {wanted}", code="onnx-dtype", help=help)
    _check_ranks(node, RANKS)
    for place in ONE_NUMBER.get(node.op_type, ()):
        value = node.optional(place)
        if value is not None and any(isinstance(d, int) and d != 1 for d in value.shape or ()):
            node.fail(f"input {place} is {value}, it must be one number", code="op-shape")


def check_contributed(node: OnnxNode) -> None:
    """Refuse (`onnx-node`, `op-shape`) what an operator of `com.microsoft` does not take."""
    most = COUNTS.get(node.op_type)
    if most is not None:
        _check_counts(node, *most, "for it", "see onnxruntime's documentation of contributed operators")
    _check_ranks(node, CONTRIBUTED_RANKS)


def _check_counts(node: OnnxNode, operands: int, outputs: int, where: str, help: str) -> None:
    for what, count, most in (("inputs", _count(node.inputs), operands), ("outputs", _count(node.outputs), outputs)):
        if count > most:
            node.fail(f"it has {count} {what}, {most} at most are defined {where}", help=help)


def _check_ranks(node: OnnxNode, ranks: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """Refuse (`op-shape`) operands of more or fewer axes than the operator counts on."""
    for place, (least, most) in enumerate(ranks.get(node.op_type, ())):
        value = node.optional(place)
        if value is None or value.is_sequence or value.rank < 0 or least <= value.rank <= most:
            continue
        wanted = f"{least}" if least == most else f"{least} or more" if most == MANY else f"{least} to {most}"
        node.fail(f"input {place} is {value}, it must have {wanted} axes", code="op-shape")


def _count(names: Any) -> int:
    """How many there are up to the last one that is not left out."""
    return max((k + 1 for k, name in enumerate(names) if name is not None and name != ""), default=0)


def _kind_of(value: Value) -> str | None:
    """The kind of numbers in a tensor; None for what is no tensor of numbers, or not known."""
    if value.is_sequence or value.meaning is not PLAIN or value.dtype.is_void:
        return None
    return _kind(value.dtype)


def _kind(dtype: DataType) -> str:
    return "bool" if dtype.is_bool else "float" if dtype.is_float else "integers"


@cache
def _signature(operator: str, opset: int) -> Signature | None:
    schema = definition("", operator, opset)
    if schema is None:
        return None
    kinds = tuple(_only_kind(operand.types) for operand in schema.inputs)
    return Signature(schema.max_input, schema.max_output, kinds or (None,), _first_listed(schema))


def _first_listed(schema: Any) -> int:
    """The place of the first operand of a list of tensors of one type; `MANY` if there is none. (What a Loop carries
    may be an optional without a value.)"""
    last = schema.inputs[-1] if schema.inputs else None
    if last is None or last.option != schema.FormalParameterOption.Variadic or not last.is_homogeneous:
        return MANY
    return len(schema.inputs) - 1


def _only_kind(types: Any) -> str | None:
    """Of types as ONNX writes them, `tensor(int64)`: whether all are integers, or booleans."""
    inner = {text[len("tensor(") : -1] if text.startswith("tensor(") else "" for text in types}
    if inner == {"bool"}:
        return "bool"
    return "integers" if inner and all(name.startswith(("int", "uint")) for name in inner) else None
