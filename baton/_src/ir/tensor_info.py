"""What is known of a value at compile time, independent of either language: what `OpDef.infer` takes and returns.

Relay's types and Relax's StructInfo convert to and from these, so a shape rule is written once.
A dim is a Python int, or a PrimExpr when symbolic; `tir.AnyDim` stands for Relay's `?`. Constant dims are always ints.
"""

from __future__ import annotations

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.global_info import VDevice
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import VOID, DataType

Dim = int | PrimExpr


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor. `shape` None: dims unknown; then `ndim` is the rank, or -1 if unknown too. `dtype` VOID: unknown.

    `shape_var` is the Relax variable that holds the shape, where the shape is such a variable.
    """

    shape: tuple[Dim, ...] | None = None
    dtype: DataType = VOID
    ndim: int = -1
    vdevice: VDevice | None = None
    shape_var: GraphExpr | None = None

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "ndim", len(self.shape))

    @property
    def is_static(self) -> bool:
        """Every dim is a number."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)


@dataclass(frozen=True, slots=True)
class ShapeInfo:
    """A shape value (Relax's ShapeExpr as an argument). `var`: the variable that holds it, where dims are unknown."""

    values: tuple[Dim, ...] | None = None
    ndim: int = -1
    var: GraphExpr | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "ndim", len(self.values))


@dataclass(frozen=True, slots=True)
class PrimInfo:
    """A scalar of the host (Relax's PrimValue as an argument)."""

    dtype: DataType
    value: int | float | PrimExpr | None = None


@dataclass(frozen=True, slots=True)
class TupleInfo:
    """A tuple."""

    fields: tuple[Info, ...]


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Anything else; nothing is known."""


@dataclass(frozen=True, slots=True)
class StorageInfo:
    """A piece of memory (Relay's memory dialect)."""


Info = TensorInfo | ShapeInfo | PrimInfo | TupleInfo | StorageInfo | ObjectInfo

OBJECT = ObjectInfo()
STORAGE = StorageInfo()
