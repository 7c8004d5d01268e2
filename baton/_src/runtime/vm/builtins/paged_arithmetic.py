"""What caches in pages compute: three functions, as kernels that the program brings, or in NumPy.

The kernels (`frontends/nn/llm/paged_kernels`) are compiled with the program that creates the cache. NumPy's functions
take the same arguments; they are the definition that kernels are tested against, and serve where there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.runtime.vm.builtins.rotary import Array, Rotary
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import NDArray

Kernel = Callable[..., Any]


@dataclass(frozen=True)
class Arithmetic:
    """Functions of tensors, which write into the last ones. A layer's keys and values are (heads, slots, size)."""

    append: Kernel
    """(fused, cos, sin, slots, rotates_keys, queries, keys, values): rotate the queries of new tokens, store their keys
    and values."""
    rotate: Kernel
    """(keys, cos, sin, slots, count, rotated): the keys of a sequence, rotated."""
    attend: Kernel
    """(queries, keys, values, slots, count, scale, out): attention of a sequence's last tokens to all before them."""


def in_numpy(rotary: Rotary | None) -> Arithmetic:
    """The definition. `rotary` None: nothing is rotated."""

    def rotated(x: Array, cos: NDArray, sin: NDArray) -> Array:
        return x if rotary is None else rotary.rotated(x, cos.data[: len(x)], sin.data[: len(x)])

    def append(
        fused: NDArray, cos: NDArray, sin: NDArray, slots: NDArray, rotates_keys: int, queries: NDArray, keys: NDArray,
        values: NDArray,
    ) -> None:  # fmt: skip
        asked, shared = queries.shape[1], len(keys)
        q, k, v = np.split(fused.data, (asked, asked + shared), axis=1)
        queries.data[...] = rotated(q, cos, sin)
        keys.data[:, slots.data] = (rotated(k, cos, sin) if rotates_keys else k).swapaxes(0, 1)
        values.data[:, slots.data] = v.swapaxes(0, 1)

    def rotate(keys: NDArray, cos: NDArray, sin: NDArray, slots: NDArray, count: int, out: NDArray) -> None:
        used = slots.data[:count]
        out.data[:, used] = rotated(keys.data[:, used].swapaxes(0, 1), cos, sin).swapaxes(0, 1)

    def attend(
        queries: NDArray, keys: NDArray, values: NDArray, slots: NDArray, count: int, scale: float, out: NDArray
    ) -> None:
        seen = np.arange(count) <= np.arange(count - len(queries), count)[:, None]
        out.data[...] = attention(queries.data, keys.data, values.data, slots.data[:count], scale, seen)

    return Arithmetic(append, rotate, attend)


def attention(q: Array, keys: Array, values: Array, slots: Array, scale: float, seen: Array) -> Array:
    """Attention, in float32, of queries (tokens, heads, size) to the keys in some slots, where they have `seen` them.
    Keys and values (heads, slots, size) serve groups of heads.
    """
    (count, heads, size), shared = q.shape, len(keys)
    grouped = q.astype(np.float32).reshape(count, shared, heads // shared, size).transpose(1, 2, 0, 3)
    k, v = (x[:, slots].astype(np.float32)[:, None] for x in (keys, values))
    scores = np.where(seen, grouped @ k.swapaxes(-1, -2) * np.float32(scale), np.float32(-np.inf))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weighed: Array = powers / powers.sum(-1, keepdims=True) @ v
    return weighed.transpose(2, 0, 1, 3).reshape(count, heads, size).astype(q.dtype)
