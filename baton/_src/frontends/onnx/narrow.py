"""Floats narrower than float32: operators of several steps, whose steps need more range or digits than such floats
have. A square overflows float16 beyond 255, and what each step rounds adds up. ONNX says of most of these operators
that they compute in float32 (`stash_type`), and onnxruntime does so for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.values.dtype import FLOAT32, DataType


def _is_narrow(dtype: DataType) -> bool:
    return bool(dtype.is_float and dtype.bits < FLOAT32.bits)


def wide(node: OnnxNode, x: Value) -> Value:
    """`x`, as float32 if it is of narrower floats."""
    return node.graph.cast(x, FLOAT32) if x.dtype.is_narrow else x


def in_float32(convert: Callable[[OnnxNode], Value]) -> Callable[[OnnxNode], Value]:
    """An operator with one result, of the dtype of its first operand: narrow floats are widened until the end."""

    def converted(node: OnnxNode) -> Value:
        dtype = node[0].dtype
        if not dtype.is_narrow:
            return convert(node)
        widened = replace(node, inputs=[None if v is None else wide(node, v) for v in node.inputs])
        return node.graph.cast(convert(widened), dtype)

    return converted
