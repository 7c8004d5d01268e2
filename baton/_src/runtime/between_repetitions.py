"""What `time_evaluator` does before each repetition, as TVM's further options say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS

FLUSH = "cache_flush_cpu_non_first_arg"
"""TVM's function that leaves no argument but the first in the caches; here none is left."""
LARGER_THAN_CACHES = 64 << 20


@dataclass(frozen=True)
class Between:
    """`cooldown_interval_ms` of rest after every `repeats_to_cooldown` repetitions; `cache_flush_bytes` that
    are written to take the place of what caches hold; the registered function `f_preproc`, called with the arguments.

    `limit_zero_time_iterations` is about clocks that cannot tell short times apart: it changes nothing.
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
        """What is called with the number of each repetition of a function of these arguments."""

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
