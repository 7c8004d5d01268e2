"""Subtyping, join, compatibility, base check, erasure and shape variable mapping against the rules' own examples."""

from __future__ import annotations

import pytest

from baton._src.ir.structural import assert_structural_equal, structural_equal
from baton._src.relax.check.base_check import struct_info_base_check, struct_info_base_check_precondition
from baton._src.relax.check.compatibility import check_compatibility, is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.erase import erase_struct_info, erase_to_well_defined
from baton._src.relax.check.lub import struct_info_lca
from baton._src.relax.check.shape_map import get_shape_var_mapping
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.struct_info import StructInfo, default_derive, empty_derive
from baton._src.relax.types import DynTensorType, PackedFuncType
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from tests.relax.build import Fn, Ob, Pr, Sh, Ts, Tu, k, m, n

YES, MAYBE, NO = Answer.YES, Answer.MAYBE, Answer.NO
D = Fn(None, Ob, False, default_derive)
E = Fn(None, Ob, False, empty_derive)


def sub(a: StructInfo, b: StructInfo) -> Answer:
    return is_subtype(a, b, Analyzer())


def compat(given: StructInfo, expected: StructInfo) -> Answer:
    return check_compatibility(given, expected, Analyzer())


def join(a: StructInfo, b: StructInfo) -> StructInfo:
    """The join, which must be the same in either order."""
    found = struct_info_lca(a, b, Analyzer())
    other = struct_info_lca(b, a, Analyzer())
    assert_structural_equal(found, other, map_free_vars=True)
    return found


@pytest.mark.rule("RELAX-SUB-01")
@pytest.mark.rule("RELAX-SUB-01", rejects=True)
@pytest.mark.rule("RELAX-SUB-02")
@pytest.mark.rule("RELAX-SUB-02", rejects=True)
@pytest.mark.rule("RELAX-SUB-03")
@pytest.mark.rule("RELAX-SUB-03", rejects=True)
@pytest.mark.rule("RELAX-SUB-04")
@pytest.mark.rule("RELAX-SUB-04", rejects=True)
@pytest.mark.rule("RELAX-SUB-05")
@pytest.mark.rule("RELAX-SUB-05", rejects=True)
@pytest.mark.rule("RELAX-SUB-06")
@pytest.mark.rule("RELAX-SUB-06", rejects=True)
@pytest.mark.rule("RELAX-SUB-07")
@pytest.mark.rule("RELAX-SUB-07", rejects=True)
@pytest.mark.rule("RELAX-SUB-08")
@pytest.mark.rule("RELAX-SUB-08", rejects=True)
@pytest.mark.rule("RELAX-SUB-09")
@pytest.mark.rule("RELAX-SUB-09", rejects=True)
@pytest.mark.rule("RELAX-SUB-10")
@pytest.mark.rule("RELAX-SUB-10", rejects=True)
@pytest.mark.rule("RELAX-SUB-11")
@pytest.mark.rule("RELAX-SUB-11", rejects=True)
@pytest.mark.rule("RELAX-SURVEY-3")
@pytest.mark.rule("RELAX-DIM-8")
@pytest.mark.parametrize(
    ("lower", "upper", "answer"),
    [
        (Ts((2,)), Ts(ndim=1), YES),
        (Ts(ndim=1), Ts(), YES),
        (Ts((2,)), Ob, YES),
        (Ob, Ts(), NO),
        (Sh(), Sh(), YES),
        (Ts(), Sh(), NO),
        (Ts((2, 3), "float32"), Ts(ndim=2), YES),
        (Ts((2, 3), "float32"), Ts(dtype="float32"), YES),
        (Ts((2, 3), "float32"), Ts(), YES),
        (Ts(ndim=2), Ts(ndim=3), NO),
        (Ts(dtype="float32"), Ts(dtype="int32"), NO),
        (Ts((n + n,)), Ts((2 * n,)), YES),
        (Ts((n + 1 - 1,)), Ts((n,)), YES),
        (Ts((n,)), Ts((m,)), MAYBE),
        (Ts((3,)), Ts((4,)), NO),
        (Sh([n, 2]), Sh(ndim=2), YES),
        (Sh(ndim=2), Sh(), YES),
        (Sh(ndim=2), Sh([n, 2]), NO),
        (Pr("int64", 3), Pr("int64"), YES),
        (Pr("int32"), Pr("int64"), NO),
        (Tu(Ts((2,)), Sh([2])), Tu(Ts(), Ob), YES),
        (Tu(Ob), Tu(Ob, Ob), NO),
        (Fn([Ts()], Ts((2,))), Fn([Ts((2,))], Ts()), YES),
        (Fn([Ts((2,))], Ts()), Fn([Ts()], Ts()), NO),
        (Fn([Ts((n, m))], Ob), Fn([Ts(ndim=2)], Ob), YES),  # n and m are whatever the argument has
        (Fn([Tu(Sh([n]), Pr("int64", m))], Ob), Fn([Tu(Sh(ndim=1), Pr("int64"))], Ob), YES),
        (Fn([Ts((n, n))], Ob), Fn([Ts(ndim=2)], Ob), NO),
        (Fn([Ts((n,)), Sh([n])], Ob), Fn([Ts(ndim=1), Sh(ndim=1)], Ob), NO),
        (Fn([Ts((n, 4))], Ob), Fn([Ts(ndim=2)], Ob), NO),
        (Fn([Ts((n,))], Ob), Fn([Ts(ndim=1)], Sh([n])), NO),  # n has a value already
        (Fn([Ob], Ob, True), Fn([Ob], Ob, False), YES),
        (Fn([Ob], Ob, False), Fn([Ob], Ob, True), NO),
        (D, Fn(None, Ob, False, default_derive), YES),
        (D, E, YES),
        (E, D, NO),
        (D, Fn([Ts()], Ts()), NO),
        (D, Ob, YES),
    ],
)
def test_subtyping(lower: StructInfo, upper: StructInfo, answer: Answer) -> None:
    """Each category's rule, with what it refuses."""
    assert sub(lower, upper) is answer


