"""The number of CPUs, which scripts use to describe their target."""

from __future__ import annotations

import os

from baton._src.driver.targets import chosen_target


def cpu_count(logical: bool = True) -> int:
    """The threads that this machine runs at once; or those that a program uses if its target says nothing."""
    return (os.cpu_count() or 1) if logical else chosen_target("llvm").num_cores
