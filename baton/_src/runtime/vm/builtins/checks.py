"""Run-time checks of values: one check per instruction, with messages that name the variable and both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.runtime.dim_expr import compile_dim
from baton._src.runtime.executable.constants import Data
from baton._src.runtime.function_checks import check_function
from baton._src.runtime.quick_checks import Plain, are_plain, plain_values
from baton._src.runtime.value_checks import Matcher, check_condition, numbers_as_declared
from baton._src.runtime.value_checks import check_signature as check_values
from baton._src.runtime.value_errors import describe, mismatch, refusal
from baton._src.runtime.value_info import (
    FunctionValue,
    PrimScalar,
    ShapeValue,
    TensorValue,
    TupleValue,
    ValueInfo,
)
from baton._src.support.diagnostics import fail
from baton._src.values.shape import ShapeTuple


def check_signature(heap: list[Any], infos: TupleValue, facts: Data, *arguments: Any) -> tuple[()]:
    """The arguments of a function against its parameters: bind all shape variables first, then check left to right.

    `facts` is [function name, parameter names, slot names, and the numbers of the parameters that hold others' shapes].
    """
    wanted = facts.remembered.get("wanted", False)
    if wanted is False:
        wanted = facts.remembered["wanted"] = plain_values(_leaves(infos), facts.content[2])
        facts.remembered["nested"] = any(isinstance(info, TupleValue) for info in infos.fields)
    values = _spread(arguments, infos) if facts.remembered["nested"] else arguments
    if wanted is None or values is None or len(arguments) != len(infos.fields) or not are_plain(values, wanted, heap):
        function, names, slots, *holders = facts.content
        held = [arguments[i] for i in holders] if len(arguments) == len(infos.fields) else []
        check_values(arguments, infos.fields, names, Matcher(heap, slots, held), function)
    return ()


def _leaves(info: TupleValue) -> list[ValueInfo]:
    """The fields of a tuple, those of tuples in it in their place."""
    found: list[ValueInfo] = []
    for field in info.fields:
        found += _leaves(field) if isinstance(field, TupleValue) else [field]
    return found


def _spread(values: Sequence[Any], info: TupleValue) -> list[Any] | None:
    """The values of these leaves; None if they are no such tuples."""
    if len(values) != len(info.fields):
        return None
    found: list[Any] = []
    for value, field in zip(values, info.fields):
        if isinstance(field, TupleValue):
            inner = _spread(value, field) if type(value) is tuple else None
            if inner is None:
                return None
            found += inner
        else:
            found.append(value)
    return found


def match_cast(heap: list[Any], info: ValueInfo, facts: Data, value: Any, *shapes: Any) -> Any:
    """`value`, after checking it against `info` left to right; new shape variables are stored to the heap.

    `facts` is [what is checked, slot names]; `shapes` are the shapes held by variables that `info` refers to.
    """
    place, names = facts.content
    wanted = facts.remembered.get("wanted", False)
    if wanted is False:
        wanted = facts.remembered["wanted"] = _plain_cast(info, names)
    if wanted is None or not are_plain((value,), wanted, heap):
        Matcher(heap, names, shapes).check(value, info, place)
    return value


def _plain_cast(info: ValueInfo, names: Sequence[str]) -> tuple[Plain, ...] | None:
    """As for a parameter, unless a size is computed from variables that the cast itself binds: their order matters."""
    wanted = plain_values((info,), names)
    own = {slot for plain in wanted or () for _, slot in plain.slots}
    if wanted is None or any(own & set(slots) for plain in wanted for _, _, slots in plain.derived):
        return None
    return wanted


def check_dims(heap: list[Any], facts: Data) -> tuple[()]:
    """Pairs of dims that have to be equal. `facts` is [slot names, [[place, found, expected], ...]]."""
    names, pairs = facts.content
    compiled = facts.remembered.get("pairs")
    if compiled is None:
        compiled = [(compile_dim(found, names), compile_dim(expected, names)) for _, found, expected in pairs]
        facts.remembered["pairs"] = compiled
    for (have, want), (place, found, expected) in zip(compiled, pairs, strict=True):
        if have(heap) != want(heap):
            check_condition(found, expected, place, heap, names)
    return ()


def check_tensor_info(value: Any, ndim: int, dtype: str | None, context: str = "") -> tuple[()]:
    """A tensor of rank `ndim` (-1: any) and `dtype` (null or void: any)."""
    kind = "" if dtype in (None, "void") else str(dtype)
    Matcher([]).check(value, TensorValue(kind, ndim), context or "value")
    return ()


def check_shape_info(value: Any, ndim: int, context: str = "") -> tuple[()]:
    """A shape of `ndim` dims (-1: any)."""
    Matcher([]).check(value, ShapeValue(ndim), context or "value")
    return ()


def check_prim_value_info(value: Any, dtype: str, context: str = "") -> tuple[()]:
    """A prim value of `dtype`."""
    Matcher([]).check(value, PrimScalar(str(dtype)), context or "value")
    return ()


def check_tuple_info(value: Any, size: int, context: str = "") -> tuple[()]:
    """A tuple of `size` values."""
    if not isinstance(value, tuple) or isinstance(value, ShapeTuple):
        raise mismatch(context or "value", f"a tuple of {size} values", describe(value))
    if len(value) != size:
        raise mismatch(context or "value", f"a tuple of {size} values", f"{len(value)} values", ValueError)
    return ()


def check_func_info(value: Any, context: str = "") -> tuple[()]:
    """Something callable."""
    check_function(value, FunctionValue(any_callable=True), context or "value")
    return ()


def refuse(reason: str) -> tuple[()]:
    """Takes the place of code that could not be compiled: reaching it is an error that says why (`value-mismatch`)."""
    raise fail("value-mismatch", refusal(reason))


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.check_signature": check_signature,
    "vm.builtin.match_cast": match_cast,
    "vm.builtin.check_dims": check_dims,
    "vm.builtin.numbers_as_declared": numbers_as_declared,
    "vm.builtin.check_tensor_info": check_tensor_info,
    "vm.builtin.check_shape_info": check_shape_info,
    "vm.builtin.check_prim_value_info": check_prim_value_info,
    "vm.builtin.check_tuple_info": check_tuple_info,
    "vm.builtin.check_func_info": check_func_info,
    "vm.builtin.refuse": refuse,
}
