"""Gradients of kernels that people write: te functions by name, used by Gradient for `call_tir_with_grad`.

    @register_te_gradient("mul_grad")
    def mul_grad(output_grad, a, b):
        to_a = te.compute(a.shape, lambda i: output_grad(i) * b(i))
        return [to_a, te.compute(b.shape, lambda i: output_grad(i) * a(i))]

    bb.emit(bb.call_te_with_grad(mul, a, b, te_grad_name="mul_grad"))

The function takes the gradient of the result (a list for several results), then what the kernel took, then
`te_grad_kwargs`; it gives a tensor for each of the kernel's tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.values.packed_func import PROCESS_FUNCTIONS

_PREFIX = "relax.te_grad."


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
