"""Optimizers: the step from parameters and gradients to new parameters, as a Relax function.

    adam = Adam(0.01).init([w, b])
    adam.get_function()          # (params, gradients, optim_states) -> (new params, new states), each a tuple
    adam.state                   # the states to start with

State 0 counts the steps. All formulas are those of the usual definitions (Kingma and Ba for Adam); `weight_decay` adds
`weight_decay * param` to each gradient. API as `tvm.relax.training.optimizer` v0.19.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import Function, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import NDArray, array

_add, _subtract, _multiply, _divide = (RELAX.find(n) for n in ("add", "subtract", "multiply", "divide"))
_sqrt = RELAX.find("sqrt")
Emit = Callable[[Any], Any]


def wrong(message: str, help: str | None = None) -> DiagnosticError:
    """The error of training that is set up wrongly."""
    return fail("training", message, help=help)


class Optimizer:
    """What all optimizers share. `init` comes before `get_function` and `state`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = ""
        self.param_list: list[Var] = []
        self._state: tuple[NDArray, ...] | None = None

    def init(self, params: Var | list[Var]) -> Self:
        """Set the parameters: variables of floating tensors of one dtype and constant shapes."""
        found = [params] if isinstance(params, Var) else list(params)
        if len({p.name_hint for p in found}) != len(found) or not found:
            raise wrong(f"{self.name} takes one parameter or more with names of their own")
        for param in found:
            _shape_of(param)
        dtypes = {str(p.struct_info.dtype) for p in found}
        if len(dtypes) != 1 or not found[0].struct_info.dtype.is_float:
            raise wrong(f"{self.name}: parameters have one floating dtype, not {', '.join(sorted(dtypes))}")
        self.dtype = dtypes.pop()
        self.param_list = found
        self._state = tuple(array(np.asarray(value)) for value in self.initial_state())
        return self

    @property
    def state(self) -> tuple[NDArray, ...]:
        """The states to start with, or those set last."""
        if self._state is None:
            raise wrong(f"{self.name}: init(params) comes before the state")
        return self._state

    @state.setter
    def state(self, value: Any) -> None:
        self._state = tuple(value)

    def get_function(self) -> Function:
        """One step: `(params, gradients, optim_states) -> (params, optim_states)`, tuples of tensors."""
        state = self.state
        tensors = TupleStructInfo([p.struct_info for p in self.param_list])
        states = TupleStructInfo([TensorStructInfo(s.shape, str(s.dtype)) for s in state])
        given = [Var("params", tensors), Var("gradients", tensors), Var("optim_states", states)]
        builder = BlockBuilder()
        with builder.function(self.name, given):
            with builder.dataflow():
                held = [builder.emit(TupleGetItem(given[2], n)) for n in range(len(state))]
                held[0] = builder.emit(_add(held[0], const(1, "int64")), "num_steps")
                made, held = self._steps(builder.emit, given, held)
                output = builder.emit_output(Tuple([Tuple(made), Tuple(held)]))
            builder.emit_func_output(output)
        function = builder.get()[self.name]
        assert isinstance(function, Function)
        return function

    def _steps(self, emit: Emit, given: list[Var], held: list[Any]) -> tuple[list[Any], list[Any]]:
        held = self.counted(emit, held)
        made: list[Any] = []
        for number, param in enumerate(self.param_list):
            value, grad = emit(TupleGetItem(given[0], number)), emit(TupleGetItem(given[1], number))
            made.append(self.step(emit, param.name_hint, number, value, grad, held))
        return made, held

    def number(self, value: float) -> Any:
        """A constant of the parameters' dtype."""
        return const(value, self.dtype)

    def decayed(self, emit: Emit, value: Any, grad: Any, weight_decay: float) -> Any:
        """The gradient with weight decay."""
        return emit(_add(grad, _multiply(self.number(weight_decay), value))) if weight_decay else grad

    # ---------------------------------------------------------------------------------------- of the kinds

    def initial_state(self) -> list[Any]:
        """Arrays; the first is the number of steps."""
        return [np.int64(0)]

    def counted(self, emit: Emit, held: list[Any]) -> list[Any]:
        """The states with what changes once a step (the number of steps has been counted)."""
        return held

    def step(self, emit: Emit, name: str, number: int, value: Any, grad: Any, held: list[Any]) -> Any:
        """The new value of parameter `number`; its own states are replaced in `held`."""
        raise NotImplementedError

    def zeros(self) -> list[Any]:
        """An array of zeros for each parameter."""
        return [np.zeros(_shape_of(p), self.dtype) for p in self.param_list]


