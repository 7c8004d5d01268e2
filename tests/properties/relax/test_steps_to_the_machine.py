"""Pipelines that users put together: the steps down to the machine, some left out, over any tensors."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.passes import Sequential
from baton.relax import transform as t
from tests.at_length import seeds_at_length
from tests.properties.relax.outcomes import Outcome, Run
from tests.properties.relax.test_any_tensors import assert_agree_but_for_rounding, outcome
from tests.relax.build import load
from tests.relax.random_programs.any_tensors import SIZES_OF_M, any_tensors


def pipeline(draw: random.Random) -> list[Any]:
    """What must be there, and in between, by chance, what may be."""

    def perhaps(*passes: Any) -> list[Any]:
        return list(passes) if draw.random() < 0.6 else []

    lowered = draw.choice([t.LowerRuntimeBuiltin, t.VMBuiltinLower])()
    return [
        *perhaps(t.CheckSizes()), t.LegalizeOps(),
        *perhaps(t.ConvertToDataflow(), t.AnnotateTIROpPattern(), t.FuseOps(), t.FuseTIR()),
        *perhaps(t.DataflowUseInplaceCalls()), *perhaps(t.RewriteDataflowReshape()),
        t.ToNonDataflow(), t.RemovePurityChecking(), t.CallTIRRewrite(),
        *perhaps(t.StaticPlanBlockMemory()), *perhaps(t.LowerAllocTensor()), *perhaps(t.KillAfterLastUse()),
        *perhaps(lowered, t.ComputePrimValue(), t.VMShapeLower(emit_err_ctx=draw.random() < 0.5)),
        t.AttachGlobalSymbol(),
    ]  # fmt: skip


def check(seed: int) -> None:
    """The lowered program is well-formed, reads back, and does what the program does where that is not refused."""
    program, draw = any_tensors(seed), random.Random(seed)
    steps = pipeline(draw)
    names = (seed, [type(step).__name__ for step in steps])
    lowered = program.module
    if draw.random() < 0.5:
        main = lowered["main"].with_attr("tir_var_upper_bound", {"n": 4, "m": 5})
        lowered = lowered.with_function(lowered.get_global_var("main"), main)
    lowered = Sequential(steps)(lowered)
    assert well_formed(lowered) == [], names
    if draw.random() < 0.3:
        assert_structural_equal(load(script(lowered, show_meta=True)), lowered)
    options = CompileOptions(workers=1, checked=draw.random() < 0.3, level=1)
    try:
        built = relax_build(
            lowered, exec_mode=draw.choice(["bytecode", "compiled"]), pipeline=Sequential([]), options=options
        )
    except DiagnosticError as refused:
        if refused.code != "tir-outside":  # a kernel for operands that fit only where nothing is read
            raise
        return
    for inputs in draw.sample(range(len(SIZES_OF_M)), 3):
        run = Run(program, program.module, draw.choice([0, 1, 2, 3, 4]), inputs)
        expected = outcome(run, Interpreter(program.module))
        if isinstance(expected, Outcome):
            found = outcome(run, VirtualMachine(built))
            assert isinstance(found, Outcome), (names, found)
            assert_agree_but_for_rounding(run, found, expected)


@pytest.mark.parametrize("seed", range(12))
def test_pipelines_put_together(seed: int) -> None:
    """Guards passes against one another: what writes in place and what makes views, plans of memory and their ends."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(seed)


@pytest.mark.fuzz
def test_many_pipelines_put_together() -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds_at_length(1500):
            check(seed)
