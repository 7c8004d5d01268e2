"""Trees of tokens: several ways on from the end of a sequence, of which one is accepted later (speculative decoding).

A tree is the list of its tokens' parents, each the number of an earlier token of the tree, or -1: right after the
sequence. Tokens attend to the sequence and to those above them; they stand at the sequence's length plus their depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def is_tree(parents: Sequence[int]) -> bool:
    """Whether each parent is an earlier token, or -1."""
    return all(-1 <= parent < token for token, parent in enumerate(parents))


def path(parents: Sequence[int], leaf: int) -> list[int]:
    """The tokens from the root to `leaf`; none for -1."""
    found = []
    while leaf != -1:
        found.append(leaf)
        leaf = parents[leaf]
    return found[::-1]


def seen(parents: Sequence[int]) -> Array:
    """(tokens, tokens) of bool: whether the second token is the first one, or above it."""
    found = np.eye(len(parents), dtype=bool)
    for token, parent in enumerate(parents):
        if parent != -1:
            found[token] |= found[parent]
    return found


def depths(parents: Sequence[int]) -> Array:
    """How many tokens are above each."""
    found: Array = seen(parents).sum(axis=1) - 1
    return found
