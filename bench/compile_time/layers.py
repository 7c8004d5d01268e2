"""How compile time and memory grow with a model: 1, 4, 16 and 64 layers; writes docs/compile-time.md.

    python -m bench.compile_time.layers [--layers 1,4,16,64] [--no-page]

Two families: layers of a transformer's encoder, whose kernels are the same in every layer, and dense layers that all
have different widths, so that each has a kernel of its own. Every number comes from a process of its own. *cold*:
nothing is cached; *kernels cached*: all objects are cached, the program is not; *loaded*: the program is cached.
Seconds are wall-clock time; *CPU* adds up all processes of a cold compilation, and shows whether work is linear even on
a machine with other work. *peak* is resident memory beyond what the process took before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto

from baton._src.driver.compile import program_cache
from baton._src.driver.compile.compile import compile as compile_model
from baton._src.ir.cpu import model_name
from bench.models import bert
from bench.models.graph import Graph
from bench.models.layers import linear

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compile-time.md"
COLUMNS = ("layers", "kernels", "cold", "CPU", "CPU a layer", "kernels cached", "loaded", "peak", "weights")


def encoder(layers: int) -> onnx.ModelProto:
    """BERT's encoder, small: 256 wide, with a small vocabulary."""
    return bert.build(1, 64, layers, hidden=256, heads=4, vocabulary=1000, positions=64)


def dense(layers: int) -> onnx.ModelProto:
    """A product, a bias and a ReLU a layer, each of another width."""
    graph, x = Graph("dense", 0), "x"
    graph.input(x, (8, 64), TensorProto.FLOAT)
    for layer in range(layers):
        with graph.scope("layer", layer):
            x = graph.op("Relu", linear(graph, x, (64 + 4 * layer, 68 + 4 * layer)))
    graph.output(x, (8, 64 + 4 * layers), "y")
    return graph.model()


FAMILIES: dict[str, Callable[[int], onnx.ModelProto]] = {"encoder": encoder, "dense": dense}


def in_this_process(path: Path) -> dict[str, float]:
    """Compile, and say what it took; run in a process of its own."""
    program_cache.WORTHWHILE = 0.0
    before = _resident("VmRSS")
    start, used = time.perf_counter(), _cpu()
    model = compile_model(path)
    found = {"seconds": time.perf_counter() - start, "cpu": _cpu() - used, "peak": _resident("VmHWM") - before}
    return {**found, "kernels": len(model.kernels)}


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def _resident(field: str) -> float:
    """`VmRSS` (now) or `VmHWM` (the peak) of this process in MB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return 0.0 if found is None else int(found[1]) / 1024


def measure(family: str, layers: int, folder: Path) -> dict[str, float]:
    """One line of the table."""
    path, cache = folder / f"{family}{layers}.onnx", folder / f"cache-{family}{layers}"
    path.write_bytes(FAMILIES[family](layers).SerializeToString())
    cold = _process(path, cache)
    for entry in (cache / "programs").iterdir():
        entry.unlink()
    cached, loaded = _process(path, cache), _process(path, cache)
    return {
        "layers": layers, "kernels": cold["kernels"], "cold": cold["seconds"], "CPU": cold["cpu"],
        "CPU a layer": cold["cpu"] / layers, "kernels cached": cached["seconds"], "loaded": loaded["seconds"],
        "peak": cold["peak"], "weights": path.stat().st_size / 2**20,
    }  # fmt: skip


def _process(path: Path, cache: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.compile_time.layers", "--one", str(path)]
    environment = {**os.environ, "BATON_CACHE": "1", "BATON_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have the byte code of what they run
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rows: list[dict[str, float]]) -> str:
    """The lines of one family."""
    units = {"layers": "", "kernels": "", "peak": " MB", "weights": " MB"}
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        lines.append("| " + " | ".join(_cell(row[c], units.get(c, " s")) for c in COLUMNS) + " |")
    return "\n".join(lines)


def _cell(value: float, unit: str) -> str:
    if unit == " s":
        return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.0f} ms"
    return f"{value:.0f}{unit}"


def page(tables: dict[str, str]) -> str:
    """The page of the documentation."""
    text = (__doc__ or "").split("\n\n", 2)[2].replace("\n", " ").strip()
    head = f"# Compile time\n\nMeasured on {date.today().isoformat()}, {model_name()}, {os.cpu_count()} cores, Python "
    head += f"{platform.python_version()}; written by `python -m bench.compile_time.layers`.\n\n{_wrapped(text)}\n"
    return head + "".join(f"\n## {name}\n\n{lines}\n" for name, lines in tables.items())


def _wrapped(text: str, width: int = 120) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.compile_time.layers", description="Compile time by layers.")
    parser.add_argument("--layers", default="1,4,16,64")
    parser.add_argument("--no-page", action="store_true", help="print only")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(in_this_process(options.one)))
        return
    counts = [int(n) for n in options.layers.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        tables = {name: table([measure(name, n, Path(folder)) for n in counts]) for name in FAMILIES}
    for name, lines in tables.items():
        print(f"{name}\n{lines}")
    if not options.no_page:
        PAGE.write_text(page(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
