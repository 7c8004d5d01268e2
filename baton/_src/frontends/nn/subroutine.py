"""Modules that become private functions, called where the module is used (`define_subroutine`).

    class Layer(nn.Module):
        define_subroutine = True
        def forward(self, x): ...

    R.function main:  y = layer(x, weight)          layer, private: what forward does

A function takes what `forward` takes, then the module's parameters, then the state of its effects, then the shape
variables that none of these determines, as a shape. Arguments that are no values of the program (numbers, strings,
None) become constants of the function. Modules with equal functions share one, whatever their classes.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from baton._src.analysis.variables import free_vars
from baton._src.frontends.nn.effects import Effect
from baton._src.frontends.nn.tensor import Object, Parameter, Tensor, builder_for, unwrap
from baton._src.ir.expr import GlobalVar
from baton._src.passes.relax.fusion.unshown_shape_vars import unshown_shape_vars
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.nodes import Call, Expr, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import ShapeStructInfo
from baton._src.support.diagnostics import fail

_entered: ContextVar[tuple[SubroutineMixin, ...]] = ContextVar("subroutines", default=())
"""The modules whose functions are being built: calls that `forward` makes to itself (`super().forward`) are part of
it.
"""


class SubroutineMixin:
    """Turns `forward` into a separate function, in `frontend.nn.Module` and `testing.nn.Module` alike.

    The `forward` of a subclass is wrapped: a call builds the function, unless it is being built already.
    """

    define_subroutine: bool = False
    forward: Callable[..., Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        forward = vars(cls).get("forward")
        if forward is not None:
            cls.forward = _dispatching(forward)

    def parameters(self) -> Iterable[Any]:
        """The parameters that `forward` may use."""
        raise NotImplementedError

    def effects(self) -> list[Effect]:
        """The effects that `forward` may change."""
        return []


def _dispatching(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, or a call of the function built from it."""

    @functools.wraps(forward)
    def dispatch(self: SubroutineMixin, *args: Any, **kwargs: Any) -> Any:
        if not self.define_subroutine or any(self is module for module in _entered.get()):
            return forward(self, *args, **kwargs)
        builder = builder_for(type(self).__name__)
        return _Subroutine(self, builder).call(inspect.signature(forward).bind(self, *args, **kwargs), forward)

    return dispatch


