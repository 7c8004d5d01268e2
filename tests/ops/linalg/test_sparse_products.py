"""nn.sparse_dense for few and for many rows of the dense operand: only many are copied, side by side."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ops.linalg.sparse import SPARSE_DENSE, SparseDenseAttrs
from baton._src.ops.linalg.sparse_matrices import bsr_sample, csr_sample
from baton._src.ops.samples import Arr, Sample
from baton._src.te.schedule import create_schedule
from tests.codegen.native_run import run_native
from tests.ops.sampled_calls import SampledCall, arrays_of


@pytest.mark.parametrize("rows", [1, 7, 8, 17])
@pytest.mark.parametrize("sparse_lhs", [False, True])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_few_rows_are_not_copied(rows: int, sparse_lhs: bool, in_blocks: bool) -> None:
    """Guards the choice, which compared an expression with a number: all rows were copied, however few."""
    columns, matrix = (6, bsr_sample()) if in_blocks else (4, csr_sample())
    call = SampledCall(
        SPARSE_DENSE, Sample((Arr((rows, columns)), *matrix), SparseDenseAttrs(sparse_lhs)), symbolic=False
    )
    kernel, outputs = call.prim_func(call.infer())
    stages = create_schedule([o.op for o in outputs]).stages
    assert ("columns" in {stage.op.name for stage in stages}) is (rows >= 8)
    expected = call.reference()
    found = np.zeros_like(expected)
    assert run_native(kernel, *arrays_of(call.values), found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
