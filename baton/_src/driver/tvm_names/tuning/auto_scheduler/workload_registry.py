"""Workloads by name: functions that give the tensors of a computation, and keys that name them in logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.serialized import serialized
from baton._src.support.diagnostics import fail
from baton._src.te.tensor import Tensor

_workloads: dict[str, Callable[..., Sequence[Tensor]]] = {}


def register_workload(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Name a function that gives the tensors of a computation, inputs and outputs; bare, it takes its own name."""
    if callable(func_name):
        return _register(func_name.__name__, func_name, override)
    if f is not None:
        return _register(func_name, f, override)
    return lambda function: _register(func_name, function, override)


def _register(name: str, function: Callable[..., Any], override: bool) -> Callable[..., Any]:
    if name in _workloads and not override:
        help = "pass override=True to replace it"
        raise fail("auto-scheduler", f"a workload {name!r} is registered already", help=help)
    _workloads[name] = function
    return function


def make_workload_key(func: Any, args: Sequence[Any]) -> str:
    """The name of a workload and its arguments as one text."""
    name = func if isinstance(func, str) else func.__name__
    if name not in _workloads:
        help = "@auto_scheduler.register_workload names it"
        raise fail("auto-scheduler", f"{name!r} is not a registered workload", help=help)
    return json.dumps([name, *serialized(args)])


def made_workload(key: str) -> list[Tensor]:
    """The tensors of a workload by its key. Error `auto-scheduler`: it is none, or not registered."""
    try:
        name, *args = json.loads(key)
    except (ValueError, TypeError) as error:
        help = "auto_scheduler.make_workload_key gives keys"
        raise fail("auto-scheduler", f"{key!r} is not a workload's key: {error}", help=help) from error
    if not isinstance(name, str) or name not in _workloads:
        raise fail("auto-scheduler", f"{name!r} is not a registered workload")
    return list(_workloads[name](*(tuple(arg) if isinstance(arg, list) else arg for arg in args)))
