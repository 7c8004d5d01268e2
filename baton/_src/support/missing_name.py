"""The error message for a name that a lazy package does not have.

Loaded by `support/lazy.py` when a name is missing: `import baton` does not pay for `difflib`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from difflib import get_close_matches


def message(package: str, name: str, known: Callable[[], Iterable[str]], reason: Callable[[str], str | None]) -> str:
    """The text of the `AttributeError`: why baton leaves the name out where TVM has it, else the name nearest to it.

    `known` lists the names that `package` serves; `reason` says why a path of TVM is left out, if it is.
    """
    said = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):  # Python itself looks up some such names.
        return said
    why = reason(f"{package}.{name}".partition(".")[2])
    if why:
        return f"{said}: baton leaves it out; {why}"
    listed = [k for k in known() if not k.startswith("_")]
    inner = dir(importlib.import_module(f"{package}.nn")) if "nn" in listed and package.count(".") == 1 else []
    paths = {**{n: f"nn.{n}" for n in inner}, **{n: n for n in listed}}
    near = [paths[n] for n in get_close_matches(name, paths, n=1)]
    return f"{said}; did you mean {near[0]}?" if near else said
