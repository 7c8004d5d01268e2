"""Gradient boosting: a sum of small regression trees, each fitted to the residuals of those before it.

model = BoostedTrees.fitted(features, values)       features: (samples, columns), values: (samples,)
model.predicted(features)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray as Array

from baton._src.support.dataclass import dataclass

Floats = Array[np.float64]
ROUNDS, RATE, DEPTH = 40, 0.3, 3
"""The number of trees, the learning rate, and the depth of a tree."""
FEWEST = 2
"""Samples that a leaf has at least."""


@dataclass(frozen=True)
class Tree:
    """A leaf with a `value`; or a question: whether `column` is at most `bound`."""

    value: float
    column: int = -1
    bound: float = 0.0
    low: Tree | None = None
    high: Tree | None = None

    def predicted(self, features: Floats) -> Floats:
        """The value of the leaf of each sample."""
        if self.low is None or self.high is None:
            return np.full(len(features), self.value)
        is_low = features[:, self.column] <= self.bound
        return np.where(is_low, self.low.predicted(features), self.high.predicted(features))


def fitted_tree(features: Floats, values: Floats, depth: int = DEPTH) -> Tree:
    """The tree whose questions, one by one, leave the smallest sum of squares."""
    mean = float(values.mean())
    found = _best_question(features, values) if depth and len(values) >= 2 * FEWEST else None
    if found is None:
        return Tree(mean)
    column, bound = found
    is_low = features[:, column] <= bound
    low, high = (fitted_tree(features[half], values[half], depth - 1) for half in (is_low, ~is_low))
    return Tree(mean, column, bound, low, high)


def _best_question(features: Floats, values: Floats) -> tuple[int, float] | None:
    """The column and bound that part the samples best; None if nothing parts them."""
    order = np.argsort(features, axis=0, kind="stable")
    ordered = np.take_along_axis(features, order, axis=0)
    sums = np.cumsum(values[order], axis=0)
    count = np.arange(1, len(values))[:, None]
    # The larger the squares of both halves' sums over their sizes, the smaller what is left over.
    gain = sums[:-1] ** 2 / count + (sums[-1] - sums[:-1]) ** 2 / (len(values) - count)
    parts = (ordered[:-1] < ordered[1:]) & (count >= FEWEST) & (len(values) - count >= FEWEST)
    gain = np.where(parts, gain, -np.inf)
    row, column = np.unravel_index(int(gain.argmax()), gain.shape)
    if not gain[row, column] > values.sum() ** 2 / len(values) + 1e-12:
        return None
    return int(column), float(ordered[row, column] + ordered[row + 1, column]) / 2


@dataclass(frozen=True)
class BoostedTrees:
    """See the module."""

    base: float
    trees: list[Tree]

    @staticmethod
    def fitted(features: Floats, values: Floats) -> BoostedTrees:
        """The model of samples, of which there is at least one."""
        base = float(values.mean())
        rest = values - base
        trees = []
        for _ in range(ROUNDS if features.shape[1] else 0):
            tree = fitted_tree(features, rest)
            trees.append(tree)
            rest = rest - RATE * tree.predicted(features)
        return BoostedTrees(base, trees)

    def predicted(self, features: Floats) -> Floats:
        """A value for each sample."""
        return self.base + sum((RATE * tree.predicted(features) for tree in self.trees), np.zeros(len(features)))
