"""`nn.Tensor` and `nn.Parameter`: expressions of the function being exported, with Python's operators."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import Expr, ShapeExpr, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array

IntExpr = int | PrimExpr
"""What a dim may be."""

_default = {"dtype": "float32"}


def default_dtype() -> str:
    """The dtype of parameters that specify none (`get_default_dtype`)."""
    return _default["dtype"]


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that specify none."""
    _default["dtype"] = str(DataType(dtype))


class Object:
    """A value other than a tensor in the function being built."""

    def __init__(self, *, _expr: Any, _name: str) -> None:
        self._expr = _expr if isinstance(_expr, Var) else builder_for(_name).emit(_expr, _name)


class Tensor:
    """A tensor of known rank and dtype in the function being built; dims are ints or expressions."""

    def __init__(self, *, _expr: Expr) -> None:
        self._expr = _expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A literal."""
        return Tensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """A literal without dims."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """A new variable."""
        return Tensor(_expr=Var(name, struct_info))

    @staticmethod
    def placeholder(shape: Any, dtype: str, name: str = "tensor") -> Tensor:
        """A new variable of this shape and dtype; a string is a dim of that name."""
        return Tensor(_expr=Var(name, TensorStructInfo(_dims(shape), dtype)))

    def __repr__(self) -> str:
        return f'Tensor({self.shape}, "{self.dtype}")'

    @property
    def struct_info(self) -> TensorStructInfo:
        """The StructInfo of the value."""
        found = self._expr.struct_info
        if not isinstance(found, TensorStructInfo):
            raise fail("nn-tensor", f"{self._expr!r} is not a tensor")
        return found

    @property
    def shape(self) -> list[Any]:
        """The dims; ints if they are constant."""
        found = self.struct_info.shape
        if not isinstance(found, ShapeExpr):
            raise fail("nn-tensor", f"the shape of {self._expr!r} is not known")
        return [d.value if isinstance(d, tir.IntImm) else d for d in found.values]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return str(self.struct_info.dtype)

    def __add__(self, other: Any) -> Tensor:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return binary("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return binary("multiply", self, other, "mul")

    def __rmul__(self, other: Any) -> Tensor:
        return binary("multiply", other, self, "mul")

    def __truediv__(self, other: Any) -> Tensor:
        return binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return binary("divide", other, self)

    def __neg__(self) -> Tensor:
        return _tensor(_RELAX.negative(self._expr), "neg")

    def __lt__(self, other: Any) -> Tensor:
        return binary("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return binary("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return binary("greater_equal", self, other)

    def maximum(self, other: Any) -> Tensor:
        """Elementwise maximum."""
        return binary("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        """Elementwise minimum."""
        return binary("minimum", self, other)

    def astype(self, dtype: str) -> Tensor:
        """Every element converted."""
        return self if self.dtype == dtype else _tensor(_RELAX.astype(self._expr, dtype=dtype), "astype")

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape."""
        target = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        return _tensor(_RELAX.reshape(self._expr, tuple(target)), "reshape")

    def permute_dims(self, *axes: Any) -> Tensor:
        """Permute the axes; without arguments, reverse them."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        return _tensor(_RELAX.permute_dims(self._expr, axes=tuple(order) or None), "permute_dims")

    def expand(self, *shape: Any) -> Tensor:
        """Broadcast along axes of extent one."""
        target = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        return _tensor(_RELAX.broadcast_to(self._expr, tuple(target)), "broadcast_to")

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Every element several times, along an axis."""
        return _tensor(_RELAX.repeat(self._expr, repeats, axis=axis), "repeat")


class Parameter(Tensor):
    """A weight: a variable of every exported function, with a value once `data` is set."""

    def __init__(self, shape: Any, dtype: str | None = None) -> None:
        self._shape = _dims(shape)
        self._data: NDArray | None = None
        self.attrs: dict[str, Any] = {}
        super().__init__(_expr=Var("param", TensorStructInfo(self._shape, dtype or default_dtype())))

    @property
    def data(self) -> NDArray | None:
        """The value, if it was given."""
        return self._data

    @data.setter
    def data(self, content: Any) -> None:
        if content is None:
            self._data = None
            return
        found = content if isinstance(content, NDArray) else array(content)
        if self.dtype != str(found.dtype) or list(found.shape) != self.shape:
            raise fail(
                "nn-parameter",
                f"the parameter is {self.dtype} of shape {self.shape}, the value {found.dtype} of {found.shape}",
                kind=ValueError,
            )
        self._data = found

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; a value that was set is not converted, so it must not be set yet."""
        if dtype is None:
            return
        if self._data is not None:
            message = "the parameter has a value already"
            raise fail("nn-parameter", message, help="call to() before setting values", kind=ValueError)
        self._expr = Var("param", TensorStructInfo(self._shape, DataType(dtype)))


_RELAX: Any = RELAX


def _dims(shape: Any) -> list[Any]:
    return [tir.Var(d, "int64") if isinstance(d, str) else d for d in shape]


def emit(expr: Any, name: str) -> Any:
    """Bind an expression in the function being exported: a tensor, or a tuple of them."""
    return wrap(builder_for(name).emit(expr, name), name)


def builder_for(name: str) -> BlockBuilder:
    """The builder of the function being exported. Error `nn-outside` where there is none, which names `name`."""
    found = BlockBuilder.current()
    if found is None:
        raise fail("nn-outside", f"{name} is computed outside of export_tvm", help="call it from forward")
    return found


def _tensor(expr: Any, name: str) -> Tensor:
    found: Tensor = emit(expr, name)
    return found


def wrap(value: Any, name: str) -> Any:
    """A variable as `Tensor`, or as a tuple of them (`name.0`, ...); other values as they are."""
    found = value.struct_info
    if isinstance(found, TensorStructInfo):
        return Tensor(_expr=value)
    if isinstance(found, TupleStructInfo):
        return tuple(emit(TupleGetItem(value, i), f"{name}.{i}") for i in range(len(found.fields)))
    return value


def unwrap(value: Any) -> Any:
    """The form that Relax's builders take."""
    if isinstance(value, (list, tuple)):
        return tuple(unwrap(item) for item in value)
    return value._expr if isinstance(value, (Tensor, Object)) else value


def wrap_nested(expr: Any, name: str) -> Any:
    """An expression of Relax, bound in the function being built, as what operators give."""
    return wrap(expr, name) if isinstance(expr, Var) else emit(expr, name)


def binary(name: str, a: Any, b: Any, hint: str | None = None) -> Tensor:
    """Apply an operator to two tensors; a number, or a TIR literal, takes the other's dtype."""
    beside = a if isinstance(a, Tensor) else b
    left, right = (_operand(x, beside) for x in (a, b))
    found: Tensor = emit(getattr(_RELAX, name)(left, right), hint or name)
    return found


def _operand(x: Any, beside: Any) -> Any:
    if isinstance(x, Tensor):
        return x._expr
    number = x.value if isinstance(x, (tir.IntImm, tir.FloatImm)) else x
    return const(number, beside.dtype) if isinstance(number, (int, float)) else x
