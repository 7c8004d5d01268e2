"""Every pass on random small modules: well-formed afterwards, and the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import default, zero
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow, ToNonDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.bindings.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relax.bindings.inline_private_functions import InlinePrivateFunctions
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.nodes import Tuple, TupleGetItem
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, arrays, check, const, dim, program, tensor, weights

STEPS = {
    "Normalize": Normalize(),
    "CanonicalizeBindings": CanonicalizeBindings(),
    "EliminateCommonSubexpr": EliminateCommonSubexpr(),
    "FoldConstant": FoldConstant(),
    "DeadCodeElimination": DeadCodeElimination(),
    "LambdaLift": LambdaLift(),
    "InlinePrivateFunctions": InlinePrivateFunctions(),
    "LegalizeOps": LegalizeOps(),
    "ToNonDataflow": ToNonDataflow(),
    "ConvertToDataflow": Sequential([ToNonDataflow(), ConvertToDataflow()]),
    "zero": Sequential(zero()),
    "default": Sequential(default()),
    "lowered": Sequential([*default(), ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite(), KillAfterLastUse()]),
}
UNARY = (R.exp, R.nn.relu, R.negative, R.sigmoid)
BINARY = (R.add, R.multiply, R.subtract, R.maximum)


@st.composite
def modules(draw: st.DrawFn) -> IRModule:
    """Straight-line programs over (n, 4) tensors: elementwise, reductions, matmuls, transposes, tuples, constants."""
    choices = draw(
        st.lists(st.tuples(st.integers(0, 8), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=9)
    )
    dataflow = draw(st.booleans())
    n = dim()

    def build(b: Any, x: Any, y: Any) -> Any:
        values = [x, y, b.emit(const([0.5, -1.0, 2.0, 0.25])), b.emit(const(0.5))]
        for kind, i, j in choices:
            a, c = values[i % len(values)], values[j % len(values)]
            if kind <= 2 or a.struct_info.ndim < 2:
                values.append(b.emit(BINARY[i % 4](a, c)))
            elif kind <= 4:
                values.append(b.emit(UNARY[j % 4](a)))
            elif kind == 5:
                values.append(b.emit(R.sum(a, axis=[1], keepdims=True)))
            elif kind == 6:
                turned = b.emit(R.permute_dims(R.permute_dims(a)))
                values.append(turned)
            elif kind == 7 and a.struct_info.shape.values[1].value == 4:
                values.append(b.emit(R.multiply(b.emit(R.matmul(a, weights(4, 4, seed=j))), const(0.1))))
            else:
                pair = b.emit(Tuple([a, c]))
                values.append(b.emit(TupleGetItem(pair, j % 2)))
        return R.add(values[-1], x)

    return program([tensor("x", n, 4), tensor("y", n, 4)], build, dataflow=dataflow)


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(module=modules())
def test_passes_preserve_meaning(name: str, module: IRModule) -> None:
    """Overflow is fine as long as it is the same overflow."""
    with np.errstate(all="ignore"):
        check(STEPS[name], module, *(a * 0.3 for a in arrays((2, 4), (2, 4))), rtol=1e-3)
