"""Operators that are defined by other operators: functions of a model, and those of ONNX's own standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.reader import onnx_library, onnx_type_of
from baton._src.support.diagnostics import fail

EXPANDED: frozenset[tuple[str, str]] = frozenset(
    [
        *(("", name) for name in (
            "AffineGrid", "Attention", "Bernoulli", "BlackmanWindow", "CausalConvWithState", "CenterCropPad",
            "HammingWindow", "HannWindow", "LinearAttention", "NegativeLogLikelihoodLoss",
            "RotaryEmbedding", "SequenceMap", "SoftmaxCrossEntropyLoss", "SwiGLU",
        )),
        ("ai.onnx.preview", "FlexAttention"),
    ]
)  # fmt: skip
"""(domain, operator) of what is imported as the body that ONNX's standard gives it (the `onnx` package has it)."""


def body_of(proto: Any, opset: int, operands: Sequence[Value | None]) -> tuple[list[Any], Any]:
    """(default attributes, function) for a node whose operator is in `EXPANDED`. The body may depend on the operands'
    types and on which are there."""
    onnx = onnx_library()
    versions = {"": opset}
    schema = _schema(onnx, proto, versions.get(proto.domain, 1))
    defaults = [a.default_value for a in schema.attributes.values() if a.default_value.type]
    if schema.has_function:
        version = _newest(schema.function_opset_versions, opset)
        content = schema.get_function_with_opset_version(version)
        return defaults, content if not isinstance(content, bytes) else onnx.FunctionProto.FromString(content)
    version = _newest(schema.context_dependent_function_opset_versions, opset)
    types = [_type_of(onnx, v) for v in operands]
    content = schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
    return defaults, onnx.FunctionProto.FromString(content)


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
    if value.items is not None:
        inner = _tensor_type(onnx, value.items[0]) if value.items else onnx.TypeProto()
        return bytes(onnx.helper.make_sequence_type_proto(inner).SerializeToString())
    return bytes(_tensor_type(onnx, value).SerializeToString())


def _tensor_type(onnx: Any, value: Value) -> Any:
    shape = None if value.shape is None else [d if isinstance(d, int) else str(d) for d in value.shape]
    return onnx.helper.make_tensor_type_proto(onnx_type_of(value.dtype.numpy), shape)


class Expanded:
    """The body of a model-local function with the caller's attributes put in place of references to them."""

    def __init__(self, function: Any, attributes: Mapping[str, Any]) -> None:
        self.node = [_bind_attributes(n, function, attributes) for n in function.node]


def _bind_attributes(proto: Any, function: Any, given: Mapping[str, Any]) -> Any:
    if not any(a.ref_attr_name for a in proto.attribute):
        return proto
    defaults = {a.name: a for a in function.attribute_proto}
    copy = type(proto)()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for attribute in proto.attribute:
        source = attribute.ref_attr_name
        if not source:
            copy.attribute.append(attribute)
        elif source in given:
            copy.attribute.append(_make_attribute(attribute, given[source]))
        elif source in defaults:
            added = copy.attribute.add()
            added.CopyFrom(defaults[source])
            added.name = attribute.name
    return copy


def _make_attribute(template: Any, content: Any) -> Any:
    made = type(template)()
    made.name, made.type = template.name, template.type or _kind_of(content)
    fields = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
    field = fields.get(made.type)
    if field is None:
        raise fail("onnx-attribute", f"attribute {template.name!r} of a model function cannot be passed on")
    if field in ("floats", "ints", "strings"):
        getattr(made, field).extend([c.encode() if isinstance(c, str) else c for c in content])
    else:
        setattr(made, field, content.encode() if isinstance(content, str) else content)
    return made


def _kind_of(content: Any) -> int:
    """ONNX's number for the type of an attribute that a body refers to without saying its type; 0 for none."""
    match content:
        case float():
            return 1
        case int():
            return 2
        case str():
            return 3
        case [float(), *_]:
            return 6
        case [int(), *_]:
            return 7
        case [str(), *_]:
            return 8
        case _:
            return 0
