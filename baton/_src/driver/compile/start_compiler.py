"""Import and run the compiler with Python's garbage collector suspended, which would take a tenth of the time.

Objects made by importing stay, so the collector need not scan them; what compiling leaves is collected afterwards.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from baton._src.driver.model.model import Model
from baton._src.transform.collector import keep_all_so_far, rarely_collecting


def start_compiler(*args: Any) -> Model:
    """`compile_program(*args)`."""
    with rarely_collecting():
        compiler = import_module("baton._src.driver.compile.compile_program")
        keep_all_so_far()
        compiled: Model = compiler.compile_program(*args)
    return compiled
