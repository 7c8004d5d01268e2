"""The run-time information of closures: what is left of a function's signature once its last arguments are given.

make_closure(f, y)      f: (Tensor((n,)), Tensor((n,))) -> Tensor((n,)), y of shape (3,)
                        the closure: (Tensor((3,))) -> Tensor((3,))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.runtime.filled_info import filled_signature, own_heap
from baton._src.runtime.value_checks import Matcher
from baton._src.runtime.value_info import FunctionValue


def captured_info(info: Any, captured: Sequence[Any]) -> Any:
    """`info` without its last parameters, the shape variables that `captured` shows replaced by their values."""
    if not isinstance(info, FunctionValue) or info.params is None or not captured:
        return info
    count = len(info.params) - len(captured)
    heap = own_heap(info)
    matcher = Matcher(heap)
    for value, part in zip(captured, info.params[count:], strict=True):
        matcher.bind(value, part, "captured value")
    return filled_signature(info, heap, count)
