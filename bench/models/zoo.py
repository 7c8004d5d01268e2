"""The table of models: what builds each, which sizes its symbolic dimensions get, and a small version for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from bench.models import bert, decoder, lstm, mobilenet, resnet, small


@dataclass(frozen=True, slots=True)
class Entry:
    """A model by name.

    `options` go to the builder; `small` are further options for a version that builds and runs in a moment.
    `dims` are sizes for the dimensions that stay symbolic; `rows` are the sizes that benchmarks run the one executable
    at, by name, where they want more than one.
    """

    build: Callable[..., onnx.ModelProto]
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def sizes(self) -> Mapping[str, Mapping[str, int]]:
        """What benchmarks measure: sizes of the symbolic dimensions, by what a row of the table adds to the name."""
        return self.rows or {"": self.dims}

    def model(self, **options: Any) -> onnx.ModelProto:
        """The model in full size, but for the options given here."""
        return self.build(**{**self.options, **options})

    def small_model(self, **options: Any) -> onnx.ModelProto:
        """The model in a size for tests."""
        return self.model(**{**self.small, **options})


SMALL_BERT = {"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100, "positions": 64}
SMALL_DECODER = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "intermediate": 96, "vocabulary": 100}
SMALL_LSTM = {"steps": 7, "size": 16, "hidden": 16}

ZOO: Mapping[str, Entry] = {
    "resnet50": Entry(
        resnet.build, "ResNet-50, 224×224", small={"image": 64, "width": 8, "blocks": (1, 2, 1, 1), "classes": 10}
    ),
    "mobilenetv2": Entry(mobilenet.build, "MobileNetV2, 224×224", small={"image": 64, "depth": 3, "classes": 10}),
    "bert_base": Entry(bert.build, "BERT-base, batch 1, 128 tokens", small={**SMALL_BERT, "sequence": 24}),
    "bert_base_symbolic": Entry(
        bert.build_symbolic,
        "BERT-base, any batch and length",
        small=SMALL_BERT,
        dims={"batch": 2, "sequence": 48},
        rows={
            "1x32": {"batch": 1, "sequence": 32},
            "1x128": {"batch": 1, "sequence": 128},
            "8x64": {"batch": 8, "sequence": 64},
        },
    ),
    "decoder_step": Entry(
        decoder.build,
        "125M decoder, one token after any number",
        small=SMALL_DECODER,
        dims={"past": 64},
        rows={"512": {"past": 512}},
    ),
    "decoder_prefill": Entry(
        decoder.build_prefill,
        "125M decoder, a prompt of any length",
        small=SMALL_DECODER,
        dims={"sequence": 64},
        rows={"128": {"sequence": 128}},
    ),
    "lstm": Entry(lstm.build_operator, "LSTM operator, 100 steps of 256", small=SMALL_LSTM),
    "lstm_loop": Entry(lstm.build_loop, "the same LSTM as a Loop", small=SMALL_LSTM),
    "mlp": Entry(small.build_mlp, "784-512-512-10, batch 1", small={"sizes": (24, 16, 10)}),
    "mlp_64": Entry(small.build_mlp, "784-512-512-10, batch 64", {"batch": 64}, {"sizes": (24, 16, 10), "batch": 5}),
    "mlp_symbolic": Entry(
        small.build_mlp, "784-512-512-10, any batch", {"batch": "n"}, {"sizes": (24, 16, 10)}, {"n": 32}
    ),
    "conv": Entry(small.build_conv, "3×3 convolution, batch norm, ReLU", small={"image": 32}),
    "elementwise10": Entry(small.build_elementwise, "ten elementwise operators on (1, 16)"),
    "chain1000": Entry(small.build_chain, "a chain of 1000 elementwise operators", small={"length": 40}),
}


def example_inputs(
    model: onnx.ModelProto, dims: Mapping[str, int] | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """Random inputs by name: normal floats, and integers within the range the model's metadata tells.

    A symbolic dimension takes its size from `dims`, or 1. A mask begins with a one in every row, since
    attention to nothing means nothing.
    """
    rng = np.random.default_rng(seed)
    spans = {p.key.removeprefix("range."): p.value for p in model.metadata_props if p.key.startswith("range.")}
    inputs: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [
            dim.dim_value if dim.HasField("dim_value") else (dims or {}).get(dim.dim_param, 1) for dim in kind.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if value.name in spans:
            low, high = map(int, spans[value.name].split(","))
            inputs[value.name] = rng.integers(low, high, shape).astype(dtype)
        else:
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
    if "attention_mask" in inputs:
        inputs["attention_mask"][..., 0] = 1
    return inputs
