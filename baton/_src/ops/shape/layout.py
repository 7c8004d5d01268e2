"""layout_transform: the same elements under another arrangement of axes.

Relay names both layouts ("NCHW" to "NCHW16c"). Relax gives a function from an element's old indices to its new ones: an
`IndexMap`, or any callable; where the new shape has places that no element goes to, `pad_value` stands.
Source: facts relax-ops-passes-vm §1 (manipulate), relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isfunction, signature

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    InRelax,
    NotApplicable,
    OpCall,
    OpDef,
)
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, as_dims, show_shape
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.layout_names import AxisOrder, parse_layout
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.axes_moved import PERMUTE_DIMS, PermuteAttrs
from baton._src.ops.shape.targets import target_numbers
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import extern
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.index_map import IndexMap
from baton._src.tir.index_map_from_text import index_map_from_text
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray


@attrs
class NamedLayoutAttrs(Attrs):
    """From where to where."""

    src_layout: str = attr(doc="the layout of the data")
    dst_layout: str = attr(doc="the layout of the result")


def _orders(a: NamedLayoutAttrs) -> tuple[AxisOrder, AxisOrder]:
    return parse_layout(a.src_layout), parse_layout(a.dst_layout)


def moved_axes(a: NamedLayoutAttrs) -> tuple[int, ...] | None:
    """The axes of the data in the order of the result's, where whole axes move and none is cut into blocks."""
    source, target = str(a.src_layout), str(a.dst_layout)
    if sorted(source) != sorted(target) or not source.isalpha() or not source.isupper():
        return None
    return tuple(source.index(letter) for letter in target)


def to_relax(args: Exprs, a: NamedLayoutAttrs) -> InRelax:
    """Axes that only move are permute_dims, which other passes of Relax know how to combine."""
    order = moved_axes(a)
    return (args, a) if order is None else (args, PermuteAttrs(axes=order), PERMUTE_DIMS)


