"""Passes that scripts write over Relay's functions and over kernels, and `PrintIR`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.to_cps import ToCPS as ModuleToCPS
from baton._src.passes.relay.first_order.to_cps import to_cps
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.relay import nodes as relay
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import replace
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import UserFunctionPass, make_decorator
from baton._src.transform.passes import Pass

SKIPPED = ("SkipOptimization", "Compiler")
"""Attributes of Relay functions that passes over functions leave alone."""


@dataclass(frozen=True)
class PrintIR(Pass):
    """Print the module as it is at this place of a pipeline, under a heading."""

    header: str = ""
    show_meta_data: bool = False
    """Whether large constants are printed too."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        text = module.script(show_meta=True) if self.show_meta_data else repr(module)
        print(f"PrintIR({self.header}):\n{text}" if self.header else text)
        return module


class _RelayUserPass(UserFunctionPass):
    function_class: ClassVar[type] = relay.Function

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return infer_type(super().run(module, ctx))

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        if any(function.attrs.get(name) for name in SKIPPED):
            return function
        return super().run_function(function, module, ctx)


class _TirUserPass(UserFunctionPass, PrimFuncPass):
    """A user's `(kernel, module, ctx) -> kernel`."""


def relay_function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:  # fmt: skip
    """`relay.transform.function_pass`: a function or class that rewrites one Relay function at a time."""
    return make_decorator(_RelayUserPass, "transform_function", pass_func, opt_level, name, required, traceable)


def prim_func_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:  # fmt: skip
    """`tir.transform.prim_func_pass`: a function or class that rewrites one kernel at a time."""
    return make_decorator(_TirUserPass, "transform_function", pass_func, opt_level, name, required, traceable)


def ToCPS(expr: Any = None, mod: IRModule | None = None) -> Any:
    """The function in continuation-passing style, as `to_cps`; without one, the pass over whole modules."""
    return ModuleToCPS() if expr is None else to_cps(expr, mod)


_PARAMETERS = "give the variables of the function: module['main'].params[0]"


@dataclass(frozen=True)
class ChangeBatch(RelayFunctionPass):
    """The dim of parameters that holds the batch made `batch_size`; `data` maps parameters to the dim's position.

    Error `pass-parameter`: what no function has as a parameter, or a position that its type has not.
    """

    opt_level: ClassVar[int] = 1
    data: Mapping[Any, int]
    batch_size: int = 16

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        params = {p for f in module.functions.values() for p in getattr(f, "params", ())}
        for given in self.data:
            if given not in params:
                name = getattr(given, "name_hint", given)
                raise fail("pass-parameter", f"ChangeBatch: no function has the parameter {name}", help=_PARAMETERS)
        return super().run(module, ctx)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        changed: dict[Any, Any] = {}
        for param in function.params:
            if param in self.data:
                type_, axis = param.checked_type, self.data[param]
                rank = len(getattr(type_, "shape", ()))
                if not -rank <= axis < rank:
                    raise fail("pass-parameter", f"ChangeBatch: %{param.name_hint} is {type_}, which has no dim {axis}")
                shape = list(type_.shape)
                shape[axis] = self.batch_size
                changed[param] = relay.var(param.name_hint, shape=shape, dtype=type_.dtype)
        params = [changed.get(p, p) for p in function.params]
        return relay.Function(params, replace(function.body, changed), None, function.type_params, function.attrs)
