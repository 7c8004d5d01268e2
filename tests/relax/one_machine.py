"""Programs run by one machine at a time, for tests of what each does, and says, by itself.

A test file that takes over `mode` runs all its tests three times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import FunctionTable
from baton._src.values.tensor import NDArray
from tests.relax import machines

OPAQUE = object()
"""What the packed function `make` gives: nothing that baton knows."""
log: list[Any] = []
"""What the packed function `note` was given since the machine was made."""


def _inplace(x: Any) -> Any:
    x.data[...] += 1
    return x


def _note(x: Any) -> Any:
    log.append(x)
    return x


_mode = "interpreter"


@pytest.fixture(params=machines.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of a file that has this name runs by the interpreter, by bytecode and compiled."""
    global _mode
    _mode = request.param
    yield _mode
    _mode = "interpreter"


def machine(body: str) -> Any:
    """A machine with the functions in `body`, and a few packed functions."""
    table = FunctionTable()
    table.register("inc", _inplace)
    table.register("note", _note)
    table.register("identity", lambda x: x)
    table.register("fill", lambda x, out: out.data.__setitem__(..., x.data * 2))
    table.register("make", lambda: OPAQUE)
    table.register("is_none", lambda x: x is None)
    table.register("zeros", lambda count: NDArray(np.zeros(int(count), np.float32)))
    log.clear()
    return machines.machine(body, _mode, table)


def run(body: str, *args: Any) -> Any:
    """What `main` of the program gives."""
    return machine(body)["main"](*args)


def check_fails(body: str, *args: Any) -> str:
    """The message of the failing check."""
    with pytest.raises(DiagnosticError) as error:
        run(body, *args)
    assert error.value.code == "value-mismatch"
    return error.value.diagnostics[0].message


def says(message: str, interpreter: str, machine: str) -> bool:
    """Whether a message has the words that the interpreter, or the machine, finds for it."""
    return (interpreter if _mode == "interpreter" else machine) in message
