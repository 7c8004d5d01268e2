"""What both encoders are made from: sizes and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Weights = Mapping[str, np.ndarray]
"""All tensors by the names they have in the model's file, such as `encoder.layer.0.output.dense.weight`."""


@dataclass(frozen=True, slots=True)
class Config:
    """The sizes of the encoder."""

    layers: int
    hidden: int
    heads: int
    epsilon: float

    @property
    def head(self) -> int:
        return self.hidden // self.heads