@pytest.mark.rule("RELAX-COMPAT-01")
@pytest.mark.rule("RELAX-COMPAT-02")
@pytest.mark.rule("RELAX-COMPAT-02", rejects=True)
@pytest.mark.rule("RELAX-COMPAT-03")
@pytest.mark.rule("RELAX-COMPAT-03", rejects=True)
@pytest.mark.rule("RELAX-COMPAT-04")
@pytest.mark.rule("RELAX-COMPAT-04", rejects=True)
@pytest.mark.rule("RELAX-COMPAT-05")
@pytest.mark.rule("RELAX-COMPAT-05", rejects=True)
@pytest.mark.rule("RELAX-COMPAT-06")
@pytest.mark.rule("RELAX-COMPAT-06", rejects=True)
@pytest.mark.rule("RELAX-COMPAT-07")
@pytest.mark.rule("RELAX-COMPAT-08")
@pytest.mark.rule("RELAX-COMPAT-08", rejects=True)
@pytest.mark.parametrize(
    ("given", "expected", "answer"),
    [
        (Ts((2,)), Ts((2,)), YES),
        (Ts((2,)), Ts((3,)), NO),
        (Sh(), Ob, YES),
        (Ob, Ts(), NO),
        (Sh(), Ts(), NO),
        (Tu(Ts((2,)), Ob), Tu(Ts(), Ob), YES),
        (Tu(Ts(ndim=1), Ob), Tu(Ts((2,)), Ob), MAYBE),
        (Tu(Ob), Tu(), NO),
        (Sh([n]), Sh(ndim=1), YES),
        (Sh(ndim=1), Sh([n]), MAYBE),
        (Sh([2]), Sh([3]), NO),
        (Sh([2]), Sh(ndim=2), NO),
        (Pr("int64"), Pr("int64", 3), MAYBE),
        (Pr("int32"), Pr("int64"), NO),
        (Ts(ndim=2), Ts((n, m)), MAYBE),
        (Ts((2, 3)), Ts(ndim=2), YES),
        (Ts(dtype="int32"), Ts(dtype="float32"), NO),
        (Ts((2,)), Ts((2, 2)), NO),
        (Ts(ndim=2), Ts(None, "float32", 2), MAYBE),
        (Ts(), Ts(ndim=2), MAYBE),
        (Ts((n,)), Ts((n + 1,)), NO),
        (Fn([Ts((k,))], Ts((k,))), Fn([Ts((3,))], Ts((3,))), YES),
        (Fn([Ob], Ob, False), Fn([Ob], Ob, True), NO),
        (Fn([Ob], Ob), Fn([Ob, Ob], Ob), NO),
        (D, Fn([Ob], Ob), NO),
    ],
)
def test_compatibility(given: StructInfo, expected: StructInfo, answer: Answer) -> None:
    """Certain, possible and impossible uses of a value."""
    assert compat(given, expected) is answer


