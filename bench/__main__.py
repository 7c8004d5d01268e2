"""`make bench`: every model of the zoo on every runtime, interleaved; writes docs/performance.md, its data, and README.

    python -m bench [MODEL ...] [--threads 1,2] [--seconds 4] [--against onnxruntime,openvino,torch,torch.compile]

torch.compile takes a minute for some models and needs a C++ compiler. Cold load times and peak memory come from
processes of their own. Then come the single kernels of `bench.kernels`; compile-time scaling is in
`bench.compile_time`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from baton._src.tools.benchmark.peers import PEERS
from baton._src.tools.benchmark.report import disagreement_list, left_out_list, markdown, write
from baton._src.tools.benchmark.rounds import Comparison, compare
from bench.kernels.measure import write_page
from bench.models.zoo import ZOO, example_inputs
from bench.readme_table import write_table

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Measure and write; a run over part of the zoo prints but does not touch the page."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure models against the peers: run time, loading, memory."
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(ZOO)} (default: all)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each runtime and model (default: %(default)s)")
    parser.add_argument("--against", default="onnxruntime,openvino,torch,torch.compile", help="(default: %(default)s)")
    parser.add_argument("--no-memory", action="store_true", help="skip cold loading and memory")
    options = parser.parse_args()
    unknown = [name for name in options.models if name not in ZOO]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; models are {', '.join(ZOO)}")
    runtimes = ["baton", *filter(None, options.against.split(","))]
    if wrong := [name for name in runtimes if name not in PEERS]:
        parser.error(f"--against: there is no runtime {wrong[0]!r}; runtimes are {', '.join(PEERS)}")
    if not all(count.isdigit() and int(count) for count in options.threads.split(",")):
        parser.error(f"--threads takes integers of at least 1, got {options.threads!r}")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models or ZOO:
            found += _measure(name, Path(folder), runtimes, options)
            if not options.models:  # after every model, so that a run that is ended early leaves what it found
                write(found, DOCS / "performance.md", DOCS / "performance.json")
    print(markdown(found))
    for title, remarks in (("not measured", left_out_list(found)), ("outputs that differ", disagreement_list(found))):
        if remarks:
            print(f"\n{title}:\n{remarks}")
    if not options.models:
        write_table()
        print(write_page([int(t) for t in options.threads.split(",")]))


def _measure(name: str, folder: Path, runtimes: list[str], options: argparse.Namespace) -> list[Comparison]:
    entry = ZOO[name]
    model = entry.model()
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    counts = [int(t) for t in options.threads.split(",")]
    found: list[Comparison] = []
    for row, dims in entry.sizes().items():
        feed = example_inputs(model, dims)
        for threads in counts:
            first = not found and not options.no_memory  # loading is the same for every row
            label = f"{name} {row}".rstrip()
            found.append(compare(label, path, feed, threads, runtimes, options.seconds, first))
    return found


if __name__ == "__main__":
    main()
