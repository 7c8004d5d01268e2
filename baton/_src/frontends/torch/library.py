"""PyTorch itself, imported only when a program needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from baton._src.support.diagnostics import fail


def torch_library() -> Any:
    """The module `torch`. Raises `torch-missing` where it is not installed."""
    try:
        return import_module("torch")
    except ImportError as error:
        help = 'pip install "baton[torch]"'
        raise fail("torch-missing", "PyTorch programs need PyTorch, which is not installed", help=help) from error
