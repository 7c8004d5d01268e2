"""The functions of paged caches: `vm.builtin.kv_state_*`, `vm.builtin.attention_kv_cache_*`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.value_errors import describe, mismatch
from baton._src.runtime.vm.builtins.paged_arithmetic import Arithmetic
from baton._src.runtime.vm.builtins.paged_cache import CODE, PagedCache
from baton._src.runtime.vm.builtins.paged_rows import Row
from baton._src.runtime.vm.builtins.rotary import Rotary
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray, array


def create(
    limits: Any, layers: Any, heads: int, shared: int, size: int, rope_mode: int, rope_scale: float, rope_theta: float,
    rope_scaling: str, factors: Any, rotary_dim: int, dtype: str, *kernels: Any,
) -> PagedCache:  # fmt: skip
    """A cache. `limits`: sequences, tokens, new tokens at once, tokens of a page, whether windows slide. `kernels`: the
    functions of its `Arithmetic`, or none.
    """
    given = np.asarray(factors.numpy(), "float64") if isinstance(factors, NDArray) else None
    rotary = Rotary(int(rotary_dim), float(rope_theta), float(rope_scale), json.loads(str(rope_scaling)), given)
    if rope_mode:
        rotary.frequencies()  # an unknown kind of scaling is an error now, not at the first token
    sizes, range_ = [int(n) for n in limits], [int(n) for n in layers]
    both, used = (int(heads), int(shared)), rotary if rope_mode else None
    found = [getattr(kernel, "host", None) or kernel for kernel in kernels]
    return PagedCache(sizes, range_, both, int(size), used, str(dtype), Arithmetic(*found) if found else None)


def clear(cache: Any) -> None:
    """Forget all sequences."""
    found = _cache("kv_state_clear", cache)
    found.rows.clear()
    found.batch = []
    found.pages.clear()


def add_sequence(cache: Any, number: int) -> None:
    """A sequence without tokens."""
    _cache("kv_state_add_sequence", cache).add(int(number), Row())


def remove_sequence(cache: Any, number: int) -> None:
    """Forget a sequence."""
    found = _cache("kv_state_remove_sequence", cache)
    found.shorten(found.row(int(number)), 0)
    del found.rows[int(number)]


def fork_sequence(cache: Any, parent: int, child: int, position: int = -1) -> None:
    """A sequence that begins as another one does, up to `position` (-1: all of it)."""
    found = _cache("kv_state_fork_sequence", cache)
    row = found.settled(int(parent))
    length = row.length if int(position) == -1 else int(position)
    if not 0 <= length <= row.length:
        raise fail(CODE, f"sequence {parent} has {row.length} tokens, it cannot be forked at {length}")
    if row.window:
        raise fail(CODE, f"sequence {parent} cannot be forked: it has a sliding window", help="fork it before")
    found.add(int(child), Row(row.pages[: -(-length // found.memory.page_size)], length, forked=length))
    row.forked = max(row.forked, length)


def popn(cache: Any, number: int, count: int) -> None:
    """Forget the last tokens of a sequence."""
    found = _cache("kv_state_popn", cache)
    row = found.settled(int(number))
    if not 0 <= int(count) <= row.length:
        raise fail(CODE, f"sequence {number} has {row.length} tokens, {count} cannot be taken from it")
    found.shorten(row, row.length - int(count))


def begin_forward(cache: Any, numbers: Any, counts: Any, tree_parents: Any = None) -> None:
    """Announce how many tokens are appended to which sequences; with their parents, if they are trees."""
    parents = None if tree_parents is None else [int(n) for n in tree_parents]
    found = _cache("kv_state_begin_forward", cache)
    found.begin([int(n) for n in numbers], [int(n) for n in counts], parents)


def commit_tree_nodes(cache: Any, numbers: Any, leaves: Any) -> None:
    """Keep what leads to one token of each sequence's tree; -1: nothing of the tree."""
    found = _cache("attention_kv_cache_commit_accepted_token_tree_nodes", cache)
    found.commit([int(n) for n in numbers], [int(n) for n in leaves])


