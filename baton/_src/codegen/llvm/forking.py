"""Copies of this process in which LLVM and the streams can be used."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

from llvmlite.binding import ffi


def can_fork() -> bool:
    """Whether that is safe: libraries of other systems do not allow it."""
    return sys.platform.startswith("linux") and hasattr(os, "fork")


def forked() -> int:
    """`os.fork`, while holding LLVM's lock (otherwise the child could inherit it locked by a thread that does not exist
    there), and with nothing in the streams that both would write.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()
    with ffi.lib._lock, warnings.catch_warnings():
        # Python warns of forking beside threads. The pool of threads begins anew in the child.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
