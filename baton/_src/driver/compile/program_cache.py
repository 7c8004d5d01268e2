"""Whole compiled programs on disk: an ONNX file that was compiled before is an artifact to load, weights mapped.

The key is the hash of the file's contents and of everything that affects the result: baton's own source, versions of
LLVM and ONNX, the target, options, shapes and bound values. Files with the model's external tensors are hashed as well
and have to be unchanged. Programs that compile faster than `WORTHWHILE` are not kept, nor those compiled while
operators or intrinsics have rules that a script registered: nothing tells whether a function computes what it did.

An entry is an artifact (`KEY.baton`) and a record (`KEY.json`: the external files and their hashes, and an identifier
of the system's last boot). Artifacts are written without waiting for the disk; one written before the last boot is
verified completely before its first use. Problems with the disk are never errors.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from baton._src.codegen.llvm.cache import CacheOptions, checked_by_environment, trim
from baton._src.codegen.llvm.jit import Machine, target_text
from baton._src.driver.model.load import attach_operators
from baton._src.ir.filled_columns import FILLED
from baton._src.ir.target import Target
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import BatonError
from baton._src.support.file_digest import State, file_state, known_digest
from baton._src.support.source_fingerprint import source_fingerprint
from baton._src.support.whole_file import whole_file
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray

FORMAT = "1"
WORTHWHILE = 0.2
"""Seconds that compiling must have taken for a program to be kept."""
_DIGESTS = 1 << 20
"""Bytes of remembered hashes of files."""


@dataclass(frozen=True)
class ProgramKey:
    """What is compiled, and the state of its file when it was hashed."""

    name: str
    path: Path
    state: State
    options: CacheOptions = field(repr=False)

    @property
    def artifact(self) -> Path:
        assert self.options.folder is not None
        return self.options.folder / "programs" / f"{self.name}.baton"

    @property
    def record(self) -> Path:
        return self.artifact.with_suffix(".json")


def program_key(
    model: Any,
    target: Target,
    settings: str,
    shapes: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    options: CacheOptions | None = None,
) -> ProgramKey | None:
    """The key of `model`; None if it cannot be cached: anything but an ONNX file, values that cannot be hashed, or
    rules that a script registered for operators or intrinsics."""
    chosen = options or CacheOptions.from_environment()
    if chosen.folder is None or chosen.programs <= 0 or not isinstance(model, (str, Path)) or FILLED:
        return None
    path = Path(model)
    if path.suffix.lower() != ".onnx":
        return None
    given = _given_text(shapes, params)
    if given is None:
        return None
    try:
        state = file_state(path)
        content = known_digest(path, _digests(chosen.folder))
        onnx = _onnx_version()
    except OSError:
        return None
    if not onnx:
        return None
    versions = (FORMAT, source_fingerprint(), llvmlite.__version__, np.__version__, onnx)
    settings = f"{settings} checked" if checked_by_environment() else settings
    parts = (*versions, repr(Machine.of(target)), target_text(target), settings, given, content)
    return ProgramKey(hashlib.sha256("\0".join(parts).encode()).hexdigest(), path.absolute(), state, chosen)


def cached_program(key: ProgramKey, target: Target) -> Executable | None:
    """The executable that was compiled for `key`, if it is there and nothing it was made of has changed."""
    try:
        record = json.loads(key.record.read_bytes())
        digests = _digests(key.artifact.parent.parent)
        if any(known_digest(key.path.parent / name, digests) != wanted for name, wanted in record["files"].items()):
            return None
        start = _system_start()
        trusted = start is not None and record["start"] == start
        executable = load_executable(key.artifact, verify=not trusted)
        with contextlib.suppress(OSError):  # a read-only cache still serves
            if not trusted:
                _write(key.record, {**record, "start": start})
            os.utime(key.artifact)
            os.utime(key.record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BatonError):
        return None
    return attach_operators(executable, target)


def keep_program(key: ProgramKey, executable: Executable, files: Mapping[Path, State], seconds: float) -> None:
    """Write an entry, in a thread of its own, unless the model or one of its external `files` changed since then;
    `seconds` is what compiling took.
    """
    size = executable.constant_bytes
    if seconds < WORTHWHILE or size > key.options.programs // 2:
        return
    read = {**files, key.path: key.state}
    threading.Thread(target=_keep, args=(key, executable, read), name="baton-keep-program").start()


def _keep(key: ProgramKey, executable: Executable, files: Mapping[Path, State]) -> None:
    with contextlib.suppress(OSError, ValueError, BatonError):
        folder = key.path.parent
        digests = _digests(key.artifact.parent.parent)
        others = {str(f.relative_to(folder)): known_digest(f, digests) for f in sorted(files) if f != key.path}
        if any(file_state(f) != state for f, state in files.items()):
            return
        key.artifact.parent.mkdir(parents=True, exist_ok=True)
        executable.save(key.artifact, durable=False)
        _write(key.record, {"files": others, "start": _system_start(), "model": key.path.name})
        trim(key.artifact.parent, "*", key.options.programs)
        trim(digests, "*", _DIGESTS)


def _digests(folder: Path) -> Path:
    """The folder in which digests of large files are remembered."""
    return folder / "digests"


def _onnx_version() -> str:
    """The text with the version of the onnx package, read without importing it; empty if it is not installed."""
    found = find_spec("onnx")
    if found is None or found.origin is None:
        return ""
    return Path(found.origin).with_name("version.py").read_text(encoding="utf-8")


def _given_text(shapes: Mapping[str, Any] | None, params: Mapping[str, Any] | None) -> str | None:
    """Shapes and bound values by content; None if there is something else than sizes, names and arrays, which whoever
    reads the model judges.
    """
    parts: list[Any] = []
    for name, dims in sorted((shapes or {}).items()):
        if not isinstance(dims, (list, tuple)) or not all(isinstance(d, (int, str)) for d in dims):
            return None
        parts.append((name, tuple(dims)))
    for name, value in sorted((params or {}).items()):
        try:
            array = from_host(value)
        except BatonError:
            return None
        if not isinstance(array, NDArray):
            return None
        parts.append((name, str(array.dtype), array.shape, hashlib.sha256(array.data.tobytes()).hexdigest()))
    return repr(parts)


def _system_start() -> str | None:
    """An identifier of the operating system's last boot: what was written since is in memory, if not on disk."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with whole_file(path, durable=False) as stream:
        stream.write(json.dumps(record).encode())
