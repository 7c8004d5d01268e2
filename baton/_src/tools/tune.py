"""`baton tune MODEL`: find better schedules than the rules' for a model's kernels, by measuring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from baton._src.driver.model.model import Model
from baton._src.driver.tuning.tune import Report
from baton._src.driver.tuning.tune import tune as tune_model
from baton._src.driver.tuning_records.place import database_path
from baton._src.support.diagnostics import fail
from baton._src.tools.console import OUT, guarded, progress
from baton._src.tools.feeds import feed
from baton._src.tools.outputs import can_be_written


@guarded
def tune(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="an .onnx, a .pt2, a Relay (.relay, .rly) or a TVMScript (.py) file")
    ],
    seconds: Annotated[float, typer.Option(min=0.0, help="about how long to search")] = 120.0,
    trials: Annotated[int, typer.Option(min=0, help="maximum number of measurements")] = 1000,
    threads: Annotated[
        int | None, typer.Option(min=1, help="threads the model will run with; default: all cores")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(help="file for the results; default: the one BATON_TUNING names, or baton's cache"),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="a Dask scheduler whose workers take the measurements: tcp://host:8786"),
    ] = None,
    input_: Annotated[Path | None, typer.Option("-i", "--input", help="inputs by name (.npz); default: random")] = None,
    dim: Annotated[list[str] | None, typer.Option(help="size of a symbolic dim for random inputs: NAME=SIZE")] = None,
) -> None:
    """Search schedule choices for the kernels of MODEL, and remember those that are measurably better."""

    def given(compiled: Model) -> dict[str, Any]:
        return feed(compiled.inputs, input_, dim)

    path = database or database_path()
    if path is not None and not can_be_written(path):
        raise fail("tuning-database", f"{path} cannot be written, so no result could be kept", help="--database FILE")
    with progress():
        found = tune_model(
            model, given, seconds=seconds, trials=trials, num_threads=threads, database=database, dask=dask
        )
    _print(found)


def _print(found: Report) -> None:
    table = Table("kernel", "share", "before (µs)", "after (µs)", "gain", "choices", "trials")
    for column in table.columns:
        column.overflow = "fold"
    for kernel in found.kernels:
        one = kernel.found
        gain = f"{one.before / one.after - 1:.1%}" if one.record else ""
        times = (f"{one.before * 1e6:.1f}", f"{one.after * 1e6:.1f}")
        table.add_row(one.task.name, f"{kernel.share:.1%}", *times, gain, one.choices, str(one.trials))
    whole = f"{found.before / found.after - 1:.1%}" if found.after else ""
    table.add_section()
    table.add_row("whole model", "", f"{found.before * 1e6:.1f}", f"{found.after * 1e6:.1f}", whole, "", "")
    OUT.print(table)
    failures = sum(len(k.found.failures) for k in found.kernels)
    if failures:
        OUT.print(f"{failures} candidates failed or took too long")
    if found.left:
        OUT.print(f"{found.left} kernels were left alone: a small share of a run, or no time was left")
    if found.undone:
        OUT.print(f"nothing was kept: {found.undone}")
    else:
        OUT.print(f"{len(found.kept)} kernels remembered in {found.database}")
