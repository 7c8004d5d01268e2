"""TVM's cache of lowered functions, which scripts clear, by its name and by the one before it."""

from __future__ import annotations

from baton import relay
from baton.relay.backend import compile_engine, te_compiler


def test_the_cache_is_cleared_and_empty() -> None:
    """Guards scripts that clear the cache between builds; there is nothing to clear."""
    cache = relay.backend.te_compiler.get()
    cache.clear()
    assert compile_engine is te_compiler
    assert compile_engine.get() is cache
    assert cache.items() == []
    assert "0 functions" in cache.dump()
