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
from baton._src.frontends.torch.sym_bools import SymBool
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import BOOL, INT64

Tensor = Value | Pair
Region = Callable[..., list[Tensor]]
"""Writes a graph, given its operands; returns the results."""
_MOST_STEPS = 1024
"""Most iterations that are unrolled when their number is known; others are a loop."""


def conditional(
    node: AtenNode, predicate: Any, then: Region, otherwise: Region, operands: Sequence[Any] = ()
) -> tuple[Tensor, ...]:
    if isinstance(predicate, SymBool):
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
    steps = node.sizes(_parts(xs)[0])[0]
    if not isinstance(steps, int) or steps > _MOST_STEPS:
        return _looped(node, combine, init, xs, additional, steps)
    if not steps:
        node.fail("there are no rows, of which it makes nothing")
    carried, rows = list(init), []
    for step in range(steps):
        place = node.graph.constant(step, "int64")
        found = combine(*carried, *(_row(node, x, place) for x in xs), *additional)
        carried = found[: len(init)]
        rows.append(found[len(init) :])
    return *carried, *_stacked(node, rows)


def mapped(node: AtenNode, body: Region, xs: Sequence[Tensor], additional: Sequence[Any] = ()) -> tuple[Tensor, ...]:
    return scanned(node, body, (), xs, additional)


def _looped(
    node: AtenNode, combine: Region, init: Sequence[Tensor], xs: Sequence[Tensor], additional: Sequence[Any],
    steps: Dim,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The scan as a loop over (go on?, place, carried values, rows so far), which knows the number of steps when it
    runs. Bodies keep the shapes of what is carried, and all rows have the shape of the first."""
    g, count = node.graph, len(_parts(init))

    def run(place: Value, carried: Sequence[Value]) -> list[Value]:
        return _parts(combine(*_joined(carried, init), *(_row(node, x, place) for x in xs), *additional))

    def state(place: Value, carried: Sequence[Value], rows: Sequence[Value]) -> list[Value]:
        return [g.call("less", place, g.dims(steps)), place, *carried, *rows]

    def turn(given: list[Value]) -> list[Value]:
        _, place, *parts = given
        found = run(place, parts[:count])
        longer = [
            g.call("concat", (rows, g.call("expand_dims", row, axis=(0,))), axis=0)
            for rows, row in zip(parts[count:], found[count:], strict=True)
        ]
        return state(g.call("add", place, g.constant(1, "int64")), found[:count], longer)

    kept = [v.info for v in _parts(init)]
    first = [TensorInfo((), INT64), *kept]
    rows = [v.info for v in g.rehearse(first, lambda given: run(given[0], given[1:]))][count:]
    none = [g.broadcast_to(g.constant(0, row.dtype), (0, *_sizes(node, row))) for row in rows]
    infos = [TensorInfo((), BOOL), *first, *(TensorInfo((AnyDim(), *_sizes(node, row)), row.dtype) for row in rows)]
    whole = [None] * len(first) + [None] + [TensorInfo((steps, *_sizes(node, row)), row.dtype) for row in rows]
    found = g.loop(state(g.constant(0, "int64"), _parts(init), none), infos, turn, whole)
    return tuple(_joined(found[2:], node.results))


def _sizes(node: AtenNode, row: TensorInfo) -> tuple[Dim, ...]:
    if row.shape is None or not node.graph.knows_sizes(row):
        node.fail("the sizes of what a step gives are known only inside of it", code="torch-dynamic")
    return row.shape


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


def _row(node: AtenNode, x: Tensor, place: Value) -> Tensor:
    return _joined([node.graph.call("take", part, place, axis=0) for part in _parts([x])], [x])[0]


def _stacked(node: AtenNode, rows: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    columns = zip(*map(_parts, rows), strict=True)
    return tuple(_joined([node.graph.call("stack", column, axis=0) for column in columns], rows[0]))


CONTROL: dict[str, Converter] = {
    "torch.ops.higher_order.cond": conditional, "torch.ops.higher_order.while_loop": repeated,
    "torch.ops.higher_order.scan": scanned, "torch.ops.higher_order.map_impl": mapped,
}  # fmt: skip
