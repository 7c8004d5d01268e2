"""Optimizers: the step from parameters and gradients to new parameters, as a Relax function.

    adam = Adam(0.01).init([w, b])
    adam.get_function()          # (params, gradients, optim_states) -> (new params, new states), each a tuple
    adam.state                   # the states to start with

State 0 counts the steps. All formulas are those of the usual definitions (Kingma and Ba for Adam); `weight_decay` adds
`weight_decay * param` to each gradient. API as `tvm.relax.training.optimizer` v0.19.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Self

import numpy as np

from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import Function, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, ValueDiagnosticError
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import NDArray, array

_add, _subtract, _multiply, _divide = (RELAX.find(n) for n in ("add", "subtract", "multiply", "divide"))
_sqrt = RELAX.find("sqrt")
Emit = Callable[[Any, str], Any]
"""Binds an expression to a variable of this name."""


def wrong(message: str, help: str | None = None) -> DiagnosticError:
    """The error of training that is set up wrongly."""
    return ValueDiagnosticError(Diagnostic("training", message, help=help))


class Optimizer:
    """What all optimizers share. `init` comes before `get_function` and `state`.

    States are those of the class (`shared`, the first counts the steps), then for each of `kinds` one a parameter.
    """

    shared: ClassVar[int] = 1
    kinds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = ""
        self.param_list: list[Var] = []
        self._state: tuple[NDArray, ...] | None = None

    def init(self, params: Var | list[Var]) -> Self:
        """Set the parameters: variables of floating tensors of one dtype and constant shapes."""
        found = [params] if isinstance(params, Var) else list(params)
        if len(set(found)) != len(found) or not found:
            raise wrong(f"{self.name} takes one parameter or more, each once")
        for param in found:
            if not isinstance(param, Var):
                raise wrong(f"{self.name}: a parameter is a relax.Var, got {type(param).__name__}")
            _shape_of(param)
        dtypes = {str(p.struct_info.dtype) for p in found}
        if len(dtypes) != 1 or not found[0].struct_info.dtype.is_float:
            raise wrong(f"{self.name}: parameters must share one floating-point dtype, got {', '.join(sorted(dtypes))}")
        self.dtype = dtypes.pop()
        self.param_list = found
        self._state = tuple(array(np.asarray(value)) for value in self.initial_state())
        return self

    @property
    def state(self) -> tuple[NDArray, ...]:
        """The states to start with, or those set last."""
        if self._state is None:
            raise wrong(f"{self.name}: call init(params) before reading the state")
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
                made, held = self._steps(builder.emit, *given)
                outputs = [builder.emit_output(Tuple(made), "params_new")]
                outputs.append(builder.emit_output(Tuple(held), "optim_states_new"))
            builder.emit_func_output(Tuple(outputs))
        function = builder.get()[self.name]
        assert isinstance(function, Function)
        return function

    def _steps(self, emit: Emit, params: Var, gradients: Var, states: Var) -> tuple[list[Any], list[Any]]:
        """The new parameters and the new states."""
        count, made = len(self.param_list), []
        steps = emit(TupleGetItem(states, 0), "num_steps")
        held: list[Any] = [emit(_add(steps, const(1, "int64")), "num_steps_new"), *self.counted(emit, states)]
        held += [None] * (count * len(self.kinds))
        for number, name in enumerate(p.name_hint for p in self.param_list):
            value, grad = (
                emit(TupleGetItem(params, number), name),
                emit(TupleGetItem(gradients, number), f"{name}_grad"),
            )
            places = [self.shared + count * kind + number for kind in range(len(self.kinds))]
            own = [emit(TupleGetItem(states, at), f"{name}_{kind}") for at, kind in zip(places, self.kinds)]
            new, own = self.step(emit, name, value, grad, own, held)
            made.append(emit(new, f"{name}_new"))
            for at, state in zip(places, own):
                held[at] = state
        return made, held

    def number(self, value: float) -> Any:
        """A constant of the parameters' dtype."""
        return const(value, self.dtype)

    def decayed(self, emit: Emit, name: str, value: Any, grad: Any, weight_decay: float) -> Any:
        """The gradient with weight decay."""
        if not weight_decay:
            return grad
        return emit(_add(_multiply(self.number(weight_decay), value), grad), f"{name}_grad_new")

    # ---------------------------------------------------------------------------------------- of the kinds

    def initial_state(self) -> list[Any]:
        """Arrays; the first is the number of steps."""
        return [np.int64(0)]

    def counted(self, emit: Emit, states: Var) -> list[Any]:
        """The new values of the shared states that are behind the number of steps."""
        return []

    def step(
        self, emit: Emit, name: str, value: Any, grad: Any, own: Sequence[Any], held: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """The new value of a parameter, and its new states in place of `own`. `held`: the new shared states."""
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

    def step(
        self, emit: Emit, name: str, value: Any, grad: Any, own: Sequence[Any], held: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        grad = self.decayed(emit, name, value, grad, self.weight_decay)
        return _subtract(value, _multiply(self.number(self.lr), grad)), []


class MomentumSGD(Optimizer):
    """v := momentum * v + (1 - dampening) * g;   p := p - lr * v   (nesterov: p - lr * (g + momentum * v))"""

    kinds: ClassVar[tuple[str, ...]] = ("v",)

    def __init__(
        self, lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:
        super().__init__("MomentumSGD")
        self.lr, self.momentum, self.dampening = float(lr), float(momentum), float(dampening)
        self.weight_decay, self.nesterov = float(weight_decay), nesterov

    def initial_state(self) -> list[Any]:
        return [np.int64(0), *self.zeros()]

    def step(
        self, emit: Emit, name: str, value: Any, grad: Any, own: Sequence[Any], held: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        grad = self.decayed(emit, name, value, grad, self.weight_decay)
        momentum = self.number(self.momentum)
        damped = _multiply(self.number(_rest_of_one(self.dampening)), grad) if self.dampening else grad
        way = speed = emit(_add(_multiply(momentum, own[0]), damped), f"{name}_v_new")
        if self.nesterov:
            way = emit(_add(grad, _multiply(momentum, speed)), f"{name}_g_nest")
        return _subtract(value, _multiply(self.number(self.lr), way)), [speed]


class Adam(Optimizer):
    """m := b0 m + (1 - b0) g;  v := b1 v + (1 - b1) g^2;  p := p - lr * m / (1 - b0^t) / (sqrt(v / (1 - b1^t)) + eps)

    States: the number of steps t, b0^t, b1^t, an m for each parameter, a v for each.
    """

    shared: ClassVar[int] = 3
    kinds: ClassVar[tuple[str, ...]] = ("m", "v")

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0
    ) -> None:
        super().__init__("Adam")
        self.lr, self.eps, self.weight_decay = float(lr), float(eps), float(weight_decay)
        self.beta1, self.beta2 = float(betas[0]), float(betas[1])

    def initial_state(self) -> list[Any]:
        one = np.ones((), self.dtype)
        return [np.int64(0), one, one, *self.zeros(), *self.zeros()]

    def counted(self, emit: Emit, states: Var) -> list[Any]:
        first = emit(_multiply(TupleGetItem(states, 1), self.number(self.beta1)), "beta1_prod")
        return [first, emit(_multiply(TupleGetItem(states, 2), self.number(self.beta2)), "beta2_prod")]

    def step(
        self, emit: Emit, name: str, value: Any, grad: Any, own: Sequence[Any], held: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        grad = self.decayed(emit, name, value, grad, self.weight_decay)
        one = self.number(1.0)
        mean = emit(self._mean(own[0], grad, self.beta1), f"{name}_m_new")
        spread = emit(self._mean(own[1], _multiply(grad, grad), self.beta2), f"{name}_v_new")
        m_hat = emit(_divide(mean, _subtract(one, held[1])), f"{name}_m_hat")
        v_hat = emit(_divide(spread, _subtract(one, held[2])), f"{name}_v_hat")
        way = _divide(m_hat, _add(_sqrt(v_hat), self.number(self.eps)))
        return _subtract(value, _multiply(self.number(self.lr), way)), [mean, spread]

    def _mean(self, old: Any, new: Any, beta: float) -> Any:
        """beta * old + (1 - beta) * new"""
        kept = _multiply(self.number(beta), old)
        return _add(kept, _multiply(self.number(_rest_of_one(beta)), new))


def _rest_of_one(part: float) -> float:
    """1 - part, of the decimal number that was written: 0.1 and not 0.09999999999999998 for 0.9."""
    return float(Decimal(1) - Decimal(str(part)))
