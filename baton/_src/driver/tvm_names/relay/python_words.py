"""The names that programs written by `relay.testing.to_python` use: operators on tensors, constructors, matches,
references.

Tensors are `NDArray`s, tuples are tuples, data are `ADT`s, references are `RefCell`s, functions are Python's functions.
An operator is computed by its definition over NumPy.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.driver.wiring import wire
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.nodes import Call
from baton._src.relay.reference_calls import call_reference
from baton._src.support.diagnostics import fail
from baton._src.values.adt import ADT, RefCell
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array


def tensor(content: Any, dtype: str, shape: tuple[int, ...] = ()) -> NDArray:
    """A constant: a number or nested lists; or the bytes in base 64, for a shape."""
    if isinstance(content, str):
        data = np.frombuffer(base64.b64decode(content), DataType(dtype).numpy).reshape(shape)
        return array(data)
    return array(np.asarray(content, DataType(dtype).numpy).reshape(shape))


def operator(name: str, **attributes: Any) -> Callable[..., Any]:
    """An operator with these attributes, as a function of values."""
    wire()
    op = CATALOGUE.relay(name)
    call = Call(op, (), make_attrs(op.definition, attributes) if attributes else None)
    return lambda *args: call_reference(op, args, call)


def constructor(name: str, tag: int) -> Callable[..., ADT]:
    """A constructor, as a function of its fields."""
    return lambda *fields: ADT(tag, fields, name)


def is_true(value: NDArray) -> bool:
    """The condition of an if."""
    return bool(value.data)


def matched(value: Any, pattern: Any) -> tuple[Any, ...] | None:
    """The values of a pattern's variables, from left to right; None if `value` does not fit.

    Patterns: `None` fits all, `"x"` is a variable, `(tag, ...)` a constructor of patterns, `[...]` a tuple of them.
    """
    found: list[Any] = []
    work = [(value, pattern)]
    while work:
        top, wanted = work.pop()
        if isinstance(wanted, str):
            found.append(top)
        elif isinstance(wanted, tuple):
            if top.tag != wanted[0]:
                return None
            work.extend(reversed(list(zip(top.fields, wanted[1:]))))
        elif isinstance(wanted, list):
            work.extend(reversed(list(zip(top, wanted))))
    return tuple(found)


def no_match(value: Any) -> Exception:
    """The exception raised if no clause matches."""
    return fail("match-failed", f"no clause of this match fits {value!r}")


def new_reference(value: Any) -> RefCell:
    """A reference."""
    return RefCell(value)


def write(reference: RefCell, value: Any) -> tuple[()]:
    """Put a value into a reference."""
    reference.value = value
    return ()


WORDS = ("constructor", "is_true", "matched", "new_reference", "no_match", "operator", "tensor", "write")
