"""Rewrites, fusion by pattern, calls in place and the machine's lowering on random small modules: the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from baton._src.driver.relax.build import relax_build
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import default_build
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow
from baton._src.passes.relax.bindings.topological_sort import TopologicalSort
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import FuseOpsByPattern
from baton._src.passes.relax.fusion.merge_composite_functions import MergeCompositeFunctions
from baton._src.passes.relax.machine.dataflow_use_inplace_calls import DataflowUseInplaceCalls
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.passes.relax.products.adjust_matmul_order import AdjustMatmulOrder
from baton._src.passes.relax.products.combine_parallel_matmul import CombineParallelMatmul
from baton._src.passes.relax.products.expand_matmul_of_sum import ExpandMatmulOfSum
from baton._src.passes.relax.products.reorder_permute_dims_after_concat import ReorderPermuteDimsAfterConcat
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.transform.passes import Sequential
from baton.relax.dpl import is_op, wildcard
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import arrays, check, same_values
from tests.passes.relax.test_passes_preserve_meaning import modules

wire()

EXP = is_op("relax.exp")(wildcard())
PATTERNS = [
    ("a.sum_of", is_op("relax.add")(is_op("relax.multiply")(wildcard(), wildcard()), wildcard())),
    ("a.exp", EXP),
    ("a.relu", is_op("relax.nn.relu")(wildcard())),
    ("b.matmul", is_op("relax.matmul")(wildcard(), wildcard())),
    ("b.maximum", is_op("relax.maximum")(wildcard(), wildcard())),
]
STEPS = {
    "sorted": Sequential([TopologicalSort(), TopologicalSort("breadth-first", "from-outputs")]),
    "algebra": Sequential([AdjustMatmulOrder(), ExpandMatmulOfSum(), ReorderPermuteDimsAfterConcat()]),
    "combined": CombineParallelMatmul(),
    "composite": Sequential([ConvertToDataflow(), FuseOpsByPattern(PATTERNS), MergeCompositeFunctions()]),
    "annotated": Sequential([ConvertToDataflow(), FuseOpsByPattern(PATTERNS, annotate_codegen=True)]),
}


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(module=modules())
def test_rewrites_preserve_meaning(name: str, module: IRModule) -> None:
    with np.errstate(all="ignore"):
        check(STEPS[name], module, *(a * 0.3 for a in arrays((2, 4), (2, 4))), rtol=1e-3)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(module=modules())
def test_calls_in_place_preserve_meaning(module: IRModule) -> None:
    args: list[Any] = [a * 0.3 for a in arrays((2, 4), (2, 4))]
    after = Sequential([LegalizeOps(), ConvertToDataflow(), DataflowUseInplaceCalls()])(module)
    with np.errstate(all="ignore"):
        found = Interpreter(after)["main"](*args)
        same_values(found.numpy(), evaluate(module, "main", *args), 1e-3)


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(module=modules())
def test_the_machines_lowering_preserves_meaning(module: IRModule) -> None:
    args: list[Any] = [a * 0.3 for a in arrays((2, 4), (2, 4))]
    lowered = Sequential(default_build())(module)
    found = VirtualMachine(relax_build(lowered, "llvm", pipeline=None, exec_mode="bytecode"))["main"](*args)
    with np.errstate(all="ignore"):
        same_values(found.numpy(), evaluate(module, "main", *args), 1e-3)
