"""`tvm.relax.testing.nn`: layers that emit into the block builder in use, for small models in tests and tutorials.

    builder = relax.BlockBuilder()
    with builder.function("main"):
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU())
        data = nn.Placeholder((n, 784), name="data")
        builder.emit_func_output(model(data), [data, *model.parameters()])

(Models for use are written with `relax.frontend.nn`.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from baton._src.frontends.nn.subroutine import SubroutineMixin
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Expr, ShapeExpr, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import NDArray, array

R: Any = RELAX
_CODE = "nn-module"


def Placeholder(shape: Any, dtype: object = "float32", name: str = "data") -> Var:
    """A tensor that the function takes, by shape, dtype and name."""
    return Var(name, _info(shape, dtype))


def Parameter(shape: Any, dtype: object = "float32", name: str = "parameter") -> Var:
    """A tensor that belongs to the model."""
    return Var(name, _info(shape, dtype))


def _info(shape: Any, dtype: object) -> TensorStructInfo:
    if not isinstance(shape, (list, tuple, ShapeExpr)):
        raise fail(_CODE, f"a shape is a list or a tuple, got {type(shape).__name__}")
    return TensorStructInfo(shape, dtype)


class Module(SubroutineMixin):
    """A part of a model: its attributes that are parameters or modules belong to it; calling it runs `forward`."""

    def parameters(self) -> list[Var]:
        """Its parameters and those of its parts, in the order they were made."""
        return [p for value in vars(self).values() for p in _parameters(value)]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The forward computation."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


def _parameters(value: Any) -> Iterator[Var]:
    if isinstance(value, Var):
        yield value
    elif isinstance(value, Module):
        yield from value.parameters()
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parameters(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parameters(item)


def emit(expr: Any, name_hint: str = "") -> Var:
    """Bind `expr` in the builder in use."""
    return _builder().emit(expr, name_hint)


def emit_te(func: Any, *args: Any, **kwargs: Any) -> Var:
    """Call the kernel that a te function computes."""
    return _builder().emit_te(func, *args, **kwargs)


def checkpoint(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `func`, and recompute its intermediates for its gradient instead of keeping them."""
    start = [emit(R.grad.start_checkpoint(a)) if isinstance(a, Var) else a for a in args]
    result = func(*start, **kwargs)
    return emit(R.grad.end_checkpoint(result))


def emit_checkpoint(func: Any, *args: Any, **kwargs: Any) -> Any:
    """`checkpoint` for operands of any kind and for functions of several results: every border is a binding."""
    start = [emit(R.grad.start_checkpoint(a)) if isinstance(a, Expr) else a for a in args]
    named = {k: emit(R.grad.start_checkpoint(v)) if isinstance(v, Expr) else v for k, v in kwargs.items()}
    result = func(*start, **named)
    if isinstance(result, (list, tuple)):
        return [emit(R.grad.end_checkpoint(r)) if isinstance(r, Expr) else r for r in result]
    return emit(R.grad.end_checkpoint(result))


def emit_checkpoint_sequential(functions: Sequence[Any], segments: int | list[int], input: Any) -> Any:
    """`functions` in sequence, in checkpointed segments, given by their number or by where each begins."""
    count = len(functions)
    starts = segments if isinstance(segments, list) else list(range(0, count, count // segments))
    borders = starts if starts[-1] == count else [*starts, count]
    for first, last in itertools.pairwise(borders):
        input = emit_checkpoint(partial(_run_all, functions[first:last]), input)
    return input


def _run_all(functions: Sequence[Any], value: Any) -> Any:
    for function in functions:
        value = function(value)
    return value


def _builder() -> BlockBuilder:
    found = BlockBuilder.current()
    if found is None:
        raise fail(_CODE, "no function is being built", help="use it inside `with builder.function(...)`")
    return found


class Sequential(Module):
    """Parts one after the other."""

    def __init__(self, *modules: Module) -> None:
        self.modules = modules

    def forward(self, x: Any) -> Any:
        for module in self.modules:
            x = module(x)
        return x


class ReLU(Module):
    """max(x, 0)"""

    def forward(self, x: Any) -> Any:
        return emit(R.nn.relu(x))


class LogSoftmax(Module):
    """The logarithm of softmax over the last axis."""

    def forward(self, x: Any) -> Any:
        return emit(R.nn.log_softmax(x))


class Linear(Module):
    """x w + b, `w` being (in, out)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, x: Any) -> Any:
        product = emit(R.matmul(x, self.weight))
        return product if self.bias is None else emit(R.add(product, self.bias))


def init_params(mod: IRModule) -> list[NDArray]:
    """Random values for the parameters of `main` behind its first one, whose shapes must be numbers."""
    rng = np.random.default_rng(0)
    made: list[NDArray] = []
    for param in mod["main"].params[1:]:
        info = param.struct_info
        if not isinstance(info.shape, ShapeExpr) or not all(isinstance(d, IntImm) for d in info.shape.values):
            raise fail(_CODE, f"{param.name_hint} has no fixed shape ({info})")
        values = rng.random([d.value for d in info.shape.values if isinstance(d, IntImm)])
        made.append(array(values.astype(info.dtype.numpy)))
    return made