@pytest.mark.rule("RELAX-LUB-01")
@pytest.mark.rule("RELAX-LUB-02")
@pytest.mark.rule("RELAX-LUB-03")
@pytest.mark.rule("RELAX-LUB-04")
@pytest.mark.rule("RELAX-LUB-05")
@pytest.mark.rule("RELAX-LUB-06")
@pytest.mark.rule("RELAX-LUB-07")
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Ob, Ts(), Ob),
        (Ts(), Sh(), Ob),
        (Pr("int64", 3), Pr("int64", 4), Pr("int64")),
        (Pr("int64", 3), Pr("int64", 3), Pr("int64", 3)),
        (Pr("int32"), Pr("int64"), Ob),
        (Sh([n, 2]), Sh([m, 2]), Sh(ndim=2)),
        (Sh([2]), Sh([2, 3]), Sh()),
        (Ts((2, 3), "float32"), Ts((2, 3), "int32"), Ts((2, 3))),
        (Ts((2,)), Ts((3,)), Ts(ndim=1)),
        (Tu(Ts((2,))), Tu(Ts((3,))), Tu(Ts(ndim=1))),
        (Tu(Ob), Tu(Ob, Ob), Ob),
        (D, Fn(None, Ob, False, lambda call, context: Ob), E),
        (Fn([Ts()], Ts((2,))), Fn([Ts()], Ts((3,)), False), Fn([Ts()], Ts(ndim=1), False)),
        (Fn([Ob], Ob), Fn([Ob, Ob], Ob), Ob),
        (Fn([Ts((2,))], Ts((2,))), Fn([Ts((3,))], Ts((3,))), Ob),
        (D, Fn([Ob], Ob), Ob),
    ],
)
def test_join(a: StructInfo, b: StructInfo, expected: StructInfo) -> None:
    """The join of each category, whichever side comes first."""
    assert_structural_equal(join(a, b), expected, map_free_vars=True)


def test_join_keeps_what_is_proved_equal() -> None:
    """n + n and 2 * n are one dimension."""
    assert struct_info_lca(Sh([n + n]), Sh([2 * n]), Analyzer()).values is not None


@pytest.mark.rule("RELAX-BASE-1")
@pytest.mark.rule("RELAX-BASE-2")
@pytest.mark.parametrize(
    ("base", "derived", "level"),
    [
        (Ts(), Ts((2,)), 3),
        (Ts((n,)), Ts((m,)), 2),
        (Ts(), Ob, 1),
        (Ts(), Sh(), 0),
        (Ts((3,)), Ts((4,)), 0),
        (Tu(Ob, Ts((3,))), Tu(Ts(), Ts((4,))), 0),
        (Ts(ndim=2), Ts(), 1),
        (Sh(ndim=2), Sh(), 1),
        (Fn([Ob], Ob, True), Fn([Ob], Ob, False), 0),
        (Fn([Ob], Ob), D, 0),
        (D, D, 3),
    ],
)
def test_base_check(base: StructInfo, derived: StructInfo, level: int) -> None:
    """The four levels."""
    assert struct_info_base_check(base, derived, Analyzer()) == level


