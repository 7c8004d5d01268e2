"""Products of complex numbers: of two, and of all along an axis whose length is known only when the program runs.

PyTorch's `prod` and `cumprod` of a known length are taken apart (`operators`). Of an open one, every element is
multiplied in a loop by the product of as many elements ahead of it as it holds itself: log2(length) turns.
"""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair, pair_of
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL, INT64


def times(node: AtenNode, x: Value, y: Value) -> Value:
    return node.graph.call("multiply", x, y)


def product(op: Any) -> Converter:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i, where `op(node, x, y)` multiplies."""

    def convert(node: AtenNode, x: Any, y: Any) -> Pair:
        g, a, b = node.graph, pair_of(node, x), pair_of(node, y)
        if not isinstance(y, (Pair, complex)):
            return Pair(op(node, a.real, b.real), op(node, a.imag, b.real))
        if not isinstance(x, (Pair, complex)):
            return Pair(op(node, a.real, b.real), op(node, a.real, b.imag))
        real = g.call("subtract", op(node, a.real, b.real), op(node, a.imag, b.imag))
        return Pair(real, g.call("add", op(node, a.real, b.imag), op(node, a.imag, b.real)))

    return convert


def running_product(node: AtenNode, x: Any, dim: int, *, dtype: object = None) -> Pair:
    """`cumprod`"""
    return _running(node, pair_of(node, x), _from_front(x, dim))


def product_along(node: AtenNode, x: Any, dim: int, keepdim: bool = False, *, dtype: object = None) -> Pair:
    """`prod` along an axis: the last running product, with a 1 ahead of all for axes without elements."""
    g, given, axis = node.graph, pair_of(node, x), _from_front(x, dim)
    sizes = node.sizes(given.real)
    one = Pair(*(g.broadcast_to(g.constant(n, node.dtype), (*sizes[:axis], 1, *sizes[axis + 1 :])) for n in (1, 0)))
    longer = Pair(*(g.call("concat", ends, axis=axis) for ends in ((one.real, given.real), (one.imag, given.imag))))
    last = g.dims(sizes[axis]) if not keepdim else g.dims([sizes[axis]])
    found = _running(node, longer, axis)
    return Pair(*(g.call("take", part, last, axis=axis) for part in (found.real, found.imag)))


def product_of_all(node: AtenNode, x: Any, *, dtype: object = None) -> Pair:
    g, given = node.graph, pair_of(node, x)
    flat = Pair(*(g.reshape(part, (-1,)) for part in (given.real, given.imag)))
    return product_along(node, flat, 0)


def _from_front(x: Pair, dim: int) -> int:
    return dim + x.real.rank if dim < 0 else dim


def _running(node: AtenNode, x: Pair, axis: int) -> Pair:
    g = node.graph
    sizes = node.sizes(x.real)
    places = g.call("arange", start=0, stop=sizes[axis], step=1, dtype="int64")
    column = (sizes[axis], *(1,) * (len(sizes) - 1 - axis))
    infos = [TensorInfo((), BOOL), TensorInfo((), INT64), x.real.info, x.imag.info]

    def state(reach: Value, found: Pair) -> list[Value]:
        return [g.call("less", reach, g.dims(sizes[axis])), reach, found.real, found.imag]

    def turn(given: list[Value]) -> list[Value]:
        _, reach, *parts = given
        before = g.call("subtract", places, reach)
        has_more = g.reshape(g.call("greater_equal", before, g.constant(0, "int64")), column)
        taken = g.call("maximum", before, g.constant(0, "int64"))
        earlier = Pair(*(g.call("take", part, taken, axis=axis) for part in parts))
        joined = product(times)(node, earlier, Pair(*parts))
        kept = (g.call("where", has_more, a, b) for a, b in zip((joined.real, joined.imag), parts, strict=True))
        return state(g.call("add", reach, reach), Pair(*kept))

    return Pair(*g.loop(state(g.constant(1, "int64"), x), infos, turn)[2:])


RUNNING_PRODUCTS: dict[str, Converter] = {
    "aten.cumprod.default": running_product, "aten.prod.dim_int": product_along, "aten.prod.default": product_of_all,
}  # fmt: skip
