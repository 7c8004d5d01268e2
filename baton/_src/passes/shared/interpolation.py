"""Which injective kernels are not worth computing inside of what reads them: those that interpolate.

    B[i] = A[i // 2] * 0.75 + A[i // 2 + 1] * 0.25

is injective by TVM's table (its elements depend on their places alone), so fusion may compute it inside of a
concatenation, say. There a schedule no longer sees a resized image whose taps move in even steps, and picks each of
them. As a kernel of its own, which takes in the elementwise operators around it, it writes its part of the
concatenation without a copy (`lower/relax_to_vm/shared_memory`): three maps enlarged to 64x64 and joined with a fourth,
256 channels each, took 2.8 ms as one kernel, and 0.8 ms in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from baton._src.ir.traverse import post_order
from baton._src.passes.shared.kernel_stages import Stage, kernel_stages
from baton._src.tir.expr import BufferLoad
from baton._src.tir.prim_func import PrimFunc

_TAPS = 3
"""Elements of one tensor, read for one result, from which on a kernel interpolates: a choice of two reads two."""


def interpolates(function: PrimFunc) -> bool:
    """Whether a kernel of an injective operator computes each result from several elements, at once or in steps."""
    stages = kernel_stages(function)
    written = {stage.buffer for stage in stages}
    return any(_mixes(stage, written) for stage in stages)


def _mixes(stage: Stage, written: Container[object]) -> bool:
    loads = Counter(n.buffer for n in post_order(stage.value) if isinstance(n, BufferLoad))
    return any(count >= _TAPS or buffer in written for buffer, count in loads.items())
