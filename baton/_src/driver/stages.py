"""Records of a compilation, for inspection."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from baton._src.support.dataclass import dataclass

if TYPE_CHECKING:  # a model that was loaded has none, and gets by without the compiler
    from baton._src.ir.module import IRModule


@dataclass(frozen=True)
class Options:
    """A user's options of a compilation; `keep_stages`: whether the program after every pass is kept."""

    opt_level: int = 3
    exec_mode: str = "compiled"
    num_threads: int | None = None
    keep_stages: bool = False


@dataclass
class Stages:
    """The records that `inspect` shows: the module after each step, and the schedule of each kernel. Texts are created
    on request.
    """

    keep: bool = False
    modules: dict[str, IRModule] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    """Which schedule rule made each kernel."""

    def note(self, name: str, module: IRModule) -> None:
        """Keep the module under `name`."""
        if self.keep:
            self.modules[name] = module