@pytest.mark.rule("RELAX-BASE-3")
def test_precondition() -> None:
    """The equalities that have to hold are computed, and nothing where nothing has to."""
    found = struct_info_base_check_precondition(Ts((n, m)), Ts((2, k)), Analyzer())
    assert repr(found) == "n == T.int64(2) and m == k"
    trivial = struct_info_base_check_precondition(Ts(), Ts((2,)), Analyzer())
    assert isinstance(trivial, IntImm)
    assert trivial.value == 1


@pytest.mark.rule("RELAX-ERASE-1")
@pytest.mark.rule("RELAX-ERASE-2")
@pytest.mark.rule("RELAX-ERASE-3")
@pytest.mark.rule("RELAX-ERASE-4")
def test_erasure() -> None:
    """What is out of scope is forgotten whole; what is known is put in its place; a function's own variables stay."""
    assert structural_equal(erase_to_well_defined(Ts((n, 4), "float32")), Ts(None, "float32", 2))
    assert structural_equal(erase_to_well_defined(Sh([n, 2])), Sh(ndim=2))
    assert structural_equal(erase_to_well_defined(Pr("int64", n)), Pr("int64"))
    function = Fn([Ts((n,))], Ts((n,)))
    assert erase_to_well_defined(function) is function
    two = IntImm("int64", 2)
    found = erase_to_well_defined(Ts((n + 1, m)), {n: two, m: m}, prover=Analyzer())
    assert structural_equal(found, Ts((3, m)))
    assert structural_equal(erase_to_well_defined(Ts((n + 1, k + 2)), {n: two}), Ts(ndim=2))


@pytest.mark.rule("RELAX-COMPAT-09")
@pytest.mark.rule("RELAX-COMPAT-09", rejects=True)
def test_shape_variable_mapping() -> None:
    """A variable standing alone takes the argument's dimension; the first occurrence wins; ret does not count."""
    found = get_shape_var_mapping(Ts((n, n)), Ts((3, 4)))
    assert {v: d.value for v, d in found.items()} == {n: 3}
    assert get_shape_var_mapping(Ts((n * 2,)), Ts((4,))) == {}
    assert get_shape_var_mapping(Fn([Ts((n,))], Ts((n,))), Fn([Ts((3,))], Ts((3,)))) == {}
    assert compat(Fn([Ts((n, n))], Ob), Fn([Ts((3, 4))], Ob)) is NO


@pytest.mark.rule("RELAX-SUB-12")
def test_static_type() -> None:
    """The shape-free view keeps rank and dtype."""
    assert structural_equal(erase_struct_info(Ts((2, 3), "float32")), DynTensorType(2, Ts(dtype="float32").dtype))
    assert isinstance(erase_struct_info(D), PackedFuncType)


@pytest.mark.rule("RELAX-ANALYSIS-1")
def test_variables_of_an_annotation() -> None:
    """Used and bindable shape variables differ."""
    info = Ts((n, m * 2))
    assert tir_vars_in_struct_info(info) == [n, m]
    assert definable_tir_vars_in_struct_info(info) == [n]


@pytest.mark.rule("RELAX-SUB-12")
def test_compatible_means_static_types_related() -> None:
    """If a use is not impossible, the erased types do not contradict each other."""
    infos = [Ts((2,)), Ts((n,)), Ts(ndim=1), Ts(), Sh([n]), Sh(), Pr("int64", 3), Pr("int64"), Tu(Ts((2,)), Sh([2]))]
    for a in infos:
        for b in infos:
            if compat(a, b) is not NO:
                assert type(erase_struct_info(a)) is type(erase_struct_info(b))
            if sub(a, b) is YES:
                assert compat(a, b) is YES
                assert structural_equal(join(a, b), b)
