"""Slices of tensors."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node
from baton._src.ir.tensor_info import Dim


def cut(node: Node, x: Value, axis: int, begin: Dim, end: Dim) -> Value:
    """`x[..., begin:end, ...]`"""
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(1,))


def slice_(node: Node) -> Value:
    """Operands are a tensor, where the slice begins, and its sizes; -1 is all that follows."""
    begins, sizes, shape = node.numbers(1, "the begins"), node.numbers(2, "the sizes"), node.shape()
    ends = [
        whole if isinstance(size, int) and size == -1 else begin + size
        for begin, size, whole in zip(begins, sizes, shape, strict=True)
    ]
    axes = tuple(range(len(shape)))
    return node.moved(node.graph.call(
        "strided_slice", node[0], axes=axes, begin=tuple(begins), end=tuple(ends), strides=(1,) * len(axes),
    ))  # fmt: skip


def strided_slice(node: Node) -> Value:
    """Python's slicing. Bit k of a mask is for place k of the operands: `BeginMask` and `EndMask` leave a bound out,
    `NewAxisMask` adds an axis, `ShrinkAxisMask` takes one element, `EllipsisMask` stands for all axes in between.
    """
    begins, ends = node.numbers(1, "the begins"), node.numbers(2, "the ends")
    slices = _Slices(node, len(begins))
    for place, step in enumerate(node.constants(3, "the steps")):
        slices.add(place, begins[place], ends[place], step)
    begin, end, strides = (tuple(cut[part] for cut in slices.cuts.values()) for part in range(3))
    found = node.graph.call(
        "strided_slice", node[0], axes=tuple(slices.cuts), begin=begin, end=end, strides=strides
    )  # fmt: skip
    sizes = found.shape
    if sizes is None:
        node.fail("the sizes of its result must be known")
    kept = [*slices.kept, *range(slices.axis, len(slices.shape))]
    return node.moved(node.graph.reshape(found, [1 if axis is None else sizes[axis] for axis in kept]))


class _Slices:
    """What the places of the operands ask of the tensor, whose axes they use up one by one."""

    def __init__(self, node: Node, count: int) -> None:
        self.node, self.shape, self.axis = node, node.shape(), 0
        self.cuts: dict[int, tuple[Dim, Dim, int]] = {}
        """Begin, end and step, by axis."""
        self.kept: list[int | None] = []
        """The axes of the result: those of the tensor, or None for a new one."""
        self.named = sum(not self.said("NewAxis", place) and not self.said("Ellipsis", place) for place in range(count))
        """How many axes have a place of their own."""

    def said(self, what: str, place: int) -> bool:
        return bool(int(self.node.option(f"{what}Mask", 0)) >> place & 1)

    def add(self, place: int, begin: Dim, end: Dim, step: int) -> None:
        if self.said("Ellipsis", place):
            through = self.axis + len(self.shape) - self.named
            self.kept += range(self.axis, through)
            self.axis = through
        elif self.said("NewAxis", place):
            self.kept.append(None)
        else:
            self._cut(place, begin, end, step)

    def _cut(self, place: int, begin: Dim, end: Dim, step: int) -> None:
        size = self.shape[self.axis]
        if self.said("ShrinkAxis", place):
            after = size if isinstance(begin, int) and begin == -1 else begin + 1
            self.cuts[self.axis] = begin, after, 1
        else:
            self.kept.append(self.axis)
            first, last = (0, size) if step > 0 else (size - 1, -(2**31))  # before the first is further than any
            self.cuts[self.axis] = (
                first if self.said("Begin", place) else begin, last if self.said("End", place) else end, step,
            )  # fmt: skip
        self.axis += 1


SLICES: dict[str, Converter] = {"SLICE": slice_, "STRIDED_SLICE": strided_slice}
