"""Known facts: ranges of variables, remainders, definitions, conditions that hold. Facts are copied, never shared.

The canonical form of an expression depends on them; `Context` bundles them with the atoms and the caches.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.atoms import AtomTable
from baton._src.tir.arith.polynomial import Poly

Interval = tuple[float, float]
"""Least and greatest value; integers, or infinities."""

EVERYTHING: Interval = (-math.inf, math.inf)


@dataclass(slots=True)
class Facts:
    """The facts about atoms, by number."""

    bounds: dict[int, Interval] = field(default_factory=dict)
    lower: dict[int, tuple[Poly, ...]] = field(default_factory=dict)
    """Polynomials that are not above the atom."""
    upper: dict[int, tuple[Poly, ...]] = field(default_factory=dict)
    modular: dict[int, tuple[int, int]] = field(default_factory=dict)
    """(c, b): the atom is b modulo c."""
    definitions: dict[int, Poly] = field(default_factory=dict)
    constraints: tuple[Poly, ...] = ()
    """Polynomials known to be >= 0."""
    conditions: dict[int, bool] = field(default_factory=dict)
    """Conditions (atoms) known to hold or not to."""

    def copy(self) -> Facts:
        """An independent copy."""
        return Facts(
            dict(self.bounds),
            dict(self.lower),
            dict(self.upper),
            dict(self.modular),
            dict(self.definitions),
            self.constraints,
            dict(self.conditions),
        )

    def narrow(self, index: int, low: float, high: float) -> None:
        """Note that the atom lies in [low, high]."""
        old_low, old_high = self.bounds.get(index, EVERYTHING)
        self.bounds[index] = (max(old_low, low), min(old_high, high))


class Context:
    """Atoms, facts and the conclusions from them so far."""

    def __init__(self) -> None:
        self.atoms = AtomTable()
        self.facts = Facts()
        self.memo: dict[Any, Poly] = {}
        """Canonical forms of expressions, under the present facts."""
        self.bound_memo: dict[int, Interval] = {}
        self.fuel = 0
        """The remaining effort for one proof."""

    def forget(self) -> None:
        """Drop conclusions, because the facts have changed."""
        self.memo.clear()
        self.bound_memo.clear()
