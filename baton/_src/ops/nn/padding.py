"""Borders: nn.pad (constant, edge, reflect), nn.mirror_pad.

`pad_width` gives (before, after) for every axis: nested pairs in Relay, a flat list in Relax. Relay takes the fill
value as a scalar tensor, Relax as an attribute; a negative width crops. `reflect` mirrors without repeating the edge,
`symmetric` with. Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 levels 2 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    Argument,
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
    OwnMaker,
)
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import operand
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.layouts import PerAxis
from baton._src.ops.linear_axes import known_extents, transposed
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.targets import is_computed
from baton._src.ops.windows import np_padded
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.te.tag import PAD_TAG, default_tag
from baton._src.values.tensor import AnyArray

Pairs = tuple[tuple[int, int], ...]


def as_pairs(width: Iterable[int | Iterable[int]]) -> Pairs:
    """Nested pairs, or a flat list of before, after, before, after, ..."""
    found = tuple(width)
    flat = [int(w) for w in found if isinstance(w, int)]
    if not flat:
        return tuple((int(b), int(e)) for b, e in (w for w in found if not isinstance(w, int)))
    if len(flat) % 2 or len(flat) < len(found):
        raise ValueError("there is a width before and one after every axis")
    return tuple(zip(flat[::2], flat[1::2]))


@attrs
class PadAttrs(Attrs):
    """Widths and mode."""

    pad_width: Pairs | tuple[int, ...] = attr(doc="width before and after every axis")
    pad_value: float = attr(0.0, "what the border holds", relax_only=True)
    pad_mode: str = attr("constant", "constant, edge, reflect or circular")

    def __post_init__(self) -> None:
        set_attr(self, "pad_width", as_pairs(self.pad_width))
        given: object = self.pad_value
        set_attr(self, "pad_value", 0.0 if given is None else given)

    @property
    def pairs(self) -> Pairs:
        """The widths before and after every axis, in either language."""
        return as_pairs(self.pad_width)

    def in_relax(self) -> PadAttrs:
        return RelaxPadAttrs(**dict(self.items()))


@attrs
class RelaxPadAttrs(PadAttrs):
    """The same as Relax has it: the widths one after another."""

    def __post_init__(self) -> None:
        super().__post_init__()
        set_attr(self, "pad_width", tuple(width for pair in self.pairs for width in pair))


_MODES = ("constant", "edge", "reflect", "symmetric", "circular")


def check_mode(call: OpCall[Attrs], mode: str) -> None:
    """Check that the padding mode is known."""
    if mode not in _MODES:
        call.fail(f"pad_mode {mode!r} is not one of {', '.join(_MODES)}", code="op-attribute")


def infer(call: OpCall[PadAttrs]) -> Info:
    """Every dim with its widths added; what fills the border is one number that the data's dtype can hold."""
    a = call.attrs
    if len(call.args) > 1:
        _check_fill_operand(call)
    elif a.pad_mode == "constant":
        check_fill(call, "pad_value", a.pad_value, call.tensor(0).dtype)
    return padded(call)


def _check_fill_operand(call: OpCall[PadAttrs]) -> None:
    """One element, of any rank, as TVM reads it."""
    fill = operand(call, 1)
    if any(DimMath(call.prover).equal(d, 1) is False for d in fill.shape or ()):
        call.fail(f"{call.op.inputs[1].name} must be a scalar, got {show_shape(fill.shape)}")


