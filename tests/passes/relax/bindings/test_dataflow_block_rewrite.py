"""`DataflowBlockRewrite` edits one block; the dispatching passes leave modules of CPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.backend import DispatchSampling, DispatchSortScan
from baton.relax.binding_rewrite import DataflowBlockRewrite
from tests.relax.build import load

TEXT = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, x)
            R.output(b)
        return b
"""


X = np.array([1, 2], "float32")


def start() -> tuple[baton.IRModule, DataflowBlockRewrite]:
    module = load(TEXT)
    return module, DataflowBlockRewrite(module["main"].body.blocks[0], module["main"])


def value(module: baton.IRModule) -> list[float]:
    found = relax.VirtualMachine(relax.build(module), baton.cpu())["main"](X)
    return [float(v) for v in found.numpy()]


def test_a_binding_is_replaced() -> None:
    """Guards the usual order: add, let everything use it, sweep, put the function back."""
    module, rewrite = start()
    x = module["main"].params[0]
    a = rewrite.mutated_dfb().bindings[0].var
    rewrite.add(relax.op.multiply(x, x), "square", is_dfvar=True)
    bindings = rewrite.mutated_dfb().bindings
    made = bindings[1].var
    assert [b.var.name_hint for b in bindings] == ["a", "square", "b"]
    rewrite.replace_all_uses(a, x)
    rewrite.remove_unused(a)
    rewrite.remove_unused(made)
    assert [b.var.name_hint for b in rewrite.mutated_dfb().bindings] == ["b"]
    assert value(rewrite.mutate_irmodule(module)) == [2, 4]
    assert value(module) != [2, 4]


def test_an_output_is_replaced_behind_the_block() -> None:
    module, rewrite = start()
    x = module["main"].params[0]
    b = rewrite.mutated_dfb().bindings[1].var
    rewrite.add(relax.op.multiply(x, x), "square")
    rewrite.replace_all_uses(b, rewrite.mutated_dfb().bindings[1].var)
    rewrite.remove_all_unused()
    assert [v.var.name_hint for v in rewrite.mutated_dfb().bindings] == ["square"]
    assert value(rewrite.mutate_irmodule(module)) == [1, 4]


def test_what_takes_the_place_of_a_variable_stands_before_its_users() -> None:
    """It was the last binding, so they used it before it was bound."""
    module, rewrite = start()
    a = rewrite.mutated_dfb().bindings[0].var
    rewrite.add(relax.op.multiply(a, a), "square", is_dfvar=True)
    rewrite.replace_all_uses(a, rewrite.mutated_dfb().bindings[1].var)
    after = rewrite.mutate_irmodule(module)
    assert relax.analysis.well_formed(after)
    np.testing.assert_allclose(value(after), np.exp([2, 4]) + X, rtol=1e-5)


IN_A_BRANCH = """
@I.ir_module
class M:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            with R.dataflow():
                a = R.exp(x)
                unused = R.sin(x)
                b = R.add(a, x)
                R.output(b)
            r = R.negative(b)
        else:
            r = x
        return r
"""


def test_a_block_of_a_branch() -> None:
    """Its variables were renamed where they are bound, too; a sweep was an error of Python's."""
    module = load(IN_A_BRANCH)
    branch = module["main"].body.blocks[0].bindings[0].value.true_branch
    rewrite = DataflowBlockRewrite(branch.blocks[0], module["main"])
    b = rewrite.mutated_dfb().bindings[2].var
    rewrite.add(relax.op.negative(b), "other")
    rewrite.replace_all_uses(b, rewrite.mutated_dfb().bindings[3].var)
    rewrite.remove_all_unused()
    assert [v.var.name_hint for v in rewrite.mutated_dfb().bindings] == ["a", "b", "other"]
    after = rewrite.mutate_irmodule(module)
    assert relax.analysis.well_formed(after)
    found = relax.VirtualMachine(relax.build(after), baton.cpu())["main"](np.array(True), X)
    np.testing.assert_allclose(found.numpy(), np.exp(X) + X, rtol=1e-5)


def test_what_is_used_stays() -> None:
    _, rewrite = start()
    bindings = rewrite.mutated_dfb().bindings
    for binding in bindings:
        with pytest.raises(DiagnosticError, match="is used"):
            rewrite.remove_unused(binding.var)
    stranger = relax.Var("stranger", relax.ObjectStructInfo())
    with pytest.raises(DiagnosticError, match="not bound"):
        rewrite.remove_unused(stranger)
    rewrite.remove_unused(stranger, allow_undef=True)
    with pytest.raises(DiagnosticError, match="already bound in the block"):
        rewrite.add_binding(bindings[0])


def test_dispatching_leaves_cpus_alone() -> None:
    module = load(TEXT)
    for step in (DispatchSampling(), DispatchSortScan(), relax.transform.SplitLayoutRewritePreproc()):
        assert step(module) is module
    kernel = load(
        "@I.ir_module\nclass K:\n    @T.prim_func\n    def k(A: T.Buffer((2,), 'float32')):\n"
        "        for i in range(2):\n            with T.block('b'):\n                v = T.axis.spatial(2, i)\n"
        "                T.block_attr({'meta_schedule.layout_rewrite_preproc': True})\n"
        "                A[v] = T.float32(1)\n"
    )
    with pytest.raises(DiagnosticError, match="does more than copy a parameter"):
        relax.transform.SplitLayoutRewritePreproc()(kernel)
