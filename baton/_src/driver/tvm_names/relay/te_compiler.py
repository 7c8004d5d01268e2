"""`relay.backend.te_compiler`: scripts clear TVM's cache of lowered functions between builds.

baton keeps no such cache: every build lowers its program anew. So the cache is always empty, and clearing it is done.
"""

from __future__ import annotations

from typing import Any


class TECompiler:
    """A cache that holds nothing. There is one object of it, `get()`."""

    def clear(self) -> None:
        """Forget what was lowered: nothing is kept."""

    def items(self) -> list[tuple[Any, Any]]:
        """What was lowered, each with the result: nothing is kept."""
        return []

    def shape_func_items(self) -> list[tuple[Any, Any]]:
        """The functions that compute shapes, each with the result: nothing is kept."""
        return []

    def dump(self) -> str:
        """The contents as text."""
        return f"{len(self.items())} functions and {len(self.shape_func_items())} shape functions are kept"


_ONE = TECompiler()


def get() -> TECompiler:
    """The cache, always the same object."""
    return _ONE