class _Subroutine:
    """The function of one call of a module: its parameters, and the arguments passed for them.

    If there are effects it returns a tuple: the result of `forward`, then their states.
    """

    def __init__(self, module: SubroutineMixin, builder: BlockBuilder) -> None:
        self.module, self.builder = module, builder
        self.name = _snake_case(type(module).__name__)
        self.params: list[Var] = []
        self.passed: list[Any] = []

    def call(self, given: inspect.BoundArguments, forward: Callable[..., Any]) -> Any:
        """The result of `forward`, as a call of its function."""
        for name, value in given.arguments.items():
            given.arguments[name] = self._input(name, value)
        effects = self.module.effects()
        with self._own_parameters():
            states = [[self._param(v.name_hint, v) for v in effect.finalize()] for effect in effects]
            function, results = self._written(lambda: forward(*given.args, **given.kwargs), effects, states)
        out = self.builder.emit(Call(function, self.passed), f"{function.name_hint}_output")
        if not effects:
            return self._output(out, results[0])
        ended = iter([self._item(out, i, v.name_hint) for i, v in enumerate(results[1:], 1)])
        for effect, state in zip(effects, states, strict=True):
            effect.set_state([next(ended) for _ in state])
        return self._output(self._item(out, 0), results[0])

    def _written(
        self, forward: Callable[[], Any], effects: list[Effect], states: list[list[Var]]
    ) -> tuple[GlobalVar, list[Any]]:
        """The function, and its results as Python values: the result, then the states of the effects."""
        builder, dataflow = self.builder, self.builder.current_block_is_dataflow()
        token = _entered.set((*_entered.get(), self.module))
        try:
            with builder.subroutine(self.name):
                builder.normalizer.shapes.define_params(tuple(self.params))
                with builder.dataflow() if dataflow else nullcontext():
                    for effect, state in zip(effects, states, strict=True):
                        effect.set_state(list(state))
                    results = [forward(), *(state for effect in effects for state in effect.finalize())]
                    value = _expression(tuple(results) if effects else results[0])
                    output = builder.emit_output(value) if dataflow else builder.normalizer.atom(value)
                self._take_shape_variables()
                function = builder.emit_func_output(output, self.params)
        finally:
            _entered.reset(token)
        strange = free_vars(builder.context.functions[function])
        if strange:
            message = f"{type(self.module).__name__}.forward uses {strange[0].name_hint}, which it is not given"
            raise fail("nn-subroutine", message, help="pass it as an argument, or let define_subroutine be False")
        return function, results

    def _param(self, name: str, value: Expr, param: Var | None = None) -> Var:
        """A parameter for a value."""
        self.passed.append(value)
        self.params.append(Var(name, value.struct_info) if param is None else param)
        return self.params[-1]

    def _input(self, name: str, value: Any) -> Any:
        """An argument of `forward` with parameters in place of its values."""
        match value:
            case Tensor():
                return Tensor(_expr=self._param(name, value._expr))
            case Object():
                seen = copy.copy(value)
                seen._expr = self._param(name, value._expr)
                return seen
            case Expr():
                return self._param(name, value if isinstance(value, Var) else self.builder.emit(value))
            case tuple() | list():
                return type(value)([self._input(f"{name}_{i}", item) for i, item in enumerate(value)])
            case dict():
                return {key: self._input(f"{name}_{key}", item) for key, item in value.items()}
            case _:
                return value

    @contextmanager
    def _own_parameters(self) -> Iterator[None]:
        """While the function is built, the module's parameters are its own. Variables represent themselves."""
        changed: list[tuple[Parameter, Any]] = []
        for parameter in self.module.parameters():
            if not isinstance(parameter, Parameter):
                self._param(parameter.name_hint, parameter, parameter)
                continue
            before: Any = parameter._expr
            changed.append((parameter, before))
            parameter._expr = self._param(before.name_hint, before)
        try:
            yield
        finally:
            for parameter, before in changed:
                parameter._expr = before

    def _take_shape_variables(self) -> None:
        """Pass the caller's shape variables that are used and that no parameter determines."""
        bindings = [binding for _, block, _ in self.builder.normalizer.frame.blocks for binding in block]
        own = {v for binding in bindings for v in defined_symbolic_vars(binding)}
        found = [v for v in unshown_shape_vars([*self.params, *bindings], self.params) if v not in own]
        if found:
            self.params.append(Var("s", ShapeStructInfo(found)))
            self.passed.append(ShapeExpr(found))

    def _output(self, value: Var, like: Any) -> Any:
        """The result of a call in the structure of `like`, the result inside the function."""
        match like:
            case Tensor():
                return Tensor(_expr=value)
            case Object():
                seen = copy.copy(like)
                seen._expr = value
                return seen
            case tuple() | list():
                return type(like)([self._output(self._item(value, i), item) for i, item in enumerate(like)])
            case _:
                return value

    def _item(self, value: Expr, index: int, name: str = "") -> Var:
        return self.builder.emit(TupleGetItem(value, index), name)


def _expression(value: Any) -> Any:
    """What `forward` gives as an expression."""
    if isinstance(value, (tuple, list)):
        return Tuple([_expression(item) for item in value])
    found = unwrap(value)
    if not isinstance(found, Expr):
        raise fail("nn-subroutine", f"forward must return tensors, got a {type(value).__name__}", kind=TypeError)
    return found


def _snake_case(name: str) -> str:
    """`MyLayer` as `my_layer`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name).lower()
