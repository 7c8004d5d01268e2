"""Random programs (closures, ADTs, references, polymorphism, sharing) have the same value before and after every pass,
and after the pipeline; what passes give is well-formed and typed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relay.first_order.defunctionalization import Defunctionalize
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.lambda_lift import LambdaLift
from baton._src.passes.relay.first_order.to_cps import ToCPS
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.forms.defuse_ops import DefuseOps
from baton._src.passes.relay.forms.inlining import Inline
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.gradients.lazy_gradient_init import LazyGradientInit
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.simplify_expr import SimplifyExpr
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.passes.relay.pipeline import optimize
from baton._src.relay.analysis import free_vars, well_formed
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Function
from baton._src.relay.text.parser import parse
from baton._src.transform.context import PassContext
from tests.relay.programs import plain, same
from tests.relay.strategies import modules

PASSES = (
    InferType(),
    FoldConstant(),
    DeadCodeElimination(),
    DeadCodeElimination(inline_once=True),
    EliminateCommonSubexpr(),
    ToANormalForm(),
    ToBasicBlockNormalForm(),
    ToGraphNormalForm(),
    EtaExpand(expand_constructor=True),
    EtaExpand(expand_constructor=True, expand_global_var=True),
    Inline(),
    LambdaLift(),
    SimplifyExpr(),
    FuseOps(fuse_opt_level=1),
    DefuseOps(),
)
WHOLE_PROGRAM = (ToCPS(), Defunctionalize(), PartialEvaluate(), LazyGradientInit())
"""They make other programs of programs; each is tried alone, and behind a few others."""
COMMON = settings(max_examples=24, suppress_health_check=list(HealthCheck))
"""A few: `tests/properties/relay` tries the passes on many programs, and `make fuzz` on thousands."""


def value(module: IRModule, flag: bool = True) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(Interpreter(module).evaluate(module["main"])(flag, np.float32([1, -2]), np.float32([0.5, 3])))


def check(module: IRModule, step: Any) -> IRModule:
    after = step(module)
    for function in after.functions.values():
        assert not isinstance(function, Function) or (well_formed(function) and not free_vars(function))
        assert not isinstance(function, Function) or function.checked_type_ is not None
    for flag in (True, False):
        before = value(module, flag)
        assert same(before, value(after, flag)), step
    return after


@pytest.mark.rule("RELAY-IMPURE-1")
@pytest.mark.parametrize("step", [*PASSES, *WHOLE_PROGRAM], ids=repr)
def test_each_pass(step: Any) -> None:
    @given(modules())
    @COMMON
    def run(module: IRModule) -> None:
        check(infer_type(module), step)

    run()


@given(modules(), st.lists(st.sampled_from(PASSES), min_size=2, max_size=5))
@COMMON
def test_sequences(module: IRModule, steps: list[Any]) -> None:
    module = infer_type(module)
    for step in steps:
        module = check(module, step)


@given(modules(depth=3), st.lists(st.sampled_from(PASSES), max_size=2), st.sampled_from(WHOLE_PROGRAM))
@COMMON
def test_whole_program_passes_behind_others(module: IRModule, steps: list[Any], last: Any) -> None:
    module = infer_type(module)
    for step in (*steps, last):
        module = check(module, step)


@given(modules())
@COMMON
def test_the_pipeline(module: IRModule) -> None:
    with PassContext(opt_level=3):
        check(infer_type(module), optimize())


def test_a_let_dropped_inside_a_dropped_value_counts_once() -> None:
    """Found by the random programs: the inner let's value was counted off twice, and `%v1` lost its binding."""
    text = "def @main(%x: float32) { let %v1 = %x + 1f; let %v4 = (let %v5 = %v1; fn (%z: float32) { %z }); %v1 * %v1 }"
    after = DeadCodeElimination()(parse(text, CATALOGUE))
    assert well_formed(after["main"])
    assert not free_vars(after["main"])


SHARED = {
    "a function": "if (%c) { let %f = @plus; %f(1) } else { @plus(2) }",
    "an operator": "if (%c) { let %f = negative; %f(1) } else { negative(2) }",
    "a constructor": "match (if (%c) { let %f = Mk; %f(1) } else { Mk(2) }) { Mk(%x) => %x }",
    "a tuple": "%0 = (%c, 1); if (%c) { let %v = %0; (%v, 1) } else { (%0, 2) }",
    "twice": "%0 = (1, 1); let %a = if (%c) { let %v = %0; let %w = %0; (%v, %w) } else { (%0, %0) }; (%0, %a)",
    "a closure": "%0 = fn (%x: int32) { %x }; if (%c) { let %f = %0; %f(1) } else { %0(2) }",
    "beside an effect": "let %r = ref(%c); %0 = (%c, 1); let %f = fn () { let %v = %0; %v }; (ref_read(%r), %f(), %0)",
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize(
    "step", [ToANormalForm(), ToBasicBlockNormalForm(), ToGraphNormalForm(), FoldConstant()], ids=repr
)
def test_what_one_branch_names_is_not_known_in_another(step: Any, name: str) -> None:
    """Found by random programs: the let's variable stood for its value behind the branch, too, and had none there.
    Passes other than normal forms give lets only to effects, so the value itself is in no variable that both see."""
    text = "type Box { Mk(int32) } def @plus(%n: int32) { %n + 1 } def @main(%c: bool) { " + SHARED[name] + " }"
    before = parse(text, CATALOGUE)
    after = step(before)
    for flag in (True, False):
        found, wanted = (plain(Interpreter(m).evaluate(m["main"])(np.bool_(flag))) for m in (after, before))
        assert found == wanted
