"""Paged KV caches, for batches of sequences (`relax.frontend.nn.llm.PagedKVCache`).

    cache.add(0, Row());  cache.begin([0], [n]);  out = cache.attend(layer, 1.0, qkv) for every layer

A sequence is a list of pages and a length; forked sequences share pages until one of them writes. After `begin`, every
layer calls `attend`, which appends the keys and values of the new tokens, one sequence after the other, and attends to
all of the sequence so far. New tokens may be a tree (`token_trees`), of which `commit` keeps one path; until then they
count as the sequence's last tokens. Where sequences may slide (`paged_rows`), tokens change their positions: keys are
stored as they come, and rotated when they are used. Scores are computed in float32 by NumPy: the runtime creates caches
and has no compiler, and each sequence has its own length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from baton._src.runtime.vm.builtins import token_trees
from baton._src.runtime.vm.builtins.page_pool import Pages
from baton._src.runtime.vm.builtins.paged_rows import Array, New, Row
from baton._src.runtime.vm.builtins.rotary import Rotary
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType

CODE = "value-mismatch"


class PagedCache:
    """See the module. `rotary` None: positions are not embedded here."""

    def __init__(
        self, limits: Sequence[int], layers: Sequence[int], heads: tuple[int, int], size: int, rotary: Rotary | None,
        dtype: str,
    ) -> None:  # fmt: skip
        self.max_rows, tokens, self.max_new, self.page_size, slides = limits
        self.slides = bool(slides)
        self.layers, self.heads, self.rotary = range(layers[0], layers[-1]), heads, rotary
        self.pages = Pages(-(-tokens // self.page_size) + 1)
        shape = (len(self.layers), 2, self.pages.count, self.page_size, heads[1], size)
        self.memory = np.zeros(shape, DataType(dtype).numpy)
        self.rows: dict[int, Row] = {}
        self.batch: list[New] = []

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

    def shorten(self, row: Row, length: int) -> None:
        """Drop the tokens from `length` on. New tokens that were announced for the sequence are no more."""
        self.batch = [new for new in self.batch if new.row is not row]
        needed = -(-length // self.page_size)
        self.pages.release(row.pages[needed:])
        del row.pages[needed:]
        row.length = length

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
        borders = [(row, -(-length // self.page_size)) for row, length in zip(rows, lengths, strict=True)]
        needed = sum(max(last - len(row.pages), 0) for row, last in borders) + self._copies(rows)
        if needed > self.pages.available:
            message = f"{needed} more pages are needed, the cache has {self.pages.available} left"
            raise fail(CODE, message, help="remove sequences, or create the cache with a larger max_total_seq_len")
        for row, last in borders:
            if self._writes_shared(row):
                self._own_last_page(row)
            row.pages += self.pages.take(max(last - len(row.pages), 0))
        self.batch = [New(row, row.length, *new, row.window) for row, new in zip(rows, zip(counts, trees), strict=True)]
        for new in self.batch:
            new.row.length = new.row.length_after(new.count)
            new.row.tree = new.tree

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
        table = np.array(row.pages, int)
        moved = self.memory[:, :, table[old // self.page_size], old % self.page_size]
        self.memory[:, :, table[new // self.page_size], new % self.page_size] = moved
        self.shorten(row, before + len(kept))
        row.tree = ()

    def _writes_shared(self, row: Row) -> bool:
        """Whether new tokens are written to a page that another sequence uses, too."""
        return row.length % self.page_size != 0 and self.pages.users(row.pages[-1]) > 1

    def _copies(self, rows: Sequence[Row]) -> int:
        """How many pages are copied before these sequences go on: the last of a page's users keeps it."""
        writers = Counter(row.pages[-1] for row in rows if self._writes_shared(row))
        return sum(min(count, self.pages.users(page) - 1) for page, count in writers.items())

    def _own_last_page(self, row: Row) -> None:
        """Copy the page that new tokens go into."""
        shared, (own,) = row.pages[-1], self.pages.take(1)
        self.memory[:, :, own] = self.memory[:, :, shared]
        self.pages.release([shared])
        row.pages[-1] = own

    def attend(self, layer: int, factor: float, qkv: Array) -> Array:
        """Append the keys and values of `qkv` (tokens, heads, size: queries, keys, values) and attend.

        Errors: the cache has no such layer, or other tokens were announced.
        """
        if layer not in self.layers:
            raise fail(CODE, f"the cache has layers {self.layers.start} to {self.layers.stop - 1}, not {layer}")
        if not self.batch or len(qkv) != sum(new.count for new in self.batch):
            message = f"{len(qkv)} tokens are given, {sum(new.count for new in self.batch)} were announced"
            raise fail(CODE, message, help="vm.builtin.kv_state_begin_forward")
        queries, shared = self.heads
        q, k, v = np.split(qkv, (queries, queries + shared), axis=1)
        positions = np.concatenate([new.positions for new in self.batch])
        q, k = self._embedded(q, positions), k if self.slides else self._embedded(k, positions)
        out, place = np.empty_like(q), 0
        for new in self.batch:
            part = slice(place, place + new.count)
            keys, values = (self._appended(self.layers.index(layer), i, new, x[part]) for i, x in enumerate((k, v)))
            if self.slides:
                keys = self._embedded(keys, np.arange(len(keys)))
            out[part] = attention(q[part], keys, values, factor, new.seen)
            place += new.count
        return out

    def _embedded(self, x: Array, positions: Array) -> Array:
        return x if self.rotary is None else self.rotary.rotated(x, positions)

    def _appended(self, layer: int, which: int, new: New, given: Array) -> Array:
        """Write keys (0) or values (1) of new tokens. Returns those of all tokens that these may attend to."""
        if not new.window:
            self._write(layer, which, new.row, new.places, given)
            return self.stored(layer, which, new.row)
        every = np.concatenate([self.stored(layer, which, new.row, new.start), given.astype(self.memory.dtype)])
        kept = every[new.kept]
        self._write(layer, which, new.row, np.arange(len(kept)), kept)
        return every

    def _write(self, layer: int, which: int, row: Row, places: Array, given: Array) -> None:
        table = np.array(row.pages)
        self.memory[layer, which, table[places // self.page_size], places % self.page_size] = given

    def stored(self, layer: int, which: int, row: Row, length: int | None = None) -> Array:
        """The keys (0) or values (1) of a sequence, or of its first `length` tokens: (tokens, heads, size)."""
        found: Array = self.memory[layer, which, np.array(row.pages, dtype=int)]
        tokens: Array = found.reshape(-1, *found.shape[2:])
        return tokens[: row.length if length is None else length]


def attention(q: Array, k: Array, v: Array, factor: float, seen: Array) -> Array:
    """Attention of queries to the keys each of them has `seen`: (tokens, heads, size); keys serve groups of heads."""
    (count, heads, size), (_, shared, _) = q.shape, k.shape
    grouped = q.astype(np.float32).reshape(count, shared, heads // shared, size).transpose(1, 2, 0, 3)
    keys, values = (x.astype(np.float32).transpose(1, 2, 0)[:, None] for x in (k, v))
    products = grouped @ keys * np.float32(factor / math.sqrt(size))
    scores = np.where(seen, products, np.float32(-np.inf))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weighed: Array = powers / powers.sum(-1, keepdims=True) @ values.swapaxes(-1, -2)
    return weighed.transpose(2, 0, 1, 3).reshape(count, heads, size).astype(q.dtype)
