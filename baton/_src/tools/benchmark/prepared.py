"""A model prepared by a runtime: calling it runs the model once."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

Feed = Mapping[str, AnyArray]


@dataclass(slots=True)
class Prepared:
    """A model ready to run: a call runs it once and gives its outputs. `seconds` is what loading and compiling took."""

    name: str
    version: str
    seconds: float
    run: Callable[[], list[AnyArray]]


Prepare = Callable[[Path, Feed, int], Prepared]


def library(name: str) -> Any:
    """An optional package, imported on first use."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise fail("bench-peer", f"{name} is not installed", help='pip install "baton[bench]"') from missing