def infer(call: OpCall[NamedLayoutAttrs]) -> Info:
    """The extents of the axes, arranged as the new layout says."""
    x = call.tensor(0)
    source, target = _orders(call.attrs)
    letters = [sorted(letter for letter, size in o.axes if not size) for o in (source, target)]
    if letters[0] != letters[1]:
        call.fail(f"{source.name!r} and {target.name!r} have different axes", code="op-attribute")
    if x.ndim not in (-1, source.rank):
        call.fail(f"{show_shape(x.shape, x.ndim)} has {x.ndim} axes, the layout {source.name!r} {source.rank}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, target.rank, x.vdevice)
    math = DimMath(call.prover)
    for (letter, size), dim in zip(source.axes, x.shape):
        if size and isinstance(dim, int) and dim != size:
            call.fail(f"axis {size}{letter.lower()} of {source.name!r} has extent {dim}")
    return TensorInfo(target.physical(math, source.canonical(math, x.shape)), x.dtype, vdevice=x.vdevice)


def compute(inputs: Sequence[k.Tensor], a: NamedLayoutAttrs, out: k.Result) -> k.Tensor:
    """Every element read where the old layout has it."""
    x = inputs[0]
    source, target = _orders(a)
    return k.compute(out.shape, lambda *i: x(*source.indices(target.split(i))), "T_layout_trans", axes="ax")


def rearranged(x: AnyArray, source: AxisOrder, target: AxisOrder) -> AnyArray:
    """Over NumPy: blocks merged, axes moved, blocks cut."""
    letters = [letter for letter, size in source.axes if not size]
    order = [i for a in letters for i, (letter, size) in enumerate(source.axes) if letter == a]
    extents = [int(np.prod([d for (s, _), d in zip(source.axes, x.shape) if s == a])) for a in letters]
    plain = x.transpose(sorted(order, key=lambda i: (letters.index(source.axes[i][0]), source.axes[i][1] != 0)))
    plain = plain.reshape(extents)
    shape: list[int] = []
    names: list[tuple[str, bool]] = []
    for letter, extent in zip(letters, extents):
        block, is_blocked = target.block(letter), target.is_blocked(letter)
        shape += [extent // block, block] if is_blocked else [extent]
        names += [(letter, False), (letter, True)] if is_blocked else [(letter, False)]
    found = plain.reshape(shape).transpose([names.index((a, size != 0)) for a, size in target.axes])
    return np.ascontiguousarray(found)


def gradient(b: CallMaker, args: Exprs, a: NamedLayoutAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The other way round."""
    return [b.op("relay_layout_transform", grad, src_layout=a.dst_layout, dst_layout=a.src_layout)]


RELAY_LAYOUT_TRANSFORM = OpDef(
    "relay_layout_transform",
    NamedLayoutAttrs,
    inputs=(Input("data"),),
    infer=infer,
    compute=compute,
    reference=lambda inputs, a: rearranged(inputs[0], *_orders(a)),
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    relay_name="layout_transform",
    in_relax=False,
    relay_to_relax=to_relax,
    samples=lambda: (
        Sample((Arr(("n", 8, 2, 3)),), NamedLayoutAttrs("NCHW", "NHWC")),
        Sample((Arr((1, 8, 2, 3)),), NamedLayoutAttrs("NCHW", "NCHW4c")),
        Sample((Arr((1, 2, 3, 2, 4)),), NamedLayoutAttrs("NCHW4c", "NHWC")),
        Sample((Arr((8, 4, 3, 3)),), NamedLayoutAttrs("OIHW", "OIHW2i4o")),
        Sample((Arr((1, 2, 3, 2, 4)),), NamedLayoutAttrs("NCHW4c", "NCHW2c")),
        Sample((Arr((1, 2, 3, 2)),), NamedLayoutAttrs("NCHW", "NCHW1c")),
        Sample((Arr((1, 2, 3, 2, 1)),), NamedLayoutAttrs("NCHW1c", "NHWC")),
    ),
    summary="Convert a tensor from one named layout to another.",
)


# ------------------------------------------------------------------------------------------------ by a function


Map = IndexMap | Callable[..., Sequence[Dim | str]]
"""From old indices to new ones; a function may name separators of axes among them."""


@attrs
class MapAttrs(Attrs):
    """The map."""

    index_map: Map = attr(doc="from old indices to new ones: an IndexMap or a callable")
    pad_value: float | None = attr(None, "the value of padding in the new layout")
    axis_separators: tuple[int, ...] = attr((), "the axes of the result between which memory is split")
    input_axis_separators: tuple[int, ...] = attr((), "the same for the operand")

    def __post_init__(self) -> None:
        for name in ("axis_separators", "input_axis_separators"):
            set_attr(self, name, tuple(getattr(self, name) or ()))
        set_attr(self, "index_map", _read(self.index_map))
        if isfunction(self.index_map) and all(
            p.kind is p.POSITIONAL_OR_KEYWORD for p in signature(self.index_map).parameters.values()
        ):
            found, separators = IndexMap.from_func_with_separators(self.index_map)
            set_attr(self, "index_map", found)
            if separators and not self.axis_separators:
                set_attr(self, "axis_separators", tuple(separators))


def _read(index_map: Map | str) -> Map:
    """A text is what an executable stores."""
    return index_map_from_text(index_map) if isinstance(index_map, str) else index_map


def mapped(index_map: Map, indices: Sequence[k.Scalar]) -> list[k.Scalar]:
    """The new indices of an element; separators of axes are left out."""
    found = index_map.map_indices(list(indices)) if isinstance(index_map, IndexMap) else index_map(*indices)
    return [k.index(v) for v in found if isinstance(v, (int, k.PrimExpr))]


def _as_map(index_map: Map, rank: int) -> IndexMap:
    return index_map if isinstance(index_map, IndexMap) else IndexMap.from_func_with_separators(index_map, rank)[0]


def new_shape(index_map: Map, shape: Sequence[Dim]) -> list[Dim]:
    """The shape that the map makes of one (`IndexMap.map_shape`); of one without elements, too."""
    dims, math = as_dims(shape), DimMath(Analyzer())
    found = (math.normal(dim) for dim in _as_map(index_map, len(dims)).map_shape(dims))
    return [max(dim, 0) if isinstance(dim, int) else dim for dim in found]


def _new_rank(index_map: Map, rank: int) -> int:
    """The rank that the map makes of one, which may be unknown (-1). Error `index-map`: it takes other ones."""
    if rank < 0:
        return len(index_map.final_indices) if isinstance(index_map, IndexMap) else -1
    return len(_as_map(index_map, rank).map_indices([k.index(0)] * rank))


def _fills(index_map: Map, shape: Sequence[Dim]) -> bool:
    """Whether every place of the new shape certainly gets an element."""
    try:
        _as_map(index_map, len(shape)).inverse(as_dims(shape))
    except DiagnosticError:
        return False
    return True


def infer_map(call: OpCall[MapAttrs]) -> Info:
    """The range of the map."""
    x = call.tensor(0)
    if call.attrs.pad_value is not None:
        check_fill(call, "pad_value", call.attrs.pad_value, x.dtype)
    if x.shape is None:
        return TensorInfo(None, x.dtype, _new_rank(call.attrs.index_map, x.ndim), x.vdevice)
    shape = new_shape(call.attrs.index_map, x.shape)
    math = DimMath(call.prover)
    if call.attrs.pad_value is None and math.equal(math.product(shape), math.product(x.shape)) is False:
        call.fail(f"the map takes {show_shape(x.shape)} to {show_shape(tuple(shape))}, which needs a pad_value")
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def compute_map(inputs: Sequence[k.Tensor], a: MapAttrs, out: k.Result) -> k.Tensor:
    """Padding (0 if none is said) where elements may not go, then every element stored where the map says."""
    x = inputs[0]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        def move(*i: k.Scalar) -> Stmt:
            return store(outs[0], mapped(a.index_map, list(i)), load(ins[0], *i))

        moved = loops(x.shape, move)
        if a.pad_value is None and _fills(a.index_map, x.shape):
            return moved
        blank = k.const(as_element(0 if a.pad_value is None else a.pad_value, x.dtype), x.dtype)
        return both(loops(out.shape, lambda *i: store(outs[0], i, blank), "p"), moved)

    return extern(k.dims(out.shape), [x], body, "layout_transform", x.dtype)


def reference_map(inputs: Sequence[AnyArray], a: MapAttrs) -> AnyArray:
    """Element by element."""
    x = inputs[0]
    pad = 0 if a.pad_value is None else as_element(a.pad_value, k.DataType(x.dtype))
    found = np.full(target_numbers((), 0, new_shape(a.index_map, x.shape)), pad, x.dtype)
    for i in np.ndindex(x.shape):
        found[target_numbers((), 0, as_dims(mapped(a.index_map, [k.index(n) for n in i])))] = x[i]
    return found


LAYOUT_TRANSFORM = OpDef(
    "layout_transform",
    MapAttrs,
    inputs=(Input("x"),),
    infer=infer_map,
    compute=compute_map,
    reference=reference_map,
    gradient=NotApplicable("the inverse of a map is not derived"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay names layouts"),
    samples=lambda: (
        Sample((Arr((2, 8)),), MapAttrs(lambda n, c: (n, c // 4, c % 4))),
        Sample((Arr(("n", 3)),), MapAttrs(lambda n, c: (c, n))),
        Sample((Arr((6,)),), MapAttrs(lambda i: (i // 4, i % 4), pad_value=-1.0)),
        Sample((Arr((3, 3)),), MapAttrs(lambda i, j: (i, j // 2 * 2))),
    ),
    summary="Transform the layout of a tensor by an index map.",
)

LAYOUTS: tuple[Definition, ...] = (LAYOUT_TRANSFORM, RELAY_LAYOUT_TRANSFORM)
