"""Temporary folders, locks and paths (`tvm.contrib.utils`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.contrib.temporary", "TempDirectory is_source_path tempdir which"),
        **names("driver.tvm_names.contrib.file_locks", "FileLock filelock"),
    },
)
