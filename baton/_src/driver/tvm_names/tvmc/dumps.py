"""`--dump-code`: what became of a model, as texts beside its package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from baton._src.driver.stages import Stages
from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.ir.module import IRModule
from baton._src.runtime.executable.executable import Executable
from baton._src.tir.prim_func import PrimFunc

FORMATS = ("relay", "tir", "ll", "asm", "c")


def check_formats(said: str | Sequence[str] | None) -> list[str]:
    """The formats in "relay,ll" or in a list. `TVMCException` for others."""
    parts = said.split(",") if isinstance(said, str) else list(said or ())
    found = [part.strip() for part in parts if part.strip()]
    for name in found:
        if name not in FORMATS:
            raise refuse(f"there is no code of format {name!r}", f"one of {', '.join(FORMATS)}")
    return found


def write_dumps(
    package_path: str, formats: Sequence[str], module: IRModule, executable: Executable, stages: Stages
) -> None:
    """Write `PACKAGE.FORMAT` for every format: the program that was built, its kernels before they are scheduled, their
    LLVM IR, their assembly, or for the target "c" their C."""
    for name in formats:
        if name == "relay":
            text = repr(module)
        elif name == "tir":
            text = _kernels(list(stages.modules.values())[-1])
        else:
            text = executable.get_source(name)
        Path(f"{package_path}.{name}").write_text(text + "\n", encoding="utf-8")


def _kernels(module: IRModule) -> str:
    return repr(IRModule({v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}))
