"""Docstrings of the public face: every function and class says what it is, every method what it does."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from tests.face.test_names import MODULES

VISITS = ("visit", "rewrite_")
"""Methods of visitors are named after the node they visit."""


def _public(module: str) -> dict[str, Any]:
    """What a module of the face serves, by name, as far as it is our own."""
    face = importlib.import_module(module)
    content = {name: getattr(face, name, None) for name in dir(face) if not name.startswith("_")}
    return {n: c for n, c in content.items() if (getattr(c, "__module__", None) or "").startswith("baton.")}


def _says_nothing(content: Any) -> bool:
    """Whether a function or class has no text of its own; what `dataclass` writes is its signature only."""
    if not inspect.isclass(content):
        return not (content.__doc__ or "").strip()
    text = vars(content).get("__doc__") or ""
    return not text.strip() or text.startswith(f"{content.__name__}(")


def _methods(kind: type) -> list[str]:
    """The public methods that a class writes itself; properties are named after what they give."""
    plain = {n: m.__func__ if isinstance(m, (classmethod, staticmethod)) else m for n, m in vars(kind).items()}
    functions = {n: m for n, m in plain.items() if inspect.isfunction(m) and m.__module__ == kind.__module__}
    return [name for name in functions if not name.startswith(("_", *VISITS))]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_and_class_says_what_it_is(module: str) -> None:
    assert {name for name, content in _public(module).items() if callable(content) and _says_nothing(content)} == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_method_of_a_public_class_says_what_it_does(module: str) -> None:
    """Overriding methods may leave it to what they override."""
    classes = [content for content in _public(module).values() if inspect.isclass(content)]
    methods = {f"{kind.__name__}.{name}": getattr(kind, name) for kind in classes for name in _methods(kind)}
    assert {name for name, method in methods.items() if not inspect.getdoc(method)} == set()
