"""Watching passes: timing, printing, dumping. Names follow `tvm.ir.instrument`.

An instrument has five methods, all optional when made with `@pass_instrument` or by deriving from `PassInstrument`:
`enter_pass_ctx()`, `exit_pass_ctx()`, `should_run(module, info) -> bool`, `run_before_pass(module, info)`,
`run_after_pass(module, info)`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassInfo


class PassInstrument:
    """The base: does nothing."""

    def enter_pass_ctx(self) -> None:
        """The PassContext is being entered."""

    def exit_pass_ctx(self) -> None:
        """The PassContext is being left."""

    def should_run(self, module: IRModule, info: PassInfo) -> bool:
        """False vetoes the pass (unless it is in `required_pass`)."""
        return True

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `module`."""

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass has made `module`."""


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Make a plain class with some of the five methods an instrument; without a class, the decorator that does so."""
    if pi_cls is None:
        return pass_instrument
    if issubclass(pi_cls, PassInstrument):
        return pi_cls
    body = {"__doc__": pi_cls.__doc__, "__module__": pi_cls.__module__, "__qualname__": pi_cls.__qualname__}
    return type(pi_cls.__name__, (pi_cls, PassInstrument), body)


@dataclass
class _Timing:
    """One run of a pass and of the passes within it; times in seconds."""

    name: str
    started: float
    duration: float = 0.0
    inner: list[_Timing] = field(default_factory=list)


class PassTimingInstrument(PassInstrument):
    """Times every pass; `render()` gives the tree."""

    def __init__(self) -> None:
        self._roots: list[_Timing] = []
        self._open: list[_Timing] = []

    def enter_pass_ctx(self) -> None:
        self._roots, self._open = [], []

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        timing = _Timing(info.name, time.perf_counter())
        (self._open[-1].inner if self._open else self._roots).append(timing)
        self._open.append(timing)

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        timing = self._open.pop()
        timing.duration = time.perf_counter() - timing.started

    def render(self) -> str:
        """One line per pass: `FuseOps: 1200us [300us] (12.00%; 40.00%)`: its time, the time without inner passes, the
        share of the whole and of the pass around it.
        """
        total = sum(t.duration for t in self._roots)
        found: list[str] = []
        stack = [(t, total, 0) for t in reversed(self._roots)]
        while stack:
            timing, outer, depth = stack.pop()
            own = timing.duration - sum(t.duration for t in timing.inner)
            shares = [100 * timing.duration / whole if whole else 0.0 for whole in (total, outer)]
            times = f"{timing.duration * 1e6:.0f}us [{own * 1e6:.0f}us]"
            found.append(f"{'  ' * depth}{timing.name}: {times} ({shares[0]:.2f}%; {shares[1]:.2f}%)")
            stack.extend((t, timing.duration, depth + 1) for t in reversed(timing.inner))
        return "\n".join(found)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes named."""

    def __init__(
        self,
        print_before_pass_names: Iterable[str] = (),
        print_after_pass_names: Iterable[str] = (),
        write: Callable[[str], Any] = print,
    ) -> None:
        self.before = frozenset(print_before_pass_names)
        self.after = frozenset(print_after_pass_names)
        self.write = write

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        if info.name in self.before:
            self.write(f"# before {info.name}\n{module!r}")

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        if info.name in self.after:
            self.write(f"# after {info.name}\n{module!r}")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    def __init__(self, write: Callable[[str], Any] = print) -> None:
        self.write = write

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self.write(f"# before {info.name}\n{module!r}")


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    def __init__(self, write: Callable[[str], Any] = print) -> None:
        self.write = write

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        self.write(f"# after {info.name}\n{module!r}")


class DumpIR(PassInstrument):
    """Writes the module after every pass into a folder, numbered: 000_LegalizeOps.py, 001_FuseOps.py, ...

    `refresh`: the folder is emptied of what such an instrument wrote before.
    """

    def __init__(self, dump_dir: str | Path, refresh: bool = False) -> None:
        self.folder = Path(dump_dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.counter = 0
        if refresh:
            for file in self.folder.glob("[0-9][0-9][0-9]_*.py"):
                file.unlink()

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        name = re.sub(r"[^\w.-]", "_", info.name)
        (self.folder / f"{self.counter:03d}_{name}.py").write_text(f"{module!r}\n", encoding="utf-8")
        self.counter += 1
