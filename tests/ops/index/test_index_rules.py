"""What indexing operators reject, and what they give where little is known."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import PrimInfo, TensorInfo, TupleInfo
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType
from tests.ops.prover import PROVER


def tensor(*shape: Any, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(shape, DataType(dtype))


def indices(*shape: Any) -> TensorInfo:
    return tensor(*shape, dtype="int64")


def infer(name: str, *args: Any, **attributes: Any) -> Any:
    definition = CATALOGUE.get(name)
    record = definition.attrs(**attributes) if definition.attrs.names else None
    return definition.infer(OpCall(definition, args, record, PROVER))


X = tensor(4, 5)


@pytest.mark.parametrize(
    ("name", "args", "attributes"),
    [
        ("take", (X, tensor(2)), {"axis": 0}),
        ("take", (X, indices(2)), {"axis": 2}),
        ("take", (X, indices(2)), {"axis": 0, "mode": "nearest"}),
        ("gather_elements", (X, indices(2)), {}),
        ("gather_nd", (X, indices(2, 3)), {}),
        ("scatter_elements", (X, indices(2, 5), tensor(2, 5, dtype="int32")), {}),
        ("scatter_elements", (X, indices(2, 5), tensor(2, 5)), {"reduction": "sub"}),
        ("scatter_elements", (X, indices(2, 5), tensor(3, 5)), {}),
        ("scatter_nd", (X, indices(2, 1), tensor(2, 4)), {}),
        ("one_hot", (indices(2), PrimInfo(DataType("float32"), 1.0), PrimInfo(DataType("int64"), 0)), {"depth": 3}),
        ("one_hot", (indices(2), PrimInfo(DataType("int64"), 1), PrimInfo(DataType("int64"), 0)), {"depth": 0}),
        ("index_tensor", (X, TupleInfo((indices(2), indices(3)))), {}),
        ("index_tensor", (X, TupleInfo((indices(2),) * 3)), {}),
        ("bucketize", (X, tensor(2, 2)), {}),
        ("reverse_sequence", (X, indices(3)), {}),
        ("random.threefry_generate", (tensor(4, dtype="uint64"),), {"out_shape": (2,)}),
    ],
)
@pytest.mark.rule("RELAX-OPSHAPE-01", rejects=True)
def test_wrong_calls_are_rejected(name: str, args: Any, attributes: dict[str, Any]) -> None:
    """Guards dtypes, ranks, extents and modes of indexing."""
    with pytest.raises(DiagnosticError, match=name.replace(".", r"\.")):
        infer(name, *args, **attributes)


@pytest.mark.rule("RELAX-OPSHAPE-13")
def test_unknown_operands_weaken_the_result() -> None:
    """Guards that too little knowledge is no error."""
    unknown = TensorInfo(None, DataType("float32"))
    assert infer("take", unknown, indices(2), axis=0).ndim == -1
    assert infer("take", TensorInfo(None, DataType("float32"), 3), indices(2, 2), axis=1).ndim == 4
    assert infer("gather_nd", unknown, indices(2, 1)).shape is None
    assert infer("nonzero", unknown).ndim == 2
    argwhere = infer("argwhere", X)
    assert isinstance(argwhere.shape[0], AnyDim)
    assert argwhere.shape[1] == 2


@pytest.mark.rule("RELAX-OPSHAPE-15")
def test_topk_gives_values_and_int32_positions() -> None:
    """Guards the default dtype of positions."""
    values, positions = infer("topk", X, k=2).fields
    assert (values.shape, values.dtype) == ((4, 2), DataType("float32"))
    assert (positions.shape, positions.dtype) == ((4, 2), DataType("int32"))
