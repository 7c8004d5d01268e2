"""CountResults: what becomes a kernel that counts and one that fills, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.op_def import OpDef
from baton._src.ops.builders import RELAX as R
from baton._src.ops.index.data_dependent import ARGWHERE, NONZERO
from baton._src.passes.relax.operators.count_results import CountResults
from baton._src.relax.nodes import Call, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.tir.prim_func import COUNTS, PrimFunc
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import const, dim, program, tensor

OPERATORS: dict[str, tuple[OpDef[Any], Any]] = {
    "nonzero": (NONZERO, lambda x: np.stack(np.nonzero(x)).astype("int64")),
    "argwhere": (ARGWHERE, lambda x: np.argwhere(x).astype("int32")),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("shape", [(3, 4), (5, "n"), (7,)], ids=str)
def test_two_kernels(name: str, shape: tuple[Any, ...]) -> None:
    """Guards the values, and that the counting kernel says what limits it."""
    definition, wanted = OPERATORS[name]
    dims = [dim(d) if isinstance(d, str) else d for d in shape]
    before = program([tensor("x", *dims)], lambda b, x: Call(definition.relax_op, [x]))
    after = CountResults()(before)
    assert not well_formed(after)
    kernels = [f for f in after.functions.values() if isinstance(f, PrimFunc)]
    assert sorted(f.attrs.get(COUNTS, -1) for f in kernels) == [-1, 0]
    sizes = [6 if isinstance(d, str) else d for d in shape]
    x = (np.arange(np.prod(sizes)).reshape(sizes) % 3).astype("float32")
    found = evaluate(after, "main", x)
    assert found.dtype == wanted(x).dtype
    np.testing.assert_array_equal(found, wanted(x))


def test_left_alone() -> None:
    """Guards constants, which are folded, and operands of unknown rank or dims."""
    constant = program([tensor("x", 3)], lambda b, x: R.nonzero(const([0, 1, 1], dtype="int32")))
    assert CountResults()(constant) is constant
    for info in (TensorStructInfo(None, "float32"), TensorStructInfo(None, "float32", ndim=2)):
        unknown = program([Var("x", info)], lambda b, x: R.nonzero(x))
        assert CountResults()(unknown) is unknown
