"""Result and option types of `Analyzer`, under TVM's names: bounds, remainders, kinds of proofs and rewrites."""

from __future__ import annotations

from enum import Flag, IntEnum

from baton._src.support.dataclass import dataclass

POS_INF = (1 << 63) - 1
NEG_INF = -POS_INF


@dataclass(frozen=True, slots=True)
class ConstIntBound:
    """Both ends inclusive; `POS_INF` and `NEG_INF` where there is none."""

    min_value: int
    max_value: int

    POS_INF = POS_INF
    NEG_INF = NEG_INF

    def __repr__(self) -> str:
        """TVM's text."""
        names = {POS_INF: "pos_inf", NEG_INF: "neg_inf"}
        low, high = (names.get(end, str(end)) for end in (self.min_value, self.max_value))
        return f"ConstIntBound[{low},{high}]"


@dataclass(frozen=True, slots=True)
class ModularSet:
    """The integers base + coeff * k; (1, 0) says nothing, coeff 0 is the constant base."""

    coeff: int
    base: int


class ProofStrength(IntEnum):
    """The effort of a proof, in TVM."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(Flag):
    """TVM's optional rewrites of conditions."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8
