"""The memory of a cache in pages: which slot is whose.

A page has `page_size` neighbouring slots, each with one token's keys and values of all layers. The table of a sequence
(`paged_rows`) says in which slots its tokens are: in the order of its pages, unless it slides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from baton._src.runtime.vm.builtins.page_pool import Pages
from baton._src.runtime.vm.builtins.paged_rows import Array, Row
from baton._src.values.aligned import aligned_empty
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


class PagedMemory:
    """Keys and values of `layers` layers, each (heads, slots, size). `spare` slots belong to no page."""

    def __init__(
        self, layers: int, pages: int, page_size: int, heads: int, size: int, dtype: str, spare: int
    ) -> None:  # fmt: skip
        self.pages, self.page_size = Pages(pages), page_size
        self.spare = np.arange(pages * page_size, pages * page_size + spare, dtype="int32")
        shape = (layers, 2, heads, pages * page_size + spare, size)
        self.content = aligned_empty(shape, DataType(dtype).numpy)
        self.layers = [(NDArray(keys), NDArray(values)) for keys, values in self.content]

    def in_order(self, row: Row, start: int, end: int) -> Array:
        """The slots from `start` to `end` of its pages."""
        first = start // self.page_size
        places = np.arange(start - first * self.page_size, end - first * self.page_size)
        pages = np.array(row.pages[first:], "int32")
        found: Array = pages[places // self.page_size] * self.page_size + places % self.page_size
        return found.astype("int32")

    def unused(self, row: Row, length: int, kept: Array) -> Array:
        """Slots of its pages for a sequence of `length` tokens, besides those that are kept."""
        if not row.window:
            return self.in_order(row, len(kept), length)
        found: Array = np.setdiff1d(self.in_order(row, 0, length), kept)
        return found[: length - len(kept)]

    def shorten(self, row: Row, length: int) -> None:
        """Release the pages that are not needed for so many tokens; those that stay move out of them."""
        needed = -(-length // self.page_size)
        left = row.pages[needed:]
        if row.window and left:
            kept, slots = row.table[:length].copy(), self.in_order(row, 0, length)
            self.move(kept, slots)
            row.put(0, slots)
        self.pages.release(left)
        del row.pages[needed:]
        row.length = length

    def move(self, old: Array, new: Array) -> None:
        """Copy what is in some slots to others."""
        self.content[..., new, :] = self.content[..., old, :]

    def extend(self, row: Row, length: int) -> None:
        """Take pages for `length` tokens, the first of them of its own."""
        if self._writes_shared(row):
            self._own_last_page(row)
        row.pages += self.pages.take(max(-(-length // self.page_size) - len(row.pages), 0))

    def needed(self, rows: Sequence[Row], lengths: Sequence[int]) -> int:
        """How many pages `extend` takes for all of these sequences: the last of a page's users keeps it."""
        writers = Counter(row.pages[-1] for row in rows if self._writes_shared(row))
        copies = sum(min(count, self.pages.users(page) - 1) for page, count in writers.items())
        borders = [-(-length // self.page_size) for length in lengths]
        return copies + sum(max(last - len(row.pages), 0) for row, last in zip(rows, borders, strict=True))

    def _writes_shared(self, row: Row) -> bool:
        """Whether new tokens are written to a page that another sequence uses, too."""
        return row.length % self.page_size != 0 and self.pages.users(row.pages[-1]) > 1

    def _own_last_page(self, row: Row) -> None:
        """Copy the page that new tokens go into."""
        shared, (own,) = row.pages[-1], self.pages.take(1)
        begins, ends = (slice(page * self.page_size, (page + 1) * self.page_size) for page in (own, shared))
        self.content[..., begins, :] = self.content[..., ends, :]
        self.pages.release([shared])
        row.pages[-1] = own
        in_page = row.slots // self.page_size == shared
        row.slots[in_page] += (own - shared) * self.page_size

    def stored(self, layer: int, which: int, slots: Array) -> Array:
        """The keys (0) or values (1) in some slots: (slots, heads, size)."""
        found: Array = self.content[layer, which][:, slots].swapaxes(0, 1)
        return found
