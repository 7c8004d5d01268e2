"""The fields of a tensor as expressions: `x.shape[0]`, `x.dtype.bits`, `x.strides[1]`, `x.ndim` (`tvm.relax.Expr`).

Each is a call of an operator of `relax.inspect`, answered when the program runs; normalisation replaces it by its value
where the StructInfo says it already.
"""

from __future__ import annotations

from typing import Any

from baton._src.relax.literals import as_expr
from baton._src.relax.nodes import Call, Expr
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import PrimStructInfo, TensorStructInfo
from baton._src.support.diagnostics import fail


def tensor_field(owner: Expr, name: str) -> Any:
    """What `owner.name` is. AttributeError (`relax-tensor-field`): `owner` is known to be no tensor."""
    info = owner.struct_info_
    if info is not None and not isinstance(info, TensorStructInfo):
        message = f"only tensors have a {name}, and this is {info}"
        raise fail("relax-tensor-field", message, span=owner.span, kind=AttributeError)
    match name:
        case "dtype":
            return ElementType(owner)
        case "shape":
            return AlongAxes(owner, "shape", "inspect.tensor_shape_i")
        case "strides":
            return AlongAxes(owner, "strides", "inspect.tensor_stride_i")
        case _:
            return Call(special_op(f"inspect.tensor_{name}"), [owner])


class ElementType:
    """`x.dtype`: its fields are expressions, but it is not an expression itself."""

    def __init__(self, tensor: Expr) -> None:
        self.tensor = tensor

    @property
    def type_code(self) -> Call:
        """DLPack's number for the kind of the elements."""
        return Call(special_op("inspect.tensor_dtype_code"), [self.tensor])

    @property
    def bits(self) -> Call:
        """The width of an element."""
        return Call(special_op("inspect.tensor_dtype_bits"), [self.tensor])

    @property
    def lanes(self) -> Call:
        """How many numbers an element consists of."""
        return Call(special_op("inspect.tensor_dtype_lanes"), [self.tensor])

    def __repr__(self) -> str:
        return f"{self.tensor}.dtype"


class AlongAxes:
    """`x.shape` or `x.strides`: its items are expressions, but it is not one itself (`R.shape_of(x)` is the whole
    shape).
    """

    def __init__(self, tensor: Expr, name: str, op: str) -> None:
        self.tensor = tensor
        self.name = name
        self.op = op

    def __getitem__(self, axis: Any) -> Call:
        """That of one axis: an integer, or an expression of one. TypeError: an expression of something else."""
        index = as_expr(axis)
        info = index.struct_info_
        if info is not None and not isinstance(info, PrimStructInfo):
            message = f"{self!r} takes an integer in brackets, not {info}"
            raise fail("relax-tensor-field", message, span=index.span, kind=TypeError)
        return Call(special_op(self.op), [self.tensor, index])

    __iter__ = None  # Python would ask for one axis after another without an end

    def __repr__(self) -> str:
        return f"{self.tensor}.{self.name}"