def end_forward(cache: Any) -> None:
    """All layers have seen the new tokens."""
    _cache("kv_state_end_forward", cache).batch = []


def enable_sliding_window(cache: Any, number: int, window: int, sink: int) -> None:
    """From now on keep `window` tokens of a sequence, the first `sink` among them."""
    _cache("attention_kv_cache_enable_sliding_window_for_seq", cache).slide(int(number), int(window), int(sink))


def attention_with_fused_qkv(cache: Any, layer: int, factor: float, qkv: NDArray, out: NDArray) -> None:
    """Append and attend; `out` (tokens, heads, size) is written."""
    found = _cache("attention_kv_cache_attention_with_fused_qkv", cache)
    wanted = (sum(found.heads) + found.heads[1], found.size)
    if qkv.shape[1:] != wanted:
        raise mismatch("attention_with_fused_qkv", f"tokens of {wanted}", describe(qkv))
    result = (len(qkv), found.heads[0], found.size)
    if out.shape != result:
        raise mismatch("attention_with_fused_qkv", f"room for tokens of {result}", describe(out))
    found.attend(int(layer), float(factor), qkv, out)


def query_positions(cache: Any) -> NDArray:
    """Where in their sequences the new tokens stand."""
    batch = _cache("attention_kv_cache_get_query_positions", cache).batch
    return array(np.concatenate([new.positions for new in batch] or [np.empty(0)]).astype("int32"))


def debug_get_kv(cache: Any, number: int, start: int, end: int, keys: NDArray, values: NDArray) -> None:
    """Copy the keys and values of tokens `start` to `end`: (layers, tokens, heads, size)."""
    found = _cache("attention_kv_cache_debug_get_kv", cache)
    row = found.row(int(number))
    if not 0 <= int(start) <= int(end) <= row.length:
        raise fail(CODE, f"sequence {number} has {row.length} tokens, not {start} to {end}")
    for which, out in enumerate((keys, values)):
        layers = [found.stored(layer, which, row)[int(start) : int(end)] for layer in range(len(found.layers))]
        out.copyfrom(np.stack(layers))


def is_empty(cache: Any) -> bool:
    """Whether there is no sequence."""
    return not _cache("attention_kv_cache_empty", cache).rows


def available_pages(cache: Any) -> int:
    """How many pages are free."""
    return _cache("attention_kv_cache_get_num_available_pages", cache).pages.available


def total_length(cache: Any) -> int:
    """How many tokens all sequences have."""
    return sum(row.length for row in _cache("attention_kv_cache_get_total_sequence_length", cache).rows.values())


def _cache(what: str, value: Any) -> PagedCache:
    if not isinstance(value, PagedCache):
        raise mismatch(what, "a cache in pages", describe(value))
    return value


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.paged_attention_kv_cache_create": create,
    "vm.builtin.kv_state_clear": clear,
    "vm.builtin.kv_state_add_sequence": add_sequence,
    "vm.builtin.kv_state_remove_sequence": remove_sequence,
    "vm.builtin.kv_state_fork_sequence": fork_sequence,
    "vm.builtin.kv_state_popn": popn,
    "vm.builtin.kv_state_begin_forward": begin_forward,
    "vm.builtin.kv_state_end_forward": end_forward,
    "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq": enable_sliding_window,
    "vm.builtin.attention_kv_cache_attention_with_fused_qkv": attention_with_fused_qkv,
    "vm.builtin.attention_kv_cache_get_query_positions": query_positions,
    "vm.builtin.attention_kv_cache_debug_get_kv": debug_get_kv,
    "vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes": commit_tree_nodes,
    "vm.builtin.attention_kv_cache_empty": is_empty,
    "vm.builtin.attention_kv_cache_get_num_available_pages": available_pages,
    "vm.builtin.attention_kv_cache_get_total_sequence_length": total_length,
}
