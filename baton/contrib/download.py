"""Downloading files (`tvm.contrib.download`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.contrib.downloads", "download download_testdata"),
    },
)
