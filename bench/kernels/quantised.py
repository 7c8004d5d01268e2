"""`python -m bench.kernels.quantised`: quantised operators and networks of ONNX against onnxruntime, taking turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import baton
from bench.models.quantised import build_resnet, build_separable
from bench.models.zoo import example_inputs

ROUNDS = 25
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Quantised:
    """A model and its input."""

    name: str
    model: onnx.ModelProto
    feed: dict[str, np.ndarray]


def _bytes(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def _one(
    op: str, x: np.ndarray, inputs: list[str], known: dict[str, Any], out: tuple[Any, ...], **attrs: Any
) -> Quantised:
    known = {name: np.asarray(value) for name, value in known.items()}
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], **attrs)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", *out)],
        [numpy_helper.from_array(value, name) for name, value in known.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    weight = "x".join(str(s) for s in known["w"].shape)
    return Quantised(f"{op} {'x'.join(str(s) for s in x.shape)} by {weight}", model, {"x": x})


def convolution(ic: int, size: int, oc: int, window: int, stride: int = 1, group: int = 1) -> Quantised:
    """Zero points of the data, a scale for each output channel, a bias."""
    pad, zero = window // 2, np.uint8(9)
    out = (size + 2 * pad - window) // stride + 1
    known = {
        "w": _bytes((oc, ic // group, window, window), "int8"), "sw": RNG.uniform(0.01, 0.02, oc).astype("float32"),
        "zw": np.zeros(oc, "int8"), "sx": np.float32(0.1), "zx": zero, "sy": np.float32(20), "zy": np.uint8(100),
        "b": RNG.integers(-999, 999, oc).astype("int32"),
    }  # fmt: skip
    inputs = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"]
    options = {"pads": [pad] * 4, "strides": [stride] * 2, "group": group}
    result = (TensorProto.UINT8, (1, oc, out, out))
    return _one("QLinearConv", _bytes((1, ic, size, size), "uint8"), inputs, known, result, **options)


def product(m: int, n: int, k: int) -> Quantised:
    """int32 sums."""
    known = {"w": _bytes((k, n), "int8"), "zx": np.uint8(7)}
    return _one("MatMulInteger", _bytes((m, k), "uint8"), ["x", "w", "zx"], known, (TensorProto.INT32, (m, n)))


def cases() -> Iterator[Quantised]:
    """Those of ResNet-50, of MobileNetV2 (depthwise) and of BERT-base."""
    yield from (convolution(64, 56, 64, 3), convolution(128, 28, 128, 3), convolution(256, 14, 256, 3))
    yield from (convolution(512, 7, 512, 3), convolution(64, 56, 256, 1), convolution(1024, 14, 256, 1))
    yield from (convolution(128, 56, 128, 3, 2), convolution(3, 224, 64, 7, 2), convolution(144, 56, 144, 3, 1, 144))
    yield from (product(128, 768, 768), product(128, 3072, 768), product(1, 768, 768))


def networks() -> Iterator[Quantised]:
    """Whole ones, in both forms."""
    for name, build in (("ResNet-50", build_resnet), ("MobileNet", build_separable)):
        for form in ("qlinear", "qdq"):
            model = build(form=form)
            yield Quantised(f"{name} of bytes, {form}", model, example_inputs(model))


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _row(case: Quantised, threads: int) -> str:
    """Medians of turns, their ratio, and that of the minima, which others on the machine disturb less."""
    make: Any = onnxruntime.InferenceSession
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    ours = baton.compile(case.model, target=f"llvm -num-cores={threads}")
    session = make(case.model.SerializeToString(), options, ["CPUExecutionProvider"])
    runs: Any = (lambda: ours.run(case.feed, num_threads=threads), lambda: session.run(None, case.feed))
    (found,), (expected,) = runs[0](), runs[1]()
    near = 1 if expected.dtype.kind in "iu" else 0.02 * np.abs(expected).max()  # ties of roundings
    assert np.abs(np.asarray(found).astype("float64") - expected).max() <= near
    columns = list(zip(*([_seconds(run) for run in runs] for _ in range(ROUNDS)), strict=True))
    mine, theirs = (statistics.median(column) * 1e6 for column in columns)
    least = min(columns[1]) / min(columns[0])
    return f"{case.name:50}{threads:8}{mine:10.0f}{theirs:16.0f}{theirs / mine:7.2f}{least:10.2f}"


def main() -> None:
    """Print the table."""
    print(f"{'operator':50}{'threads':>8}{'baton µs':>10}{'onnxruntime µs':>16}{'ratio':>7}{'of least':>10}")
    for case in cases():
        print(_row(case, 1))
    for case in networks():
        for threads in (1, 2):
            print(_row(case, threads), flush=True)


if __name__ == "__main__":
    main()
