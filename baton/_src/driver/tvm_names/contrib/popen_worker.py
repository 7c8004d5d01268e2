"""The process behind a `PopenWorker`: it reads calls from its standard input and writes their results.

    python -m baton._src.driver.tvm_names.contrib.popen_worker

First it is told which program is run, so that functions of that program (`__main__`) can be found: the program is
executed once under another name, as the processes of `multiprocessing` do it.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle  # noqa: TID251  (messages from the process that started this one, no artifacts)
import runpy
import struct
import sys
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any


def write_message(stream: IO[bytes], content: bytes) -> None:
    """Write a message, preceded by its length."""
    stream.write(struct.pack("<q", len(content)) + content)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """The next message; None where the other side is gone."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<q", head)
    content = stream.read(size)
    return content if len(content) == size else None


class _Unpickler(pickle.Unpickler):
    """Finds functions of the program that the parent runs."""

    def __init__(self, content: bytes, program: Callable[[], dict[str, Any]]) -> None:
        super().__init__(io.BytesIO(content))
        self._program = program

    def find_class(self, module: str, name: str) -> Any:
        if module != "__main__":
            return super().find_class(module, name)
        found: Any = self._program()[name.split(".")[0]]
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        return found


class _Program:
    """The parent's program, executed when it is first needed."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._names: dict[str, Any] | None = None

    def __call__(self) -> dict[str, Any]:
        if self._names is None:
            if self._path is None:
                raise RuntimeError("functions sent to a worker must be defined in a file")
            self._names = runpy.run_path(self._path, run_name="__mp_main__")
            module = ModuleType("__main__")
            module.__dict__.update(self._names)
            sys.modules["__main__"] = module  # results that are instances of its classes are pickled by this name
        return self._names


def main() -> None:
    """Execute calls until the parent closes the pipe."""
    calls, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what functions print must not get between the results
    first = read_message(calls)
    if first is None:
        return
    path, sys.path, aliased = pickle.loads(first)  # noqa: S301  (see above)
    if aliased:
        importlib.import_module("baton.alias").install()
    program = _Program(path)
    while (content := read_message(calls)) is not None:
        write_message(results, _answer(content, program))


def _answer(content: bytes, program: Callable[[], dict[str, Any]]) -> bytes:
    try:
        function, args, kwargs = _Unpickler(content, program).load()
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:  # everything the call raised travels to the parent
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    main()
