"""The converters' view of one call of an aten operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.sym_floats import SymFloat
from baton._src.frontends.torch.tensors import dtype_of
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.values.dtype import FLOAT32, DataType

Scalar = int | float | bool | PrimExpr | SymFloat
"""A number of the program, a size in a computation, or a value computed from one."""


@dataclass(slots=True)
class AtenNode:
    """The operator's name (`aten.add.Tensor`), the builder, and PyTorch's description of the results.

    `results`: PyTorch's own (fake) tensor for every result, in order: the dtype is right by definition.
    `source`: the line of the user's program. `used`: which of several results the program takes. `operands`: PyTorch's
    tensors for the positional arguments, whose strides decide what a few operators give; other arguments are None.
    """

    name: str
    graph: GraphBuilder
    results: tuple[Any, ...]
    source: str = ""
    used: frozenset[int] = frozenset()
    operands: tuple[Any, ...] = ()

    @property
    def dtype(self) -> DataType:
        """The dtype of the (first) result, by PyTorch's rules of promotion."""
        return dtype_of(self.results[0].dtype)

    @property
    def rank(self) -> int:
        """The rank of the (first) result."""
        return len(self.results[0].shape)

    def fail(self, message: str, *, code: str = "torch-node", help: str | None = None) -> NoReturn:
        """Refuse the call."""
        raise DiagnosticError(Diagnostic(code, f"{self.title}: {message}", help=help))

    @property
    def title(self) -> str:
        return f"{self.name} ({self.source})" if self.source else self.name

    def tensor(self, operand: Value | Scalar, dtype: object) -> Value:
        """A tensor, number or size as a tensor of `dtype`; numbers wrap around as PyTorch's do."""
        if isinstance(operand, Value):
            return self.graph.cast(operand, dtype)
        if isinstance(operand, PrimExpr):
            return self.graph.cast(self.graph.dims(operand), dtype)
        if isinstance(operand, SymFloat):
            return self.graph.cast(operand.value(self.graph), dtype)
        if isinstance(operand, complex):
            self.fail(f"{operand} is complex, where a real number is expected")
        return self.graph.constant(np.asarray(operand).astype(DataType(dtype).numpy))

    def widened(self, x: Value) -> Value:
        """Narrow floats as float32: squares and sums within an operator overflow in them, and lose their digits."""
        return self.graph.cast(x, FLOAT32) if x.dtype.is_float and x.dtype.bits < 32 else x

    def computed(self, *operands: Value | Scalar) -> list[Value]:
        """The operands in the dtype of the result. Of narrow floats in float32 where PyTorch has a number, or a wider
        tensor without axes, of which they would hold nothing: 0 * -1e9 is 0 in float16, too."""
        dtype = self.dtype
        is_lost = dtype.is_float and dtype.bits == 16 and any(not _is_held(o, dtype) for o in operands)
        return [self.tensor(o, FLOAT32 if is_lost else dtype) for o in operands]

    def promoted(self, *operands: Value | Scalar) -> list[Value]:
        """The operands as tensors of one dtype, chosen as PyTorch chooses it."""
        dtype = self.common_dtype(*operands)
        return [self.tensor(o, dtype) for o in operands]

    def common_dtype(self, *operands: Value | Scalar) -> DataType:
        """`torch.result_type`: tensors with axes decide over those without, these over numbers, within a category."""
        joined = reduce(_joined, [_sample(o) for o in operands])
        return dtype_of(torch_library().result_type(joined, joined))

    def sizes(self, x: Value) -> tuple[Dim, ...]:
        """The shape of a tensor, which must be known."""
        if x.shape is None:
            self.fail("the shape of an operand is known only at run time", code="torch-dynamic")
        return x.shape

    def common_shape(self, *operands: Value) -> tuple[Dim, ...]:
        """The broadcast shape of tensors; sizes of which neither is known to be 1 are assumed to be equal."""
        rank = max(o.rank for o in operands)
        columns = zip(*[(1,) * (rank - o.rank) + self.sizes(o) for o in operands], strict=True)
        return tuple(next((d for d in column if not (isinstance(d, int) and d == 1)), 1) for column in columns)

    def known(self, dim: Dim, what: str) -> int:
        """A size that must be constant."""
        if not isinstance(dim, int):
            self.fail(f"{what} must be known when importing; it is {dim}", code="torch-dynamic")
        return dim

    def axis(self, dim: int, rank: int) -> int:
        """An axis counted from the front; a tensor of rank 0 has the axis 0 too."""
        room = max(rank, 1)
        if not -room <= dim < room:
            self.fail(f"axis {dim} is out of range for rank {rank}")
        return dim % room

    def axes(self, dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
        """Axes counted from the front; None and () mean all."""
        if dims is None:
            return tuple(range(rank))
        found = (dims,) if isinstance(dims, int) else tuple(dims)
        return tuple(self.axis(d, rank) for d in found) or tuple(range(rank))


def _is_held(operand: Value | Scalar, dtype: DataType) -> bool:
    """Whether a dtype of 16 bits rounds an operand, and does not make it infinite or nothing."""
    if isinstance(operand, Value):
        return bool(operand.rank) or not operand.dtype.is_float or operand.dtype.bits <= 16
    if isinstance(operand, (PrimExpr, SymFloat)):
        return False
    kept = float(np.asarray(operand).astype(dtype.numpy))
    return kept == operand or abs(kept - operand) <= abs(operand) / 256 or operand != operand


def _sample(operand: Value | Scalar) -> Any:
    """An operand's stand-in in the query for a common dtype."""
    if isinstance(operand, Value):
        torch = torch_library()
        return torch.empty((1,) * max(operand.rank, 0), dtype=getattr(torch, str(operand.dtype)), device="meta")
    if isinstance(operand, SymFloat):
        return 1.0
    return 1 if isinstance(operand, PrimExpr) else operand


def _joined(a: Any, b: Any) -> Any:
    """The stand-in for two operands: their common dtype, and the rank that decides."""
    torch = torch_library()
    rank = max(o.dim() if isinstance(o, torch.Tensor) else 0 for o in (a, b))
    return torch.empty((1,) * rank, dtype=torch.result_type(a, b), device="meta")


Converter = Callable[..., Any]
"""`converter(node, *positional, **keyword_only)`: every argument of the operator's schema is given, defaults included,
except layouts, devices and memory formats. Tensors are `Value`s, symbolic sizes are `PrimExpr`s, dtypes `DataType`s."""
