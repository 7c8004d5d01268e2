"""Export a module, given the specification of its inputs, to an IRModule: one function per method, with inputs first,
then effects, then parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol

from baton._src.analysis.variables import free_vars
from baton._src.frontends.nn import spec as specs
from baton._src.frontends.nn.effects import Effect, IOEffect
from baton._src.frontends.nn.tensor import Object, Parameter, Tensor
from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir import expr as tir

Named = list[tuple[str, Any]]
_exporting: ContextVar[Exporter | None] = ContextVar("exporter", default=None)


class Exported(Protocol):
    """The interface of a module (`module.Module`) for export, besides its methods."""

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]: ...
    def named_of(self, kind: type) -> Iterator[tuple[str, Any]]: ...


class Exporter:
    """Builds the functions of a module; with `debug` there is an effect that keeps prints in order."""

    def __init__(self, debug: bool = False) -> None:
        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_modules: list[Any] = []
        self.failed: tuple[DiagnosticError, Any] | None = None
        """An error, and the innermost module in whose `forward` it arose."""

    @staticmethod
    def current() -> Exporter:
        """The active exporter."""
        found = _exporting.get()
        if found is None:
            raise fail("nn-outside", "no module is being exported", help="call it from forward")
        return found

    def build(self, spec: specs.ModuleSpec) -> tuple[IRModule, list[tuple[str, Parameter]]]:
        """The module, and the parameters in the order functions take them."""
        model: Exported = spec.module
        parameters: list[tuple[str, Parameter]] = list(model.named_parameters())
        effects: Named = [] if self.io_effect is None else [("", self.io_effect)]
        effects += model.named_of(Effect)
        before = [parameter._expr for _, parameter in parameters]
        token = _exporting.set(self)
        try:
            if effects:
                self._initialize(effects)
            for name, method in zip(spec.method_names, spec.method_specs):
                try:
                    _Method(self.builder, method, parameters, effects).emit(name)
                except DiagnosticError as error:
                    places = (*self._places_of(error, model), f"while exporting {name}")
                    raise type(error)([d.within(*places) for d in error.diagnostics]) from error
        finally:
            _exporting.reset(token)
            for (_, parameter), expr in zip(parameters, before, strict=True):
                parameter._expr = expr
        return self.builder.finalize(), parameters

    def _places_of(self, error: DiagnosticError, model: Exported) -> list[str]:
        """The module in which an error arose, by its path in the model; none if that is the model itself."""
        if self.failed is None or self.failed[0] is not error:
            return []
        module = self.failed[1]
        kind = type(module).__name__
        return [f"in {path}, a {kind}" for path, found in model.named_of(type(module)) if found is module and path]

    def _initialize(self, effects: Named) -> None:
        with self.builder.function("_initialize_effect", []):
            with self.builder.dataflow():
                states = [state for name, effect in effects for state in effect.emit_init(name, self.builder)]
                output = self.builder.emit_output(self.builder.emit(Tuple(states)))
            self.builder.emit_func_output(output)


def note_failure(error: DiagnosticError, module: Any) -> None:
    """Remember, while a model is exported, the innermost module in which an error arises: the first that tells."""
    exporter = _exporting.get()
    if exporter is not None and (exporter.failed is None or exporter.failed[0] is not error):
        exporter.failed = error, module


def exported_effects() -> list[Effect]:
    """The effects that order prints in the model being exported, if there are any."""
    found = _exporting.get()
    return [] if found is None or found.io_effect is None else [found.io_effect]


class _Method:
    """One function under construction. Shape variables of inputs and of parameters are kept apart, as in TVM."""

    def __init__(
        self, builder: BlockBuilder, spec: specs.MethodSpec, parameters: list[tuple[str, Parameter]], effects: Named
    ) -> None:
        self.builder, self.spec, self.parameters, self.effects = builder, spec, parameters, effects
        self.dims: dict[str, tir.Var] = {}
        self.unpacking: list[Callable[[], None]] = []
        """Unpacks effects and parameters, once the inputs are known."""
        self.withheld: dict[Var, tuple[str, str]] = {}
        """Effects and parameters that the modes do not pass: the mode and, for messages, what it is."""

    def emit(self, name: str) -> None:
        """Add the function under this name."""
        spec, builder = self.spec, self.builder
        states = {"plain": len(self.effects), "packed": 1, "none": 0}[spec.effect_mode]
        inputs = [Var(n, self._info(n, s)) for n, s in zip(spec.arg_names, spec.arg_specs)]
        with builder.function(name, attrs={"num_input": len(inputs) + states}):
            with builder.dataflow():
                hidden = [*self._take_effects(), *self._take_parameters()]
                builder.normalizer.shapes.define_params((*inputs, *hidden))
                for unpack in self.unpacking:
                    unpack()
                given = [self._argument(v, n, s) for v, n, s in zip(inputs, spec.arg_names, spec.arg_specs)]
                result = _unwrapped(spec.method(**dict(zip(spec.arg_names, given))))
                after = [state for _, effect in self.effects for state in effect.finalize()]
                if after and spec.effect_mode != "none":
                    result = Tuple([result, Tuple(after)])
                output = builder.emit_output(result)
            made = builder.emit_func_output(output, [*inputs, *hidden])
        if self.withheld:
            self._check_withheld(name, builder.get()[made])

    def _check_withheld(self, name: str, function: Any) -> None:
        """Error `nn-export`: the method uses something that its modes do not pass."""
        for var in free_vars(function):
            if var in self.withheld:
                mode, what = self.withheld[var]
                raise fail(
                    "nn-export", f"method {name} uses {what}, which is not passed to it: its {mode} is 'none'",
                    help=f'pass it: "$": {{"{mode}": "plain"}} (or "packed") in the spec of {name}',
                )  # fmt: skip

    def _take_effects(self) -> list[Var]:
        states = [(effect, effect.create(name)) for name, effect in self.effects]
        for effect, made in states:
            effect.set_state(list(made))
        named = [(name, var) for (name, _), (_, made) in zip(self.effects, states) for var in made]
        flat = [var for _, var in named]
        if self.spec.effect_mode == "plain":
            return flat
        if self.spec.effect_mode == "none":
            self.withheld |= {v: ("effect_mode", f"the effect {name or v.name_hint}") for name, v in named}
            return []
        if not flat:
            return []
        packed = Var("packed_effects", TupleStructInfo([v.struct_info for v in flat]))

        def unpack() -> None:
            place = 0
            for effect, made in states:
                effect.set_state([self._item(packed, place + i, v.name_hint) for i, v in enumerate(made)])
                place += len(made)

        self.unpacking.append(unpack)
        return [packed]

    def _take_parameters(self) -> list[Var]:
        known: dict[str, tir.Var] = {}
        made = []
        for name, parameter in self.parameters:
            shape = [
                known.setdefault(d.name, tir.Var(d.name, "int64")) if isinstance(d, tir.Var) else d
                for d in parameter.shape
            ]
            parameter._expr = Var(name, TensorStructInfo(shape, parameter.dtype))
            made.append(parameter._expr)
        if self.spec.param_mode == "plain":
            return made
        if self.spec.param_mode == "none":
            self.withheld |= {v: ("param_mode", f"the parameter {v.name_hint}") for v in made}
            return []
        packed = Var("packed_params", TupleStructInfo([v.struct_info for v in made]))

        def unpack() -> None:
            for number, (name, parameter) in enumerate(self.parameters):
                parameter._expr = self._item(packed, number, name)

        self.unpacking.append(unpack)
        return [packed]

    def _info(self, name: str, spec: Any) -> StructInfo:
        if isinstance(spec, specs.Tensor):
            return TensorStructInfo([self._dim(d) if isinstance(d, str) else d for d in spec.shape], spec.dtype)
        if isinstance(spec, specs.Tuple):
            return TupleStructInfo([self._info(f"{name}_{i}", e) for i, e in enumerate(spec.elements)])
        return ShapeStructInfo([self._dim(name)]) if isinstance(spec, specs.Int) else ObjectStructInfo()

    def _dim(self, name: str) -> tir.Var:
        return self.dims.setdefault(name, tir.Var(name, "int64"))

    def _argument(self, var: Any, name: str, spec: Any) -> Any:
        """The argument of the method for an input."""
        if isinstance(spec, specs.Tensor):
            return Tensor(_expr=var)
        if isinstance(spec, specs.Tuple):
            fields = [
                self._argument(self._item(var, i, f"{name}_{i}"), f"{name}_{i}", e) for i, e in enumerate(spec.elements)
            ]
            return type(spec.elements)(fields)
        return self._dim(name) if isinstance(spec, specs.Int) else spec.object_type(_expr=var, _name=name)

    def _item(self, var: Any, index: int, name: str) -> Any:
        """A field of a tuple, bound."""
        return self.builder.emit(TupleGetItem(var, index), name)


def _unwrapped(value: Any) -> Any:
    """The expression a method returns: a tensor, an object, or nested tuples of them."""
    if isinstance(value, (list, tuple)):
        return Tuple([_unwrapped(item) for item in value])
    if not isinstance(value, (Tensor, Object)):
        raise fail("nn-export", f"a method must return tensors, got a {type(value).__name__}", kind=TypeError)
    return value._expr
