"""The encoder of all-MiniLM-L6-v2 in plain NumPy: short, slow, and what the compiled one is checked against."""

from __future__ import annotations

import math

import numpy as np

from examples.embed.config import Config, Weights

_erf = np.frompyfunc(math.erf, 1, 1)


def gelu(x: np.ndarray) -> np.ndarray:
    """x · Φ(x), by the error function."""
    return x * 0.5 * (1.0 + _erf(x / math.sqrt(2.0)).astype(x.dtype))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class NumpyEncoder:
    """Calls with ids and mask, int64 (batch, sequence); returns float32 embeddings (batch, hidden) of length one."""

    def __init__(self, config: Config, weights: Weights) -> None:
        self.config = config
        self.weights = weights

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self.config.epsilon)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def embed_tokens(self, ids: np.ndarray) -> np.ndarray:
        words, positions, types = (
            self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        return self.norm("embeddings.LayerNorm", words[ids] + positions[: ids.shape[1]] + types[0])

    def attention(self, layer: str, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
        batch, sequence, hidden = x.shape

        def split(name: str) -> np.ndarray:
            y = self.dense(f"{layer}.attention.self.{name}", x)
            return y.reshape(batch, sequence, self.config.heads, self.config.head).transpose(0, 2, 1, 3)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(self.config.head) + bias
        gathered = (softmax(scores) @ value).transpose(0, 2, 1, 3).reshape(batch, sequence, hidden)
        return self.dense(f"{layer}.attention.output.dense", gathered)

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        present = mask.astype(np.float32)
        bias = (1.0 - present[:, None, None, :]) * np.float32(-1e9)
        x = self.embed_tokens(ids)
        for number in range(self.config.layers):
            layer = f"encoder.layer.{number}"
            x = self.norm(f"{layer}.attention.output.LayerNorm", x + self.attention(layer, x, bias))
            inner = gelu(self.dense(f"{layer}.intermediate.dense", x))
            x = self.norm(f"{layer}.output.LayerNorm", x + self.dense(f"{layer}.output.dense", inner))
        total = (x * present[:, :, None]).sum(axis=1)
        mean = total / present.sum(axis=1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)
