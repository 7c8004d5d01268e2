"""Names of targets (`tvm.target.tag`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.target.targets", "list_tags register_tag"),
    },
)
