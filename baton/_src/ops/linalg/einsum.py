"""Einstein summation over any number of operands, and the outer product.

The equation is NumPy's: letters name axes, a letter that is not in the result is summed over, a letter twice in one
operand takes the diagonal, `...` stands for axes that broadcast; without `->` the result has the letters that occur
once, in order. Source: facts relax-ops-passes-vm §1 (linear_algebra), relay-language §6 level 11.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
    OwnMaker,
)
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast_shapes, same_dtype, same_vdevice
from baton._src.ops.dims import DimMath
from baton._src.ops.linalg.products import rounded
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


@attrs
class EinsumAttrs(Attrs):
    """The equation."""

    equation: str = attr(doc='for example "bij,bjk->bik"', relax_name="subscripts")

    @property
    def subscripts(self) -> str:
        """The equation, by Relax's name for it."""
        return self.equation


def parse_equation(equation: str) -> tuple[list[str], str]:
    """The letters of every operand and of the result; `.` marks the broadcast axes."""
    text = equation.replace(" ", "").replace("...", ".")
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    if not arrow:
        counts = Counter("".join(operands))
        letters = "".join(sorted(c for c, n in counts.items() if n == 1 and c != "."))
        right = ("." if "." in left else "") + letters
    return operands, right


def _operands(call: OpCall[EinsumAttrs]) -> list[TensorInfo]:
    found = call.args[0]
    if not isinstance(found, TupleInfo):
        call.fail(f"takes a tuple of tensors, got {found}", code="op-argument")
    return [f for f in found.fields if isinstance(f, TensorInfo)]


def infer(call: OpCall[EinsumAttrs]) -> Info:
    """One dim for each letter of the result."""
    parts = _operands(call)
    dtype, device = same_dtype(call, parts), same_vdevice(call, parts)
    letters, result = parse_equation(call.attrs.equation)
    if len(letters) != len(parts):
        call.fail(f"the equation {call.attrs.equation!r} has {len(letters)} operands, got {len(parts)}")
    _check_letters(call, letters, result)
    if any(p.shape is None for p in parts):
        return TensorInfo(None, dtype, len(result) if "." not in result else -1, device)
    math = DimMath(call.prover)
    extents: dict[str, Dim] = {}
    rest: tuple[Dim, ...] | None = ()
    for names, part in zip(letters, parts):
        assert part.shape is not None
        axes = _axes(call, names, len(part.shape))
        for position, name in enumerate(axes):
            if name.isalpha():
                _check_diagonal(call, math, part.shape[axes.index(name)], name, part.shape[position])
                _agree(call, math, extents, name, part.shape[position])
        dots = tuple(part.shape[i] for i, n in enumerate(axes) if n == ".")
        rest = None if rest is None else broadcast_shapes(call, rest, dots)
    if rest is None:
        return TensorInfo(None, dtype, -1, device)
    if rest and "." not in result:
        help = 'name the axes that are summed over by letters, or write "..." in the result'
        call.fail(f"the result of {call.attrs.equation!r} leaves out axes that `...` stands for: {rest}", help=help)
    shape: list[Dim] = []
    for name in result:
        shape += list(rest) if name == "." else [extents[name]]
    return TensorInfo(tuple(shape), dtype, vdevice=device)


def _check_letters(call: OpCall[EinsumAttrs], letters: list[str], result: str) -> None:
    known = set("".join(letters))
    if any(not (c.isalpha() or c == ".") for c in known | set(result)) or len(set(result)) != len(result):
        call.fail(f"{call.attrs.equation!r} is not an equation of letters", code="op-attribute")
    if not set(result) <= known:
        call.fail(f"the result of {call.attrs.equation!r} has letters that no operand has", code="op-attribute")


def _axes(call: OpCall[EinsumAttrs], names: str, ndim: int) -> str:
    """The letters axis by axis, dots spread out."""
    missing = ndim - len(names.replace(".", ""))
    if missing < 0 or (missing and "." not in names):
        call.fail(f"operand {names!r} of {call.attrs.equation!r} has rank {ndim}")
    return names.replace(".", "." * missing)


