"""The steps of a function with control flow: run a kernel, branch, keep a value, iterate again, return; read and
compare sizes, end with an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from baton._src.ir.expr import GlobalVar, GraphExpr, PrimExpr
from baton._src.lower.native_control.parameters import Parameters, over
from baton._src.lower.relax_to_vm.abstract_values import (
    InRegister,
    KernelCall,
    Longer,
    Value,
    memory_of,
)
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition
from baton._src.relax.call_builders import call_tir
from baton._src.relax.nodes import Call, Constant, ShapeExpr, Tuple
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64, DataType


@dataclass(eq=False, slots=True)
class Compute:
    """Run a kernel."""

    call: KernelCall


@dataclass(eq=False, slots=True)
class Choose:
    """Run one of two sequences."""

    condition: Value
    then_steps: list[Step] = field(default_factory=list)
    else_steps: list[Step] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Keep:
    """Copy a branch's value to the place of the value of the whole `if`."""

    value: Value
    merged: InRegister


@dataclass(eq=False, slots=True)
class Repeat:
    """Iterate again with these parameters: a tail call of the function itself. `rows` are this iteration's, of what the
    function collects; `sizes` the shape variables of the parameters that are different then, with what they are."""

    values: tuple[Value, ...]
    rows: tuple[Value, ...] = ()
    sizes: Mapping[Var, PrimExpr] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Return:
    """Return these tensors, the leaves of the result."""

    values: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class Read:
    """Let these sizes be the elements of a tensor, in the steps that follow it in its sequence."""

    sizes: tuple[Var, ...]
    tensor: Value
    dtype: DataType = INT64


@dataclass(eq=False, slots=True)
class Within:
    """End with an error unless 0 <= `size` <= `most`: there is memory for a tensor of data-dependent size. Of a tensor
    whose memory depends on no data only that it has a size (`most` is None): kernels rely on that."""

    size: PrimExpr
    most: PrimExpr | None
    place: str


@dataclass(eq=False, slots=True)
class Check:
    """End with an error unless the dims of a cast are as it says."""

    conditions: tuple[CastCondition, ...]


@dataclass(eq=False, slots=True)
class Refuse:
    """End with this error."""

    reason: str


Step = Compute | Choose | Keep | Repeat | Return | Read | Within | Check | Refuse


@dataclass(frozen=True, slots=True)
class Chunk:
    """How a function runs some of its iterations: its results are the parameters with the numbers `states`, so many
    tensors of rows, of which each iteration appends one (`rows`), the number of iterations, and whether there was no
    room for more: `capacity`, which it takes after the other sizes."""

    states: tuple[int, ...]
    rows: int
    capacity: Var


@dataclass(frozen=True, slots=True)
class Stretch:
    """How a function runs some of its iterations if they change sizes: its results are the parameters with the numbers
    `states`, which are different in each of them, and the sizes. `starts`: the variables that change, with names for
    what they are at the start; `capacities`: for states that grow the most elements, which it takes after the other
    sizes. To those that are `appended` rows are appended where they are. An iteration runs only if `fits`."""

    states: tuple[int, ...]
    starts: Mapping[Var, Var]
    capacities: Mapping[int, Var]
    appended: frozenset[int]
    fits: PrimExpr

    def memory(self, index: int, info: TensorStructInfo) -> TensorStructInfo:
        """The memory for parameter `index`, of these dims at present."""
        capacity = self.capacities.get(index)
        return info if capacity is None else TensorStructInfo(ShapeExpr([capacity]), info.dtype)


@dataclass(frozen=True, slots=True)
class Collecting:
    """Numbers of tensors in a function's parameters: `collected` are made longer, `changing` are the others that differ
    between iterations, and `returned` is what the function returns. `capacity` as in `Chunk`; where nothing says how
    many iterations there are, `usual` is a good one."""

    collected: tuple[int, ...]
    changing: tuple[int, ...]
    returned: tuple[int, ...]
    capacity: Var
    usual: PrimExpr


@dataclass(frozen=True, slots=True)
class Steps:
    """A function as steps. `params` are the tensors in its parameters, `sizes` what it takes besides (`parameters`),
    `results` the struct infos of the leaves of what it returns; `chunk`: it may return before it is done."""

    params: tuple[InRegister, ...]
    steps: list[Step]
    results: tuple[TensorStructInfo, ...]
    repeats: tuple[Repeat, ...]
    sizes: tuple[Var, ...] = ()
    room: Mapping[Value, TensorStructInfo] = field(default_factory=dict)
    """The most that tensors of data-dependent sizes can be."""
    chunk: Chunk | None = None
    stretch: Stretch | None = None

    @property
    def resizes(self) -> bool:
        """Whether iterations change sizes."""
        return any(r.sizes for r in self.repeats)

    @property
    def collects(self) -> bool:
        """Whether an iteration makes a parameter longer."""
        return any(isinstance(v, Longer) for r in self.repeats for v in r.values)

    def at_start(self, info: TensorStructInfo) -> TensorStructInfo:
        """The struct info of a parameter before all iterations."""
        found: TensorStructInfo = info if self.stretch is None else over(info, self.stretch.starts)
        return found

    def is_kept(self, index: int) -> bool:
        """Whether parameter `index` is the same in every iteration."""
        return all(memory_of(r.values[index]) is self.params[index] for r in self.repeats)


@dataclass(frozen=True, slots=True)
class Callee:
    """A function of the module that is a kernel by now: it takes the tensors in its parameters, constants and the sizes
    that only the parameters' shapes tell, and gives `outputs`, the last of which is its workspace. Dims are over the
    variables of the parameters. If it collects rows, it takes all tensors but these, and a capacity after the sizes.
    `usual`: the capacities that it takes for a `stretch`, with good ones."""

    kernel: GlobalVar
    function: PrimFunc
    params: Parameters
    constants: tuple[Constant, ...]
    outputs: tuple[TensorStructInfo, ...]
    collecting: Collecting | None = None
    stretch: Stretch | None = None
    usual: Mapping[Var, PrimExpr] = field(default_factory=dict)

    def call(self, tensors: Sequence[GraphExpr]) -> Call:
        """The call of the kernel where the parameters are what they are in the function."""
        usual = self.usual if self.collecting is None else {self.collecting.capacity: self.collecting.usual}
        sizes = (*self.params.sizes, *usual.values())
        packed = Tuple((*tensors, *self.constants))
        info = TupleStructInfo([over(o, usual) for o in self.outputs])
        return call_tir(self.kernel, packed, info, ShapeExpr(sizes) if sizes else None)
