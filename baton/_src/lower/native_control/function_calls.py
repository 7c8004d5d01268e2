"""Calls of functions that are kernels by now, also through closures that are called where they are created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from baton._src.ir.expr import GlobalVar, GraphExpr, PrimExpr
from baton._src.lower.native_control.parameters import over, told_dims
from baton._src.lower.native_control.steps import Callee
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Literal, Value
from baton._src.lower.relax_to_vm.kernel_arguments import known_dims
from baton._src.relax.check.variables import leaf_dims, leaf_infos
from baton._src.relax.nodes import Call, Function, Tuple
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo

Covers = Callable[[StructInfo, StructInfo], bool]
"""Whether the first StructInfo certainly holds of what has the second."""


def called_by_closure(call: Call, closures: Mapping[GraphExpr, Call]) -> tuple[GlobalVar, Sequence[GraphExpr]] | None:
    """The function that a closure created here calls, and all its arguments: the given ones, then the captured ones."""
    closure, given = call.args
    made = closures.get(closure)
    if made is None or not isinstance(made.args[0], GlobalVar) or not isinstance(given, Tuple):
        return None
    return made.args[0], (*given.fields, *made.args[1].fields)


def keeps_word(call: Call, function: Function, kernel: KernelCall, covers: Covers) -> bool:
    """Whether the closure's result certainly has the type that the call declares, on which its readers rely."""
    said, made = call.struct_info_, function.struct_info_.ret
    return _nesting(said) == _nesting(made) and all(map(covers, leaf_infos(said), kernel.outputs))


def call_of_kernel(
    callee: Callee | None, arguments: Sequence[Value], infos: Sequence[StructInfo], covers: Covers
) -> KernelCall | None:
    """A call of a function that is a kernel by now, its dims in terms of the arguments'. If the function collects rows,
    it begins with none; the capacity is still the callee's variable."""
    if callee is None or len(infos) != len(callee.params.leaves):
        return None
    dims = told_dims(callee.params.leaves, infos)
    if not all(covers(over(param, dims), info) for param, info in zip(callee.params.leaves, infos)):
        return None
    tensors = [(a, i) for a, i in zip(arguments, infos) if isinstance(i, TensorStructInfo)]
    sizes: tuple[PrimExpr, ...] = tuple(dims[v] for v in callee.params.sizes)
    if callee.collecting is not None:
        collected = callee.collecting.collected
        if not all(known_dims(leaf_dims(tensors[k][1])[:1]) == (0,) for k in collected):
            return None
        tensors = [t for k, t in enumerate(tensors) if k not in collected]
        sizes = (*sizes, callee.collecting.capacity)
    outputs = tuple(over(o, dims) for o in callee.outputs)
    values = (*(a for a, _ in tensors), *(Literal(c) for c in callee.constants))
    known = (*(i for _, i in tensors), *(c.struct_info_ for c in callee.constants))
    fresh = (-1,) * len(outputs)
    return KernelCall(callee.kernel, callee.function, callee.kernel.name_hint, values, known, sizes, outputs, fresh)


Nesting: TypeAlias = "tuple[Nesting, ...] | None"


def _nesting(info: StructInfo) -> Nesting:
    """The nesting of tuples; everything else is None."""
    return tuple(map(_nesting, info.fields)) if isinstance(info, TupleStructInfo) else None
