"""Tensors of `te`: operands and results of an operator's `compute`."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, NoReturn

from baton._src.ir.array import Array
from baton._src.ir.expr import PrimExpr
from baton._src.ir.operators import Operators
from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.unlisted import Unlisted
from baton._src.tir.expr import IterVar, ProducerLoad, StringImm
from baton._src.values.dtype import DataType


class Same:
    """What is told from others by identity."""

    def same_as(self, other: object) -> bool:
        """Whether both are one object (TVM's spelling of `is`)."""
        return self is other


@dataclass(frozen=True, eq=False)
class PlaceholderOp(Same):
    """A tensor that comes from outside."""

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: DataType
    attrs: dict[str, Any] = field(default_factory=dict)
    tag: ClassVar[str] = ""
    input_tensors: ClassVar[tuple[Tensor, ...]] = ()
    num_outputs: ClassVar[int] = 1

    def output(self, index: int) -> Tensor:
        """The tensor."""
        return Tensor(self.shape, self.dtype, self, index)

    def __repr__(self) -> str:
        return f"placeholder({self.name})"


@dataclass(frozen=True, eq=False)
class ComputeOp(Same):
    """`body[i]` over `axis`: an elementwise expression or a `Reduce` (several bodies: a tuple reduction)."""

    name: str
    axis: tuple[IterVar, ...]
    reduce_axis: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...]
    tag: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def num_outputs(self) -> int:
        """How many tensors it gives."""
        return len(self.body)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors it reads, in order of first use."""
        return tuple(dict.fromkeys(load.producer for load in self.loads))

    @property
    def loads(self) -> list[ProducerLoad]:
        """What it reads of other tensors."""
        return [n for body in self.body for n in post_order(body) if isinstance(n, ProducerLoad)]

    def output(self, index: int) -> Tensor:
        """One of the tensors it gives."""
        return Tensor(Array(axis.extent for axis in self.axis), self.body[index].dtype, self, index)

    def __repr__(self) -> str:
        """As TVM prints it."""
        parts = {"body": self.body, "axis": self.axis, "reduce_axis": self.reduce_axis}
        listed = ", ".join(f"{name}={list(part)}" for name, part in parts.items())
        return f"compute({self.name}, {listed}, tag={self.tag}, attrs={self.attrs})"


@dataclass(frozen=True, eq=False)
class ExternOp(Same):
    """A tensor (or several) written by a TIR statement built by hand: sorts, scans, scatters, hybrid kernels."""

    name: str
    inputs: tuple[Tensor, ...]
    input_buffers: tuple[Any, ...]
    output_buffers: tuple[Any, ...]
    body: Any
    tag: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)
    own_loops: tuple[IterVar, ...] = ()
    """The loops that schedules may change: those of hybrid kernels."""

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """Those of a hybrid kernel's loops. Error `te-extern`: of other statements the loops stay as written."""
        if self.own_loops:
            return self.own_loops
        message = f"{self.name} has no axes to schedule: its loops are those that were written"
        help = "write it as te.compute, or schedule the kernel: tir.Schedule(te.create_prim_func(tensors))"
        raise fail("te-extern", message, help=help, kind=AttributeError)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors it reads."""
        return self.inputs

    @property
    def num_outputs(self) -> int:
        """How many tensors it gives."""
        return len(self.output_buffers)

    def output(self, index: int) -> Tensor:
        """One of the tensors it gives."""
        buffer = self.output_buffers[index]
        return Tensor(buffer.shape, buffer.dtype, self, index)

    def __repr__(self) -> str:
        return f"extern({self.name})"


@dataclass(frozen=True, eq=False)
class ScanOp(Same):
    """Tensors computed along their first axis, each step from the ones before (`te.scan`)."""

    name: str
    scan_axis: IterVar
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state_placeholder: tuple[Tensor, ...]
    outside: tuple[Tensor, ...]
    """What a step reads besides states and its own values, and `inputs` as the script named them."""
    steps: dict[ComputeOp, int]
    """What a step computes, producers first, and which of its axes is the step."""
    tag: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors the scan reads from outside: initial states, and operands of the steps."""
        return tuple(dict.fromkeys((*self.init, *self.outside)))

    @property
    def num_outputs(self) -> int:
        """How many tensors it gives."""
        return len(self.update)

    def output(self, index: int) -> Tensor:
        """One of the tensors it gives."""
        return Tensor(self.update[index].shape, self.update[index].dtype, self, index)

    def __repr__(self) -> str:
        return f"scan({self.name})"


Operation = PlaceholderOp | ComputeOp | ExternOp | ScanOp


@dataclass(frozen=True, eq=False)
class Tensor(Same, Unlisted, Operators["Tensor | PrimExpr | float", "Tensor"]):
    """One output of an operation. Indexing gives a scalar expression; arithmetic on whole tensors is elementwise with
    NumPy's broadcasting (see `te.arithmetic`). Fewer indices than dims give a slice that takes the rest: `A[i][j]`.

    Tensors are equal if they are the same output of the same operation: `B.op.output(0) == B`.
    """

    shape: tuple[PrimExpr, ...]
    dtype: DataType
    op: PlaceholderOp | ComputeOp | ExternOp | ScanOp
    value_index: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.op is other.op and self.value_index == other.value_index

    def __hash__(self) -> int:
        return hash((self.op, self.value_index))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of a computed tensor."""
        assert isinstance(self.op, ComputeOp)
        return self.op.axis

    def astype(self, dtype: object) -> Any:
        """Every element converted to `dtype`."""
        return type(self).build("cast", self, dtype)

    def __repr__(self) -> str:
        """As TVM prints it."""
        return f"Tensor(shape={list(self.shape)}, op.name={self.op.name})"

    def __call__(self, *indices: Any) -> ProducerLoad:
        if len(indices) != self.ndim:
            raise fail("te-indices", f"{self.name} has {self.ndim} dims, got {len(indices)} indices")
        loaded = ProducerLoad(self, indices)
        wrong = next((i for i in loaded.indices if isinstance(i, StringImm)), None)
        if wrong is not None:
            raise fail("te-indices", f"{self.name} cannot be indexed with {wrong}: indices are integers and axes")
        return loaded

    def __getitem__(self, indices: Any) -> Any:
        return TensorSlice(self, ())[indices] if self.ndim else self(*indices)


@dataclass(frozen=True)
class TensorSlice(Unlisted, Operators[object, NoReturn]):
    """A tensor with its first indices given. It is no number: arithmetic with it is an error (`te-indices`)."""

    tensor: Tensor
    indices: tuple[Any, ...]

    @staticmethod
    def build(name: str, *operands: Any) -> Any:
        """What arithmetic builds of it: the error that indices are missing."""
        part = next(operand for operand in operands if isinstance(operand, TensorSlice))
        return part.tensor(*part.indices)

    def __getitem__(self, indices: Any) -> Any:
        found = self.indices + (tuple(indices) if isinstance(indices, (tuple, list)) else (indices,))
        return TensorSlice(self.tensor, found) if len(found) < self.tensor.ndim else self.tensor(*found)
