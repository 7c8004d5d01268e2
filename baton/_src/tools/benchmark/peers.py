"""The runtimes a model can be measured on. Each is an optional package, imported on first use."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.tensor import AnyArray

Feed = Mapping[str, AnyArray]


@dataclass(slots=True)
class Prepared:
    """A model ready to run: a call runs it once and gives its outputs. `seconds` is what loading and compiling took."""

    name: str
    version: str
    seconds: float
    run: Callable[[], list[AnyArray]]


Prepare = Callable[[Path, Feed, int], Prepared]


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise fail("bench-peer", f"{name} is not installed", help='pip install "baton[bench]"') from missing


def baton(path: Path, feed: Feed, threads: int) -> Prepared:
    start = time.perf_counter()
    model = compile_model(path, num_threads=threads)
    arrays = [feed[spec.name] for spec in model.inputs]
    model(*arrays)
    return Prepared("baton", _own_version(), time.perf_counter() - start, lambda: list(model.run_arrays(arrays)))


def _own_version() -> str:
    return str(importlib.import_module("importlib.metadata").version("baton"))


def onnxruntime(path: Path, feed: Feed, threads: int) -> Prepared:
    ort = _library("onnxruntime")
    start = time.perf_counter()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = dict(feed)
    session.run(None, given)
    seconds = time.perf_counter() - start
    return Prepared("onnxruntime", ort.__version__, seconds, lambda: list(session.run(None, given)))


def openvino(path: Path, feed: Feed, threads: int) -> Prepared:
    ov = _library("openvino")
    start = time.perf_counter()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(str(path), "CPU", settings)
    request, given = compiled.create_infer_request(), dict(feed)
    request.infer(given)
    seconds = time.perf_counter() - start

    def run() -> list[AnyArray]:
        request.infer(given, share_inputs=True)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

    return Prepared("openvino", ov.__version__.split("-")[0], seconds, run)


def torch_eager(path: Path, feed: Feed, threads: int) -> Prepared:
    return _torch("torch", path, feed, threads, lambda module: module)


def torch_compile(path: Path, feed: Feed, threads: int) -> Prepared:
    """Some graphs that inductor's patterns (fused attention) break compile without them."""
    torch = _library("torch")

    def compiled(**options: bool) -> Prepared:
        return _torch("torch.compile", path, feed, threads, lambda m: torch.compile(m, dynamic=False, options=options))

    try:
        return compiled()
    except DiagnosticError:
        return compiled(pattern_matcher=False)


def _torch(name: str, path: Path, feed: Feed, threads: int, finish: Callable[[Any], Any]) -> Prepared:
    """PyTorch's number of threads is the process's, so every run sets it."""
    torch, graphs = _library("torch"), importlib.import_module("baton._src.tools.benchmark.torch_graph")
    onnx = _library("onnx")
    start = time.perf_counter()
    model = onnx.load(path)
    module = finish(graphs.torch_module(model))
    given = [torch.from_numpy(feed[value.name].copy()) for value in model.graph.input]

    def run() -> list[AnyArray]:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        with torch.inference_mode():
            return [output.numpy() for output in module(*given)]

    try:
        run()
    except RuntimeError as error:  # torch.compile needs a C++ compiler, and does not take every model
        why = " ".join(str(error).split()[:30])
        raise fail("bench-peer", f"{name} cannot run the model: {why}") from error
    return Prepared(name, torch.__version__, time.perf_counter() - start, run)


PEERS: dict[str, Prepare] = {
    "baton": baton,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "torch": torch_eager,
    "torch.compile": torch_compile,
}


def warm_up(name: str) -> None:
    """Import what a runtime needs, so that only models are measured."""
    for module in {"torch": ("torch", "onnx"), "torch.compile": ("torch", "onnx"), "baton": ("onnx",)}.get(
        name, (name,)
    ):
        _library(module)
