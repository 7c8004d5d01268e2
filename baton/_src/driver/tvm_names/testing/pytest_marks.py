"""`tvm.testing` as pytest sees it: fixtures, targets as parameters, and which tests are skipped or expected to fail."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_names.devices import device
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device


def parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """A pytest fixture that takes each of `values`."""
    pytest = importlib.import_module("pytest")
    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    def fixture(*_cls: Any, request: Any) -> Any:  # in a class it is a method
        return request.param

    return pytest.fixture(params=values, ids=ids)(fixture)


@dataclass(frozen=True)
class ParameterGroup:
    """Fixtures whose values go together, and a tuple of values for each combination."""

    fixtures: list[Any]
    value_sets: tuple[tuple[Any, ...], ...]
    ids: Any


_GROUPS: list[ParameterGroup] = []


def parameters(*value_sets: Any, ids: Any = None) -> list[Any]:
    """Several fixtures whose values go together: one tuple of values a combination (`pytest_plugin` sets them)."""
    pytest = importlib.import_module("pytest")
    rows = tuple(tuple(values) for values in value_sets)
    if len({len(row) for row in rows}) != 1:
        raise fail("api", "parameters takes tuples of equal length, one for each combination", kind=ValueError)

    def member(*_cls: Any, request: Any) -> Any:
        if not hasattr(request, "param"):
            raise fail(
                "api",
                f"{request.fixturename} goes together with other parameters, and nothing sets them",
                help='say pytest_plugins = ["tvm.testing.plugin"] in conftest.py, or run tvm.testing.main()',
            )
        return request.param

    group = ParameterGroup([pytest.fixture(member) for _ in rows[0]], rows, ids)
    _GROUPS.append(group)
    return list(group.fixtures)


def group_of(found: Any) -> tuple[ParameterGroup, int] | None:
    """The group that a fixture belongs to, and its place there."""
    for group in _GROUPS:
        for place, own in enumerate(group.fixtures):
            if own is found:
                return group, place
    return None


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture; with `cache_return_value` made once for each combination of what it takes, and copied."""
    if func is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    pytest = importlib.import_module("pytest")
    return pytest.fixture(_remembered(func) if cache_return_value else func)


def _remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    known: list[tuple[dict[str, Any], Any]] = []

    @functools.wraps(function)
    def give(**given: Any) -> Any:
        for before, found in known:
            if before == given:
                return copy.deepcopy(found)
        made = function(**given)
        known.append((given, made))
        return copy.deepcopy(made)

    return give


def parametrize_targets(*args: Any) -> Any:
    """Run a test with `target`, and `dev` if it takes that, for each target given; only CPU targets exist here."""
    if len(args) == 1 and callable(args[0]):
        return parametrize_targets("llvm")(args[0])

    def decorate(test: Any) -> Any:
        takes = [n for n in ("target", "dev") if n in inspect.signature(test).parameters]
        rows = [tuple({"target": t, "dev": device_of(t)}[n] for n in takes) for t in args if device_enabled(t)]
        mark = importlib.import_module("pytest").mark
        return mark.parametrize(takes, rows)(test) if takes else test

    return decorate


def device_of(target: Any) -> Device:
    """The device a target's programs run on."""
    return device(str(target))


def device_enabled(target: Any) -> bool:
    """Whether programs for `target` run on this machine."""
    return str(target).split()[0] in ("llvm", "c", "cpu")


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that run on this machine, with their devices."""
    return [("llvm", device_of("llvm"))]


def exclude_targets(*args: str) -> Any:
    """A test is not run for these targets."""
    return lambda function: function if "llvm" not in args else _skip(function, reason="not for llvm")


def known_failing_targets(*args: str) -> Any:
    """Marks a test that is known to fail for these targets."""
    pytest = importlib.import_module("pytest")
    mark: Callable[[Any], Any] = pytest.mark.xfail(reason="known to fail for llvm")
    return (lambda function: mark(function)) if "llvm" in args else (lambda function: function)


def slow(fn: Any) -> Any:
    """A test that takes long; skipped with SKIP_SLOW_TESTS in the environment."""
    asked = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("true", "1", "yes")
    return _skip(fn, reason="slow") if asked else fn


def skip_if_32bit(reason: str) -> Any:
    """A test for machines of 64 bits."""
    return (lambda function: function) if sys.maxsize > 1 << 32 else _skip(reason=reason)


def skip_if_wheel_test(fn: Any) -> Any:
    """A test that needs more than the installed package; skipped with WHEEL_TEST in the environment."""
    asked = os.environ.get("WHEEL_TEST", "").lower() in ("true", "1", "yes")
    return _skip(fn, reason="not for the installed package") if asked else fn


def _skip(*args: Any, reason: str) -> Any:
    pytest = importlib.import_module("pytest")
    mark: Callable[[Any], Any] = pytest.mark.skip(reason=reason)
    return mark(args[0]) if args and callable(args[0]) else mark


def skip_parameterizations(*skip_params: str, reason: str) -> Any:
    """Skip a test for the values whose ids these are; the test takes `request`."""
    return _for_ids(skip_params, reason, "skip")


def xfail_parameterizations(*xfail_params: str, reason: str) -> Any:
    """A test is expected to fail for the values whose ids these are; it takes `request`."""
    return _for_ids(xfail_params, reason, "xfail")


def _for_ids(ids: tuple[str, ...], reason: str, outcome: str) -> Any:
    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def guarded(request: Any, *args: Any, **kwargs: Any) -> Any:
            chosen = request.node.name.partition("[")[2].removesuffix("]")
            if chosen in ids:
                getattr(importlib.import_module("pytest"), outcome)(reason)
            return test(request, *args, **kwargs)

        return guarded

    return decorate
