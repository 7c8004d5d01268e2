"""`baton bench MODEL`: how fast a model runs, alone or against other runtimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from baton._src.driver.compile.open_model import open_model
from baton._src.support.diagnostics import fail
from baton._src.tools.benchmark.peers import PEERS
from baton._src.tools.benchmark.report import disagreement_list, left_out_list, markdown, memory_table, write
from baton._src.tools.benchmark.rounds import compare
from baton._src.tools.console import ERR, OUT, guarded, progress
from baton._src.tools.feeds import feed
from baton._src.tools.outputs import check_output
from baton._src.values.tensor import AnyArray

T = TypeVar("T")
_OTHERS = ",".join(name for name in PEERS if name != "baton")


@guarded
def bench(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="a model file or an artifact of `baton compile`; other runtimes need ONNX models"
        ),
    ],
    against: Annotated[str, typer.Option(help=f"runtimes to compare with: {_OTHERS}")] = "",
    threads: Annotated[str, typer.Option(help="thread counts, e.g. 1,2")] = "1",
    input_: Annotated[Path | None, typer.Option("-i", "--input", help="inputs by name (.npz); default: random")] = None,
    dim: Annotated[list[str] | None, typer.Option(help="size of a symbolic dim for random inputs: NAME=SIZE")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="about how long to measure each runtime")] = 3.0,
    memory: Annotated[
        bool, typer.Option("--memory", help="also measure cold start and memory, in separate processes")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="write all measurements as JSON")] = None,
) -> None:
    """Measure MODEL in interleaved rounds and print medians and ratios."""
    runtimes, counts = _once(["baton", *_parts(against)]), _once(_thread_counts(_parts(threads)))
    for name in runtimes:
        if name not in PEERS:
            raise fail("option", f"--against: there is no runtime {name!r}", help=f"there are: {', '.join(PEERS)}")
    if len(runtimes) > 1 and model.suffix.lower() != ".onnx":
        raise fail("option", f"other runtimes can only measure ONNX models, not {model}", help="leave --against out")
    check_output(json, model)
    with progress():
        inputs = open_model(model).inputs
        arrays = feed(inputs, input_, dim)
        label = " ".join([model.stem, *_open_sizes(inputs, arrays)])
        found = [
            compare(label, model, arrays, count, runtimes, seconds, memory and count == counts[0]) for count in counts
        ]
    OUT.print(markdown(found))
    if memory:
        OUT.print(f"\n{memory_table(found)}")
    for title, remarks in (("not measured", left_out_list(found)), ("outputs that differ", disagreement_list(found))):
        if remarks:
            ERR.print(f"{title}:\n{remarks}")
    write(found, None, json)


def _open_sizes(inputs: Sequence[Any], arrays: Mapping[str, AnyArray]) -> list[str]:
    """`n=3` for each size that the model leaves open."""
    found = {
        str(dim): size
        for spec in inputs
        if spec.name in arrays
        for dim, size in zip(spec.shape or (), arrays[spec.name].shape, strict=False)
        if not isinstance(dim, int)
    }
    return [f"{name}={size}" for name, size in found.items()]


def _once(names: Sequence[T]) -> list[T]:
    """The names without repetitions."""
    return list(dict.fromkeys(names))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _thread_counts(texts: Sequence[str]) -> list[int]:
    """`["1", "2"]` as numbers."""
    wrong = [t for t in texts if not t.isdecimal() or int(t) < 1]
    if wrong or not texts:
        given = ",".join(texts)
        raise fail("option", f"--threads takes integers of at least 1, got {given!r}", help="for example --threads 1,2")
    return [int(t) for t in texts]
