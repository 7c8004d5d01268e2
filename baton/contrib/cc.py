"""The system's C++ compiler (`tvm.contrib.cc`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("support.system_compiler", "create_shared create_executable create_staticlib"),
        **names("support.system_compiler", "cross_compiler get_cc get_target_by_dump_machine"),
    },
)
