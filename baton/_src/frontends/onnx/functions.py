"""Operators defined by other operators: functions of a model, and function operators of the ONNX standard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import onnx_library, onnx_type_of
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.diagnostics import fail

BEFORE_ONNX: dict[str, dict[str, int]] = {
    "LinearAttention": {"state_window": 0},
    "CausalConvWithState": {"state_window": 0, "dilation": 1, "channels_last": 0, "ndim": 1},
}
"""Operators that `com.microsoft` had before ONNX did: with these values of their extra attributes, the meaning is the
same.
"""

EXPANDED: frozenset[tuple[str, str]] = frozenset(
    [
        *(("", name) for name in (
            "Attention", "Bernoulli", "BlackmanWindow", "CausalConvWithState", "CenterCropPad",
            "HammingWindow", "HannWindow", "LinearAttention", "NegativeLogLikelihoodLoss",
            "RotaryEmbedding", "SequenceMap", "SoftmaxCrossEntropyLoss", "SwiGLU",
        )),
        ("ai.onnx.preview", "FlexAttention"),
        *(("com.microsoft", name) for name in BEFORE_ONNX),
    ]
)  # fmt: skip
"""(domain, operator) of the operators that are imported by their function body in the ONNX standard (from the `onnx`
package).
"""


AS_INT64: dict[str, tuple[int, ...]] = {"CenterCropPad": (1,)}
"""Operands that the bodies compare with shapes, though the operators take int32 for them, too."""


def body_of(proto: Any, opset: int, operands: Sequence[Value | None]) -> tuple[list[Any], Any]:
    """(default attributes, function) for a node whose operator is in `EXPANDED`. The body may depend on the operands'
    types and on which are there."""
    onnx = onnx_library()
    if proto.domain == "com.microsoft":
        proto = _as_onnx_has_it(proto)
        schema = onnx.defs.get_schema(proto.op_type)
    else:
        schema = _schema(onnx, proto, 1 if proto.domain else opset)
    defaults = [a.default_value for a in schema.attributes.values() if a.default_value.type]
    if schema.has_function:
        version = _newest(schema.function_opset_versions, opset)
        content = schema.get_function_with_opset_version(version)
        return defaults, content if not isinstance(content, bytes) else onnx.FunctionProto.FromString(content)
    version = _newest(schema.context_dependent_function_opset_versions, opset)
    types = [_type_of(onnx, v) for v in operands]
    try:
        content = schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
    except (RuntimeError, ValueError):  # a sequence where it takes a tensor, or the other way round
        content = b""
    found = onnx.FunctionProto.FromString(content)
    if not found.node:
        title = f"{proto.op_type} node {proto.name or ''.join(proto.output[:1])!r}"
        shown = ", ".join("none" if v is None else str(v) for v in operands)
        help = "it depends on attributes, dtypes and, of weights, the sizes: see what ONNX says of the operator"
        raise fail("onnx-node", f"{title}: ONNX has no body for it with the operands {shown}", help=help)
    return defaults, found


def _as_onnx_has_it(proto: Any) -> Any:
    """A node of one of `BEFORE_ONNX` as the operator of ONNX's own domain."""
    own = BEFORE_ONNX[proto.op_type]
    for attribute in proto.attribute:
        if attribute.name in own and attribute.i != own[attribute.name]:
            raise fail(
                "onnx-node",
                f"{attribute.name} {attribute.i} of {proto.op_type} is not supported",
                help=f"only {own[attribute.name]} is",
            )
    found = type(proto)()
    found.CopyFrom(proto)
    found.domain = ""
    del found.attribute[:]
    found.attribute.extend(a for a in proto.attribute if a.name not in own)
    return found


def _schema(onnx: Any, proto: Any, version: int) -> Any:
    try:
        schema = onnx.defs.get_schema(proto.op_type, version, proto.domain)
    except onnx.defs.SchemaError as error:
        raise fail("onnx-unsupported-op", f"operator {proto.op_type} is not in opset {version}") from error
    if schema.has_function or schema.has_context_dependent_function:
        return schema
    # Older versions of some operators have no body; the newest one's serves where their meaning is the same.
    return onnx.defs.get_schema(proto.op_type, domain=proto.domain)


def _newest(versions: Sequence[int], opset: int) -> int:
    fitting = [v for v in versions if v <= opset]
    return max(fitting) if fitting else min(versions)


def _type_of(onnx: Any, value: Value | None) -> bytes:
    """The operand's type as ONNX writes it; an empty one for an operand left out."""
    if value is None:
        return b""
    if value.stack is not None:
        item = replace(value.stack, info=TensorInfo((value.stack.shape or ())[1:], value.stack.dtype))
        return bytes(onnx.helper.make_sequence_type_proto(_tensor_type(onnx, item)).SerializeToString())
    if value.items is not None:
        inner = _tensor_type(onnx, value.items[0]) if value.items else onnx.TypeProto()
        return bytes(onnx.helper.make_sequence_type_proto(inner).SerializeToString())
    return bytes(_tensor_type(onnx, value).SerializeToString())


def _tensor_type(onnx: Any, value: Value) -> Any:
    shape = None if value.shape is None else [d if isinstance(d, int) else str(d) for d in value.shape]
    return onnx.helper.make_tensor_type_proto(onnx_type_of(value.dtype.numpy), shape)


class Expanded:
    """The body of a function as the nodes of one call: with attributes, the caller's or the function's own, in place of
    references to them, and without the operands `left_out`, which the caller does not give.

    A reference to an attribute that neither has is dropped: the operator's default applies.
    """

    def __init__(self, function: Any, given: Iterable[Any], left_out: AbstractSet[str] = frozenset()) -> None:
        known = {a.name: a for a in (*function.attribute_proto, *given)}
        self.node = [_bound(n, known, left_out) for n in function.node]


def _bound(proto: Any, known: Mapping[str, Any], left_out: AbstractSet[str]) -> Any:
    """A copy of the node in which nothing refers to the function's attributes or to operands that are not there,
    subgraphs included."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    pending = [copy]
    while pending:
        node = pending.pop()
        node.input[:] = ["" if name in left_out else name for name in node.input]
        attributes = [a for a in map(partial(_settled, known=known), node.attribute) if a is not None]
        del node.attribute[:]
        node.attribute.extend(attributes)
        for attribute in node.attribute:
            pending += [inner for graph in (attribute.g, *attribute.graphs) for inner in graph.node]
    return copy


def _settled(attribute: Any, known: Mapping[str, Any]) -> Any:
    """A copy of the attribute, or of what it refers to; None if that is nowhere given."""
    source = known.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
    if source is None:
        return None
    made = type(attribute)()
    made.CopyFrom(source)
    made.name = attribute.name
    return made
