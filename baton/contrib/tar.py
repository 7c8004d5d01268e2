"""Archives (`tvm.contrib.tar`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("support.tar_files", "normalize_file_list_by_unpacking_tars tar untar"),
    },
)
