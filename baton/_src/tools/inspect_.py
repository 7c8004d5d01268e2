"""`baton inspect MODEL`: the program at each stage, its kernels, its memory plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from baton._src.driver.compile.open_model import open_model
from baton._src.driver.model.model import Model
from baton._src.tools.console import OUT, guarded, print_json, progress


@guarded
def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="a model file or an artifact of `baton compile`")],
    stage: Annotated[str, typer.Option(help="print the program at this stage; `list` shows the stages")] = "",
    kernels: Annotated[bool, typer.Option("--kernels", help="list the kernels")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="print the memory plan")] = False,
    json: Annotated[bool, typer.Option("--json", help="print inputs, outputs and kernels as JSON")] = False,
) -> None:
    """Show MODEL: its inputs and outputs, its program at each stage, its kernels."""
    with progress():
        opened = open_model(model, keep_stages=bool(stage), verify=True)
    if stage == "list":
        OUT.print("\n".join(opened.stages))
        return
    if stage:
        OUT.print(opened.stage(stage))
        return
    if json:
        print_json(_facts(opened))
        return
    _signature(opened)
    if kernels:
        table = Table("kernel", "calls", "what it does")
        for kernel in opened.kernels:
            table.add_row(kernel.name, str(kernel.calls), kernel.summary)
        OUT.print(table)
    if memory:
        OUT.print(opened.memory_plan)


def _facts(opened: Model) -> dict[str, Any]:
    specs = {
        kind: [{"name": s.name, "dtype": s.kind, "shape": s.shape} for s in found]
        for kind, found in (("inputs", opened.inputs), ("outputs", opened.outputs))
    }
    kernels = [{"name": k.name, "calls": k.calls, "summary": k.summary} for k in opened.kernels]
    return {**specs, "kernels": kernels}


def _signature(opened: Model) -> None:
    table = Table("", "name", "dtype", "shape")
    for kind in ("inputs", "outputs"):
        for spec in getattr(opened, kind):
            table.add_row(kind[:-1], spec.name, spec.kind, _shape_text(spec.shape))
    OUT.print(table)


def _shape_text(shape: tuple[int | str, ...] | None) -> str:
    return "unknown rank" if shape is None else f"({', '.join(str(d) for d in shape)})"
