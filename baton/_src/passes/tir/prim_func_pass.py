"""The base class of TIR passes that scripts run by name (`tvm.tir.transform`), and the passes on whole functions.

`lower_prim_func` does not use them: it performs the same steps directly, on one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Stmt
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass, Pass


class PrimFuncPass(FunctionPass):
    """Transforms each kernel of a module separately. Most passes only rewrite its body."""

    function_class: ClassVar[type] = PrimFunc

    @property
    def name(self) -> str:
        return f"tir.{type(self).__name__}"

    def __str__(self) -> str:
        return f"PrimFuncPass({self.name}, opt_level={self.info.opt_level})"

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        """The kernel after the pass."""
        return function.with_fields(body=self.body(function.body, function, ctx))

    def body(self, body: Stmt, function: PrimFunc, ctx: PassContext) -> Stmt:
        """The body rewritten; the same object if nothing changed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Apply(PrimFuncPass):
    """`ftransform(function)` for every kernel."""

    ftransform: Callable[[PrimFunc], PrimFunc]
    guarded = False

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        return self.ftransform(function)


@dataclass(frozen=True)
class Filter(Pass):
    """Keep only the kernels for which `fcond(function)` holds."""

    fcond: Callable[[PrimFunc], bool]
    guarded = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        functions = module.functions.items()
        return module.with_functions({v: f for v, f in functions if not isinstance(f, PrimFunc) or self.fcond(f)})


@dataclass(frozen=True)
class BindTarget(PrimFuncPass):
    """Every kernel without a target gets this one, as its attribute `target`."""

    target: Any

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        target = self.target if isinstance(self.target, Target) else Target(self.target)
        return function if "target" in function.attrs else function.with_attr("target", target)


@dataclass(frozen=True)
class AnnotateEntryFunc(Pass):
    """The only function of a module, or the only one that callers see (`global_symbol`), if it is a kernel, is marked
    as the entry (`tir.is_entry_func`); none is if callers see several.
    """

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        functions = module.functions
        seen = [v for v, f in functions.items() if len(functions) == 1 or getattr(f, "attrs", {}).get("global_symbol")]
        entry = functions[seen[0]] if len(seen) == 1 else None
        if not isinstance(entry, PrimFunc):
            return module
        return module.with_functions({**functions, seen[0]: entry.with_attr("tir.is_entry_func", True)})


__all__ = ["AnnotateEntryFunc", "Apply", "BindTarget", "Filter", "PrimFuncPass"]


@dataclass(frozen=True)
class VerifyMemory(PrimFuncPass):
    """Requires that code of the host uses no memory of another device. On CPUs there is none: nothing is changed."""

    def body(self, body: Stmt, function: PrimFunc, ctx: PassContext) -> Stmt:
        return body
