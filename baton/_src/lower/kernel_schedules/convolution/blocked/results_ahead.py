"""A tile of a blocked convolution prefetches the cache lines it will write, and the other operands of its epilogue.

Where maps are larger than the caches, as with several images, the end of each tile would wait for memory: 8 images of
ResNet-50 take 0.975 of the time, of MobileNetV2 0.96 to 0.99 (Zen 5, one thread). Smaller maps gain nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Point
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.loops import constant, product, sequence
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

CACHES = 6
"""A result larger than this many second-level caches is prefetched."""


def results_are_far(conv: BlockedConv, target: Target) -> bool:
    """Whether the result, whose size is known, exceeds all caches."""
    stage = conv.anchored.epilogue or conv.anchored.stage
    elements = constant(product(stage.buffer.shape))
    return elements is not None and elements * stage.buffer.dtype.itemsize > CACHES * target.cpu.l2_bytes


def result_prefetches(conv: BlockedConv, store: Callable[[Point], st.Stmt], at: Point) -> st.Stmt:
    """The prefetches of one sum, which `store` writes: of its place, and of other maps at that place."""
    write, sums = store(at), conv.anchored.stage.buffer
    assert isinstance(write, st.BufferStore)
    loads = [tir.BufferLoad(write.buffer, write.indices)]
    epilogue = conv.anchored.epilogue
    if epilogue is not None:
        columns = epilogue.spatial[conv.anchored.stage.spatial.index(conv.columns.axis)]
        maps = {load.buffer for load in epilogue.loads if load.buffer is not sums and step(load, columns)}
        loads += [n for n in post_order(write.value) if isinstance(n, tir.BufferLoad) and n.buffer in maps]
    return sequence(*(prefetched(load) for load in loads))
