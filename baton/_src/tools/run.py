"""`baton run MODEL|OUT --input x.npz`: run a model or an artifact once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from baton._src.driver.compile.open_model import open_model
from baton._src.tools.arrays import as_arrays, write_arrays
from baton._src.tools.console import OUT, guarded, print_json, progress
from baton._src.tools.feeds import feed
from baton._src.tools.outputs import check_output


@guarded
def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="a model file or an artifact of `baton compile`")],
    input_: Annotated[
        Path | None, typer.Option("-i", "--input", help="inputs by name (.npz), or one array (.npy)")
    ] = None,
    random: Annotated[bool, typer.Option("--random", help="use random inputs")] = False,
    dim: Annotated[list[str] | None, typer.Option(help="size of a symbolic dim for --random: NAME=SIZE")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="write the outputs (.npz)")] = None,
    json: Annotated[bool, typer.Option("--json", help="print the complete outputs as JSON")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="number of threads; default: all cores")] = None,
) -> None:
    """Run MODEL on inputs from a file and print (or write) its outputs."""
    if input_ is not None and random:
        raise typer.BadParameter("--input and --random exclude each other")
    check_output(output, model)
    with progress():
        opened = open_model(model, num_threads=threads)
    names = [spec.name for spec in opened.inputs]
    if input_ is None and not random and names:
        raise typer.BadParameter(f"give --input FILE with {', '.join(names)}, or --random")
    outputs = opened.run(feed(opened.inputs, input_, dim))
    pairs = zip(opened.outputs, outputs, strict=True)
    found = {name: array for spec, output in pairs for name, array in as_arrays(spec.name, output).items()}
    if output is not None:
        write_arrays(output, found)
    if json:
        print_json({n: {"dtype": str(a.dtype), "shape": a.shape, "values": a.tolist()} for n, a in found.items()})
        return
    table = Table("output", "shape", "dtype", "first values")
    for name, array in found.items():
        values = ", ".join(f"{v:.5g}" if isinstance(v, float) else str(v) for v in array.reshape(-1)[:6].tolist())
        table.add_row(name, str(array.shape), str(array.dtype), values + (", …" if array.size > 6 else ""))
    OUT.print(table)
