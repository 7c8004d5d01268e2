"""Rotary position embeddings of run-time positions, for caches in pages.

Of every pair of elements (x, y) of a head at position p, with the frequency f of the pair:
x' = x cos(p f) - y sin(p f), y' = y cos(p f) + x sin(p f). Pairs are (i, i + dim / 2), with `gptj` (2 i, 2 i + 1).
Elements from `dim` on stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rotary:
    """`scaling` as models' configurations have it: `rope_type` and what that needs; `factors` divide frequencies."""

    dim: int
    theta: float
    scale: float
    scaling: Mapping[str, Any]
    factors: Array | None = None

    @property
    def kind(self) -> str:
        return str(self.scaling.get("rope_type", "default"))

    def frequencies(self) -> tuple[Array, float]:
        """The frequency of each pair, and by how much cosine and sine are multiplied. Error `value-mismatch`: the kind
        of scaling is unknown."""
        plain = self.theta ** -(np.arange(0, self.dim, 2) / self.dim)
        match self.kind:
            case "default" | "gptj":
                return plain, 1.0
            case "llama3":
                return self._llama3(plain), 1.0
            case "longrope":
                factors = 1.0 if self.factors is None else self.factors
                return plain / factors, self._long()
            case other:
                known = "gptj, llama3, longrope"
                raise fail("value-mismatch", f"there is no rotary embedding {other!r}", help=f"one of {known}")

    def _llama3(self, plain: Array) -> Array:
        """Low frequencies are divided by `factor`, high ones stay, those between are mixed."""
        low, high = (float(self.scaling[f"{end}_freq_factor"]) for end in ("low", "high"))
        rotations = float(self.scaling["original_max_position_embeddings"]) * plain / (2 * math.pi)
        kept = np.clip((rotations - low) / (high - low), 0, 1)
        return (1 - kept) * plain / float(self.scaling["factor"]) + kept * plain

    def _long(self) -> float:
        original = float(self.scaling["original_max_position_embeddings"])
        ratio = float(self.scaling["max_position_embeddings"]) / original
        return math.sqrt(1 + math.log(ratio) / math.log(original)) if ratio > 1 else 1.0

    def waves(self, positions: Array) -> tuple[Array, Array]:
        """Cosine and sine of each pair at each position: float32 (positions, pairs)."""
        frequencies, factor = self.frequencies()
        angles = (positions * self.scale)[:, None] * frequencies
        return (np.cos(angles) * factor).astype("float32"), (np.sin(angles) * factor).astype("float32")

    def rotated(self, x: Array, cos: Array, sin: Array) -> Array:
        """`x` (positions, heads, size) with every head rotated as the waves of its position say."""
        out, c, s = x.copy(), cos[:, None], sin[:, None]
        half = self.dim // 2
        first, second = (
            (slice(0, self.dim, 2), slice(1, self.dim, 2))
            if self.kind == "gptj"
            else (slice(0, half), slice(half, self.dim))
        )
        out[..., first] = x[..., first] * c - x[..., second] * s
        out[..., second] = x[..., second] * c + x[..., first] * s
        return out
