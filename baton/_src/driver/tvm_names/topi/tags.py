"""`tvm.topi.tag`: queries on the tags of computations."""

from __future__ import annotations

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether elements of the result come from one place of each operand, broadcast or not."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((f"{ELEMWISE},", f"{BROADCAST},"))


def is_injective(tag: str) -> bool:
    """Whether elements of the result come from one place of each operand, wherever it is."""
    return is_broadcast(tag) or tag == INJECTIVE or tag.startswith(f"{INJECTIVE},")
