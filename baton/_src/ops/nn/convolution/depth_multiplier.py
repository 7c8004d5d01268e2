"""Kernels of depthwise convolutions with a multiplier in the place of input channels, as TensorFlow has and TVM takes.

    y[n, c * M + m] = x[n, c] convolved with w[c, m]        data (N, C, H, W), kernel (C, M, kh, kw), groups C

It is the convolution by the kernel as (C * M, 1, kh, kw), and comes to that before there are kernels of machine code.
The attribute `channels` (C * M) tells it from a mistake in the groups. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import as_dim, known_dim
from baton._src.ops.layout_names import layout_over
from baton._src.ops.nn.convolution.geometry import Geometry
from baton._src.ops.said_dims import said_dims
from baton._src.ops.windows import SPATIAL


def depth_multiplier(a: Geometry, extents: Mapping[str, Dim]) -> int:
    """M of a kernel of these extents; 1 where it has input channels as usual."""
    outputs, inner, channels = (None if d is None else as_dim(d) for d in (extents["O"], extents.get("I"), a.channels))
    if a.spatial != 2 or a.groups == 1 or outputs != a.groups or not isinstance(inner, int):
        return 1
    return inner if inner > 1 and channels == a.groups * inner else 1


def decompose(b: CallMaker, args: Exprs, a: Geometry, out: TensorInfo) -> GraphExpr | None:
    """The convolution by the kernel (C * M, 1, ...); None where there is no multiplier."""
    kernel = layout_over(a.kernel_layout, "OI" + SPATIAL[a.spatial], "kernel_layout", nested=True)
    shape = said_dims(args[1].struct_info_)
    if a.groups == 1 or shape is None or not kernel.is_plain:
        return None
    extents = dict(zip((letter for letter, _ in kernel.axes), shape))
    if depth_multiplier(a, extents) == 1:
        return None
    plain, layout = _plain(b, args[1], extents)
    options = {name: getattr(a, name) for name in a.names} | {"kernel_layout": layout}
    return b.op(f"nn.conv{a.spatial}d", args[0], plain, **options)


def _plain(b: CallMaker, w: GraphExpr, extents: Mapping[str, Dim]) -> tuple[GraphExpr, str]:
    """The kernel, and its layout: the same, with I right behind O."""
    before = list(extents)
    letters = [letter for letter in before if letter != "I"]
    letters.insert(letters.index("O") + 1, "I")
    if letters != before:
        w = b.op("permute_dims", w, axes=tuple(before.index(letter) for letter in letters))
    shape = {**extents, "O": known_dim(extents["O"]) * known_dim(extents["I"]), "I": 1}
    return b.op("reshape", w, b.shape([shape[letter] for letter in letters])), "".join(letters)
