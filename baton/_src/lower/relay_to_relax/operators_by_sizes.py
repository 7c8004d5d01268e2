"""Lower operators of `dyn`, and arange, by numbers that tensors hold when the program runs.

    dyn.topk(%x, %k)     ->     s = tensor_to_shape(reshape(k, (1,)));  match_cast(s, Shape([n]))
                                dynamic_topk(x, n if 1 <= n <= size else size)

The numbers become sizes (`run_time_sizes`), and the operator is Relax's own with these: it is compiled, and fused, like
any other. What has no rule here, or a call whose types say too little, is left for when the values are there
(`vm.builtin.call_operator`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.tensor_info import Dim
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter, Bindings
from baton._src.lower.relay_to_relax.run_time_sizes import RunTimeSizes, constant_values, less, static_dims
from baton._src.lower.relay_to_relax.shape_values import Dims
from baton._src.ops.axes import from_front
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.image.resize import ResizeAttrs
from baton._src.ops.image.upsampling import as_resize
from baton._src.ops.layout_names import layout_over
from baton._src.ops.windows import SPATIAL
from baton._src.relax import nodes as rx
from baton._src.relax.special_ops import special_op
from baton._src.relay.nodes import Call


def _topk(s: RunTimeSizes) -> GraphExpr | None:
    """As many as are wanted, of those there are; all if less than one is."""
    dims, wanted = s.dims(0), s.numbers(1)
    if dims is None or wanted is None or len(wanted) != 1:
        return None
    a = s.node.attrs
    there = dims[from_front(a.axis, len(dims))]
    (count,) = s.named((s.where(less(wanted[0], 1), there, s.math.minimum(wanted[0], there)),))
    options = {"axis": a.axis, "ret_type": a.ret_type, "dtype": a.dtype}
    return s.op("dynamic_topk", s.args[0], count, largest=not a.is_ascend, **options)


def _reshape(s: RunTimeSizes) -> GraphExpr | None:
    """0 copies a dim, -1 is what the others leave."""
    dims, target = s.dims(0), s.numbers(1)
    if dims is None or target is None:
        return None
    copies = 0 if s.node.attrs.allowzero else len(dims)
    wanted = [s.where(s.may_be(t, 0), dims[i], t) if i < copies else t for i, t in enumerate(target)]
    others = s.math.product(s.where(s.may_be(w, -1), 1, w) for w in wanted)
    if isinstance(others, int) or s.is_read(others):
        others = s.math.maximum(others, 1)
    rest = s.math.floor_divide(s.math.product(dims), others)
    shape = s.named(tuple(s.where(s.may_be(w, -1), rest, w) for w in wanted))
    return s.op("reshape", s.args[0], rx.ShapeExpr(shape))


def _broadcast_to(s: RunTimeSizes) -> GraphExpr | None:
    target = s.numbers(1) if s.dims(0) is not None else None
    return None if target is None else s.op("broadcast_to", s.args[0], rx.ShapeExpr(target))


def _full(s: RunTimeSizes) -> GraphExpr | None:
    shape = s.numbers(1)
    return None if shape is None else s.op("full", rx.ShapeExpr(shape), s.args[0], dtype=s.node.attrs.dtype)


def _filled(name: str) -> Callable[[RunTimeSizes], GraphExpr | None]:
    def make(s: RunTimeSizes) -> GraphExpr | None:
        shape = s.numbers(0)
        return None if shape is None else s.op(name, rx.ShapeExpr(shape), dtype=s.node.attrs.dtype)

    return make


def _tile(s: RunTimeSizes) -> GraphExpr | None:
    """Every axis gets one before it, along which it is repeated."""
    dims, times = s.dims(0), s.numbers(1)
    if dims is None or times is None:
        return None
    rank = max(len(dims), len(times))
    dims, times = ((1,) * (rank - len(v)) + v for v in (dims, times))
    apart = s.op("reshape", s.args[0], rx.ShapeExpr([v for d in dims for v in (1, d)]))
    repeated = s.op("broadcast_to", apart, rx.ShapeExpr([v for t, d in zip(times, dims) for v in (t, d)]))
    return s.op("reshape", repeated, rx.ShapeExpr([s.math.multiply(t, d) for t, d in zip(times, dims)]))


def _one_hot(s: RunTimeSizes) -> GraphExpr | None:
    """Compare the index with the place."""
    dims, depth = s.dims(0), s.numbers(3)
    if dims is None or depth is None or len(depth) != 1:
        return None
    a = s.node.attrs
    axis = from_front(a.axis, len(dims) + 1)
    along = [depth[0] if i == axis else 1 for i in range(len(dims) + 1)]
    places = s.op("reshape", s.op("arange", 0, depth[0], 1, dtype="int64"), rx.ShapeExpr(along))
    index = s.op("expand_dims", s.op("astype", s.args[0], dtype="int64"), axis=(axis,))
    values = s.args[1:3] if a.dtype.is_void else [s.op("astype", v, dtype=a.dtype) for v in s.args[1:3]]
    return s.op("where", s.op("equal", index, places), *values)


def _arange(s: RunTimeSizes) -> GraphExpr | None:
    """Integers, in steps that are known."""
    steps = constant_values(s.node.args[2])
    if steps is None or steps.dtype.kind not in "iu" or len(steps) != 1 or steps[0] == 0:
        return None
    start, stop = s.numbers(0), s.numbers(1)
    if start is None or stop is None or len(start) != 1 or len(stop) != 1:
        return None
    step, (first,), (last,) = int(steps[0]), start, stop
    (end,) = s.named((s.math.maximum(first, last) if step > 0 else s.math.minimum(first, last),))
    dtype = s.node.attrs.dtype
    return s.op("arange", first, end, step, dtype=s.node.args[0].checked_type.dtype if dtype.is_void else dtype)


def _strided_slice(s: RunTimeSizes) -> GraphExpr | None:
    """Steps forward, of sizes that are known: bounds are counted from the front and clipped first."""
    a, steps = s.node.attrs, constant_values(s.node.args[3])
    if steps is None or a.slice_mode != "end" or min(steps, default=1) < 1:
        return None
    dims, begin, end = s.dims(0), s.numbers(1), s.numbers(2)
    if dims is None or begin is None or end is None:
        return None
    axes = range(len(begin)) if a.axes is None else [from_front(v, len(dims)) for v in a.axes]
    first: list[Dim] = []
    last: list[Dim] = []
    for axis, start, stop in zip(axes, begin, end):
        start, stop = (_inside(s, v, dims[axis]) for v in (start, stop))
        first.append(start)
        last.append(s.math.maximum(start, stop))
    bounds = s.named((*first, *last))
    first, last = list(bounds[: len(first)]), list(bounds[len(first) :])
    return s.op("strided_slice", s.args[0], tuple(axes), first, last, tuple(map(int, steps)), assume_inbound=True)


def _inside(s: RunTimeSizes, bound: Dim, dim: Dim) -> Dim:
    from_behind = s.math.add(bound, dim)
    return s.math.minimum(s.math.maximum(s.where(less(bound, 0), from_behind, bound), 0), dim)


def _resize(s: RunTimeSizes) -> GraphExpr | None:
    """To extents that are computed, of a box that is known."""
    box = constant_values(s.node.args[2])
    size = None if box is None else s.numbers(1)
    if size is None or s.dims(0) is None:
        return None
    return _resized(s, s.node.attrs.static((1, 1), box), size)


def _upsampling(s: RunTimeSizes) -> GraphExpr | None:
    """To the extents times the factors, rounded."""
    resize, dims = as_resize(s.node.attrs.static(*(1,) * (len(s.args) - 1))), s.dims(0)
    if dims is None:
        return None
    letters = SPATIAL[resize.spatial]
    order = layout_over(resize.layout, "NC" + letters, "layout")
    extents = rx.ShapeExpr([dims[order.position(letter)] for letter in letters])
    factors = [s.op("reshape", s.op("astype", f, dtype="float64"), (1,)) for f in s.args[1:]]
    real = s.op("astype", rx.Call(special_op("shape_to_tensor"), [extents]), dtype="float64")
    half = s.constant(0.5, "float64")
    real = s.op("add", s.op("multiply", real, s.op("concat", rx.Tuple(factors), axis=0)), half)
    return _resized(s, resize, s.read(s.op("astype", s.op("floor", real), dtype="int64"), len(letters)))


def _resized(s: RunTimeSizes, attrs: ResizeAttrs, size: Dims) -> GraphExpr:
    definition = CATALOGUE.get(f"image.resize{attrs.spatial}d")
    return rx.Call(definition.relax_op, [s.args[0], rx.ShapeExpr(size)], attrs.in_relax(), span=s.node.span)


_RULES: Mapping[str, Callable[[RunTimeSizes], GraphExpr | None]] = {
    "dyn.topk": _topk,
    "dyn.reshape": _reshape,
    "dyn.broadcast_to": _broadcast_to,
    "dyn.full": _full,
    "dyn.zeros": _filled("zeros"),
    "dyn.ones": _filled("ones"),
    "dyn.tile": _tile,
    "dyn.one_hot": _one_hot,
    "dyn.strided_slice": _strided_slice,
    "dyn.image.resize2d": _resize,
    "dyn.nn.upsampling": _upsampling,
    "dyn.nn.upsampling3d": _upsampling,
    "arange": _arange,
}


def is_sized_by_numbers(node: object) -> bool:
    """Whether this is a call that a rule here may lower: rules ask for the dims of operands."""
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _RULES


def lower_by_sizes(
    node: Call, args: Sequence[GraphExpr], emitter: BindingEmitter, bindings: Bindings, read: dict[GraphExpr, Dims]
) -> GraphExpr | None:
    """The value of the call; None if no rule applies. `read`: see `RunTimeSizes`."""
    rule = _RULES.get(node.op.name)
    if rule is None or static_dims(node.checked_type) is not None:
        return None
    found = rule(RunTimeSizes(node, args, emitter, bindings, read))
    return None if found is None else emitter.emit(bindings, found, node)
