"""The collector held back: what was there before is not looked at again, what is made since is freed."""

from __future__ import annotations

import gc
import weakref

from baton._src.transform.collector import collect_recent, keep_all_so_far, rarely_collecting


class _Circle:
    def __init__(self) -> None:
        self.itself = self


def test_recent_cycles_are_freed_and_earlier_objects_left_alone() -> None:
    with rarely_collecting():
        old = weakref.ref(_Circle())
        keep_all_so_far()
        recent = weakref.ref(_Circle())
        collect_recent()
        assert recent() is None
        assert old() is not None
    gc.collect()
    assert old() is None


def test_what_is_frozen_for_good_stays_so() -> None:
    """Guards servers that freeze their objects before they fork.

    Followed by one object, not by the count: frozen objects are still freed when their last reference goes, which the
    threads of a test runner do at any time.
    """
    circle = _Circle()
    gc.freeze()
    try:
        assert not _collected_over(circle)
        keep_all_so_far()
        assert not _collected_over(circle)
    finally:
        gc.unfreeze()
    assert _collected_over(circle)


def _collected_over(value: object) -> bool:
    """Whether the collector looks at `value`: what is frozen is in none of its generations."""
    return any(each is value for each in gc.get_objects())
