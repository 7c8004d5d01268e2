"""PyTorch, in eager mode and with torch.compile, on the module translated from an ONNX model."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tools.benchmark.prepared import Feed, Prepared, library
from baton._src.values.tensor import AnyArray


def torch_eager(path: Path, feed: Feed, threads: int) -> Prepared:
    return _prepared("torch", path, feed, threads, lambda module: module)


def torch_compile(path: Path, feed: Feed, threads: int) -> Prepared:
    """Sizes that the model leaves open are symbols of the compiled code, which serves them all; PyTorch makes those of
    one row or column constants. Some graphs that inductor's patterns (fused attention) break compile without them."""
    torch = library("torch")

    def compiled(**options: bool) -> Prepared:
        return _prepared("torch.compile", path, feed, threads, lambda m: torch.compile(m, options=options))

    try:
        return compiled()
    except DiagnosticError:
        return compiled(pattern_matcher=False)


def _prepared(name: str, path: Path, feed: Feed, threads: int, finish: Callable[[Any], Any]) -> Prepared:
    """PyTorch's number of threads is the process's, so every run sets it."""
    torch, onnx = library("torch"), library("onnx")
    graphs, known = (importlib.import_module(f"{__package__}.torch_graph.{part}") for part in ("module", "known"))
    start = time.perf_counter()
    model = onnx.load(path)
    module, names = finish(graphs.torch_module(model)), graphs.model_inputs(model)
    given = [known.to_torch(feed[name]) for name in names]
    for tensor, axes in zip(given, graphs.open_axes(model), strict=True):
        torch._dynamo.maybe_mark_dynamic(tensor, axes)

    def run() -> list[AnyArray]:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        with torch.inference_mode():
            return [known.to_numpy(output) for output in module(*given)]

    try:
        run()
    except RuntimeError as error:  # torch.compile needs a C++ compiler, and does not take every model
        why = " ".join(str(error).split()[:30])
        raise fail("bench-peer", f"{name} cannot run the model: {why}") from error
    return Prepared(name, torch.__version__, time.perf_counter() - start, run)


def warm_up_compiler() -> None:
    """Compile a small function: PyTorch imports its compiler and has the C++ compiler prepare its headers then."""
    torch = library("torch")
    torch.compile(lambda x: x + 1)(torch.zeros(8))
