"""Laws on random programs and StructInfos: reading what was printed, soundness of inference, normal form, joins."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.ir.structural import assert_structural_equal, structural_equal
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.compatibility import check_compatibility, is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.lub import struct_info_lca
from baton._src.relax.interpret.checks import Checker
from baton._src.relax.interpret.environment import Frame
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Function
from baton._src.relax.normalize import Normalizer
from baton._src.relax.struct_info import StructInfo
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.tir.arith.analyzer import Analyzer
from tests.relax.build import Fn, Ob, Pr, Sh, Ts, Tu, load, m, n
from tests.relax.random_programs.strategies import Program, programs

FEW = settings(max_examples=40, suppress_health_check=list(HealthCheck))

dims = st.sampled_from([1, 2, 3, n, m, n + 1, n * 2, n + m])
dtypes = st.sampled_from(["void", "float32", "int64"])
leaves = st.one_of(
    st.builds(lambda d, t: Ts(d, t), st.lists(dims, max_size=2), dtypes),
    st.builds(lambda k, t: Ts(None, t, k), st.sampled_from([-1, 0, 1, 2]), dtypes),
    st.builds(Sh, st.lists(dims, max_size=2)),
    st.builds(lambda k: Sh(ndim=k), st.sampled_from([-1, 0, 1, 2])),
    st.builds(lambda v: Pr("int64", v), st.one_of(st.none(), dims)),
    st.just(Pr("bool")),
    st.just(Ob),
)
infos = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda f: Tu(*f)),
        st.builds(lambda p, r, pure: Fn(p, r, pure), st.lists(leaves, max_size=2), inner, st.booleans()),
    ),
    max_leaves=4,
)


@pytest.mark.rule("RELAX-SUB-01")
@pytest.mark.rule("RELAX-LUB-08")
@given(infos, infos, infos)
@settings(max_examples=150)
def test_laws_of_struct_info(a: StructInfo, b: StructInfo, c: StructInfo) -> None:
    """Reflexive, transitive; the join is an upper bound; compatibility and base check agree with subtyping."""
    prover = Analyzer()
    assert is_subtype(a, a, prover) is Answer.YES
    assert is_subtype(a, Ob, prover) is Answer.YES
    below_b, b_below_c = is_subtype(a, b, prover), is_subtype(b, c, prover)
    if below_b is Answer.YES and b_below_c is Answer.YES:
        assert is_subtype(a, c, prover) is Answer.YES
    if below_b is Answer.YES:
        assert check_compatibility(a, b, prover) is Answer.YES
        assert struct_info_base_check(b, a, prover) is BaseCheckResult.PASS
    joined = struct_info_lca(a, b, prover)
    assert is_subtype(a, joined, prover) is Answer.YES
    assert is_subtype(b, joined, prover) is Answer.YES
    assert struct_info_lca(a, a, prover) is a
    if below_b is Answer.YES:
        assert is_subtype(joined, b, prover) is Answer.YES
    other_way = struct_info_lca(b, a, prover)
    assert is_subtype(joined, other_way, prover) is Answer.YES
    assert is_subtype(other_way, joined, prover) is Answer.YES
    if "R.Callable" not in repr((a, b)) and is_subtype(a, c, prover) is Answer.YES and b_below_c is Answer.YES:
        # The least upper bound; functions whose parameters differ join to Object by the rules, lower bounds or not.
        assert is_subtype(joined, c, prover) is Answer.YES


@pytest.mark.rule("RELAX-LUB-08")
@given(infos, infos)
@settings(max_examples=150)
def test_compatibility_agrees_with_subtyping(a: StructInfo, b: StructInfo) -> None:
    """What certainly is no subtype is never certainly compatible, and the other way round; joins do not change that."""
    prover = Analyzer()
    fits, below = check_compatibility(a, b, prover), is_subtype(a, b, prover)
    if below is Answer.YES:
        assert fits is Answer.YES
    if fits is Answer.NO:
        assert below is not Answer.YES
    wider = struct_info_lca(b, a, prover)
    assert check_compatibility(a, wider, prover) is not Answer.NO


@pytest.mark.rule("RELAX-SCRIPT-12")
@given(programs())
@FEW
def test_printed_programs_read_back(program: Program) -> None:
    """print -> read gives a structurally equal module, and printing it again the same text."""
    text = script(program.module, show_meta=True)
    again = load(text)
    assert_structural_equal(again, program.module)
    assert script(again, show_meta=True) == text


@pytest.mark.rule("RELAX-NF-12")
@given(programs())
@FEW
def test_generated_programs_are_well_formed_and_normal(program: Program) -> None:
    """The generator makes nothing else; normalising gives the same objects."""
    assert well_formed(program.module, normalized=True, entry_required=True) == []
    for function in program.module.functions.values():
        if isinstance(function, Function):
            assert Normalizer().function(function) is function


@pytest.mark.rule("RELAX-SURVEY-4")
@given(programs(), st.integers(1, 4), st.integers(0, 5))
@settings(FEW, max_examples=200)
def test_values_fit_what_was_inferred(program: Program, size: int, seed: int) -> None:
    """Inference is sound: every value that a run produces fits the StructInfo of the variable it is bound to."""

    class Checking(Interpreter):
        def _bind(self, binding: Any, frame: Frame) -> Any:
            yield super()._bind(binding, frame)
            if binding.var is not None:
                Checker(frame, bind=False).cast(
                    frame.values[binding.var], binding.var.struct_info, binding.var.name_hint
                )

    inputs = program.inputs(size, seed)
    Checking(program.module, program.functions)["main"](*inputs)


@given(programs(effects=False), st.integers(0, 5))
@FEW
def test_reading_back_keeps_the_meaning(program: Program, seed: int) -> None:
    """The printed program computes the same."""
    inputs = program.inputs(2, seed)
    again = load(script(program.module, show_meta=True))
    first = Interpreter(program.module, program.functions)["main"](*inputs)
    second = Interpreter(again, program.functions)["main"](*inputs)
    assert _flat(first) == _flat(second)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [x for v in value for x in _flat(v)]
    return [value.numpy().tobytes()] if hasattr(value, "numpy") else [value]


def test_structural_equality_sees_a_difference() -> None:
    """A guard on the tests above."""
    assert not structural_equal(Ts((n,)), Ts((3,)))
