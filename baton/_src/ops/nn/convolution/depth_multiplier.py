"""Kernels of depthwise convolutions with a multiplier in the place of input channels, as TensorFlow has and TVM takes.

    y[n, c * M + m] = x[n, c] convolved with w[c, m]        data (N, C, H, W), kernel (C, M, kh, kw), groups C

It is the convolution by the kernel as (C * M, 1, kh, kw), and comes to that before there are kernels of machine code.
The attribute `channels` (C * M) tells it from a mistake in the groups. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ops.layout_names import layout_over
from baton._src.ops.windows import SPATIAL


def depth_multiplier(a: Any, extents: Mapping[str, Any]) -> int:
    """M of a kernel of these extents; 1 where it has input channels as usual."""
    outputs, inner, channels = (
        d if isinstance(d, int) else getattr(d, "value", None) for d in (extents["O"], extents.get("I"), a.channels)
    )
    if a.spatial != 2 or a.groups == 1 or outputs != a.groups or outputs is None or inner is None:
        return 1
    return int(inner) if inner > 1 and channels == outputs * inner else 1


def decompose(b: Any, args: Any, a: Any, out: Any) -> Any:
    """The convolution by the kernel (C * M, 1, ...); None where there is no multiplier."""
    kernel = layout_over(a.kernel_layout, "OI" + SPATIAL[a.spatial], "kernel_layout", nested=True)
    shape = getattr(args[1].struct_info, "shape", None)
    if a.groups == 1 or shape is None or not kernel.is_plain:
        return None
    extents = dict(zip((letter for letter, _ in kernel.axes), shape.values))
    if depth_multiplier(a, extents) == 1:
        return None
    plain, layout = _plain(b, args[1], extents)
    options = {name: getattr(a, name) for name in a.names} | {"kernel_layout": layout}
    return b.op(f"nn.conv{a.spatial}d", args[0], plain, **options)


def _plain(b: Any, w: Any, extents: dict[str, Any]) -> tuple[Any, str]:
    """The kernel, and its layout: the same, with I right behind O."""
    before = list(extents)
    letters = [letter for letter in before if letter != "I"]
    letters.insert(letters.index("O") + 1, "I")
    if letters != before:
        w = b.op("permute_dims", w, axes=tuple(before.index(letter) for letter in letters))
    shape = {**extents, "O": int(extents["O"]) * int(extents["I"]), "I": 1}
    return b.op("reshape", w, b.shape([shape[letter] for letter in letters])), "".join(letters)
