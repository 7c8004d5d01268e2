"""`Unlisted`: what is indexed, but is no sequence."""

from __future__ import annotations

from typing import ClassVar


class Unlisted:
    """A base of classes whose `[i]` builds an expression for any `i`: Python's loops over them would never end."""

    __slots__ = ()
    __iter__: ClassVar[None] = None
