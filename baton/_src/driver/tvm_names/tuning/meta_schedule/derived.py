"""`derived_object`: TVM's decorator for a script's classes that implement parts of tuning."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)


def derived_object(cls: C) -> C:
    """The class itself: TVM makes an object of its own around it; here Python's classes are all there are."""
    return cls
