"""The models of one graph of `torch.compile`: one for any sizes, or one for each, where an operator wants to know them.

PyTorch opens sizes by itself when a second one comes, and nobody asked for that: Fourier transforms and smoothed
images, whose tables are made when compiling, are compiled for every size then, as with `dynamic=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton._src.driver.model.model import Model
from baton._src.frontends.torch.programs.program import Program
from baton._src.frontends.torch.relax_graph import imported
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError

Build = Callable[[IRModule], Model]
_WANTED = ("torch-dynamic", "torch-symbol")
"""The errors of sizes that are not known, or cannot be computed."""
MOST = 64
"""How many sizes are remembered."""


class Models:
    """Of a program with these nodes as results; `symbols` are those of its sizes."""

    def __init__(self, program: Program, outputs: Sequence[Any], symbols: Collection[Any], build: Build) -> None:
        self.program, self.outputs, self.build = program, outputs, build
        self.made: dict[tuple[int, ...], Model] = {}
        self.open: Model | None = None
        try:
            self.open = self._of(program)
        except DiagnosticError as error:
            if not symbols or any(d.code not in _WANTED for d in error.diagnostics):
                raise

    def of(self, sizes: Callable[[], Mapping[Any, int]]) -> Model:
        """The model for a call with these sizes, by symbol; the one made first is forgotten for one too many."""
        if self.open is not None:
            return self.open
        known = sizes()
        key = tuple(known.values())
        if key not in self.made:
            if len(self.made) == MOST:
                del self.made[next(iter(self.made))]
            self.made[key] = self._of(replace(self.program, sizes=known))
        return self.made[key]

    def _of(self, program: Program) -> Model:
        return self.build(imported(program, self.outputs))
