"""Gradients of user-written kernels: te functions by name, used by Gradient for `call_tir_with_grad`.

    @register_te_gradient("mul_grad")
    def mul_grad(output_grad, a, b):
        to_a = te.compute(a.shape, lambda i: output_grad(i) * b(i))
        return [to_a, te.compute(b.shape, lambda i: output_grad(i) * a(i))]

    bb.emit(bb.call_te_with_grad(mul, a, b, te_grad_name="mul_grad"))

The function takes the gradient of the result (a list for several results), then the kernel's operands, then
`te_grad_kwargs`; it returns a tensor for each of the kernel's tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.relax.nodes import Call
from baton._src.relax.special_ops import special_op
from baton._src.values.packed_func import PROCESS_FUNCTIONS

_PREFIX = "relax.te_grad."
_OF_OPERATORS = "relax.op_grad."


_WITH_GRAD = special_op("call_tir_with_grad")


def has_te_gradient(value: GraphExpr) -> bool:
    """Whether it is a `call_tir_with_grad`."""
    return isinstance(value, Call) and value.op is _WITH_GRAD


def without_te_gradient(value: GraphExpr) -> Any:
    """The plain `call_tir` of a `call_tir_with_grad`; anything else as it is."""
    return value.with_fields(op=special_op("call_tir"), attrs=None) if has_te_gradient(value) else value


def register_te_gradient(te_grad_name: str, te_grad_func: Callable[..., Any] | None = None) -> Any:
    """Register a te function, or give the decorator that does. A name may be given another function later."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROCESS_FUNCTIONS.register(_PREFIX + te_grad_name, function, override=True)
        return function

    return register if te_grad_func is None else register(te_grad_func)


def te_gradient(name: str) -> Callable[..., Any] | None:
    """The te function registered under `name`."""
    found = PROCESS_FUNCTIONS.get(_PREFIX + name)
    return None if found is None else found.function


def register_gradient(op_name: str, fgradient: Callable[..., Any] | None = None, level: int = 10) -> Any:
    """Say how an operator (`relax.nn.relu`) is differentiated, or give the decorator that does: `fgradient(variable,
    call, gradient of the result, builder)` gives the gradients of the arguments. The registration of the highest level
    counts, among equals the last."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        known = operator_gradient(op_name)
        if known is None or level >= getattr(known, "gradient_level", 0):
            PROCESS_FUNCTIONS.register(_OF_OPERATORS + op_name, _Levelled(function, level), override=True)
        return function

    return register if fgradient is None else register(fgradient)


class _Levelled:
    """A gradient and its level."""

    def __init__(self, function: Callable[..., Any], level: int) -> None:
        self.function, self.gradient_level = function, level

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def operator_gradient(op_name: str) -> Callable[..., Any] | None:
    """The gradient that users registered for an operator."""
    found = PROCESS_FUNCTIONS.get(_OF_OPERATORS + op_name)
    return None if found is None else found.function
