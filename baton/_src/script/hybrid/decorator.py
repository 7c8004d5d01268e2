"""`te.hybrid.script`: a function written as loops over tensors.

@hybrid.script
def outer(a, b):
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c

C = outer(A, B)                  # tensors of te: a tensor made by these loops
outer(numpy_a, numpy_b)          # arrays: the function runs as Python, its words standing for NumPy's
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.script.hybrid.read_kernel import KernelReader
from baton._src.script.hybrid.words import IN_NUMPY
from baton._src.script.read_source import source_of
from baton._src.support.diagnostics import fail
from baton._src.te.tag import chosen_tag
from baton._src.te.tensor import ExternOp, Tensor
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar, literal
from baton._src.tir.stmt import For, Stmt


def script(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """The hybrid kernel of a function; see the module. Error `te-hybrid`: a part of it, which the error names, cannot
    be read.
    """
    if not isinstance(pyfunc, FunctionType):
        raise TypeError(f"hybrid.script is for functions, not for a {type(pyfunc).__name__}")

    @functools.wraps(pyfunc)
    def kernel(*args: Any, **options: Any) -> Any:
        if not any(_is_symbolic(arg) for arg in (*args, *options.values())):
            return _as_python(pyfunc)(*args, **options)
        bound = inspect.signature(pyfunc).bind(*args, **options)
        bound.apply_defaults()
        return _computed(pyfunc, [*bound.args, *bound.kwargs.values()])

    vars(kernel)["hybrid_kernel"] = pyfunc
    return kernel


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_symbolic, value))
    return isinstance(value, Tensor | PrimExpr | Buffer)


def _as_python(pyfunc: FunctionType) -> Callable[..., Any]:
    """The function with the kernel functions among its globals."""
    known = {**pyfunc.__globals__, **IN_NUMPY}
    made = FunctionType(pyfunc.__code__, known, pyfunc.__name__, pyfunc.__defaults__, pyfunc.__closure__)
    made.__kwdefaults__ = pyfunc.__kwdefaults__
    return made


def _computed(pyfunc: FunctionType, args: list[Any]) -> Any:
    """The tensor (or tuple of tensors) that the loops compute from tensors and numbers."""
    inputs: list[Tensor] = []
    buffers: list[Buffer] = []

    def operand(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return tuple(map(operand, value))
        if not isinstance(value, Tensor):
            return literal(value) if isinstance(value, bool | int | float) else value
        inputs.append(value)
        buffers.append(decl_buffer(value.shape, value.dtype, value.name))
        return buffers[-1]

    body, outputs = _read(pyfunc, [operand(value) for value in args])
    operands = (tuple(inputs), tuple(buffers), tuple(outputs))
    op = ExternOp(pyfunc.__name__, *operands, body, chosen_tag(""), own_loops=_loops(body))
    found = tuple(op.output(place) for place in range(op.num_outputs))
    return found[0] if len(found) == 1 else found


def _loops(body: Stmt) -> tuple[IterVar, ...]:
    """The loops as axes: outer ones before those inside, and what is written later first, as in TVM."""
    return tuple(IterVar(Range(n.min, n.extent), n.loop_var) for n in reversed(post_order(body)) if isinstance(n, For))


def _read(pyfunc: FunctionType, args: list[Any]) -> tuple[Stmt, list[Buffer]]:
    source = source_of(pyfunc)
    node = source.tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise fail("te-hybrid", f"{pyfunc.__name__} is not defined by def")
    captured = inspect.getclosurevars(pyfunc)
    reader = KernelReader(source, {**captured.globals, **captured.nonlocals}, inner=_read_called)
    body = reader.kernel(node, args)
    return body, reader.outputs


def _read_called(function: Any, args: list[Any]) -> tuple[Stmt, list[Buffer]] | None:
    called = getattr(function, "hybrid_kernel", None)
    return None if called is None else _read(called, args)
