"""`te.tag_scope`: a tag for the computations that are made inside, by which schedules find them.

    with tag_scope("matmul"):
        C = compute((n, m), lambda i, j: sum(A[i, k] * B[k, j], axis=k))      # C.op.tag == "matmul"

As a decorator it holds for every call of a function.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class TagScope:
    """A scope for one tag. Errors `ValueError`: a scope within a scope, or a computation that has a tag of its own."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.accessed = False
        """Whether a computation took the tag."""

    def __enter__(self) -> TagScope:
        if _CURRENT.get() is not None:
            raise ValueError(f"nested tag is not allowed: {self.tag!r} within {_CURRENT.get()!r}")
        self.accessed = False
        _CURRENT.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        _CURRENT.set(None)
        if kind is None and not self.accessed:
            warnings.warn(f"no computation was created under the tag {self.tag!r}", stacklevel=2)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def tagged(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with self:
                return function(*args, **kwargs)

        return tagged

    def __repr__(self) -> str:
        return f"tag_scope({self.tag!r})"


_CURRENT: ContextVar[TagScope | None] = ContextVar("tag_scope", default=None)


def tag_scope(tag: str) -> TagScope:
    """The scope of a tag, for `with` or as a decorator."""
    return TagScope(tag)


PAD_TAG, DILATE_TAG = "injective,pad", "injective,dilate"
"""Tags of stages that put numbers around or between those of a tensor."""
_DEFAULT: ContextVar[str] = ContextVar("default_tag", default="")


@contextmanager
def default_tag(tag: str) -> Iterator[None]:
    """The tag of computations made inside that neither have one of their own nor stand in a script's scope."""
    before = _DEFAULT.set(tag)
    try:
        yield
    finally:
        _DEFAULT.reset(before)


def chosen_tag(own: str) -> str:
    """The tag of a computation that is made now and was given `own`."""
    scope = _CURRENT.get()
    if scope is None:
        return own or _DEFAULT.get()
    if own:
        raise ValueError(f"nested tag is not allowed: {own!r} within {scope!r}")
    scope.accessed = True
    return scope.tag
