"""Sampling primitives of `Schedule`: factors of loops, candidates, compute locations of blocks.

The sample is the instruction's decision in the trace; if `decision` is given, it is used instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, ExprRV, InlineRV, LoopRV, RootRV, block_name
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.traces import sampling
from baton._src.tir.schedule.transformations import compute_at, inline
from baton._src.tir.schedule.tree import refuse


class SamplePrimitives:
    """See the module; a part of `Schedule`."""

    func: PrimFunc
    decision: Any
    _random: random.Random

    def get(self, handle: BlockRV | LoopRV | ExprRV | str) -> Any:
        raise NotImplementedError

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        raise NotImplementedError

    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        raise NotImplementedError

    @recorded
    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[ExprRV]:
        """`n` random factors of the loop's extent, the last one bounded."""
        extent = self._extent_to_tile(loop)
        self.decision = chosen = sampling.perfect_tile(self._random, extent, n, max_innermost_factor, decision)
        return [ExprRV(factor) for factor in chosen]

    @recorded
    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """`n` random factors of the loop's extent; those from `partition_pos` on have the given product."""
        extent = self._extent_to_tile(loop)
        self.decision = chosen = sampling.partitioned_tile(
            self._random, extent, n, partition_pos, innerpart_factor, decision
        )
        return [ExprRV(factor) for factor in chosen]

    def _extent_to_tile(self, loop: LoopRV) -> int:
        extent = self.get(loop).extent
        if not isinstance(extent, IntImm):
            raise refuse(f"the extent of the loop over {loop.var.name} is not a constant: it has no factors to sample")
        return extent.value

    @recorded
    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """One of the candidates, sampled with their probabilities."""
        self.decision = sampling.categorical(self._random, candidates, probs, decision)
        return ExprRV(candidates[self.decision])

    @recorded
    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """A location where the block can be computed, for `compute_at`: a loop, a `RootRV` or an `InlineRV`.

        Decisions are TVM's: the number of a loop around the block's first consumer, -1 where it is, -2 inlined. One
        that is not possible (any more) is replaced by the nearest possible one outside.
        """
        readers = self.get_consumers(block)
        loops = self.get_loops(readers[0]) if readers else []
        options = [-2] if self._could(inline.compute_inline, block, set(self.func.buffer_map.values())) else []
        options += [-1, *(n for n, loop in enumerate(loops) if self._could(compute_at.compute_at, block, loop.var))]
        if decision is None:
            chosen = options[sampling.categorical(self._random, options, [1.0] * len(options), None)]
        else:
            chosen = max((option for option in options if option <= decision), default=-1)
        self.decision = chosen
        return InlineRV() if chosen == -2 else RootRV() if chosen == -1 else loops[chosen]

    def _could(self, primitive: Callable[..., Any], block: BlockRV | str, *where: Any) -> bool:
        try:
            primitive(self.func.body, block_name(block), *where)
        except DiagnosticError:
            return False
        return True

    def seed(self, seed: int) -> None:
        """Restart the random generator; -1 is a seed of the machine's. Errors as in `random_from`."""
        self._random = random_from(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule."""
        return self._random.randint(1, _LAST_SEED)


_LAST_SEED = 2**31 - 1


def random_from(seed: int | None) -> random.Random:
    """A generator of random numbers; None and -1 are a seed of the machine's.

    Error `TypeError` or `ValueError`: not a whole number, or outside of 31 bits.
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise fail("schedule", f"a seed is a whole number or None, not {seed!r}", kind=TypeError)
    if seed is not None and not -1 <= seed <= _LAST_SEED:
        raise fail("schedule", f"a seed is a number from 0 to {_LAST_SEED}, or -1, not {seed}", kind=ValueError)
    return random.Random(None if seed == -1 else seed)
