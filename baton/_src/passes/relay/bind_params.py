"""Bind known parameters as constants: `relay.build_module.bind_params_by_name(func, params)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from baton._src.ir.types import TensorType
from baton._src.relay.expressions import replace
from baton._src.relay.nodes import Constant, Function
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.values.convert import snapshot
from baton._src.values.tensor import NDArray


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with the parameters that `params` names replaced by constants; other names are ignored.

    A tensor that contradicts a parameter's declared shape or dtype is an error (`params-mismatch`), and so is a name
    that several parameters have.
    """
    if not isinstance(func, Function):
        raise fail("api", f"parameters of a function are bound, not of a {type(func).__name__}", kind=TypeError)
    found = {}
    count = Counter(param.name_hint for param in func.params)
    for param in func.params:
        if param.name_hint in params:
            if count[param.name_hint] > 1:
                message = f"{count[param.name_hint]} parameters are called {param.name_hint!r}"
                raise fail("params-mismatch", message, span=param.span, help="give them names of their own")
            value = snapshot(params[param.name_hint])
            if not isinstance(value, NDArray):
                message = f"parameter {param.name_hint!r} needs a tensor, got a {type(value).__name__}"
                raise fail("params-mismatch", message, span=param.span, help="params maps names to arrays")
            _check(param, value)
            found[param] = Constant(value)
    return bound(func, found) if found else func


def bound(func: Function, values: Mapping[Any, Any]) -> Function:
    """`func` with variables replaced by expressions; parameters among them are no parameters any more."""
    rest = tuple(p for p in func.params if p not in values)
    body, written = replace(func.body, values), (func.ret_annotation, func.type_params, func.attrs, func.span)
    return Function(rest, body, *written, where=func.where)


def _check(param: Any, value: NDArray) -> None:
    type_ = param.type_annotation
    if not isinstance(type_, TensorType) or not isinstance(type_.shape, tuple):
        return
    dims = [d.value if isinstance(d, IntImm) else None for d in type_.shape]
    fits = len(dims) == len(value.shape) and all(want is None or want == have for want, have in zip(dims, value.shape))
    if not fits or (type_.dtype != value.dtype):
        shape = ", ".join("?" if isinstance(d, AnyDim) else str(d) for d in type_.shape)
        message = (
            f"parameter {param.name_hint!r} is a Tensor[({shape}), {type_.dtype}]; given {value.shape} {value.dtype}"
        )
        wrong = "its shape" if not fits else "its dtype"
        cast = f": value.astype({str(type_.dtype)!r})" if fits else ""
        help = f"{wrong} must be the parameter's{cast}, or declare relay.var({param.name_hint!r}, ...) as the value is"
        raise fail("params-mismatch", message, span=param.span, help=help)
