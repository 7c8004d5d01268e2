"""Results with tensors of their own: what a caller writes into one reaches neither the program nor another value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.values.adt import ADT
from baton._src.values.tensor import NDArray


def with_own_tensors(value: Any, given: Iterable[Any]) -> Any:
    """`value` with its tensors copied, once each; those that are among `given` themselves come back as they are.

    Looks into tuples and algebraic data types; references and functions keep what they hold: that is shared on purpose.
    """
    done = {id(tensor): tensor for tensor in _tensors(given)}
    stack = [value]
    while stack:
        item = stack[-1]
        if id(item) in done:
            stack.pop()
            continue
        fields = _fields(item)
        missing = [field for field in fields if id(field) not in done]
        if missing:
            stack.extend(missing)
            continue
        done[id(item)] = _copied(item, tuple([done[id(field)] for field in fields]))
        stack.pop()
    return done[id(value)]


def _fields(item: Any) -> tuple[Any, ...]:
    if isinstance(item, ADT):
        return item.fields
    return item if type(item) is tuple else ()


def _copied(item: Any, fields: tuple[Any, ...]) -> Any:
    if isinstance(item, NDArray):
        return NDArray(item.data.copy(), item.device)
    if all(new is old for new, old in zip(fields, _fields(item))):
        return item
    return ADT(item.tag, fields, item.constructor) if isinstance(item, ADT) else fields


def _tensors(values: Iterable[Any]) -> list[NDArray]:
    found: list[NDArray] = []
    seen: set[int] = set()
    work = list(values)
    while work:
        item = work.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, NDArray):
            found.append(item)
        work.extend(_fields(item))
    return found
