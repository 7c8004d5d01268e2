"""The range of a quantised tensor: by the spread of its values, or such that their distribution changes least.

A threshold t means 8 bits for [-t, t): steps of t / 128. A smaller one rounds more finely and clips more.
"""

from __future__ import annotations

import math

import numpy as np

from baton._src.values.tensor import AnyArray

BINS = 2048
LEVELS = 128
"""Magnitudes that eight bits with a sign can distinguish."""
STEP = 4
"""Bins between candidates."""
MOST_CUT = 0.01
"""Largest fraction of values that may lie beyond a threshold."""


def largest(values: AnyArray) -> float:
    """The largest magnitude; 1 for zeros."""
    found = float(np.abs(values).max(initial=0.0))
    return found if found > 0 else 1.0


def power_of_two(values: AnyArray) -> float:
    """The smallest power of two that no magnitude exceeds; 1 for zeros."""
    return float(2.0 ** math.ceil(math.log2(largest(values))))


def percentile(values: AnyArray, share: float = 0.99999) -> float:
    """The magnitude that this fraction of the values does not exceed."""
    magnitudes = np.abs(values).reshape(-1)
    if not magnitudes.size:
        return largest(values)
    at = min(int(magnitudes.size * share), magnitudes.size - 1)
    found = float(np.partition(magnitudes, at)[at])
    return found if found > 0 else largest(values)


def least_divergence(values: AnyArray) -> float:
    """The threshold whose quantised distribution diverges least (Kullback-Leibler) from the one it was made of.

    Candidates are the bins' upper ends; values beyond a candidate count in the last bin. Zeros are ignored: every
    threshold represents them exactly, and after a relu they would dominate. No candidate clips more than `MOST_CUT`:
    with few distinct values (grey levels), one of them alone would be a perfect fit. Source: Migacz, 8-bit inference
    with TensorRT.
    """
    top, magnitudes = largest(values), np.abs(values[values != 0])
    counts = np.histogram(magnitudes, bins=BINS, range=(0.0, top))[0].astype(np.float64)
    beyond = counts.sum() - np.cumsum(counts)
    best, least = BINS, math.inf
    if not magnitudes.size:
        return top
    fits = int(np.argmax(beyond <= MOST_CUT * counts.sum())) + 1
    for end in range(BINS, max(LEVELS, fits) - 1, -STEP):
        divergence = _divergence(counts[:end], float(beyond[end - 1]))
        if divergence < least:
            best, least = end, divergence
    return top * best / BINS


def _divergence(inside: AnyArray, beyond: float) -> float:
    """The divergence between the distribution clipped at the last bin and the same one with as many levels as bytes
    have.
    """
    whole = inside.copy()
    whole[-1] += beyond
    starts = np.arange(LEVELS) * len(inside) // LEVELS
    occupied = inside > 0
    sums, places = np.add.reduceat(inside, starts), np.add.reduceat(occupied.astype(np.int64), starts)
    levels = np.repeat(sums / np.maximum(places, 1), np.diff(np.append(starts, len(inside))))
    coarse = np.where(occupied, levels, 0.0)
    p, q = _smoothed(whole), _smoothed(coarse)
    return float(np.sum(p * np.log(p / q)))


def _smoothed(counts: AnyArray) -> AnyArray:
    """A distribution without zeros."""
    shares = counts / max(float(counts.sum()), 1.0) + 1e-7
    return np.asarray(shares / shares.sum())
