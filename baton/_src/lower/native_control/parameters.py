"""What the kernel of a function takes: the tensors in its parameters, then the sizes that only its shapes tell.

def loop(x: R.Tensor((m, "m + n")), s: R.Shape([n]))    ->    loop_steps(x, ..., n)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.lower.relax_to_vm.abstract_values import Fields, Literal, Value
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, leaf_dims, tir_vars_in_struct_info
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo, untupled
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var
from baton._src.values.dtype import INT64


@dataclass(frozen=True, slots=True)
class Parameters:
    """`leaves`: the tensors and shapes in the parameters, left to right, all of known dims. `sizes`: the variables that
    are a dim of their own in a shape, but in no tensor."""

    leaves: tuple[StructInfo, ...]
    sizes: tuple[Var, ...]

    @property
    def tensors(self) -> tuple[TensorStructInfo, ...]:
        """The tensors among the leaves."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, TensorStructInfo))


def parameters_of(infos: Iterable[StructInfo]) -> Parameters | None:
    """The parameters of these struct infos; None if there is anything else in them, or a variable that no dim tells."""
    found = tuple(leaf for info in infos for leaf in untupled(info))
    if not all(is_known(leaf) or _is_known_shape(leaf) for leaf in found):
        return None
    whole, tensors = TupleStructInfo(found), TupleStructInfo([leaf for leaf in found if is_known(leaf)])
    told, shown = definable_tir_vars_in_struct_info(whole), set(definable_tir_vars_in_struct_info(tensors))
    sizes = tuple(v for v in told if v not in shown)
    if not set(tir_vars_in_struct_info(whole)) <= set(told) or any(v.dtype != INT64 for v in sizes):
        return None
    return Parameters(found, sizes)


def told_dims(params: Sequence[StructInfo], given: Sequence[StructInfo]) -> dict[Var, PrimExpr]:
    """What the variables that are dims of their own in parameters are, if these are the arguments."""
    dims: dict[Var, PrimExpr] = {}
    for param, info in zip(params, given):
        for own, found in zip(leaf_dims(param), leaf_dims(info)):
            if isinstance(own, Var):
                dims.setdefault(own, found)
    return dims


def tensors_in(info: StructInfo) -> list[TensorStructInfo] | None:
    """The tensors in a result, left to right; None if there is anything else, or less is known about one."""
    leaves = untupled(info)
    known = [leaf for leaf in leaves if is_known(leaf)]
    return known if len(known) == len(leaves) else None


def _is_known_shape(info: StructInfo) -> bool:
    return isinstance(info, ShapeStructInfo) and info.values is not None


def nested(info: StructInfo, leaves: Iterator[Value]) -> Value:
    """Tensors in the shape of a struct info, in which shapes are themselves; more tensors than it has are left."""
    if isinstance(info, TupleStructInfo):
        return Fields(tuple(nested(f, leaves) for f in info.fields))
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return Literal(ShapeExpr(info.values))
    return next(leaves)


def shape_of(value: Value) -> ShapeExpr | None:
    """The value, if it is a shape that is written out."""
    return value.expr if isinstance(value, Literal) and isinstance(value.expr, ShapeExpr) else None


def over(info: StructInfo, dims: Mapping[Var, PrimExpr]) -> Any:
    """The struct info of a tensor or shape with its shape variables replaced."""
    replaced = [substitute(d, dims) for d in leaf_dims(info)]
    return TensorStructInfo(ShapeExpr(replaced), info.dtype) if is_known(info) else ShapeStructInfo(replaced)
