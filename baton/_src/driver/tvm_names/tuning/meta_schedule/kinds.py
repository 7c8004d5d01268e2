"""What `create(kind)` of TVM's classes does: an object by the name of its kind, or the object itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from baton._src.support.diagnostics import fail

T = TypeVar("T")


def created(cls: type[T], what: str, kinds: Mapping[str, Callable[..., T]], kind: Any, *args: Any, **kwargs: Any) -> T:
    """`kind` itself if it is a `cls`, else what `kinds` makes by that name. Error `api`: there is no such `what`."""
    if isinstance(kind, cls):
        return kind
    if not isinstance(kind, str) or kind not in kinds:
        help = f"one of {', '.join(kinds)}"
        raise fail("api", f"there is no {what} {kind!r}", help=help, kind=ValueError)
    return kinds[kind](*args, **kwargs)
