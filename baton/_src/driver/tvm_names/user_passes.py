"""Small passes that scripts use."""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.ir.module import IRModule
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class PrintIR(Pass):
    """Print the module as it is at this place of a pipeline, under a heading."""

    header: str = ""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        print(f"PrintIR({self.header}):\n{module!r}" if self.header else repr(module))
        return module
