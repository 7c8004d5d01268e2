"""Functions of TorchScript on numbers, lists, texts and facts about tensors, as Python computes them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library

DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
    "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
)  # fmt: skip
"""TorchScript counts dtypes."""


def _add(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a + b if isinstance(a, list) or alpha == 1 else a + b * alpha


def _subtract(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - (b if alpha == 1 else b * alpha)


def _divide(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return a / b
    return a // b if rounding_mode == "floor" else torch_library().sym_int(a / b)


def _whole(number: Any) -> Any:
    return torch_library().sym_int(number)


def _item(tensor: Any) -> Any:
    """The number of a tensor of one element, and what is a number already."""
    return tensor.item() if isinstance(tensor, torch_library().Tensor) else tensor


def _as_bool(value: Any) -> Any:
    """The answer of a tensor is a tensor, as only a run tells it."""
    return value if isinstance(value, torch_library().Tensor) else bool(value)


def _not(value: Any) -> Any:
    return value.logical_not() if isinstance(value, torch_library().Tensor) else not value


def _slice(items: list[Any], start: int | None, end: int | None, step: int) -> list[Any]:
    return items[start:end:step]


def _set_item(items: Any, place: Any, item: Any) -> Any:
    items[place] = item
    return items


def _size(x: Any, dim: int | None = None) -> Any:
    return list(x.shape) if dim is None else x.shape[dim]


def _itself(value: Any, *_: Any) -> Any:
    return value


def _nothing(*_: Any) -> None:
    """Warnings and prints say nothing about the result."""


def _listed(*items: Any) -> list[Any]:
    return list(items)


def _tupled(*items: Any) -> tuple[Any, ...]:
    return items


def _number_of_dtype(x: Any) -> Any:
    """What TorchScript counts the dtype as: programs compare it with such numbers."""
    name = str(x.dtype).removeprefix("torch.")
    return DTYPES.index(name) if name in DTYPES else x.dtype


def _formatted(text: str, *items: Any) -> str:
    return text.format(*items)


ON_TENSORS: dict[str, Callable[..., Any]] = {
    "prim::ListConstruct": _listed, "prim::TupleConstruct": _tupled, "prim::TupleIndex": operator.getitem,
    "prim::NumToTensor": _itself, "prim::unchecked_cast": _itself, "prim::unchecked_unwrap_optional": _itself,
    "aten::_unwrap_optional": _itself, "prim::Uninitialized": _nothing, "prim::Print": _nothing, "aten::warn": _nothing,
    "aten::size": _size, "aten::dim": lambda x: x.dim(), "aten::numel": lambda x: x.numel(),
    "prim::dtype": _number_of_dtype, "prim::device": lambda x: x.device, "prim::is_cuda": lambda x: x.is_cuda,
    "aten::is_floating_point": lambda x: x.is_floating_point(), "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not, "aten::append": lambda items, item: [items.append(item), items][1],
    "aten::ScalarImplicit": _item, "aten::IntImplicit": _item, "aten::FloatImplicit": _item, "aten::item": _item,
    "aten::format": _formatted, "aten::Bool": _as_bool, "aten::__not__": _not, "aten::_set_item": _set_item,
}  # fmt: skip
"""What is the same with tensors among the operands. A number that TorchScript makes a tensor of stays a number."""

ON_NUMBERS: dict[str, Callable[..., Any]] = {
    "aten::add": _add, "aten::add_": _add, "aten::sub": _subtract, "aten::mul": operator.mul, "aten::div": _divide,
    "aten::rsub": lambda a, b, alpha=1: b - a * alpha, "aten::floordiv": operator.floordiv,
    "aten::floor_divide": operator.floordiv, "aten::remainder": operator.mod, "aten::neg": operator.neg,
    "aten::pow": operator.pow, "aten::sqrt": math.sqrt, "aten::log": math.log, "aten::exp": math.exp,
    "aten::floor": math.floor, "aten::ceil": math.ceil, "aten::abs": abs, "prim::abs": abs, "prim::min": min,
    "prim::max": max, "aten::eq": operator.eq, "aten::ne": operator.ne, "aten::lt": operator.lt,
    "aten::le": operator.le, "aten::gt": operator.gt, "aten::ge": operator.ge, "aten::__and__": operator.and_,
    "aten::__or__": operator.or_, "aten::__xor__": operator.xor,
    "aten::Int": _whole, "aten::Float": float, "aten::to": _itself, "aten::detach": _itself,
    "aten::clone": _itself, "aten::len": len, "aten::list": list, "aten::__getitem__": operator.getitem,
    "aten::__contains__": operator.contains, "aten::slice": _slice, "aten::extend": list.extend,
    "aten::insert": list.insert, "aten::pop": list.pop, "aten::keys": lambda d: list(d.keys()),
    "aten::values": lambda d: list(d.values()), "aten::items": lambda d: list(d.items()), "aten::get": dict.get,
    "aten::Delete": operator.delitem, "aten::reverse": list.reverse, "aten::clear": lambda items: items.clear(),
    "aten::copy": lambda items: items.copy(), "aten::remove": list.remove, "aten::index": list.index,
    "aten::count": list.count, "aten::sort": lambda items, down=False: items.sort(reverse=down),
    "aten::sorted": sorted, "aten::sum": sum, "aten::any": any, "aten::all": all, "aten::round": round,
    "aten::str": str, "aten::lower": str.lower, "aten::upper": str.upper, "aten::startswith": str.startswith,
    "aten::endswith": str.endswith, "aten::join": str.join,
}  # fmt: skip
"""What is about numbers, lists and texts, as long as no operand is a tensor."""

ON_ELEMENTS = frozenset(
    f"aten::{name}"
    for name in (
        *("add", "sub", "mul", "neg", "floordiv", "remainder", "pow", "abs"),
        *("eq", "ne", "lt", "le", "gt", "ge", "__and__", "__or__", "__xor__"),
    )
)
"""Those of numbers that Python's operators compute, too, where a number is an element, known only when a run tells."""
