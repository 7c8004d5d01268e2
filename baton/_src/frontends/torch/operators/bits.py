"""The memory of a tensor read as another dtype: `view(dtype)`, as on machines whose lowest byte comes first."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.values.dtype import DataType

_BYTE = DataType("uint8")


def read_as(node: AtenNode, x: Value, dtype: DataType) -> Value:
    """Where the widths differ, the last axis has as many elements more, or less."""
    g = node.graph
    if x.dtype.is_bool:
        x = g.cast(x, _BYTE)
    if dtype.is_bool:
        return g.call("not_equal", read_as(node, x, _BYTE), g.constant(0, _BYTE))
    bits, wanted = g.call("reinterpret", x, dtype=_unsigned(x.dtype)), _unsigned(dtype)
    if wanted.itemsize < bits.dtype.itemsize:
        bits = _taken_apart(node, bits, wanted)
    elif wanted.itemsize > bits.dtype.itemsize:
        bits = _put_together(node, bits, wanted)
    return bits if dtype == wanted else g.call("reinterpret", bits, dtype=dtype)


def _unsigned(dtype: DataType) -> DataType:
    return DataType(f"uint{8 * dtype.itemsize}")


def _places(node: AtenNode, wide: DataType, narrow: DataType) -> Value:
    """By how many bits the parts of a number are shifted, from the lowest on."""
    return node.graph.constant(np.arange(wide.itemsize // narrow.itemsize) * 8 * narrow.itemsize, wide)


def _taken_apart(node: AtenNode, x: Value, dtype: DataType) -> Value:
    g, sizes, places = node.graph, node.sizes(x), _places(node, x.dtype, dtype)
    parts = g.cast(g.call("right_shift", g.reshape(x, (*sizes, 1)), places), dtype)
    return g.reshape(parts, (*sizes[:-1], sizes[-1] * (x.dtype.itemsize // dtype.itemsize)))


def _put_together(node: AtenNode, x: Value, dtype: DataType) -> Value:
    g, sizes, places = node.graph, node.sizes(x), _places(node, dtype, x.dtype)
    count = dtype.itemsize // x.dtype.itemsize
    parts = g.cast(g.reshape(x, (*sizes[:-1], sizes[-1] // count, count)), dtype)
    return g.call("sum", g.call("left_shift", parts, places), axis=(len(sizes),))


BITS: dict[str, Converter] = {"aten.view.dtype": read_as, "aten.view_copy.dtype": read_as}