def _check_diagonal(call: OpCall[EinsumAttrs], math: DimMath, first: Dim, name: str, dim: Dim) -> None:
    """Within one operand nothing broadcasts: a diagonal is that of a square."""
    if math.equal(first, dim) is False:
        call.fail(f"axis {name!r} of {call.attrs.equation!r} is both {first} and {dim} in the same operand")


def _agree(call: OpCall[EinsumAttrs], math: DimMath, extents: dict[str, Dim], name: str, dim: Dim) -> None:
    old = extents.get(name)
    if old is None or (isinstance(old, int) and old == 1):
        extents[name] = dim
    elif not (isinstance(dim, int) and dim == 1) and math.equal(old, dim) is False:
        call.fail(f"axis {name!r} of {call.attrs.equation!r} is {old} in one operand and {dim} in another")


def compute(inputs: Sequence[Sequence[k.Tensor]], a: EinsumAttrs, out: k.Result) -> k.Tensor:
    """One reduction over all letters that the result has not."""
    parts = list(inputs[0])
    letters, result = parse_equation(a.equation)
    spread = [n.replace(".", "." * (p.ndim - len(n.replace(".", "")))) for n, p in zip(letters, parts)]
    extents: dict[str, Dim] = {}
    for names, part in zip(spread, parts):
        for position, name in enumerate(names):
            if name.isalpha() and (name not in extents or k.is_one(extents[name])):
                extents[name] = part.shape[position]
    dots = len(out.shape) - len(result.replace(".", ""))
    summed = {n: k.reduce_axis(e, n) for n, e in extents.items() if n not in result}
    kept = accumulator(out.dtype)

    def body(*indices: k.Scalar) -> k.Scalar:
        at: dict[str, k.Scalar] = {n: axis.var for n, axis in summed.items()}
        spare: k.Indices = ()
        place = 0
        for name in result:
            if name == ".":
                spare = indices[place : place + dots]
                place += dots
            else:
                at[name] = indices[place]
                place += 1
        value, *others = (k.cast(kept, part(*_where(part, names, at, spare))) for names, part in zip(spread, parts))
        for factor in others:
            value = value * factor
        return k.reduce_sum(value, list(summed.values())) if summed else value

    return rounded(k.compute(out.shape, body, "einsum"), out.dtype)


def _where(part: k.Tensor, names: str, at: Mapping[str, k.Scalar], spare: k.Indices) -> list[k.Scalar]:
    own = spare[len(spare) - names.count(".") :]
    dots = iter(own)
    found = []
    for dim, name in zip(part.shape, names):
        index = next(dots) if name == "." else at[name]
        found.append(k.index(0) if k.is_one(dim) else index)
    return found


def reference(inputs: Sequence[Sequence[AnyArray]], a: EinsumAttrs) -> AnyArray:
    """`numpy.einsum`."""
    dtype = k.DataType(inputs[0][0].dtype)
    kept = accumulator(dtype).numpy
    return np.asarray(np.einsum(a.equation, *(x.astype(kept) for x in inputs[0]))).astype(dtype.numpy)


