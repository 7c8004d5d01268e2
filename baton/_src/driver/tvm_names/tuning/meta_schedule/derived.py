"""`derived_object`: TVM's decorator for classes of a script that take a part in tuning."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)


def derived_object(cls: C) -> C:
    """The class itself: TVM makes an object of its own around it; here Python's classes are all there are."""
    return cls
