"""What `time_evaluator` does before each repetition, according to TVM's extra options."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS

FLUSH = "cache_flush_cpu_non_first_arg"
"""TVM's function that flushes all arguments but the first from the caches; here it flushes all of them."""
LARGER_THAN_CACHES = 64 << 20


@dataclass(frozen=True)
class Between:
    """Options: pause for `cooldown_interval_ms` after every `repeats_to_cooldown` repetitions; write
    `cache_flush_bytes` to evict what the caches hold; call the registered function `f_preproc` with the arguments.

    `limit_zero_time_iterations` is meant for clocks too coarse to measure short runs; it has no effect here.
    """

    cooldown_interval_ms: int = 0
    repeats_to_cooldown: int = 1
    cache_flush_bytes: int = 0
    f_preproc: str = ""
    limit_zero_time_iterations: int = 100

    def __post_init__(self) -> None:
        if self.f_preproc and self.f_preproc != FLUSH and PROCESS_FUNCTIONS.get(self.f_preproc) is None:
            message = f"f_preproc: no packed function is registered as {self.f_preproc!r}"
            raise fail("function-missing", message, kind=ValueError)

    def before(self, args: Sequence[Any]) -> Callable[[int], None]:
        """A callback for a function called with `args`: it takes the number of the repetition about to start."""

        def prepare(repetition: int) -> None:
            if repetition and self.cooldown_interval_ms and repetition % max(1, self.repeats_to_cooldown) == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
            _flush(LARGER_THAN_CACHES if self.f_preproc == FLUSH else self.cache_flush_bytes)
            function = PROCESS_FUNCTIONS.get(self.f_preproc)
            if function is not None:
                function(*args)

        return prepare


def _flush(size: int) -> None:
    if size > 0:
        np.zeros(size, np.uint8).fill(1)
