"""Whether the options of a pass are what its fields declare: asked when it runs, of those that were given.

A list given as an iterator, which could be read once only, becomes a tuple: passes read it for each function.
"""

from __future__ import annotations

import collections.abc as abc
import re
import types
import typing
from typing import Any

from baton._src.support.diagnostics import fail

_hints: dict[type, dict[str, Any]] = {}


def check_options(made: Any) -> None:
    """Refuse an option of the wrong kind (`api`, a `TypeError`), which would fail somewhere inside the pass."""
    cls = type(made)
    for name, field in getattr(cls, "__dataclass_fields__", {}).items():
        value = getattr(made, name)
        if value is field.default:
            continue
        if cls not in _hints:
            _hints[cls] = typing.get_type_hints(cls)
        wanted = _hints[cls][name]
        if not fits(value, wanted):
            message = f"{made.name}: {name} is declared {_said(wanted)}, got {value!r:.60} ({type(value).__name__})"
            help = f"a list is written [{value!r}]" if isinstance(value, str) and fits([value], wanted) else None
            raise fail("api", message, help=help, kind=TypeError)
        if isinstance(value, abc.Iterator) and wanted is not Any:
            object.__setattr__(made, name, tuple(value))


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value may be of the declared type, as far as its outermost part shows; a text is no list of names."""
    origin = typing.get_origin(wanted) or wanted
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, option) for option in typing.get_args(wanted))
    if wanted is Any:
        return True
    if origin in (int, bool, float):
        return hasattr(value, "__index__") or (origin is float and hasattr(value, "__float__"))
    if origin is abc.Callable:
        return callable(value)
    if origin in (abc.Sequence, tuple, list):
        return isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes, abc.Mapping))
    return not isinstance(origin, type) or isinstance(value, origin)


def _said(wanted: Any) -> str:
    """The type as it is written, without the modules of its parts."""
    return wanted.__name__ if isinstance(wanted, type) else re.sub(r"\b(\w+\.)+", "", str(wanted))
