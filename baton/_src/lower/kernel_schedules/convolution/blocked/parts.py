"""The parts of a convolution over blocked output channels (NCHW16c), dense or depthwise, as a kernel has them: what
the rules `conv_blocked` and `winograd` begin with.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.shared.affine import depends, merge_pair
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.factors import is_converted_once, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import constant
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT32

WORD = 4
"""Bytes of a word."""


@dataclass(frozen=True, eq=False)
class BlockedConv:
    """The parts of such a convolution; `rows` is None where the points are one row."""

    anchored: Anchored
    blocks: Axis
    rows: Window | None
    columns: Window
    lane: Axis
    channels: tuple[Axis, ...]
    data: tir.BufferLoad
    weight: PrimExpr
    origin: Anchored
    """The stages this replaces, as the kernel has them."""
    words: bool = False
    """Whether the innermost channels are in words: `weight` has [.., words of a block, lane, bytes of a word]."""

    @property
    def width(self) -> int:
        size = self.lane.size
        assert size is not None
        return size

    @property
    def is_depthwise(self) -> bool:
        return depends(self.data, self.lane.var)

    @property
    def alike(self) -> int | None:
        """How many neighbouring blocks, from a multiple of it on, see the same input: a group's. None: all do."""
        if not depends(self.data, self.blocks.var):
            return None
        sizes = {n.b.value for n in post_order(self.data) if _is_group(n, self.blocks.var)}
        return sizes.pop() if len(sizes) == 1 else 1

    def seen_from(self, block: PrimExpr) -> tir.BufferLoad:
        """What a tile of blocks alike, the first of which is given, loads of the input."""
        if self.is_depthwise or not depends(self.data, self.blocks.var):
            return self.data
        indices = [substitute_and_fold(index, {self.blocks.var: block}) for index in self.data.indices]
        return tir.BufferLoad(self.data.buffer, tuple(indices))


def _is_group(node: Node, block: tir.Var) -> bool:
    return isinstance(node, tir.FloorDiv) and node.a is block and isinstance(node.b, tir.IntImm)


def read_conv(func: PrimFunc) -> tuple[Kernel, BlockedConv] | Declined:
    """The convolution of a kernel, and the kernel with elementwise stages and the border inside it."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    stage = next((s for s in kernel.stages if isinstance(s, Stage) and _looks_right(s)), None)
    if stage is None:
        return Declined("no stage is a sum of products over blocked output channels")
    kernel, bordered = with_border_inside(kernel, stage)
    plain = without_single(bordered)
    kernel = replace(kernel, stages=tuple(plain if s is bordered else s for s in kernel.stages))
    conv = conv_of(kernel, plain)
    return conv if isinstance(conv, Declined) else (kernel, conv)


def conv_of(kernel: Kernel, stage: Stage) -> BlockedConv | Declined:
    """The convolution that a stage of a kernel is."""
    found = find_anchor(kernel, lambda s: s is stage)
    assert found is not None
    return _read(found)


def _looks_right(stage: Stage) -> bool:
    if stage.combiner is not tir.Add or len(stage.spatial) != 5 or not isinstance(stage.value, tir.Mul):
        return False
    dtype = stage.buffer.dtype
    return stage.spatial[-1].size in (4, 8, 16, 32) and (dtype.is_float or dtype == INT32) and not stage.buffer.strides


def without_single(stage: Stage) -> Stage:
    """The stage without reduced axes of one point."""
    single = {a.var: tir.IntImm(a.var.dtype, 0) for a in stage.reduce if a.size == 1}
    if not single or len(single) == len(stage.reduce):
        return stage
    reduce = tuple(a for a in stage.reduce if a.var not in single)
    return replace(stage, reduce=reduce, value=substitute_and_fold(stage.value, single))


def _read(anchored: Anchored) -> BlockedConv | Declined:
    merged = _as_one_row(anchored)
    origin, anchored = anchored, merged or anchored
    stage = anchored.stage
    assert isinstance(stage.value, tir.Mul)
    lane, columns = stage.spatial[-1], stage.spatial[-2]
    places = (columns,) if merged is not None else (stage.spatial[-3], columns)
    for weight, data in ((stage.value.b, stage.value.a), (stage.value.a, stage.value.b)):
        if not is_converted_once(weight) or any(depends(weight, a.var) for a in places):
            continue
        words = _has_words(stage, load_of(weight))
        if load_of(weight).buffer.strides or not (words or load_of(weight).indices[-1] is lane.var):
            continue
        data = data.value if isinstance(data, tir.Cast) else data  # the steps of a tile convert what they load
        found = read_windows(stage, data, places, symbolic=True)
        if found is None:
            continue
        load, windows = found
        if depends(load, lane.var) and load.indices[-1] is not lane.var:
            continue
        if load.buffer.strides:
            continue
        taps = {w.tap for w in windows}
        channels = tuple(a for a in stage.reduce if a not in taps)
        rows = windows[0] if len(windows) == 2 else None
        if words and not (channels and load.indices[-1] is channels[-1].var):
            continue
        return BlockedConv(anchored, stage.spatial[1], rows, windows[-1], lane, channels, load, weight, origin, words)
    return Declined("no factor is a weight by blocks of output channels, the other an input under windows")


def _has_words(stage: Stage, weight: tir.BufferLoad) -> bool:
    """Whether a weight has the lanes between words of four input channels and the channels of a word."""
    lane = stage.spatial[-1].var
    if len(weight.indices) < 2 or weight.indices[-2] is not lane or constant(weight.buffer.shape[-1]) != WORD:
        return False
    sizes = {a.var: a.size for a in stage.reduce}
    match weight.indices[-1]:
        case tir.Var() as last:
            return sizes.get(last) == WORD
        case tir.FloorMod(a=tir.Var() as inner, b=tir.IntImm(value=4)):
            whole, size = weight.indices[-3], sizes.get(inner)
            if not isinstance(whole, tir.FloorDiv) or whole.a is not inner or size is None or size % WORD:
                return False
            return getattr(whole.b, "value", 0) == WORD
        case _:
            return False


def _as_one_row(anchored: Anchored) -> Anchored | None:
    """The anchor with rows and columns as one axis, if every access has them side by side."""
    found: list[Stage] = []
    for stage in anchored.stages:
        merged = merge_pair(stage, stage.spatial[2], stage.spatial[3])
        if merged is None:
            return None
        found.append(merged)
    if len(found) == 1:
        return Anchored(found[0], None)
    # The epilogue must load the very buffer that the merged stage stores to.
    shared = found[0].buffer
    loads = [load.buffer for load in found[1].loads if load.buffer.data is shared.data]
    return Anchored(found[0], found[1]) if loads else None
