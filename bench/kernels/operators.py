"""`python -m bench.kernels.operators [NAME ...]`: single ONNX operators against onnxruntime, one thread, taking turns.

These are operators other than products and convolutions, which `bench.kernels` measures against the CPU. An operator
that is many times slower than the peer's has usually missed a schedule: elements are loaded one by one, or all of them
are sorted.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import baton

ROUNDS, OPSET = 24, 21
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """A call of an operator: arrays that a run is given, constants behind them, and attributes."""

    op: str
    given: tuple[np.ndarray, ...]
    constants: tuple[Any, ...] = ()
    outputs: int = 1
    attrs: dict[str, Any] = field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        names = [f"x{n}" for n in range(len(self.given))]
        known = [numpy_helper.from_array(np.asarray(c), f"c{n}") for n, c in enumerate(self.constants)]
        results = [f"y{n}" for n in range(self.outputs)]
        node = helper.make_node(self.op, [*names, *(c.name for c in known)], results, **self.attrs)
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in zip(names, self.given)
        ]
        graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(r) for r in results], known)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def below(limit: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, limit, shape)


def case(op: str, *given: np.ndarray, known: tuple[Any, ...] = (), outputs: int = 1, **attrs: Any) -> Case:
    return Case(op, given, known, outputs, attrs)


def _boxes(count: int) -> np.ndarray:
    corners = RNG.uniform(0, 500, (1, count, 2))
    return np.concatenate([corners, corners + RNG.uniform(5, 100, corners.shape)], 2).astype("float32")


def _border(mode: str) -> Case:
    return case("Pad", floats(1, 32, 224, 224), known=(np.array([0, 0, 4, 4] * 2),), mode=mode)


def _resized(mode: str, factor: float, *shape: int) -> Case:
    scales = np.array([1, 1, factor, factor], "float32")
    return case("Resize", floats(*shape), known=(np.zeros(0, "float32"), scales), mode=mode)


CASES: dict[str, Callable[[], Case]] = {
    "border, mirrored": lambda: _border("reflect"),
    "border, repeated": lambda: _border("edge"),
    "border, constant": lambda: _border("constant"),
    "tile": lambda: case("Tile", floats(64, 256), known=(np.array([4, 8]),)),
    "concat": lambda: case("Concat", floats(64, 100), floats(64, 300), floats(64, 28), axis=1),
    "slice backwards": lambda: case("Slice", floats(512, 1000), known=([-1], [-100000], [1], [-1])),
    "transpose, last two": lambda: case("Transpose", floats(8, 256, 256), perm=[0, 2, 1]),
    "transpose, heads": lambda: case("Transpose", floats(8, 128, 12, 64), perm=[0, 2, 1, 3]),
    "transpose, channels first": lambda: case("Transpose", floats(1, 224, 224, 3), perm=[0, 3, 1, 2]),
    "transpose, channels last": lambda: case("Transpose", floats(1, 3, 224, 224), perm=[0, 2, 3, 1]),
    "depth to space": lambda: case("DepthToSpace", floats(1, 64, 56, 56), blocksize=2),
    "gather rows": lambda: case("Gather", floats(30000, 256), below(30000, 512)),
    "gather columns": lambda: case("Gather", floats(256, 3000), below(3000, 512), axis=1),
    "scatter, adding": lambda: case(
        "ScatterElements", floats(5000, 64), below(5000, 2000, 64), floats(2000, 64), axis=0, reduction="add"
    ),
    "cumulative sum": lambda: case("CumSum", floats(64, 4096), known=(np.array(1),)),
    "cumulative sum, rows": lambda: case("CumSum", floats(4096, 64), known=(np.array(0),)),
    "sort": lambda: case("TopK", floats(16, 1000), known=([1000],), outputs=2),
    "top 100": lambda: case("TopK", floats(1, 8400), known=([100],), outputs=2),
    "argmax": lambda: case("ArgMax", floats(8400, 80), axis=1),
    "argmax over channels": lambda: case("ArgMax", floats(1, 21, 256, 256), axis=1),
    "sum of rows": lambda: case("ReduceSum", floats(1000, 512), known=([1],), keepdims=0),
    "sum of columns": lambda: case("ReduceSum", floats(1000, 512), known=([0],), keepdims=0),
    "softmax": lambda: case("Softmax", floats(512, 1000)),
    "softmax over channels": lambda: case("Softmax", floats(1, 21, 128, 128), axis=1),
    "layer norm": lambda: case("LayerNormalization", floats(128, 768), floats(768), floats(768)),
    "group norm": lambda: case("GroupNormalization", floats(1, 64, 56, 56), floats(64), floats(64), num_groups=8),
    "gelu": lambda: case("Gelu", floats(512, 512)),
    "power": lambda: case("Pow", np.abs(floats(512, 512)), floats(512, 512)),
    "integer division": lambda: case("Div", below(1000, 512, 512), below(9, 512, 512) + 1),
    "cast to int8": lambda: case("Cast", floats(512, 1000), to=onnx.TensorProto.INT8),
    "quantize": lambda: case("QuantizeLinear", floats(512, 1000), known=(np.float32(0.02), np.uint8(128))),
    "max pool 3x3/2": lambda: case(
        "MaxPool", floats(1, 64, 112, 112), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    ),
    "max pool 5x5": lambda: case("MaxPool", floats(1, 128, 20, 20), kernel_shape=[5, 5], pads=[2] * 4),
    "max pool with places": lambda: case(
        "MaxPool", floats(1, 32, 56, 56), outputs=2, kernel_shape=[2, 2], strides=[2, 2]
    ),
    "resize 2, nearest": lambda: _resized("nearest", 2, 1, 32, 56, 56),
    "resize 2, linear": lambda: _resized("linear", 2, 1, 32, 56, 56),
    "resize 2, cubic": lambda: _resized("cubic", 2, 1, 3, 112, 112),
    "resize 0.35, linear": lambda: _resized("linear", 0.35, 1, 3, 480, 640),
    "grid sample": lambda: case("GridSample", floats(1, 16, 64, 64), np.clip(floats(1, 64, 64, 2), -1, 1)),
    "roi align": lambda: case(
        "RoiAlign", floats(1, 64, 50, 50), _boxes(100)[0] / 12, np.zeros(100, "int64"), output_height=7, output_width=7
    ),
    "suppression": lambda: case(
        "NonMaxSuppression",
        _boxes(2000),
        RNG.random((1, 4, 2000), "float32"),
        known=([50], np.array([0.5], "float32"), np.array([0.3], "float32")),
    ),
    "non-zero": lambda: case("NonZero", floats(512, 100) > 1),
    "compress": lambda: case("Compress", floats(1000, 64), floats(1000) > 0, axis=0),
}


def measured(call: Case) -> tuple[float, float]:
    """Medians, in seconds, of baton and of onnxruntime."""
    model = call.model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # shape inference rounds some sizes in another way
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compiled = baton.compile(model, num_threads=1)
    feed = {f"x{n}": x for n, x in enumerate(call.given)}
    runs: tuple[Callable[[], Any], ...] = (lambda: compiled.run(feed), lambda: session.run(None, feed))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, found in zip(runs, seconds):
            run()
            begin = time.perf_counter()
            run()
            found.append(time.perf_counter() - begin)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main(names: list[str]) -> None:
    """Print a line for each operator: both times in microseconds, and the peer's over ours."""
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise SystemExit(f"not a case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    print(f"{'operator':28}{'baton':>10}{'onnxruntime':>13}{'ratio':>8}")
    for name in names or CASES:
        ours, peers = measured(CASES[name]())
        print(f"{name:28}{ours * 1e6:10.1f}{peers * 1e6:13.1f}{peers / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
