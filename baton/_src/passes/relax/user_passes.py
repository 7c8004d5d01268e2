"""Users' passes over Relax: `@function_pass` and `@dataflowblock_pass` (names of `tvm.relax.transform`).

    @function_pass(opt_level=1)
    def double(function, module, ctx): return function

    @dataflowblock_pass(opt_level=0)
    class Reverse:
        def transform_dataflowblock(self, block, module, ctx): return block

Results are brought into normal form again, so a pass may build nested expressions. Exceptions are passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Binding, BindingBlock, DataflowBlock, Function
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import UserFunctionPass, make_decorator


class RelaxFunctionPass(UserFunctionPass):
    """A user's `(function, module, ctx) -> function`, run on every Relax function."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        result = super().run_function(function, module, ctx)
        changed = isinstance(result, Function) and result is not function
        return BlockBuilder(module).normalize(result) if changed else result


class DataflowBlockPass(UserFunctionPass):
    """A user's `(block, module, ctx) -> block`, run on every dataflow block."""

    treats = "DataflowBlock"
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        result = _BlockRewriter(self, module, ctx).function(function)
        return function if result is function else BlockBuilder(module).normalize(result)


class _BlockRewriter(BindingRewriter):
    def __init__(self, owner: DataflowBlockPass, module: IRModule, ctx: PassContext) -> None:
        super().__init__(module)
        self.owner, self.module, self.ctx = owner, module, ctx

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        found = super().leave_block(block, bindings)
        if not isinstance(block, DataflowBlock) or not found:
            return found
        result = UserFunctionPass.run_function(self.owner, found[0], self.module, self.ctx)
        if not isinstance(result, DataflowBlock):
            raise fail("pass-result", f"{self.owner.name} returned {type(result).__name__}, not a DataflowBlock")
        return (result,) if result.bindings else ()


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a function, or a class with `transform_function`, a pass over Relax functions."""
    return make_decorator(RelaxFunctionPass, "transform_function", pass_func, opt_level, name, required, traceable)


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a function, or a class with `transform_dataflowblock`, a pass over Relax dataflow blocks."""
    method = "transform_dataflowblock"
    return make_decorator(DataflowBlockPass, method, pass_func, opt_level, name, required, traceable)