def padded(call: OpCall[PadAttrs | MirrorPadAttrs]) -> Info:
    """The data of a call with `pad_width` added to its dims."""
    x, a = call.tensor(0), call.attrs
    check_mode(call, a.pad_mode)
    if x.ndim not in (-1, len(a.pairs)):
        call.fail(f"pad_width has {len(a.pairs)} pairs, the data {show_shape(x.shape, x.ndim)} has rank {x.ndim}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, len(a.pairs), x.vdevice)
    math = DimMath(call.prover)
    shape = tuple(math.add(d, b + e) for d, (b, e) in zip(x.shape, a.pairs))
    for dim, (before, after) in zip(x.shape, a.pairs):
        if before + after < 0 and math.at_most(-before - after, dim) is False:
            call.fail(f"pad_width {a.pad_width} crops more than {show_shape(x.shape)} has")
        if a.pad_mode != "constant" and max(before, after) > 0 and math.at_most(1, dim) is False:
            call.fail(f"{show_shape(x.shape)} has nothing that a border of mode {a.pad_mode!r} could repeat")
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


_STAGES = {"constant": "PadInput", "reflect": "MirrorPadInput", "symmetric": "MirrorPadInput"}


def mirrored(index: k.Scalar, dim: Dim, width: int, mode: str) -> k.Scalar:
    """Where a position outside [0, dim), at most `width` away, is read. A border as wide as what it mirrors, as one
    of a size that only a run tells may be, is mirrored again.
    """
    extent = k.index(dim)
    size = extent.value if isinstance(extent, k.tir.IntImm) else None
    zero, last = k.index(0), extent - 1
    if mode == "edge":
        return k.minimum(k.maximum(index, zero), last)
    if mode == "circular":
        return k.tir.FloorMod(index, extent)
    once = 0 if mode == "reflect" else 1
    below = k.select(index < zero, zero - index - once, index)
    mirrored_once = k.select(below > last, last + last + once - below, below)
    if size is not None and width <= size - 1 + once:
        return mirrored_once
    period = k.maximum(last + last, k.index(1)) if mode == "reflect" else extent + extent
    place = k.tir.FloorMod(index, period)
    again = k.minimum(place, period - place - once)
    return again if size is not None else k.select(last + once >= k.index(width), mirrored_once, again)


def compute(inputs: Sequence[k.Tensor], a: PadAttrs | MirrorPadAttrs, out: k.Result) -> k.Tensor:
    """One stage: inside the data, outside the fill value (or its mirror image)."""
    x, *others = inputs

    def body(*indices: k.Scalar) -> k.Scalar:
        places = [i - before if before else i for i, (before, _) in zip(indices, a.pairs)]
        if a.pad_mode != "constant":
            pairs = zip(places, x.shape, a.pairs)
            return x(*(mirrored(p, d, max(b, e), a.pad_mode) if b > 0 or e > 0 else p for p, d, (b, e) in pairs))
        inside: list[k.Scalar] = []
        for i, d, (before, after) in zip(indices, x.shape, a.pairs):
            inside += [i >= k.index(before)] if before > 0 else []
            inside += [i < k.index(d) + before] if after > 0 else []
        fill = (
            k.cast(x.dtype, others[0](*[k.index(0)] * others[0].ndim))
            if others
            else k.const(as_element(a.pad_value, x.dtype), x.dtype)
        )
        return k.if_then_else(k.all_of(inside), x(*places), fill) if inside else x(*places)

    with default_tag(PAD_TAG):
        return k.compute(out.shape, body, _STAGES.get(a.pad_mode, "pad"))


def reference(inputs: Sequence[AnyArray], a: PadAttrs | MirrorPadAttrs) -> AnyArray:
    """`numpy.pad`; then what negative widths crop is cut off."""
    x = inputs[0]
    width = [(max(0, b), max(0, e)) for b, e in a.pairs]
    if not width:
        return x  # NumPy takes no empty widths
    if a.pad_mode == "constant":
        dtype = k.DataType(x.dtype)
        fill = convert(inputs[1], dtype).reshape(()) if len(inputs) > 1 else as_element(a.pad_value, dtype)
        return np.ascontiguousarray(np_padded(x, a.pairs, np.asarray(fill, x.dtype)))
    mode: Any = "wrap" if a.pad_mode == "circular" else a.pad_mode
    bordered = np.pad(x, width, mode=mode)
    cut = tuple(slice(max(0, -b), d - max(0, -e)) for d, (b, e) in zip(bordered.shape, a.pairs))
    return np.ascontiguousarray(bordered[cut])


def gradient(b: CallMaker, args: Exprs, a: PadAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The middle of the gradient; of borders that are copies, the copies are added to what they were made of."""
    if a.pad_mode != "constant":
        return [_from_copies(b, args[0].struct_info, a, grad), *(None for _ in args[1:])]
    inverse = tuple(-w for pair in a.pairs for w in pair)
    middle = b.op("nn.pad", grad, b.const(0, grad.struct_info.dtype), pad_width=inverse) if len(args) > 1 else None
    if middle is None:
        return [b.op("nn.pad", grad, pad_width=inverse)]
    border = b.op("subtract", b.op("sum", grad), b.op("sum", middle))  # it is the fill value
    rank = args[1].struct_info.ndim
    return [middle, b.op("reshape", border, b.shape((1,) * rank)) if rank > 0 else border]


def _from_copies(b: CallMaker, info: TensorStructInfo, a: PadAttrs | MirrorPadAttrs, grad: GraphExpr) -> GraphExpr:
    padded = {axis: pair for axis, pair in enumerate(a.pairs) if any(pair)}
    matrices = {
        axis: reference((np.eye(extent),), PadAttrs((padded[axis], (0, 0)), pad_mode=a.pad_mode))
        for axis, extent in known_extents(info, "padding with copies", padded).items()
    }
    return transposed(b, grad, info, matrices)


def relay_pad(
    make: OwnMaker, data: GraphExpr, pad_width: Argument, pad_value: Argument = 0, pad_mode: str = "constant"
) -> GraphExpr:
    """The fill value is an operand; a width that is computed makes it `dyn.nn.pad`."""
    if is_computed(pad_width):
        return make.op("dyn.nn.pad", data, pad_width, pad_value, pad_mode=pad_mode)
    return make(data, pad_value, pad_width=pad_width, pad_mode=pad_mode)


def pad_to_relax(args: Exprs, a: PadAttrs) -> tuple[Exprs, PadAttrs] | tuple[Exprs, PadAttrs, OpDef[PadAttrs]]:
    """A constant fill value becomes the attribute that Relax has for it; with a computed one it is `nn.pad_filled`."""
    if len(args) < 2:
        return args, a
    value = getattr(getattr(args[1], "data", None), "data", None)
    if value is None:
        return args, a, PAD_FILLED
    return args[:1], a.with_attrs(pad_value=value.reshape(()).item())


PAD = OpDef(
    "nn.pad",
    PadAttrs,
    inputs=(Input("data"), Input("pad_value", "a scalar", languages=("relay",))),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    layout=PerAxis("pad_width"),
    relay_builder=relay_pad,
    relay_to_relax=pad_to_relax,
    samples=lambda: (
        Sample((Arr(("n", 4)),), PadAttrs((0, 0, 1, 2), 1.5)),
        Sample((Arr(("n", 4)), Arr(())), PadAttrs(((1, 0), (0, 1)))),
        Sample((Arr((4, "m")),), PadAttrs((1, 2, 2, 1), pad_mode="reflect")),
        Sample((Arr((2, "m")),), PadAttrs((3, 1, 4, 9), pad_mode="reflect")),
        Sample((Arr((2, 3)),), PadAttrs((1, 1, 0, 2), pad_mode="edge")),
        Sample((Arr(()),), PadAttrs((), pad_mode="edge")),
        Sample((Arr((2, 3)),), PadAttrs((1, 1, 0, 2), pad_mode="circular")),
        Sample((Arr((4, 5), "int32", -9, 9),), PadAttrs((-1, 0, 1, -2), 7)),
    ),
    summary="Pad with a constant, with the edge elements, or by reflection.",
)


PAD_FILLED = OpDef(
    "nn.pad_filled",
    PadAttrs,
    inputs=(Input("data"), Input("fill", "a scalar")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    relay_name=NotApplicable("Relay's nn.pad has the value as an operand"),
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr(())), PadAttrs(((1, 0), (0, 1)))),
        Sample((Arr((2, 3)), Arr((1,))), PadAttrs(((1, 0), (0, 1)))),
        Sample((Arr((2, 3), "int32", -9, 9), Arr((), "int32", 5, 6)), PadAttrs(((0, 2), (1, 0)))),
    ),
    summary="Pad with a value computed at run time.",
)


@attrs
class MirrorPadAttrs(Attrs):
    """Mode and widths."""

    pad_value: ClassVar[float] = 0.0
    """Of no effect: the border repeats what is inside."""

    pad_width: Pairs = attr(doc="width before and after every axis")
    mode: str = attr("SYMMETRIC", "SYMMETRIC repeats the edge, REFLECT does not")

    def __post_init__(self) -> None:
        set_attr(self, "pad_width", as_pairs(self.pad_width))
        set_attr(self, "mode", self.mode or "SYMMETRIC")

    @property
    def pad_mode(self) -> str:
        return self.mode.lower()

    @property
    def pairs(self) -> Pairs:
        found: Pairs = self.pad_width
        return found


MIRROR_PAD = OpDef(
    "nn.mirror_pad",
    MirrorPadAttrs,
    inputs=(Input("data"),),
    infer=padded,
    compute=compute,
    reference=reference,
    gradient=lambda b, args, a, out, grad: [_from_copies(b, args[0].struct_info, a, grad)],
    fusion=Fusion.INJECTIVE,
    layout=PerAxis("pad_width"),
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4)),), MirrorPadAttrs(((0, 0), (2, 1)))),
        Sample((Arr(("n", 2)),), MirrorPadAttrs(((7, 3), (2, 5)))),
        Sample((Arr((3, 4)),), MirrorPadAttrs(((1, 0), (2, 1)), "REFLECT")),
    ),
    summary="Pad by reflection.",
)


PADDINGS: tuple[Definition, ...] = (PAD, PAD_FILLED, MIRROR_PAD)
