"""`create_executor`: evaluate Relay expressions by any of four executors, with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from baton._src.driver.relay.executable import build_executable
from baton._src.driver.relay.graph_fragment import as_graph
from baton._src.driver.relay.vm import VirtualMachine
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import TensorType, TupleType
from baton._src.passes.relay.quantize.requantize_config import settle
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Constant, Expr, Function, Let
from baton._src.relay.running_values import to_value
from baton._src.runtime.value_errors import describe
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.tir.expr import IntImm
from baton._src.values.convert import snapshot
from baton._src.values.device import CPU, Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array

KINDS = ("debug", "graph", "vm", "aot")


class Executor:
    """Evaluates expressions over a module: `evaluate(expr)` gives a value, or a Python function for a function."""

    def __init__(
        self, kind: str, module: IRModule, device: Device, target: Any, params: Mapping[str, Any] | None
    ) -> None:
        self.kind = kind
        self.module = module
        self.device = device
        self.target = target
        self.params = {name: snapshot(value) for name, value in (params or {}).items()}

    @property
    def mod(self) -> IRModule:
        """The module under TVM's name."""
        return self.module

    def evaluate(self, expr: Any = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """The value of `expr` (default: the module's `main`); `binds` gives its free variables values or expressions.

        For a function the result is a Python function that takes the arguments, by position or by name.
        """
        target = self.module.get_global_var("main") if expr is None else expr
        if isinstance(target, Function) and binds:
            target = target.with_fields(body=_let(binds, target.body), checked_type_=None)
        if isinstance(target, (Function, GlobalVar)):
            function = self.module[target] if isinstance(target, GlobalVar) else target
            return self._callable(target, function)
        values = {}
        for variable, bound in (binds or {}).items():
            if isinstance(bound, Expr):
                target = Let(variable, bound, target)
            else:
                values[variable] = bound
        if self.kind == "debug":
            return self._interpreted(target, values)
        free = free_vars(target)
        named = {getattr(k, "name_hint", k): v for k, v in values.items() if k not in set(free)}
        missing = [v.name_hint for v in free if v not in values and v.name_hint not in named]
        if missing:
            raise fail("argument-missing", f"nothing is given for the free variable {missing[0]!r}")
        given = [values[v] if v in values else named[v.name_hint] for v in free]
        return self._compiled(Function(free, target))(*given)

    def _callable(self, target: Any, function: Any) -> Callable[..., Any]:
        names = [p.name_hint for p in function.params]
        run = self._interpreted(target) if self.kind == "debug" else self._compiled(target)

        def call(*args: Any, **kwargs: Any) -> Any:
            values = [_as_declared(p, v) for p, v in zip(function.params, self._arguments(names, args, kwargs))]
            if self.kind == "debug":  # The interpreter itself checks no types.
                for param, value in zip(function.params, values):
                    _check_declared(param.name_hint, param.type_annotation, value)
            return run(*values)

        return call

    def _arguments(self, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        unknown = [n for n in kwargs if n not in names]
        if unknown or len(args) > len(names):
            given = f"{len(args)} given" if not unknown else f"there is no {unknown[0]!r}"
            hint = did_you_mean(unknown[0], names) if unknown else None
            message = f"the function takes {len(names)} arguments ({', '.join(names)}); {given}"
            raise fail("argument-count", message, help=hint)
        twice = [n for n in names[: len(args)] if n in kwargs]
        if twice:
            raise fail("argument-count", f"argument {twice[0]!r} is given twice: by position and by name")
        known = {**self.params, **kwargs}
        values = list(args)
        for name in names[len(args) :]:
            if name not in known:
                raise fail("argument-missing", f"argument {name!r} is missing", help=f"it takes: {', '.join(names)}")
            if names[len(args) :].count(name) > 1:
                help = "give the arguments by position"
                raise fail("argument-count", f"the function has several arguments {name!r}", help=help)
            values.append(known[name])
        return values

    def _interpreted(self, target: Any, values: Mapping[Any, Any] | None = None) -> Any:
        """The value of `target`, whose functions are those that the module has now. Types are inferred first: the
        interpreter would run programs that other executors refuse.
        """
        module = infer_type(settle(self.module.with_functions(self.module.functions)))
        return Interpreter(module).evaluate(infer_expr(settle(target), module), values)

    def _compiled(self, target: Any) -> Callable[..., Any]:
        module = self.module
        if isinstance(target, GlobalVar):
            name = target.name_hint
        else:  # It may call every function of the module, `main` too.
            name = next(n for n in _names("main") if n not in module)
            module = IRModule({**module.functions, name: target}, module.type_definitions, module.attrs)
        if self.kind == "graph":
            module = as_graph(module, name)
        executable, _ = build_executable(module, self.target, entry=name)
        machine = VirtualMachine(executable, self.device)
        return lambda *args: machine.invoke(name, *args)


class GraphExecutor(Executor):
    """TVM's class behind `create_executor("graph", ...)`."""

    def __init__(self, mod: IRModule, device: Device | None = None, target: Any = "llvm") -> None:
        super().__init__("graph", mod, device or CPU, target, None)


class VMExecutor(Executor):
    """TVM's class behind `create_executor("vm", ...)`."""

    def __init__(self, mod: IRModule, device: Device | None = None, target: Any = "llvm") -> None:
        super().__init__("vm", mod, device or CPU, target, None)


class AotExecutor(Executor):
    """TVM's class behind `create_executor("aot", ...)`."""

    def __init__(self, mod: IRModule, device: Device | None = None, target: Any = "llvm") -> None:
        super().__init__("aot", mod, device or CPU, target, None)


def _let(binds: Mapping[Any, Any], body: Any) -> Any:
    """`body` with variables bound to expressions, or to tensors (as constants)."""
    for variable, bound in binds.items():
        body = Let(variable, bound if isinstance(bound, Expr) else _constant(bound), body)
    return body


def _constant(value: Any) -> Constant:
    given = to_value(value)
    if not isinstance(given, NDArray):
        message = f"a function's free variable is bound to a tensor or an expression, not to a {type(value).__name__}"
        raise fail("value-mismatch", message, help="relay.Tuple([...]) is an expression")
    return Constant(given)


def _names(stem: str) -> Iterator[str]:
    """Endless names: `stem`, then names made from it."""
    yield stem
    yield from (f"{stem}_{number}" for number in count())


def _as_declared(param: Any, value: Any) -> Any:
    """A host number as a tensor of the dtype that a scalar parameter declares, if that can hold numbers of its kind."""
    type_ = param.type_annotation
    if not isinstance(value, (bool, int, float)) or not isinstance(type_, TensorType) or type_.shape != ():
        return value
    wanted, given = type_.dtype, np.asarray(value)
    if not isinstance(wanted, DataType) or not np.can_cast(given.dtype, wanted.numpy, "same_kind"):
        return value
    if wanted.is_int and not wanted.int_range[0] <= value <= wanted.int_range[1]:
        help = f"the parameter is declared {show_type(type_)}"
        raise fail("value-mismatch", f"argument {param.name_hint} is {value}, which does not fit", help=help)
    return array(given.astype(wanted.numpy))


def _check_declared(name: str, type_: Any, value: Any) -> None:
    """`DiagnosticError` (`value-mismatch`) where a value is no tensor of the shape and dtype that the parameter `name`
    declares, or no such tuple of them."""
    if isinstance(type_, TupleType):
        fits = isinstance(value, (tuple, list)) and len(value) == len(type_.fields)
        for field_type, field in zip(type_.fields, value if fits else ()):
            _check_declared(name, field_type, field)
    elif isinstance(type_, TensorType) and isinstance(type_.shape, tuple):
        fits = _is_of(type_, to_value(value))
    else:
        return
    if not fits:
        message = f"argument {name} is {describe(to_value(value))}"
        raise fail("value-mismatch", message, help=f"the parameter is declared {show_type(type_)}")


def _is_of(type_: TensorType, given: Any) -> bool:
    if not isinstance(given, NDArray) or given.dtype != type_.dtype or given.ndim != len(type_.shape):
        return False
    return all(not isinstance(d, IntImm) or d.value == have for d, have in zip(type_.shape, given.shape))


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Device | None = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor: `debug` interprets, `graph` compiles straight programs, `vm` and `aot` everything."""
    wire()
    if kind not in KINDS:
        raise fail("api", f"unknown executor {kind!r}", help=f"one of {', '.join(KINDS)}")
    return Executor(kind, mod if mod is not None else IRModule(), device or CPU, target, params)
