"""Control flow that depends on tensors: `torch.cond`, `while_loop`, `scan`, `map`.

PyTorch stores branches and bodies as separate graphs; for a converter each is a `Region`, a function of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.truths import Truth
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL

Region = Callable[..., list[Value]]
"""Writes a graph, given its operands; returns the results."""
_MOST_STEPS = 1024
"""Most iterations that are unrolled when their number is known."""


def conditional(
    node: AtenNode, predicate: Any, then: Region, otherwise: Region, operands: Sequence[Any] = ()
) -> tuple[Value, ...]:
    if isinstance(predicate, Truth):
        predicate = predicate.value(node.graph)
    if not isinstance(predicate, Value):
        node.fail("the condition is not a tensor", help="test known sizes in Python:  if x.shape[0] > 2: ...")
    chosen = node.graph.branch(_flag(node, predicate), lambda: then(*operands), lambda: otherwise(*operands))
    return tuple(chosen)


def repeated(
    node: AtenNode, condition: Region, body: Region, carried: Sequence[Any], additional: Sequence[Any] = ()
) -> tuple[Value, ...]:
    """`while condition(*carried): carried = body(*carried)`, both of which see `additional`, too."""
    g = node.graph
    start = [v if isinstance(v, Value) else g.dims(v) for v in carried]
    infos = [TensorInfo((), BOOL), *(v.info for v in start)]

    def with_flag(state: Sequence[Value]) -> list[Value]:
        (flag,) = condition(*state, *additional)
        return [_flag(node, flag), *state]

    found = g.loop(with_flag(start), infos, lambda state: with_flag(body(*state[1:], *additional)))
    return tuple(found[1:])


def scanned(
    node: AtenNode, combine: Region, init: Sequence[Value], xs: Sequence[Value], additional: Sequence[Any] = ()
) -> tuple[Value, ...]:
    """`carried, row = combine(carried, rows)` for all rows along axis 0: returns the last carried values, and all
    rows.
    """
    carried, rows = list(init), []
    for step in range(_steps(node, xs)):
        found = combine(*carried, *(_row(node, x, step) for x in xs), *additional)
        carried = found[: len(init)]
        rows.append(found[len(init) :])
    return *carried, *_stacked(node, rows)


def mapped(node: AtenNode, body: Region, xs: Sequence[Value], additional: Sequence[Any] = ()) -> tuple[Value, ...]:
    rows = [body(*(_row(node, x, step) for x in xs), *additional) for step in range(_steps(node, xs))]
    return _stacked(node, rows)


def _flag(node: AtenNode, value: Value) -> Value:
    """One truth value, as a tensor without axes."""
    plain = value if value.dtype.is_bool else node.graph.cast(value, "bool")
    return node.graph.reshape(plain, ()) if plain.rank else plain


def _steps(node: AtenNode, xs: Sequence[Value]) -> int:
    count = node.known(node.sizes(xs[0])[0], "the number of steps")
    if not 0 < count <= _MOST_STEPS:
        node.fail(f"{count} steps would be unrolled; 1 to {_MOST_STEPS} are supported", help="use torch.while_loop")
    return count


def _row(node: AtenNode, x: Value, step: int) -> Value:
    return node.graph.call("take", x, node.graph.constant(step, "int64"), axis=0)


def _stacked(node: AtenNode, rows: Sequence[Sequence[Value]]) -> tuple[Value, ...]:
    return tuple(node.graph.call("stack", tuple(column), axis=0) for column in zip(*rows, strict=True))


CONTROL: dict[str, Converter] = {
    "torch.ops.higher_order.cond": conditional, "torch.ops.higher_order.while_loop": repeated,
    "torch.ops.higher_order.scan": scanned, "torch.ops.higher_order.map_impl": mapped,
}  # fmt: skip
