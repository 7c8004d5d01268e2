"""Inputs that several families of cases share, from seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Case = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of tensors, and the tensors."""


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """float32 from a seed, no two runs different."""
    draws = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    return torch.from_numpy(draws.astype(np.float32))


def ints(*shape: int, low: int = -5, high: int = 6, dtype: Any = torch.int64, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng([seed, *shape]).integers(low, high, shape)).to(dtype)


def bools(*shape: int, seed: int = 0) -> Any:
    return ints(*shape, low=0, high=2, seed=seed).bool()


X, Y, POSITIVE, UNIT = floats(2, 3, 4), floats(3, 1, seed=1), floats(2, 3, low=0.1), floats(2, 3, low=-0.9, high=0.9)

N, M, B = ints(2, 3), ints(3, low=1, high=4), bools(2, 3)

DIVISOR = torch.tensor([-2.0, 0.7, 3.0, -1.5])

IMAGE = floats(2, 4, 9, 8)

GAMMA, BETA, MEAN, VARIANCE = (floats(4, low=0.2, seed=k) for k in range(4))

INF, NAN = float("inf"), float("nan")
