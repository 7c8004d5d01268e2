"""Closures, packed functions, printing and assertions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.runtime.value_errors import describe, is_packed, mismatch
from baton._src.runtime.vm.builtins.scope import Machine
from baton._src.runtime.vm.closure_info import captured_info
from baton._src.support.diagnostics import BatonError, fail
from baton._src.values.closure import Closure
from baton._src.values.packed_func import PackedFunc
from baton._src.values.tensor import NDArray


class AssertionFailed(BatonError, AssertionError):
    """An `assert_op` whose condition is false."""


def make_closure(machine: Machine, function: Any, *captured: Any) -> Closure:
    """A closure over `captured`, which are the trailing arguments of `function`."""
    if not isinstance(function, Closure):
        raise mismatch("make_closure", "a function of the module", describe(function))
    info = captured_info(function.info, captured)
    return Closure(function.name, function.function, (*captured, *function.captured), function.invoke, info)


def invoke_closure(machine: Machine, function: Any, *args: Any) -> Any:
    """Call a closure or packed function. (The VM's loop runs closures itself; this serves all other callers.)"""
    if isinstance(function, Closure) or is_packed(function):
        return function(*args)
    raise mismatch("call", "a function", describe(function))


def packed_function(machine: Machine, name: str) -> PackedFunc:
    """The packed function called `name`."""
    return machine.functions.lookup(name)


def call_packed(machine: Machine, name: str, *args: Any) -> Any:
    """Call the packed function called `name`."""
    return machine.functions.lookup(name)(*args)


def _shown(value: Any) -> str:
    if isinstance(value, NDArray):
        return str(value.data)
    if type(value) is tuple:
        return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def _format(pattern: str, values: tuple[Any, ...]) -> str:
    texts = [_shown(v) for v in values]
    if not pattern:
        return " ".join(texts)
    try:
        return pattern.format(*texts)
    except (IndexError, KeyError, ValueError) as error:
        raise fail("vm-format", f"cannot format {len(values)} values with {pattern!r}: {error}") from error


def print_values(pattern: str, *values: Any) -> tuple[()]:
    """Print values to standard output by a Python format; without one, separated by spaces."""
    print(_format(pattern, values), flush=True)
    return ()


def assert_op(condition: Any, pattern: str = "", *values: Any) -> tuple[()]:
    """Fail unless `condition` (a scalar) is true. The message is the format filled in, or the values."""
    holds = bool(condition.data) if isinstance(condition, NDArray) else bool(condition)
    if not holds:
        text = _format(pattern, values) if pattern or values else ""
        raise AssertionFailed(f"Assertion failed: {text}" if text else "Assertion failed")
    return ()


def asserted(condition: NDArray, told: str) -> NDArray:
    """The condition, a tensor of one truth value, as a row: a result that keeps the check from being removed as dead
    code.
    """
    if not condition.data.all():
        raise AssertionFailed(f"Assertion failed: {told}")
    return NDArray(condition.data.reshape(1))


def read_if_cond(condition: Any) -> bool:
    """The truth of a scalar: a boolean tensor of rank 0, or a boolean prim value."""
    if isinstance(condition, NDArray) and not condition.data.ndim and condition.dtype.is_bool:
        return bool(condition.data)
    if isinstance(condition, bool):
        return condition
    raise mismatch("the condition of if", "a boolean scalar", describe(condition))


TABLE: Mapping[str, Callable[..., Any]] = {
    "relax.run.print": print_values,
    "relax.run.assert_op": assert_op,
    "vm.builtin.asserted": asserted,
    "vm.builtin.read_if_cond": read_if_cond,
}
MACHINE_TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.make_closure": make_closure,
    "vm.builtin.invoke_closure": invoke_closure,
    "vm.builtin.packed_function": packed_function,
    "vm.builtin.call_packed": call_packed,
}
"""Those that take the VM as their first argument."""
