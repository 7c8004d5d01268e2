"""Slices: bounds as NumPy's for any numbers, symbolic bounds, bounds that are tensors, what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import PrimInfo, TensorInfo, TupleInfo
from baton._src.ops.dims import DimMath
from baton._src.ops.shape.dynamic_slicing import DYN_STRIDED_SLICE, DYNAMIC_STRIDED_SLICE
from baton._src.ops.shape.slice_bounds import bounds, is_non_negative, length
from baton._src.ops.shape.slicing import STRIDED_SLICE, StridedSliceAttrs
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import AnyDim, IntImm, Var
from baton._src.values.dtype import DataType
from tests.ops.prover import PROVER

FLOAT = DataType("float32")
INT = DataType("int64")


def prims(*values: Any) -> TupleInfo:
    return TupleInfo(tuple(PrimInfo(INT, v) for v in values))


def infer(x: TensorInfo, *args: Any, values: Any = (), **attributes: Any) -> Any:
    return STRIDED_SLICE.infer(OpCall(STRIDED_SLICE, (x, *args), StridedSliceAttrs(**attributes), PROVER, values))


@given(
    extent=st.integers(0, 7),
    begin=st.one_of(st.none(), st.integers(-10, 10)),
    end=st.one_of(st.none(), st.integers(-10, 10)),
    stride=st.sampled_from([-3, -2, -1, 1, 2, 3]),
)
def test_bounds_select_what_pythons_slices_do(extent: int, begin: Any, end: Any, stride: int) -> None:
    """Guards clipping and counting from the end, for constant and for symbolic extents."""
    wanted = list(range(extent))[slice(begin, end, stride)]
    math = DimMath(PROVER)
    start, stop = bounds(math, begin, end, stride, extent, False)
    count = length(math, start, stop, stride, False)
    assert count == len(wanted)
    assert [start + stride * i for i in range(int(count))] == wanted
    attributes = StridedSliceAttrs(axes=(0,), begin=(begin,), end=(end,), strides=(stride,))
    assert callable(STRIDED_SLICE.reference)
    assert list(STRIDED_SLICE.reference((np.arange(extent),), attributes)) == wanted
    n = Var("n", "int64")
    start, stop = bounds(math, begin, end, stride, n, False)
    symbolic = length(math, start, stop, stride, False)
    found = symbolic if isinstance(symbolic, int) else evaluate(symbolic, {n: extent})
    assert found == len(wanted)


def test_axes_of_more_than_four_gigabytes() -> None:
    """Guards bounds beyond 32 bits: they were taken for the end of any axis."""
    math = DimMath(PROVER)
    assert bounds(math, 2**31, 2**31 + 5, 1, 2**33, False) == (2**31, 2**31 + 5)
    assert bounds(math, -(2**31) - 3, -(2**31) - 1, 1, 2**33, False) == (2**33 - 2**31 - 3, 2**33 - 2**31 - 1)
    assert bounds(math, 2**31 - 1, -(2**31), -1, 2**33, False) == (2**33 - 1, -1)


def test_whole_axes_keep_their_name() -> None:
    """Guards that x[0:], x[:n] and far ends give `n` itself, so that later shapes still match."""
    n = Var("n", "int64")
    x = TensorInfo((n, 4), FLOAT)
    for end in (2**31 - 1, 2**63 - 1, n):
        assert infer(x, prims(0), prims(0), prims(end)).shape[0] is n


def test_inbound_bounds_are_not_clipped() -> None:
    """Guards assume_inbound: x[0:m] of a static axis has extent m."""
    m = Var("m", "int64")
    found = infer(TensorInfo((8,), FLOAT), prims(0), prims(0), prims(m), assume_inbound=True)
    assert found.shape == (m,)


def test_unknown_bounds_keep_the_rank() -> None:
    """Guards that an unknown scalar weakens the result and is no error."""
    found = infer(TensorInfo((8, 2), FLOAT), prims(0), prims(None), prims(3))
    assert found.shape is None
    assert found.ndim == 2


@pytest.mark.parametrize(
    "args",
    [
        (prims(2), prims(0), prims(1)),
        (prims(0, 0), prims(0, 0), prims(1, 1)),
        (prims(0), prims(0, 1), prims(1)),
        (prims(0), prims(0), prims(1), prims(0)),
    ],
    ids=["axis out of range", "axis twice", "lengths differ", "stride 0"],
)
@pytest.mark.rule("RELAX-OPSHAPE-08", rejects=True)
def test_wrong_slices_are_rejected(args: Any) -> None:
    """Guards the errors."""
    with pytest.raises(DiagnosticError):
        infer(TensorInfo((8, 2), FLOAT), *args)


@pytest.mark.parametrize("more", [{"end": (1, 2, 3)}, {"strides": (1, 1, 1)}, {"axes": (0,)}])
def test_attributes_of_more_axes_than_there_are(more: Any) -> None:
    """Guards begin, end and strides: an entry too many was an index out of range, or was not looked at."""
    with pytest.raises(DiagnosticError, match="more entries"):
        infer(TensorInfo((8, 2), FLOAT), **{"begin": (0, 0), "end": (1, 1), **more})


def test_dynamic_slices_know_the_rank_or_which_dims_are_open() -> None:
    """Guards Relax's and Relay's weaker results, and the known shape of constant bounds."""
    x, bound = TensorInfo((8, 5), FLOAT), TensorInfo((1,), INT)
    whole = TensorInfo((2,), INT)
    relax = DYNAMIC_STRIDED_SLICE.infer(OpCall(DYNAMIC_STRIDED_SLICE, (x, whole, whole, whole), None, PROVER))
    assert isinstance(relax, TensorInfo)
    assert (relax.shape, relax.ndim) == (None, 2)
    attributes = StridedSliceAttrs(axes=(1,))
    relay = DYN_STRIDED_SLICE.infer(OpCall(DYN_STRIDED_SLICE, (x, bound, bound, bound), attributes, PROVER))
    assert isinstance(relay, TensorInfo)
    assert relay.shape is not None
    assert relay.shape[0] == 8
    assert isinstance(relay.shape[1], AnyDim)
    values = (None, np.array([1]), np.array([-1]), np.array([2]))
    known = DYN_STRIDED_SLICE.infer(OpCall(DYN_STRIDED_SLICE, (x, bound, bound, bound), attributes, PROVER, values))
    assert isinstance(known, TensorInfo)
    assert known.shape == (8, 2)


def test_signs_of_dims() -> None:
    """Guards the small proof that spares a clip."""
    n = Var("n", "int64")
    assert is_non_negative(n * 2 + 1)
    assert is_non_negative((n + 3) // 2)
    assert not is_non_negative(n - 1)
    assert not is_non_negative(n + IntImm("int64", -1))
