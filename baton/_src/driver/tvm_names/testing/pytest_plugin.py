"""`tvm.testing.plugin`: what pytest needs to give tests their `target` and `dev`, and values that go together.

    pytest_plugins = ["tvm.testing.plugin"]      # in a conftest.py; tvm.testing.main() brings it by itself

A test that takes `target` (and `dev`) runs for each target there is; the fixtures of one `tvm.testing.parameters(...)`
are set together.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from baton._src.driver.tvm_names.testing.pytest_features import FEATURES
from baton._src.driver.tvm_names.testing.pytest_marks import device_of, enabled_targets, group_of
from baton._src.values.device import Device


def pytest_configure(config: Any) -> None:
    """Called by pytest before anything else: the marks of features are known."""
    for feature in FEATURES.values():
        config.addinivalue_line("markers", f"{feature.name}: uses {feature.long_name}")


@pytest.fixture
def dev(target: Any) -> Device:
    """The device of the test's `target`."""
    return device_of(target)


def pytest_generate_tests(metafunc: Any) -> None:
    """Called by pytest for each test function."""
    _targets(metafunc)
    _groups(metafunc)


def _targets(metafunc: Any) -> None:
    """The targets of a test that asks for `target`, unless something else says what they are."""
    names = [name for name in ("target", "dev") if name in metafunc.fixturenames]
    said = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    words = {word.strip() for found in said for word in (found.split(",") if isinstance(found, str) else found)}
    if "target" not in names or "target" in words or _fixture(metafunc, "target") is not None:
        return
    rows = enabled_targets()
    metafunc.parametrize(names, rows if len(names) == 2 else [target for target, _ in rows])


def _groups(metafunc: Any) -> None:
    """The values of `parameters(...)`, one test for each tuple of them."""
    seen: dict[int, tuple[Any, list[tuple[str, int]]]] = {}
    for name in metafunc.fixturenames:
        found = group_of(_fixture(metafunc, name))
        if found is not None:
            group, column = found
            seen.setdefault(id(group), (group, []))[1].append((name, column))
    for group, members in seen.values():
        names = [name for name, _ in members]
        rows = [tuple(values[column] for _, column in members) for values in group.value_sets]
        metafunc.parametrize(names, rows, ids=group.ids, indirect=True)


def _fixture(metafunc: Any, name: str) -> Any:
    """The object called `name` in the test's class or module."""
    found = (inspect.getattr_static(place, name, None) for place in (metafunc.cls, metafunc.module))
    return next((fixture for fixture in found if fixture is not None), None)
