"""`baton bench MODEL`: how fast a model runs, alone or against other runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from baton._src.driver.compile.open_model import open_model
from baton._src.support.diagnostics import fail
from baton._src.tools.benchmark.peers import PEERS
from baton._src.tools.benchmark.report import left_out_list, markdown, write
from baton._src.tools.benchmark.rounds import compare
from baton._src.tools.console import ERR, OUT, guarded, progress
from baton._src.tools.feeds import feed
from baton._src.tools.outputs import check_output


@guarded
def bench(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="a model file; other runtimes can only be measured on ONNX models")
    ],
    against: Annotated[str, typer.Option(help="runtimes to compare with: onnxruntime,openvino")] = "",
    threads: Annotated[str, typer.Option(help="thread counts, e.g. 1,2")] = "1",
    input_: Annotated[Path | None, typer.Option("-i", "--input", help="inputs by name (.npz); else random")] = None,
    dim: Annotated[list[str] | None, typer.Option(help="size of a symbolic dim for random inputs: NAME=SIZE")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="about how long to measure each runtime")] = 3.0,
    json: Annotated[Path | None, typer.Option(help="write everything measured as JSON")] = None,
) -> None:
    """Measure MODEL in interleaved rounds and print medians and ratios."""
    runtimes, counts = ["baton", *_parts(against)], _thread_counts(_parts(threads))
    for name in runtimes:
        if name not in PEERS:
            raise fail("option", f"--against: there is no runtime {name!r}", help=f"there are: {', '.join(PEERS)}")
    if len(runtimes) > 1 and model.suffix.lower() != ".onnx":
        raise fail("option", f"other runtimes can only measure ONNX models, not {model}", help="leave --against out")
    check_output(json, model)
    with progress():
        arrays = feed(open_model(model).inputs, input_, dim)
        found = [compare(model.stem, model, arrays, count, runtimes, seconds) for count in counts]
    OUT.print(markdown(found))
    if reasons := left_out_list(found):
        ERR.print(f"not measured:\n{reasons}")
    write(found, None, json)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _thread_counts(texts: Sequence[str]) -> list[int]:
    """`["1", "2"]` as numbers."""
    wrong = [t for t in texts if not t.isdigit() or int(t) < 1]
    if wrong or not texts:
        given = ",".join(texts)
        raise fail("option", f"--threads takes integers of at least 1, got {given!r}", help="for example --threads 1,2")
    return [int(t) for t in texts]
