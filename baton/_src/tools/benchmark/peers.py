"""The runtimes a model can be measured on; all but our own are optional packages."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

from baton._src.driver.compile.open_model import open_model
from baton._src.tools.benchmark.prepared import Feed, Prepare, Prepared, library
from baton._src.tools.benchmark.torch_peers import torch_compile, torch_eager, warm_up_compiler
from baton._src.values.tensor import AnyArray


def baton(path: Path, feed: Feed, threads: int) -> Prepared:
    start = time.perf_counter()
    model = open_model(path, threads)
    model.run(feed)
    arrays = [feed[spec.name] for spec in model.inputs]
    return Prepared("baton", _own_version(), time.perf_counter() - start, lambda: list(model.run_arrays(arrays)))


def _own_version() -> str:
    return str(importlib.import_module("importlib.metadata").version("baton"))


def onnxruntime(path: Path, feed: Feed, threads: int) -> Prepared:
    ort = library("onnxruntime")
    start = time.perf_counter()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = dict(feed)
    session.run(None, given)
    seconds = time.perf_counter() - start
    return Prepared("onnxruntime", ort.__version__, seconds, lambda: list(session.run(None, given)))


def openvino(path: Path, feed: Feed, threads: int) -> Prepared:
    ov = library("openvino")
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


PEERS: dict[str, Prepare] = {
    "baton": baton,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "torch": torch_eager,
    "torch.compile": torch_compile,
}


NEEDED: dict[str, tuple[str, ...]] = {
    "baton": ("onnx",),
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
    "torch": ("torch", "torch._dynamo", "onnx"),
    "torch.compile": ("torch", "onnx"),
}
"""What each runtime imports to load a model."""


def warm_up(name: str) -> None:
    """Import what a runtime needs, so that only models are measured."""
    for module in NEEDED[name]:
        library(module)
    if name == "torch.compile":
        warm_up_compiler()