def gradient(b: CallMaker, args: Exprs, a: EinsumAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """For each operand: the gradient times the other operands, summed where the operand is broadcast (no diagonals)."""
    infos = args[0].struct_info.fields
    letters, result = _spelled_out(a.equation, [info.ndim for info in infos])
    operands = [b.item(args[0], i) for i in range(len(letters))]
    found = []
    for position, names in enumerate(letters):
        if len(set(names)) != len(names):
            raise fail("op-gradient", f"the gradient of the diagonal that {a.equation!r} takes is not known")
        others = [i for i in range(len(letters)) if i != position]
        given, factors = [result, *(letters[i] for i in others)], [grad, *(operands[i] for i in others)]
        if any(_is_alone(name, infos, letters, others) for name in names if name not in result):
            given, factors = [*given, names], [*factors, b.full_like(operands[position], 1)]
        made = b.op("einsum", b.tuple(*factors), equation=f"{','.join(given)}->{names}")
        found.append(b.op("collapse_sum_like", made, operands[position]))
    return [b.tuple(*found)]


def _spelled_out(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of operands and result, the axes that broadcast having letters, too."""
    letters, result = parse_equation(equation)
    counts = [rank - len(names.replace(".", "")) for names, rank in zip(letters, ranks)]
    spare = "".join(c for c in string.ascii_letters if c not in equation)[: max(counts)]
    operands = [names.replace(".", spare[len(spare) - count :]) for names, count in zip(letters, counts)]
    return operands, result.replace(".", spare)


def _is_alone(name: str, infos: Sequence[TensorStructInfo], letters: list[str], others: list[int]) -> bool:
    """Whether no other operand has the extent of an axis: they do not have it, or they broadcast along it."""
    shapes = [(getattr(infos[i].shape, "values", None), letters[i].find(name)) for i in others]
    return all(axis < 0 or (dims is not None and k.is_one(dims[axis])) for dims, axis in shapes)


def _sample(equation: str, *shapes: tuple[SampleDim, ...], in_relay: bool = True) -> Sample:
    return Sample((tuple(Arr(s) for s in shapes),), EinsumAttrs(equation), rtol=1e-4, in_relay=in_relay)


def relax_einsum(make: OwnMaker, operands: Sequence[GraphExpr], subscripts: str) -> GraphExpr:
    """Relax calls the equation `subscripts`."""
    return make(operands, equation=subscripts)


EINSUM = OpDef(
    "einsum",
    EinsumAttrs,
    inputs=(Input("operands", "the tensors", kind="tensors", relay_name="data"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    relax_builder=relax_einsum,
    samples=lambda: (
        _sample("bij,bjk->bik", ("b", "n", 4), ("b", 4, 3)),
        _sample("ij->ji", (2, 3)),
        _sample("ii->i", (3, 3)),
        _sample("ij,j", (2, 3), (3,)),
        _sample("...ij,jk->...ik", (2, 1, 3, 4), (4, 2)),
        _sample("i,j,k->ijk", (2,), (3,), (4,)),
        _sample("ij,k->i", (2, "n"), (3,)),
        # Relay's tests open every extent, and open extents of one letter are taken to be equal.
        _sample("...ij,ij->...", (3, 1, 4), (2, 4), in_relay=False),
    ),
)


def infer_outer(call: OpCall[EinsumAttrs]) -> Info:
    """(n,) and (m,) give (n, m)."""
    a, b = call.tensor(0), call.tensor(1)
    dtype, device = same_dtype(call, (a, b)), same_vdevice(call, (a, b))
    for x in (a, b):
        if x.ndim not in (-1, 1):
            call.fail(f"takes vectors, got rank {x.ndim}")
    if a.shape is None or b.shape is None:
        return TensorInfo(None, dtype, 2, device)
    return TensorInfo((a.shape[0], b.shape[0]), dtype, vdevice=device)


OUTER = OpDef(
    "outer",
    inputs=(Input("x1"), Input("x2")),
    infer=infer_outer,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda i, j: inputs[0](i) * inputs[1](j), "outer"),
    reference=lambda inputs, a: np.outer(*inputs),
    gradient=lambda b, args, a, out, grad: [
        b.op("matmul", grad, args[1]),
        b.op("matmul", args[0], grad),
    ],
    fusion=Fusion.BROADCAST,
    relay_name=NotApplicable("Relay composes it of other operators"),
    samples=lambda: (Sample((Arr(("n",)), Arr((3,)))),),
    summary="The outer product of two vectors.",
)

EINSUMS: tuple[Definition, ...] = (EINSUM, OUTER)
