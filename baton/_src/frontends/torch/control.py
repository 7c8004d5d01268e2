"""Control flow that depends on tensors: `torch.cond`, `while_loop`, `scan`, `map`.

PyTorch stores branches and bodies as separate graphs; for a converter each is a `Region`, a function of operands. The
languages' branches and loops pass on real tensors: complex ones go through them as their two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair, Part
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.truths import Truth
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL

Tensor = Value | Pair
Region = Callable[..., list[Tensor]]
"""Writes a graph, given its operands; returns the results."""
_MOST_STEPS = 1024
"""Most iterations that are unrolled when their number is known."""


def conditional(
    node: AtenNode, predicate: Any, then: Region, otherwise: Region, operands: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    if isinstance(predicate, Truth):
        predicate = predicate.value(node.graph)
    if not isinstance(predicate, Value):
        node.fail("the condition is not a tensor", help="test known sizes in Python:  if x.shape[0] > 2: ...")
    chosen = node.graph.branch(
        _flag(node, predicate), lambda: _parts(then(*operands)), lambda: _parts(otherwise(*operands))
    )
    return tuple(_joined(chosen, node.results))


def repeated(
    node: AtenNode, condition: Region, body: Region, carried: Sequence[Any], additional: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    """`while condition(*carried): carried = body(*carried)`, both of which see `additional`, too."""
    g = node.graph
    start = [v if isinstance(v, (Value, Pair)) else g.dims(v) for v in carried]
    infos = [TensorInfo((), BOOL), *(v.info for v in _parts(start))]

    def with_flag(state: Sequence[Tensor]) -> list[Value]:
        (flag,) = condition(*state, *additional)
        return [_flag(node, flag), *_parts(state)]

    found = g.loop(with_flag(start), infos, lambda state: with_flag(body(*_joined(state[1:], start), *additional)))
    return tuple(_joined(found[1:], start))


def scanned(
    node: AtenNode, combine: Region, init: Sequence[Tensor], xs: Sequence[Tensor], additional: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    """`carried, row = combine(carried, rows)` for all rows along axis 0: returns the last carried values, and all
    rows.
    """
    carried, rows = list(init), []
    for step in range(_steps(node, xs)):
        found = combine(*carried, *(_row(node, x, step) for x in xs), *additional)
        carried = found[: len(init)]
        rows.append(found[len(init) :])
    return *carried, *_stacked(node, rows)


def mapped(node: AtenNode, body: Region, xs: Sequence[Tensor], additional: Sequence[Any] = ()) -> tuple[Tensor, ...]:
    rows = [body(*(_row(node, x, step) for x in xs), *additional) for step in range(_steps(node, xs))]
    return _stacked(node, rows)


def _parts(values: Iterable[Tensor]) -> list[Value]:
    """The real tensors that these are made of."""
    return [part for v in values for part in ((v.real, v.imag) if isinstance(v, Pair) else (v,))]


def _joined(parts: Iterable[Value], like: Iterable[Any]) -> list[Tensor]:
    """The tensors that have these parts: complex where those of `like` are."""
    rest = iter(parts)
    return [Pair(next(rest), next(rest)) if isinstance(e, (Pair, Part)) else next(rest) for e in like]


def _flag(node: AtenNode, value: Any) -> Value:
    """One truth value, as a tensor without axes."""
    plain: Value = value if value.dtype.is_bool else node.graph.cast(value, "bool")
    return node.graph.reshape(plain, ()) if plain.rank else plain


def _steps(node: AtenNode, xs: Sequence[Tensor]) -> int:
    count = node.known(node.sizes(_parts(xs)[0])[0], "the number of steps")
    if not 0 < count <= _MOST_STEPS:
        node.fail(f"{count} steps would be unrolled; 1 to {_MOST_STEPS} are supported", help="use torch.while_loop")
    return count


def _row(node: AtenNode, x: Tensor, step: int) -> Tensor:
    place = node.graph.constant(step, "int64")
    return _joined([node.graph.call("take", part, place, axis=0) for part in _parts([x])], [x])[0]


def _stacked(node: AtenNode, rows: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    columns = zip(*map(_parts, rows), strict=True)
    return tuple(_joined([node.graph.call("stack", column, axis=0) for column in columns], rows[0]))


CONTROL: dict[str, Converter] = {
    "torch.ops.higher_order.cond": conditional, "torch.ops.higher_order.while_loop": repeated,
    "torch.ops.higher_order.scan": scanned, "torch.ops.higher_order.map_impl": mapped,
}  # fmt: skip
