"""How much `make fuzz` draws.

`make fuzz TIMES=10` takes ten times as much, `make fuzz SEED=7` draws what an earlier run said it drew. What hypothesis
draws has a seed of its own (`ARGS="--hypothesis-seed=7"`).
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("TIMES", "1"))
SEED = int(os.environ.setdefault("SEED", str(int.from_bytes(os.urandom(4), "little"))))
"""Others in each run; the processes of one run share it."""


def at_length(count: int) -> int:
    """So many programs, as often as the run asks for."""
    return max(1, round(count * TIMES))


def seeds_at_length(count: int) -> range:
    """So many seeds."""
    return range(SEED, SEED + at_length(count))
