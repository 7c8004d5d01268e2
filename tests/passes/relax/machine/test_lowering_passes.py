"""CallTIRRewrite, RewriteDataflowReshape, KillAfterLastUse, RemovePurityChecking; the pipelines' order."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.pipelines import default, get_pipeline, zero
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape, has_reshape_pattern
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.nodes import Call, ExternFunc, Tuple
from baton._src.relax.special_ops import special_op
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.transform.instruments import PassInstrument
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, arrays, bindings, called, check, dim, program, tensor

LOWERED = Sequential([LegalizeOps(), ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite()])


@pytest.mark.rule("RELAX-PASS-26")
def test_kernel_calls_become_allocations_and_plain_calls() -> None:
    n = dim()
    after = check(LOWERED, program([tensor("x", n)], lambda b, x: R.exp(x)), *arrays((3,)))
    assert called(after) == ["builtin.alloc_tensor", "exp", "Var"]
    allocation, call, result = bindings(after)
    assert call.value.args[-1] is allocation.var is result.value


def test_integers_go_through_call_tir_dyn_and_tuples_come_back() -> None:
    n = dim()
    before = program([tensor("x", n * 2), tensor("y", n)], lambda b, x, y: R.exp(x))
    hidden = check(LOWERED, before, *arrays((4,), (2,)))
    assert called(hidden)[1] == "vm.call_tir_dyn"
    several = check(LOWERED, program([tensor("x", 4)], lambda b, x: R.split(x, 2, axis=0)), *arrays((4,)))
    assert called(several).count("builtin.alloc_tensor") == 2
    assert isinstance(bindings(several)[-1].value, Tuple)


def test_dataflow_blocks_must_be_gone() -> None:
    before = LegalizeOps()(program([tensor("x", 3)], lambda b, x: R.exp(x)))
    with pytest.raises(DiagnosticError, match="ToNonDataflow"):
        CallTIRRewrite()(before)


@pytest.mark.rule("RELAX-PASS-28")
def test_tensors_end_after_their_last_use() -> None:
    """exp(x) ends after the multiplication that reads it, the returned value does not."""

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        return R.exp(R.multiply(e, e))

    after = check(KillAfterLastUse(), LOWERED(program([tensor("x", 3)], build)), *arrays((3,)))
    names = called(after)
    assert names.count("memory.kill_tensor") == 2
    assert names.index("memory.kill_tensor") > names.index("multiply")
    first = bindings(after)[0].var
    assert bindings(after)[names.index("memory.kill_tensor")].value.args[0] is first


@pytest.mark.rule("RELAX-PASS-28", rejects=True)
def test_nothing_is_used_after_its_end() -> None:
    """A tuple keeps its fields alive."""
    built = program([tensor("x", 4)], lambda b, x: R.add(*[b.emit(R.exp(x)) for _ in range(2)]))
    after = KillAfterLastUse()(LOWERED(built))
    dead: set[Any] = set()
    for binding in bindings(after):
        value = binding.value
        if isinstance(value, Call):
            assert not dead & set(value.args)
            if value.op is special_op("memory.kill_tensor"):
                dead.add(value.args[0])
    assert after["main"].body.body not in dead


@pytest.mark.rule("RELAX-PASS-14")
def test_pure_wrappers_are_taken_off() -> None:
    def build(b: Any, x: Any) -> Any:
        trusted = [ExternFunc("test.f"), x]
        return Call(special_op("call_pure_packed"), trusted, None, (x.struct_info,))

    after = check(RemovePurityChecking(), program([tensor("x", 2)], build, dataflow=False))
    assert after["main"].attrs["relax.force_pure"]
    (binding,) = bindings(after)
    assert isinstance(binding.value.op, ExternFunc)


def test_reshapes_become_views_where_the_value_stays_inside() -> None:
    """A symbolic flatten; the transpose, whose shape is the same, is no reshape; an output keeps its kernel."""
    n = dim()

    def build(b: Any, x: Any) -> Any:
        flat = b.emit(R.reshape(x, (n * 6,)))
        return R.reshape(R.exp(flat), (n, 2, 3))

    legal = LegalizeOps()(program([tensor("x", n, 2, 3)], build))
    after = check(RewriteDataflowReshape(), legal, *arrays((2, 2, 3)))
    assert called(after)[0] == "reshape"
    assert called(after)[-1].startswith("reshape")
    turned = LegalizeOps()(program([tensor("x", 3, 3)], lambda b, x: R.permute_dims(x)))
    kernel = next(f for v, f in turned.functions.items() if v.name_hint != "main")
    assert not has_reshape_pattern(kernel)


class Order(PassInstrument):
    """Notes the passes that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.names.append(info.name)


@pytest.mark.rule("RELAX-PIPE-1")
def test_zero_runs_its_passes_in_order() -> None:
    order = Order()
    with PassContext(instruments=[order]):
        after = Sequential(zero())(program([tensor("x", 3)], lambda b, x: R.exp(R.add(x, x))))
    assert order.names[1:] == ["LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"]
    assert called(after) == ["fused_add_exp"]


@pytest.mark.rule("RELAX-PIPE-1", rejects=True)
def test_unknown_pipelines_are_named() -> None:
    with pytest.raises(ValueError, match="no pipeline 'nope'"):
        get_pipeline("nope")


def test_default_is_idempotent() -> None:
    """Running it on its own result changes nothing."""
    before = program([tensor("x", 3)], lambda b, x: R.exp(R.add(x, x)))
    after = check(Sequential(default()), before, *arrays((3,)))
    assert Sequential(default())(after) is after
