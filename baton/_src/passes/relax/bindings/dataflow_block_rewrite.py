"""`DataflowBlockRewrite`: editing one dataflow block of a function step by step (`tvm.relax.binding_rewrite`).

rewrite = DataflowBlockRewrite(function.body.blocks[0], function)
rewrite.add(relax.op.exp(x), "y")
rewrite.replace_all_uses(old, new)
rewrite.remove_all_unused()
rewrite.mutated_root_fn()
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Binding, DataflowBlock, DataflowVar, Function, Var, VarBinding
from baton._src.support.diagnostics import fail


class DataflowBlockRewrite:
    """See the module. `dfb` is a block of `root_fn`; neither changes, the results are new."""

    def __init__(self, dfb: DataflowBlock, root_fn: Function) -> None:
        if not any(n is dfb for n in post_order(root_fn)):
            raise fail("api", "DataflowBlockRewrite: the block is not part of the function")
        self._original = root_fn
        self._block = dfb
        self._function = root_fn

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Use `new_var` wherever `old_var` is used, in and after the block, but in the binding of `new_var` itself; the
        binding of `old_var` stays.
        """
        if not any(b.var is old_var for b in self._block.bindings):
            raise fail("api", f"{old_var.name_hint} is not bound in the block")
        renamed = {old_var: new_var}
        made = [
            b if b.var is new_var else b.with_fields(value=substitute(b.value, renamed, notes=False))
            for b in self._block.bindings
        ]
        block = DataflowBlock(made, self._block.span)
        self._set(DataflowBlock(()))  # in its place, so that the binding of `old_var` is not renamed
        self._function = substitute(self._function, renamed, notes=False)
        self._set(block)

    def add_binding(self, binding: Binding) -> None:
        """Insert a binding behind those that it needs."""
        if any(b.var is binding.var for b in self._block.bindings):
            raise fail("api", f"{binding.var.name_hint} is already bound in the block")
        self._insert([binding])

    def _insert(self, made: list[Binding]) -> None:
        """Insert bindings behind the last one that they need, at the earliest behind the first one, as in TVM: before
        everything that may use them in place of another variable of the block.
        """
        needed = {v for binding in made for v in used_vars(binding)}
        before = self._block.bindings
        place = max((n for n, b in enumerate(before) if b.var in needed), default=0) + 1
        self._set(DataflowBlock([*before[:place], *made, *before[place:]], self._block.span))

    def add(self, expr: Any, name: Any = None, is_dfvar: bool = False) -> None:
        """Bind `expr`, behind what it needs. `name`: a name, a variable (its name), or None for a fresh one."""
        if isinstance(expr, VarBinding):
            self.add_binding(expr)
            return
        taken = {b.var.name_hint for b in self._block.bindings}
        said = getattr(name, "name_hint", name)
        count = 0
        while said is None or (name is None and said in taken):
            said, count = f"lv{count or ''}", count + 1
        builder = BlockBuilder()
        builder.begin_dataflow_block()
        value = builder.normalize(expr)
        made = list(builder.end_block().bindings)
        kind = DataflowVar if is_dfvar else Var
        var = kind(str(said), value.struct_info_)
        self._insert([*made, VarBinding(var, value)])

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Remove a binding that nothing uses. Error `api`: it is used, or unknown without `allow_undef`."""
        kept = [b for b in self._block.bindings if b.var is not var]
        if len(kept) == len(self._block.bindings):
            if allow_undef:
                return
            raise fail("api", f"{var.name_hint} is not bound in the block")
        others = rewrite(self._function, lambda n: DataflowBlock(kept) if n is self._block else None)
        if var in post_order(others):
            raise fail("api", f"{var.name_hint} is used: its binding cannot be removed")
        self._set(DataflowBlock(kept, self._block.span))

    def remove_all_unused(self) -> None:
        """Remove every binding of the function that nothing needs."""
        held = {b.var for b in self._block.bindings}
        self._function = remove_all_unused(self._function)
        blocks = (n for n in post_order(self._function) if isinstance(n, DataflowBlock))
        left = (n for n in blocks if n is self._block or any(b.var in held for b in n.bindings))
        self._block = next(left, DataflowBlock(()))

    def mutated_dfb(self) -> DataflowBlock:
        """The block as it is now."""
        return self._block

    def mutated_root_fn(self) -> Function:
        """The function as it is now, normalised."""
        found = BlockBuilder().normalize(self._function)
        assert isinstance(found, Function)
        return found

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """`irmodule` with the function as it is now in place of the original one."""
        places: list[GlobalVar] = [v for v, f in irmodule.functions.items() if f is self._original]
        if not places:
            raise fail("api", "the module does not hold the function that is rewritten")
        return irmodule.with_function(places[0], self.mutated_root_fn())

    def _set(self, block: DataflowBlock) -> None:
        old = self._block
        self._function = rewrite(self._function, lambda n: block if n is old else None)
        self._block = block
