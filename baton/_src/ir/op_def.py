"""`OpDef`: everything there is to say about one operator, in one value. Relay and Relax are two signatures over it.

A facet that does not apply is spelled `NotApplicable("why")`, so that "forgotten" and "impossible" differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs
from baton._src.ir.expr import GraphExpr, Op, PrimExpr
from baton._src.ir.tensor_info import Dim, Info, ObjectInfo, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Span
from baton._src.values.tensor import AnyArray, NDArray

A = TypeVar("A", bound=Attrs)
A_co = TypeVar("A_co", bound=Attrs, covariant=True)


class Fusion(IntEnum):
    """The fusion pattern of an operator (TVM's TOpPattern; the numbers are public)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A facet an operator does not have, and why."""

    why: str


class DimProver(Protocol):
    """Proofs about symbolic dims, for infer functions (implemented by `tir.arith.Analyzer`)."""

    def equal(self, a: Dim, b: Dim) -> bool | None:
        """True or False if certain, None if undecided."""
        ...

    def simplify(self, expr: PrimExpr) -> PrimExpr: ...


@dataclass(frozen=True, slots=True)
class OpCall(Generic[A_co]):
    """One call, as `infer` sees it: what is known of the arguments, the attributes, and a way to report errors.

    `values[i]` is the argument itself as a NumPy array (or tuple of ints for a shape) where it is a known constant.
    """

    op: Definition
    args: tuple[Info, ...]
    attrs: A_co
    prover: DimProver
    values: tuple[AnyArray | tuple[int, ...] | None, ...] = ()
    span: Span | None = None

    def fail(self, message: str, *, code: str = "op-shape", help: str | None = None) -> NoReturn:
        """The call is certainly wrong: `message` says how, naming shapes and dtypes; `help`, if nothing better is
        given, what the operator takes.
        """
        help = help or _operands(self.op)
        raise DiagnosticError(Diagnostic(code, f"{self.op.name}: {message}", span=self.span, help=help))

    def tensor(self, index: int) -> TensorInfo:
        """Argument `index`, which must be a tensor."""
        found = self.args[index]
        if not isinstance(found, TensorInfo):
            name = self.op.inputs[index].name if index < len(self.op.inputs) else f"argument {index}"
            self.fail(f"{name} must be a tensor, got {kind_in_words(found)}", code="op-argument")
        return found


def kind_in_words(found: Info) -> str:
    """A short description of an argument for messages."""
    if isinstance(found, TupleInfo):
        return f"a tuple of {len(found.fields)}"
    words = {
        TensorInfo: "a tensor",
        ShapeInfo: "a shape",
        PrimInfo: "a number",
        ObjectInfo: "a value of another kind, such as a function",
    }
    return words.get(type(found), repr(found))


@dataclass(frozen=True, slots=True)
class Input:
    """An operand: `kind` is `tensor`, `tensors` (a tuple of them), `shape` (a Relax shape value), `prim` (a host
    scalar), `prims` (a tuple of them), or `object`. `relay_name` is Relay's name for it (or for the attribute it has
    instead), where that differs ("lhs" for "x1").

    `default` is what builders insert if a `prim` is omitted (None and `optional`: the call has no such argument).
    `languages` leaves an operand out of one language's calls (Relay's reshape takes its target as an attribute).
    `from_front`: negative numbers count from the end only if they are literals; those computed from sizes count from
    the front, as the type assumes.
    """

    name: str
    doc: str = ""
    kind: str = "tensor"
    optional: bool = False
    relay_name: str = ""
    default: float | None = None
    languages: tuple[str, ...] = ("relay", "relax")
    from_front: bool = False

    def named(self, language: str) -> str:
        """Its name in `relay` or `relax`."""
        return self.relay_name if language == "relay" and self.relay_name else self.name


@dataclass(frozen=True)
class ShapeOf:
    """The shape of a value with dims that a run decides, where the language has no shapes as operands (Relay)."""

    value: GraphExpr


Argument = GraphExpr | PrimExpr | NDArray | AnyArray | np.generic | int | float | Sequence["Argument"] | ShapeOf | None
"""What may be given for an operand: an expression, or what becomes a literal; None leaves it out."""


class AnyMaker(Protocol):
    """Makes expressions of one language, by neutral names of operators: what all makers can."""

    def op(self, name: str, *args: Argument, **attrs: object) -> GraphExpr:
        """A call of an operator."""
        ...

    def const(self, value: object, dtype: object = None) -> GraphExpr:
        """A literal."""
        ...

    def full_like(self, x: GraphExpr, value: float, /) -> GraphExpr:
        """A tensor like `x` with `value` everywhere."""
        ...

    def swap_last(self, x: GraphExpr, ndim: int) -> GraphExpr:
        """The last two of `ndim` axes exchanged."""
        ...


class CallMaker(AnyMaker, Protocol):
    """What gradients and decompositions build with.

    (`ops.call_maker.RelaxMaker` for Relax; `passes.relay.building.Build` for Relay.)
    """

    def tuple(self, *fields: GraphExpr) -> GraphExpr: ...

    def item(self, value: GraphExpr, index: int) -> GraphExpr:
        """value[index]"""
        ...

    def shape(self, dims: Sequence[Dim]) -> Argument:
        """A shape as an operand."""
        ...

    def shape_of(self, x: GraphExpr, /) -> Argument:
        """The shape of `x` as an operand."""
        ...


class OwnMaker(AnyMaker, Protocol):
    """Makes calls of one operator: what a builder of its own gets."""

    @property
    def definition(self) -> Definition:
        """The operator."""
        ...

    def __call__(self, *args: Argument, **attrs: object) -> GraphExpr:
        """A call with these operands (trailing Nones are left out) and attributes."""
        ...


# The operands are Any below: each operator has its own tuple of them, which the parameters of its functions say.
Infer = Callable[[OpCall[A]], Info]
Compute = Callable[[Any, A, Any], Any]
"""`compute(inputs, attrs, out) -> te.Tensor | tuple of them`: inputs are te.Tensors (tuples of them for
`tensors`, tuples of dims for `shape`, scalars for `prim`), `out` is what `infer` said, dims and dtype known."""
Reference = Callable[[Any, A], Any]
"""`reference(inputs, attrs) -> ndarray | tuple of them`: the meaning, over NumPy arrays (tuples of ints for shapes)."""
Exprs = Sequence[GraphExpr]
"""The operands of a call, in order."""
InRelax = tuple[Sequence[Argument], Attrs] | tuple[Sequence[Argument], Attrs, "Definition"]
"""A call as Relax has it: operands, attributes, and the operator where it is another one."""
Gradients = Sequence[GraphExpr | None]
"""A gradient for each operand of a call; None: it has none."""
Decompose = Callable[[CallMaker, Exprs, A, Any], GraphExpr | None]
"""`decompose(builder, args, attrs, out) -> expression`: the call in terms of other operators, which keep names and
spans; None: as it is. `out` is what `infer` said."""
Gradient = Callable[[CallMaker, Exprs, A, GraphExpr, GraphExpr], Gradients]
"""`gradient(builder, args, attrs, out, grad)`: `out` is the call's result, `grad` the gradient for it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The kernels of an operator whose result has a dim that is known only when its elements were seen.

    The operator has one operand. `count(inputs, attrs)` gives int64 (1,), at most as many as the operand has elements;
    `shape(rank, n)` are the result's dims if n were counted for an operand of that rank; `fill` computes it, as
    `OpDef.compute` would.
    """

    count: Callable[[Any, Any], Any]
    shape: Callable[[int, Dim], tuple[Dim, ...]]
    fill: Compute[Any]


def _operands(op: Definition) -> str | None:
    """`the operands are data: the images; weight: ...`; None if the inputs are not documented."""
    said = [f"{i.name}: {i.doc}" for i in op.inputs if i.doc]
    return f"the operands are {'; '.join(said)}" if said else None


@dataclass(frozen=True)
class OpDef(Generic[A]):
    """An operator. `name` is neutral ("nn.conv2d"); Relax calls it `relax.<name>`, Relay `relay_name`."""

    name: str
    attrs: type[A] = NoAttrs  # type: ignore[assignment]  # a default cannot choose `A`
    inputs: tuple[Input, ...] = ()
    infer: Infer[A] = field(kw_only=True)
    compute: Compute[A] | NotApplicable = field(kw_only=True)
    reference: Reference[A] | NotApplicable = field(kw_only=True)
    fusion: Fusion = field(kw_only=True)
    kernel_fusion: Callable[[A], Fusion] | None = field(kw_only=True, default=None)
    """The pattern of kernels for calls with such attributes, where it is another than TVM gives the operator."""
    gradient: Gradient[A] | NotApplicable = field(kw_only=True, default=NotApplicable("not yet"))
    layout: object = field(kw_only=True, default=NotApplicable("keeps the layout it is given"))
    decompose: Decompose[A] | NotApplicable = field(kw_only=True, default=NotApplicable("computed directly"))
    infer_inputs: Callable[[OpCall[A]], Sequence[TensorInfo | None]] | None = field(kw_only=True, default=None)
    """For operators whose weights' types Relay infers from the data: what each unknown argument must be."""
    relay_rule: Callable[[OpCall[A]], None] | None = field(kw_only=True, default=None)
    """Complains of what Relay refuses and Relax takes; `infer` follows."""
    pure: bool = field(kw_only=True, default=True)
    stateful: bool = field(kw_only=True, default=False)
    shape_values: tuple[int, ...] = field(kw_only=True, default=())
    """Arguments whose value decides the output's shape (Relay's TShapeDataDependent)."""
    relay_name: str | NotApplicable = field(kw_only=True, default="")
    relay_builder: Callable[..., Any] | None = field(kw_only=True, default=None)
    """A builder for Relay where the one derived from inputs and attributes does not fit."""
    in_relax: bool = field(kw_only=True, default=True)
    """Whether `relax.op` offers it; a Relay-only operator still exists in Relax for lowering, under `relax.<name>`."""
    relax_builder: Callable[..., Any] | None = field(kw_only=True, default=None)
    relay_to_relax: Callable[[Exprs, A], InRelax] | None = field(kw_only=True, default=None)
    """`(args, attrs) -> (args, attrs)` where the languages differ (reshape: attribute or argument), or
    `(args, attrs, definition)` where Relax has another operator for it."""
    samples: Callable[[], Sequence[Any]] | None = field(kw_only=True, default=None)
    """Sampled calls (`ops.samples.Sample`) for the conformance test over the catalogue."""
    counted: Counted | None = field(kw_only=True, default=None)
    """For operators without `compute` whose result's size can be counted first."""
    outputs: int | Callable[[A], int | None] | None = field(kw_only=True, default=None)
    """None: one tensor. A number n: a tuple of n. A function (split): that number, or None, from the attributes."""
    summary: str = field(kw_only=True, default="")
    """The operator's documentation; by default the docstring of the module that declares `infer`."""

    def __post_init__(self) -> None:
        if self.relay_name == "":
            object.__setattr__(self, "relay_name", self.name)
        object.__setattr__(self, "relax_op", Op(f"relax.{self.name}", definition=self))
        name = self.relay_name
        object.__setattr__(self, "relay_op", Op(name, definition=self) if isinstance(name, str) else None)

    relax_op: Op = field(init=False, repr=False)
    relay_op: Op | None = field(init=False, repr=False)

    @property
    def doc(self) -> str:
        """What it does: `summary`, or the first paragraph of the module that declares it."""
        text = self.summary or inspect.getdoc(inspect.getmodule(self.infer)) or ""
        return text.strip().split("\n\n")[0]


Definition = OpDef[Any]
"""An operator, whatever its attributes: catalogues and tables hold operators of all kinds."""
