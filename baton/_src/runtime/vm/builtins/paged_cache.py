"""Paged KV caches, for batches of sequences (`relax.frontend.nn.llm.PagedKVCache`).

    cache.add(0, Row());  cache.begin([0], [n]);  cache.attend(layer, 1.0, qkv, out) for every layer

A sequence is a list of pages and a length; forked sequences share pages until one of them writes. After `begin`, every
layer calls `attend`, which appends the keys and values of the new tokens, one sequence after the other, and attends to
all of the sequence so far. New tokens may be a tree (`token_trees`), of which `commit` keeps one path; until then they
count as the sequence's last tokens. Where sequences may slide (`paged_rows`), tokens change their positions: keys are
stored as they come, and rotated when they are used. What is computed, and by what, is in `paged_arithmetic`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.runtime.vm.builtins import token_trees
from baton._src.runtime.vm.builtins.paged_arithmetic import Arithmetic, attention, in_numpy
from baton._src.runtime.vm.builtins.paged_memory import PagedMemory
from baton._src.runtime.vm.builtins.paged_rows import Array, New, Row
from baton._src.runtime.vm.builtins.rotary import Rotary
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.aligned import aligned_empty
from baton._src.values.tensor import NDArray

CODE = "value-mismatch"
_NO_TOKENS = np.zeros(0, "int32")


@dataclass(frozen=True)
class _Shared:
    """What all layers use for the new tokens of a batch."""

    batch: list[New]
    queries: Array
    """Room for the rotated ones."""
    slots: NDArray
    waves: tuple[NDArray, NDArray]
    every: tuple[NDArray, NDArray]
    """Those of all tokens of the longest sequence, in a cache whose sequences slide."""


class PagedCache:
    """See the module. `rotary` None: positions are not embedded here. `kernels`: what computes tensors of `dtype`."""

    def __init__(
        self, limits: Sequence[int], layers: Sequence[int], heads: tuple[int, int], size: int, rotary: Rotary | None,
        dtype: str, kernels: Arithmetic | None = None,
    ) -> None:  # fmt: skip
        self.max_rows, tokens, self.max_new, page_size, slides = limits
        self.slides = bool(slides)
        self.layers, self.heads, self.size, self.rotary = range(layers[0], layers[-1]), heads, size, rotary
        pages, spare = -(-tokens // page_size) + 1, self.max_new if slides else 0
        self.memory = PagedMemory(len(self.layers), pages, page_size, heads[1], size, dtype, spare)
        self.pages = self.memory.pages
        self.rows: dict[int, Row] = {}
        self.batch: list[New] = []
        self._in_numpy, self._kernels = in_numpy(rotary), kernels
        self._known: _Shared | None = None
        self._turns: tuple[NDArray, NDArray] | None = None
        content = self.memory.content
        self._rotated = NDArray(aligned_empty(content.shape[2:], content.dtype)) if slides and rotary else None

    def row(self, number: int) -> Row:
        """A sequence by its number. Error `value-mismatch`: there is none."""
        if number not in self.rows:
            raise fail(CODE, f"the cache has no sequence {number}", help="vm.builtin.kv_state_add_sequence")
        return self.rows[number]

    def add(self, number: int, row: Row) -> None:
        """A new sequence. Errors: the number is taken, or the cache is full."""
        if number in self.rows:
            raise fail(CODE, f"the cache has a sequence {number} already")
        if len(self.rows) == self.max_rows:
            raise fail(CODE, f"the cache holds {self.max_rows} sequences at most")
        self.rows[number] = row
        self.pages.share(row.pages)
        row.put(0, self.memory.in_order(row, 0, row.length))

    def shorten(self, row: Row, length: int) -> None:
        """Drop the tokens from `length` on. New tokens that were announced for the sequence are no more."""
        self.batch = [new for new in self.batch if new.row is not row]
        self.memory.shorten(row, length)

    def slide(self, number: int, window: int, sink: int) -> None:
        """From now on keep the first `sink` tokens of a sequence and the last ones, `window` in all. What was forked is
        never forgotten. Errors: the cache does not slide, the sequence does already, or these do not fit.
        """
        if not self.slides:
            raise fail(CODE, "the cache keeps sequences whole", help="create it with support_sliding_window=1")
        row = self.settled(number)
        if row.window:
            raise fail(CODE, f"sequence {number} has a sliding window already, of {row.window} tokens")
        if not 0 <= sink < window or row.forked >= window:
            message = f"a window of {window} tokens does not hold {max(sink, row.forked)} that stay and one more"
            raise fail(CODE, message, help="the sink, and what was forked, are a part of the window")
        row.window, row.sink = window, max(sink, row.forked)

    def begin(self, numbers: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None = None) -> None:
        """Make room for `counts` new tokens of sequences. Their `parents` make them trees, which go on from those the
        sequences end in. Errors, before anything is changed: too many tokens, parents of no tree, open trees.
        """
        if len(numbers) != len(counts) or len(set(numbers)) != len(numbers):
            raise fail(CODE, f"sequences {tuple(numbers)} do not fit the numbers of new tokens {tuple(counts)}")
        rows = [self.row(number) for number in numbers]
        for row in rows:
            self.shorten(row, row.length)  # what a window left is not attended to any more
        if sum(counts) > self.max_new or any(count <= 0 for count in counts):
            message = f"{tuple(counts)} new tokens cannot be appended at once: 1 to {self.max_new} together"
            raise fail(CODE, message, help="prefill in pieces, or create the cache with a larger prefill_chunk_size")
        trees = self._trees(numbers, counts, parents)
        lengths = [row.length_after(count) for row, count in zip(rows, counts, strict=True)]
        needed = self.memory.needed(rows, lengths)
        if needed > self.pages.available:
            message = f"{needed} more pages are needed, the cache has {self.pages.available} left"
            raise fail(CODE, message, help="remove sequences, or create the cache with a larger max_total_seq_len")
        for row, length in zip(rows, lengths):
            self.memory.extend(row, length)
        self.batch, aside = [], 0
        for row, count, tree in zip(rows, counts, trees, strict=True):
            self.batch.append(self._placed(row, count, tree, aside))
            aside += count

    def _placed(self, row: Row, count: int, tree: tuple[int, ...], aside: int) -> New:
        """Choose the slots of new tokens. If not all tokens stay, new ones are stored aside until they have been
        attended to: they take the slots of others, which are needed until then.
        """
        start, length = row.length, row.length_after(count)
        if start + count <= length:
            row.put(start, self.memory.unused(row, length, row.slots))
            row.length, row.tree = length, tree
            return New(row, start, count, tree, row.table, _NO_TOKENS, _NO_TOKENS)
        table = np.concatenate([row.slots, self.memory.spare[aside : aside + count]])
        first = start + count - (length - row.sink)  # that stays, of the tokens behind the sink
        kept = np.r_[: row.sink, first : start + count]
        old, stays = row.slots[kept[kept < start]], kept[kept >= start] - start
        left = row.slots[row.sink : first].copy()
        places = left[: len(stays)] if len(left) >= len(stays) else self.memory.unused(row, length, old)
        row.put(0, np.concatenate([old, places]))
        row.length = length
        return New(row, start, count, tree, table, stays, places)

    def _shared(self) -> _Shared:
        """What all layers use for the new tokens."""
        if self._known is None or self._known.batch != self.batch:
            tokens = sum(new.count for new in self.batch)
            queries = aligned_empty((tokens, self.heads[0], self.size), self.memory.content.dtype)
            slots = NDArray(np.concatenate([new.slots for new in self.batch]))
            waves = self._turned(np.concatenate([new.positions for new in self.batch]))
            every = self._every(max(new.total for new in self.batch)) if self.slides else waves
            self._known = _Shared(list(self.batch), queries, slots, waves, every)
        return self._known

    def _every(self, count: int) -> tuple[NDArray, NDArray]:
        """Cosines and sines for the first `count` positions at least."""
        if self._turns is None or len(self._turns[0]) < count:
            self._turns = self._turned(np.arange(2 * count))
        return self._turns

    def _turned(self, positions: Array) -> tuple[NDArray, NDArray]:
        """Cosines and sines for these positions."""
        if self.rotary is None:
            nothing = NDArray(np.zeros((len(positions), 1), "float32"))
            return nothing, nothing
        cos, sin = self.rotary.waves(positions)
        return NDArray(cos), NDArray(sin)

    def _trees(
        self, numbers: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None
    ) -> list[tuple[int, ...]]:
        """The tree of each sequence with its new tokens; empty ones where there are no `parents`."""
        if parents is None:
            for number in numbers:
                self.settled(number)
            return [()] * len(counts)
        if self.slides:
            message = "new tokens cannot be trees in a cache whose sequences slide"
            raise fail(CODE, message, help="create it with support_sliding_window=0")
        if len(parents) != sum(counts):
            raise fail(CODE, f"{len(parents)} parents are given for {sum(counts)} new tokens")
        borders = np.cumsum([0, *counts])
        trees = [
            (*self.row(number).tree, *parents[start:end])
            for number, start, end in zip(numbers, borders, borders[1:], strict=False)
        ]
        for number, tree in zip(numbers, trees):
            if not token_trees.is_tree(tree):
                message = f"the parents {tree} of sequence {number}'s tokens are no tree"
                raise fail(CODE, message, help="parents are earlier tokens of the tree, or -1")
        return trees

    def settled(self, number: int) -> Row:
        """A sequence whose tokens are all accepted. Error `value-mismatch`: it ends in a tree."""
        row = self.row(number)
        if row.tree:
            message = f"sequence {number} ends in a tree of {len(row.tree)} tokens, of which none is accepted yet"
            raise fail(CODE, message, help="vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes")
        return row

    def commit(self, numbers: Sequence[int], leaves: Sequence[int]) -> None:
        """Of each sequence's tree keep the path to its leaf; -1: nothing. Error, before anything changes: no leaf."""
        if len(numbers) != len(leaves) or len(set(numbers)) != len(numbers):
            raise fail(CODE, f"sequences {tuple(numbers)} do not fit the accepted tokens {tuple(leaves)}")
        for number, leaf in zip(numbers, leaves):
            count = len(self.row(number).tree)
            if not -1 <= leaf < count:
                raise fail(CODE, f"the tree of sequence {number} has {count} tokens, no token {leaf}")
        for number, leaf in zip(numbers, leaves):
            self._keep_path(self.row(number), leaf)

    def _keep_path(self, row: Row, leaf: int) -> None:
        """Move what leads to the leaf to the front of the tree, and forget the others."""
        before, kept = row.length - len(row.tree), token_trees.path(row.tree, leaf)
        old, new = before + np.array(kept, int), np.arange(before, before + len(kept))
        self.memory.move(row.table[old], row.table[new])
        self.shorten(row, before + len(kept))
        row.tree = ()

    def attend(self, layer: int, factor: float, fused: NDArray, out: NDArray) -> None:
        """Append the keys and values of `fused` (tokens, heads, size: queries, keys, values) and attend: `out` (tokens,
        heads, size) is written.

        Errors: the cache has no such layer, or other tokens were announced.
        """
        if layer not in self.layers:
            raise fail(CODE, f"the cache has layers {self.layers.start} to {self.layers.stop - 1}, not {layer}")
        if not self.batch or len(fused) != sum(new.count for new in self.batch):
            message = f"{len(fused)} tokens are given, {sum(new.count for new in self.batch)} were announced"
            raise fail(CODE, message, help="vm.builtin.kv_state_begin_forward")
        kernels, shared = self._kernels, self._shared()
        fits = kernels is not None and fused.data.dtype == self.memory.content.dtype
        made = kernels if fits and kernels is not None else self._in_numpy
        keys, values = self.memory.layers[self.layers.index(layer)]
        queries = shared.queries if fits else np.empty_like(shared.queries, fused.data.dtype)
        rotates_keys = int(not self.slides)
        made.append(fused, *shared.waves, shared.slots, rotates_keys, NDArray(queries), keys, values)
        scale, place = factor / math.sqrt(self.size), 0
        for new in self.batch:
            part = slice(place, place + new.count)
            place += new.count
            self._attend(made, new, queries[part], keys, values, scale, out.data[part])
            if len(new.stays):
                kept, cos, sin = (NDArray(x.data[part][new.stays]) for x in (fused, *shared.waves))
                unread, places = NDArray(np.empty_like(queries[: len(new.stays)])), NDArray(new.places)
                made.append(kept, cos, sin, places, rotates_keys, unread, keys, values)

    def _attend(
        self, made: Arithmetic, new: New, queries: Array, keys: NDArray, values: NDArray, scale: float, out: Array
    ) -> None:
        """One sequence's new tokens."""
        if new.tree:
            slots = new.table[: new.total]
            out[...] = attention(queries, keys.data, values.data, slots, scale, new.seen)
            return
        table = NDArray(new.table)
        if self._rotated is not None:
            made.rotate(keys, *self._shared().every, table, new.total, self._rotated)
            keys = self._rotated
        made.attend(NDArray(queries), keys, values, table, new.total, scale, NDArray(out))

    def stored(self, layer: int, which: int, row: Row) -> Array:
        """The keys (0) or values (1) of a sequence: (tokens, heads, size)."""
        return self.memory.stored(layer, which, row.slots)
