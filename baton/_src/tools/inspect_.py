"""`baton inspect MODEL`: the program at each stage, its kernels, its memory plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from baton._src.driver.open_model import open_model
from baton._src.tools.console import OUT, guarded, progress


@guarded
def inspect(
    model: Annotated[Path, typer.Argument(help="a model file or an artifact of `baton compile`")],
    stage: Annotated[str, typer.Option(help="print the program at this stage; `list` names them")] = "",
    kernels: Annotated[bool, typer.Option("--kernels", help="list the kernels")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="print the memory plan")] = False,
) -> None:
    """Show what MODEL is and what became of it."""
    with progress():
        opened = open_model(model, keep_stages=bool(stage))
    if stage == "list":
        OUT.print("\n".join(opened.stages))
        return
    if stage:
        OUT.print(opened.stage(stage), markup=False)
        return
    _signature(opened)
    if kernels:
        table = Table("kernel", "calls", "what it does")
        for kernel in opened.kernels:
            table.add_row(kernel.name, str(kernel.calls), kernel.summary)
        OUT.print(table)
    if memory:
        OUT.print(opened.memory_plan, markup=False)


def _signature(opened: object) -> None:
    table = Table("", "name", "dtype", "shape")
    for kind in ("inputs", "outputs"):
        for spec in getattr(opened, kind):
            table.add_row(kind[:-1], spec.name, str(spec.dtype), "(" + ", ".join(str(d) for d in spec.shape) + ")")
    OUT.print(table)
