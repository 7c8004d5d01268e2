"""The page allocator of a cache: free pages, and how many sequences use each of the others."""

from __future__ import annotations

from collections.abc import Sequence


class Pages:
    """`count` pages by number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.clear()

    def clear(self) -> None:
        """Free all pages."""
        self._users = [0] * self.count
        self._free = list(range(self.count - 1, -1, -1))

    @property
    def available(self) -> int:
        return len(self._free)

    def take(self, count: int) -> list[int]:
        """Allocate free pages for one sequence; there must be enough."""
        taken = [self._free.pop() for _ in range(count)]
        self.share(taken)
        return taken

    def share(self, pages: Sequence[int]) -> None:
        """Count one more sequence as a user of these pages."""
        for page in pages:
            self._users[page] += 1

    def release(self, pages: Sequence[int]) -> None:
        """Count one sequence fewer; pages without a user become free."""
        for page in pages:
            self._users[page] -= 1
            if self._users[page] == 0:
                self._free.append(page)

    def users(self, page: int) -> int:
        """How many sequences use the page."""
        return self._users[page]
