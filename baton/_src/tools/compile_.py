"""`baton compile MODEL -o OUT`: from a model to an artifact that loads without the compiler."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.tools.arrays import read_arrays
from baton._src.tools.console import OUT, guarded, progress
from baton._src.tools.outputs import check_output

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="an .onnx, a .pt2, a Relay (.relay, .rly) or a TVMScript (.py) file")
]


@guarded
def compile_(
    model: Model,
    output: Annotated[Path, typer.Option("-o", "--output", help="the artifact to write")],
    opt_level: Annotated[int, typer.Option("-O", "--opt-level", min=0, max=4, help="optimisation level")] = 3,
    params: Annotated[
        Path | None, typer.Option(help="arrays (.npz) to bind by name: weights, or inputs fixed at compile time")
    ] = None,
    target: Annotated[str, typer.Option(help="the target, e.g. llvm or 'llvm -mcpu=haswell'")] = "llvm",
) -> None:
    """Compile MODEL for this machine and write an artifact."""
    check_output(output, model)
    start = time.perf_counter()
    with progress():
        bound = None if params is None else read_arrays(params, [])
        compiled = compile_model(model, opt_level=opt_level, target=target, params=bound)
        compiled.save(output)
    seconds, size = time.perf_counter() - start, output.stat().st_size / 1e6
    OUT.print(f"{output}: {size:.1f} MB, compiled in {seconds:.2f} s")