def _shape_of(param: Var) -> tuple[int, ...]:
    info = param.struct_info_
    if isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr):
        dims = [d.value for d in info.shape.values if isinstance(d, IntImm)]
        if len(dims) == info.ndim:
            return tuple(dims)
    raise wrong(f"parameter {param.name_hint} is no tensor of constant shape: {info!r}")


class SGD(Optimizer):
    """p := p - lr * g"""

    def __init__(self, lr: float, weight_decay: float = 0) -> None:
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def step(self, emit: Emit, name: str, number: int, value: Any, grad: Any, held: list[Any]) -> Any:
        grad = self.decayed(emit, value, grad, self.weight_decay)
        return emit(_subtract(value, emit(_multiply(self.number(self.lr), grad))))


class MomentumSGD(Optimizer):
    """v := momentum * v + (1 - dampening) * g;   p := p - lr * v   (nesterov: p - lr * (g + momentum * v))"""

    def __init__(
        self, lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:
        super().__init__("MomentumSGD")
        self.lr, self.momentum, self.dampening = float(lr), float(momentum), float(dampening)
        self.weight_decay, self.nesterov = float(weight_decay), nesterov

    def initial_state(self) -> list[Any]:
        return [np.int64(0), *self.zeros()]

    def step(self, emit: Emit, name: str, number: int, value: Any, grad: Any, held: list[Any]) -> Any:
        grad = self.decayed(emit, value, grad, self.weight_decay)
        damped = emit(_multiply(self.number(1 - self.dampening), grad)) if self.dampening else grad
        speed = emit(_add(emit(_multiply(self.number(self.momentum), held[number + 1])), damped))
        held[number + 1] = speed
        if self.nesterov:
            speed = emit(_add(grad, emit(_multiply(self.number(self.momentum), speed))))
        return emit(_subtract(value, emit(_multiply(self.number(self.lr), speed))))


class Adam(Optimizer):
    """m := b0 m + (1 - b0) g;  v := b1 v + (1 - b1) g^2;  p := p - lr * m / (1 - b0^t) / (sqrt(v / (1 - b1^t)) + eps)

    States: the number of steps t, b0^t, b1^t, an m for each parameter, a v for each.
    """

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0
    ) -> None:
        super().__init__("Adam")
        self.lr, self.eps, self.weight_decay = float(lr), float(eps), float(weight_decay)
        self.beta1, self.beta2 = float(betas[0]), float(betas[1])

    def initial_state(self) -> list[Any]:
        one = np.ones((), self.dtype)
        return [np.int64(0), one, one, *self.zeros(), *self.zeros()]

    def counted(self, emit: Emit, held: list[Any]) -> list[Any]:
        first = emit(_multiply(held[1], self.number(self.beta1)))
        second = emit(_multiply(held[2], self.number(self.beta2)))
        return [held[0], first, second, *held[3:]]

    def step(self, emit: Emit, name: str, number: int, value: Any, grad: Any, held: list[Any]) -> Any:
        grad = self.decayed(emit, value, grad, self.weight_decay)
        one = self.number(1.0)
        at, beside = 3 + number, 3 + len(self.param_list) + number
        held[at] = self._mean(emit, held[at], grad, self.beta1)
        held[beside] = self._mean(emit, held[beside], emit(_multiply(grad, grad)), self.beta2)
        mean = emit(_divide(held[at], emit(_subtract(one, held[1]))))
        spread = emit(_divide(held[beside], emit(_subtract(one, held[2]))))
        below = emit(_add(emit(_sqrt(spread)), self.number(self.eps)))
        return emit(_subtract(value, emit(_multiply(self.number(self.lr), emit(_divide(mean, below))))))

    def _mean(self, emit: Emit, old: Any, new: Any, beta: float) -> Any:
        """beta * old + (1 - beta) * new"""
        kept = emit(_multiply(self.number(beta), old))
        return emit(_add(kept, emit(_multiply(self.number(1 - beta), new))))
