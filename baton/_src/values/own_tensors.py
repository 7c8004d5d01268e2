"""Results with tensors of their own: a caller that writes into one changes neither the program nor another value."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from baton._src.values.adt import ADT
from baton._src.values.tensor import NDArray


def with_own_tensors(value: object) -> object:
    """`value` with its tensors copied, also from one another where it holds one twice. (A tuple that occurs twice stays
    one tuple: shared structures may stand for exponentially many places.)

    Looks into tuples and algebraic data types; references and functions keep what they hold: that is shared on purpose.
    """
    return _rebuilt(value, lambda tensor: True)


def apart_from(value: object, given: Iterable[object]) -> object:
    """`value` with copies of the tensors that share memory with `given`, and of those it holds twice."""
    held = _tensors(given)
    return _rebuilt(value, lambda tensor: any(np.may_share_memory(tensor.data, other.data) for other in held))


def _rebuilt(value: object, is_foreign: Callable[[NDArray], bool]) -> object:
    """`value` with copies of its foreign tensors, and what holds them."""
    done: dict[int, object] = {}
    used: set[int] = set()
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
        own = tuple([_used_once(done[id(field)], used) for field in fields])
        done[id(item)] = _copied(item, own, is_foreign)
        stack.pop()
    return done[id(value)]


def _used_once(field: object, used: set[int]) -> object:
    """A tensor itself the first time, then copies."""
    if not isinstance(field, NDArray):
        return field
    if id(field) in used:
        return NDArray(field.data.copy(), field.device)
    used.add(id(field))
    return field


def _fields(item: object) -> tuple[object, ...]:
    if isinstance(item, ADT):
        return item.fields
    return item if type(item) is tuple else ()


def _copied(item: object, fields: tuple[object, ...], is_foreign: Callable[[NDArray], bool]) -> object:
    if isinstance(item, NDArray):
        return NDArray(item.data.copy(), item.device) if is_foreign(item) else item
    if all(new is old for new, old in zip(fields, _fields(item))):
        return item
    return ADT(item.tag, fields, item.constructor) if isinstance(item, ADT) else fields


def _tensors(values: Iterable[object]) -> list[NDArray]:
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
