"""Random pairs of StructInfos: the relations against a naive reading of the rules' tables."""

from __future__ import annotations

import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.compatibility import check_compatibility, is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.lub import struct_info_lca
from baton._src.relax.struct_info import StructInfo, default_derive
from baton._src.tir.arith.analyzer import Analyzer
from tests.at_length import SEED, at_length
from tests.relax.build import Fn, Ob, Sh, k, n
from tests.relax.check.naive_relations import YES, compatible, join, subtype
from tests.relax.check.random_infos import RandomInfos

PURE, IMPURE = (Fn(None, Ob, purity, default_derive) for purity in (True, False))


def compare(seed: int, pairs: int) -> None:
    """Draw pairs; each answer must be the tables' answer, and the join must obey its laws."""
    draw = RandomInfos(seed)
    for _ in range(pairs):
        a = draw.info()
        _compare(a, draw.near(a) if draw.often(0.75) else draw.info())


def _compare(a: StructInfo, b: StructInfo) -> None:
    prover = Analyzer()
    for x, y in ((a, b), (b, a)):
        assert is_subtype(x, y, prover) == subtype(x, y), (x, y)
        assert check_compatibility(x, y, prover) == compatible(x, y), (x, y)
        if is_subtype(x, y, prover) is Answer.YES:
            assert check_compatibility(x, y, prover) is Answer.YES, (x, y)
        if struct_info_base_check(y, x, prover) is BaseCheckResult.FAIL_L0:
            assert is_subtype(x, y, prover) is Answer.NO, (x, y)
    joined, other = struct_info_lca(a, b, prover), struct_info_lca(b, a, prover)
    for found in (joined, other):
        expected = join(a, b)
        assert subtype(found, expected) == subtype(expected, found) == YES, (a, b, found)
        assert is_subtype(a, found, prover) is is_subtype(b, found, prover) is Answer.YES, (a, b, found)
    if is_subtype(a, b, prover) is Answer.YES:
        assert is_subtype(joined, b, prover) is Answer.YES, (a, b, joined)


@pytest.mark.rule("RELAX-SUB-08")
@pytest.mark.rule("RELAX-COMPAT-08")
@pytest.mark.rule("RELAX-LUB-07")
@pytest.mark.rule("RELAX-LUB-08")
def test_relations_are_those_of_the_tables() -> None:
    """Tuples, functions in functions, unknown parts, sizes equal by arithmetic, devices."""
    compare(0, 1500)


@pytest.mark.fuzz
def test_many_relations_are_those_of_the_tables() -> None:
    """The same over other pairs in each run."""
    compare(SEED, at_length(100_000))


@pytest.mark.rule("RELAX-SUB-09")
@pytest.mark.rule("RELAX-SUB-09", rejects=True)
def test_packed_functions_with_effects_do_not_stand_for_pure_ones() -> None:
    """What takes a pure packed function may call it in a dataflow block, where calls are dropped."""
    prover = Analyzer()
    assert is_subtype(PURE, IMPURE, prover) is Answer.YES
    assert is_subtype(IMPURE, PURE, prover) is Answer.NO
    assert check_compatibility(IMPURE, PURE, prover) is Answer.NO
    for a, b in ((PURE, IMPURE), (IMPURE, PURE)):
        assert struct_info_lca(a, b, prover) is IMPURE


@pytest.mark.rule("RELAX-LUB-08")
def test_a_polymorphic_side_of_a_join_is_specialised_whichever_comes_first() -> None:
    """A function over all n joins with one over size 1 as the latter: it was an object in the other order."""
    general, special = Fn([Sh([n])], Ob, False), Fn([Sh([1])], Sh([1]))
    for a, b in ((general, special), (special, general)):
        joined = struct_info_lca(a, b, Analyzer())
        assert subtype(joined, Fn([Sh([1])], Ob, False)) == subtype(Fn([Sh([1])], Ob, False), joined) == YES


@pytest.mark.rule("RELAX-LUB-08")
def test_a_variable_of_the_scope_is_not_bound_by_a_parameter() -> None:
    """`n` in one result is of the scope around, so it is in the other's parameter: that takes one size only."""
    any_size, one_size = Fn([Sh([k])], Sh([n]), False), Fn([Sh([n])], Sh([n]))
    for a, b in ((any_size, one_size), (one_size, any_size)):
        assert_structural_equal(struct_info_lca(a, b, Analyzer()), Fn([Sh([n])], Sh([n]), False))
