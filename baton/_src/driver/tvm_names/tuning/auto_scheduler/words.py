"""`auto_scheduler.utils`: decoding workload keys, formatting numbers, and other small helpers of scripts."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail

MAX_TRACEBACK_INFO_LEN = 512


def decode_workload_key(workload_key: str) -> tuple[str, list[Any] | None]:
    """The name and the arguments in a workload's key; of a text that is no such key, the text and None."""
    try:
        found = json.loads(workload_key)
    except json.JSONDecodeError:
        return workload_key, None
    return (found[0], found[1:]) if isinstance(found, list) and found else (workload_key, None)


def get_func_name(func: Callable[..., Any]) -> str:
    """The name a function is registered under: its `func_name` if it has one, else its own."""
    return str(getattr(func, "func_name", None) or func.__qualname__)


def list_to_tuple(x: Sequence[Any]) -> tuple[Any, ...]:
    """Nested lists as nested tuples."""
    return tuple(list_to_tuple(one) if isinstance(one, list) else one for one in x)


def array_mean(arr: Sequence[Any]) -> float:
    """The mean of numbers, or of literals."""
    return float(sum(getattr(one, "value", one) for one in arr) / len(arr))


def to_str_round(x: Any, decimal: int = 6) -> str:
    """Numbers, in lists and dictionaries too, as a text with so many places after the point."""
    match x:
        case str():
            return x
        case list() | tuple() | np.ndarray():
            return f"[{', '.join(to_str_round(one, decimal) for one in x)}]"
        case dict():
            return str({key: to_str_round(value, decimal) for key, value in x.items()})
        case int() | np.integer():
            return str(x)
        case float() | np.floating():
            return f"{x:.{decimal}f}"
        case _:
            raise fail(
                "api", f"{x!r} is not a number or text", help="lists and dictionaries of them are", kind=ValueError
            )


def make_traceback_info() -> str:
    """The error being handled as a text, its middle left out where it is long."""
    found, half = traceback.format_exc(), MAX_TRACEBACK_INFO_LEN // 2
    return found if len(found) <= 2 * half else f"{found[:half]}\n...\n{found[-half:]}"
