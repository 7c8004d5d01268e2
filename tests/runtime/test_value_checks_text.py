"""What a check demands, in the words of a program."""

from __future__ import annotations

from baton._src.runtime.value_info import (
    ANY,
    FunctionValue,
    PrimScalar,
    ShapeValue,
    TensorValue,
    TupleValue,
    show_info,
)


def test_infos_in_words() -> None:
    tensor = TensorValue("float32", 2, (3, None))
    assert show_info(tensor) == 'R.Tensor((3, ?), "float32")'
    assert show_info(TensorValue("float32")) == 'R.Tensor("float32")'
    assert show_info(TensorValue("", 2)) == "R.Tensor(ndim=2)"
    assert show_info(TupleValue((ShapeValue(1, (4,)), ShapeValue(3), PrimScalar("int64"), ANY))) == (
        'R.Tuple(R.Shape((4,)), R.Shape(ndim=3), R.Prim("int64"), R.Object)'
    )
    assert (
        show_info(FunctionValue((tensor,), None, True)) == 'R.Callable((R.Tensor((3, ?), "float32"),), R.Object, True)'
    )
    assert show_info(FunctionValue()) == "R.Callable()"
