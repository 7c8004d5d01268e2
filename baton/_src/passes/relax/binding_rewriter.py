"""`BindingRewriter`: rewrites Relax functions binding by binding, in order of evaluation, without recursion.

A pass subclasses it and overrides `rewrite_value` (most passes) or `visit_binding` (to remove or add bindings):

    class _Rewriter(BindingRewriter):
        def rewrite_value(self, binding, value):
            return self.emit(log(value.args[0])) if ... else value

    _Rewriter(module).function(function)

Variables keep their identity, so uses need no rewriting; to remove a variable, `replace(var, expr)` substitutes `expr`
for every later use. `emit` adds a binding before the current one. Parts that do not change stay the same objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import rebuild, substitute
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.context import Context
from baton._src.relax.check.erase import substitute_holders
from baton._src.relax.frames import Frame
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Expr,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.normalize import Normalizer
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.support.trampoline import Task, run


class BindingRewriter:
    """Rewrites functions of one module. The methods of the first section are for subclasses to override."""

    def __init__(self, module: IRModule | None = None) -> None:
        self.context = Context(functions={} if module is None else dict(module.functions))
        self.replaced: dict[Any, Any] = {}
        """The replacement of each removed variable."""
        self._meaning: dict[Any, list[Any]] = {}
        """The inverse of `replaced`: the variables replaced by an expression."""
        self.values: dict[Var, Any] = {}
        """The new value of every variable bound so far."""
        self.block: BindingBlock | None = None
        """The block being rewritten."""
        self.parts: dict[Any, Var] = {}
        """The variables of what is nested in the expression being normalised."""
        self.visits_emitted = False
        """Whether bindings made by `emit` and `normalized` are passed to `visit_binding`, too."""
        self._made: list[Binding] = []
        self._homes: dict[DataflowVar, BindingBlock | None] = {}
        """The block of each DataflowVar bound so far."""
        self._normalizer = _Emitting(self)

    # ------------------------------------------------------------------------------------------- to be overridden

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        """The new value of `binding`; `value` is the current one, with inner functions and branches rewritten."""
        return value

    def visit_binding(self, binding: Binding) -> None:
        """Handle one binding: `keep` it, `replace` its variable, or `emit` others. Parts of its value are rewritten."""
        if isinstance(binding, VarBinding):
            value = self.rewrite_value(binding, binding.value)
            self.keep(binding if value is binding.value else VarBinding(binding.var, value, binding.span))
        else:
            self.keep(binding)

    def enter_function(self, function: Function) -> None:
        """Called before the body of `function`, also of inner ones."""

    def leave_function(self, function: Function) -> Function:
        """Called after the body; `function` has its new body. Returns the function to use."""
        return function

    def enter_sequence(self, seq: SeqExpr) -> None:
        """Called before the blocks of a body or branch."""

    def leave_sequence(self, seq: SeqExpr) -> None:
        """Called after them with the old `seq`; outer variables are in scope again."""

    def enter_block(self, block: BindingBlock) -> None:
        """Called before the bindings of a block."""

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        """The blocks that replace `block`, whose rewritten bindings are `bindings`. Empty blocks are dropped."""
        if len(bindings) == len(block.bindings) and all(a is b for a, b in zip(bindings, block.bindings)):
            return (block,)
        return (type(block)(bindings, block.span),) if bindings else ()

    # ------------------------------------------------------------------------------------------------ to be used

    @property
    def in_dataflow(self) -> bool:
        return isinstance(self.block, DataflowBlock)

    def keep(self, binding: Binding) -> None:
        """Append a binding unchanged, except that replaced variables go from its annotation."""
        if self.replaced and binding.var is not None and (new := self._with_own_info(binding.var)) is not binding.var:
            binding = binding.with_fields(var=new)
        self._made.append(binding)
        if isinstance(binding, MatchCast):
            self._normalizer.shapes.note_dims(binding.struct_info)
        if isinstance(binding, (VarBinding, MatchCast)) and binding.var is not None:
            self.values[binding.var] = binding.value
            if isinstance(binding.var, DataflowVar):
                self._homes[binding.var] = self.block

    @contextmanager
    def emitting(self, builder: BlockBuilder) -> Iterator[None]:
        """Within the `with` block, bindings that `builder` emits are placed before the binding being rewritten."""
        frames = builder.normalizer.frames
        frames.append(self._normalizer.frames[-1])
        try:
            yield
        finally:
            frames.pop()

    def is_visible(self, leaf: GraphExpr) -> bool:
        """Whether the binding may use a leaf found by `resolved`: DataflowVars are visible in their block only."""
        todo = [leaf]
        while todo:
            part = todo.pop()
            if isinstance(part, Tuple):
                todo.extend(part.fields)
            elif isinstance(part, DataflowVar) and self._homes.get(part) is not self.block:
                return False
        return True

    def replace(self, var: Var | GlobalVar, expr: Any) -> None:
        """Replace later uses of `var`, and of variables that it replaced, by `expr`, which must be a leaf."""
        expr = self.replaced.get(expr, expr)
        for other in (var, *self._meaning.pop(var, ())):
            self.replaced[other] = expr
            self._meaning.setdefault(expr, []).append(other)

    def with_info(self, var: Var, info: StructInfo) -> Var:
        """A variable that is being defined, with this StructInfo; unless it has it, another one, used from here on."""
        if info is var.struct_info_:
            return var
        new = type(var)(var.name_hint, info, var.span)
        self.replace(var, new)
        return new

    def emit(self, expr: Expr, name: str = "lv") -> Var:
        """Normalise `expr` and bind it to a new variable before the current binding. Returns the variable."""
        value = self.normalized(expr)
        var = (DataflowVar if self.in_dataflow else Var)(name, value.struct_info)
        self.keep(VarBinding(var, value))
        return var

    def normalized(self, expr: GraphExpr) -> Any:
        """`expr` normalised, as the value of a binding; parts of it are bound before the current binding."""
        self.parts = {}
        return self._normalizer.expression(expr)

    def resolved(self, expr: GraphExpr) -> Any:
        """The value behind a variable bound in this function so far, through copies; `expr` itself if there is none."""
        while isinstance(expr, Var) and expr in self.values:
            expr = self.values[expr]
        return expr

    def function(self, function: Function) -> Function:
        """Rewrite a whole function."""
        found: Function = run(self._function(function))
        return found

    # -------------------------------------------------------------------------------------------------- machinery

    def _function(self, function: Function) -> Task[Any]:
        self.enter_function(function)
        if self.replaced:
            function = self._with_signature(function)
        shapes = self._normalizer.shapes
        with shapes.dims():
            for param in function.params:
                shapes.note_dims(param.struct_info)
            body = yield self._sequence(function.body)
        return self.leave_function(function if body is function.body else function.with_fields(body=body))

    def _with_signature(self, function: Function) -> Function:
        """An inner function, with replaced variables substituted in the shapes in its annotations."""
        params = tuple(self._with_own_info(p) for p in function.params)
        ret, info = self._info(function.ret_struct_info), self._info(function.struct_info_)
        if ret is function.ret_struct_info and info is function.struct_info_:
            if all(a is b for a, b in zip(params, function.params)):
                return function
        return function.with_fields(params=params, ret_struct_info=ret, struct_info_=info)

    def _sequence(self, seq: Any) -> Task[Any]:
        if not isinstance(seq, SeqExpr):
            return self._use(seq)
        outer, outer_block = self._made, self.block
        blocks: list[BindingBlock] = []
        self.enter_sequence(seq)
        for block in seq.blocks:
            self._made, self.block = [], block
            self.enter_block(block)
            for binding in block.bindings:
                part = self._binding_with_parts(binding)
                self.visit_binding(part if isinstance(part, Binding) else (yield part))
            blocks.extend(self.leave_block(block, self._made))
        self._made, self.block = outer, outer_block
        body = self._use(seq.body)
        self.leave_sequence(seq)
        blocks = joined(blocks)
        if len(blocks) == len(seq.blocks) and all(a is b for a, b in zip(blocks, seq.blocks)):
            return seq if body is seq.body else seq.with_fields(body=body, struct_info_=body.struct_info_)
        return seq.with_fields(blocks=tuple(blocks), body=body, struct_info_=body.struct_info_)

    def _binding_with_parts(self, binding: Binding) -> Any:
        """`binding` with replaced variables substituted; a task if it has inner sequences."""
        assert isinstance(binding, (VarBinding, MatchCast))
        if self.replaced:
            binding = self.with_holders(binding)
        if isinstance(binding.value, (If, Function)):
            return self._compound(binding)
        value = self._use(binding.value)
        return binding if value is binding.value else binding.with_fields(value=value)

    def with_holders(self, binding: Any) -> Any:
        """The binding with replaced variables substituted in the declared shape of its value: `R.Tensor(s, ...)`."""
        if isinstance(binding, MatchCast):
            cast = self._info(binding.struct_info)
            if cast is not binding.struct_info:
                binding = binding.with_fields(struct_info=cast)
        value = binding.value
        if isinstance(value, Call) and (said := self._info(value.struct_info_)) is not value.struct_info_:
            binding = binding.with_fields(value=value.with_fields(struct_info_=said))
        return binding

    def _with_own_info(self, var: Var) -> Var:
        return self.with_info(var, self._info(var.struct_info_))

    def _info(self, info: Any) -> Any:
        """An annotation with replaced variables substituted where they hold shapes."""
        if info is None or (isinstance(info, TensorStructInfo) and not isinstance(info.shape, Var)):
            return info
        return substitute_holders(info, self.replaced)

    def _compound(self, binding: Any) -> Task[Any]:
        value = binding.value
        if isinstance(value, If):
            cond = self._use(value.cond)
            then = yield self._sequence(value.true_branch)
            other = yield self._sequence(value.false_branch)
            new: Any = value.with_fields(cond=cond, true_branch=then, false_branch=other)
        else:
            new = yield self._function(value)
        return binding if new is value else binding.with_fields(value=new)

    def _use(self, expr: GraphExpr) -> Any:
        """`expr`, which contains no sequence, with replaced variables substituted."""
        if not self.replaced:
            return expr
        if isinstance(expr, Var):
            return self.replaced.get(expr, expr)
        if isinstance(expr, Call) and not any(isinstance(a, Tuple) for a in expr.args):
            return rebuild(expr, self.replaced)
        return substitute(expr, self.replaced, notes=False)


def joined(blocks: list[BindingBlock]) -> list[BindingBlock]:
    """Merge adjacent blocks of one kind, as normal form requires: the block between them may have been dropped."""
    if all(type(a) is not type(b) for a, b in pairwise(blocks)):
        return blocks
    groups = [list(group) for _, group in groupby(blocks, type)]
    return [g[0] if len(g) == 1 else type(g[0])([b for block in g for b in block.bindings], g[0].span) for g in groups]


class _Emitting(Normalizer):
    """A normaliser that appends to a rewriter's bindings instead of frames of its own."""

    def __init__(self, rewriter: BindingRewriter) -> None:
        self._rewriter = rewriter
        super().__init__(rewriter.context)
        self.frames = [_RewriterFrame(rewriter)]

    def lookup(self, var: Var) -> Any:
        return self._rewriter.values.get(var)


class _RewriterFrame(Frame):
    """The normaliser's frame: the kind of the current block, and where bindings are added."""

    def __init__(self, rewriter: BindingRewriter) -> None:
        self._rewriter = rewriter

    @property
    def parts(self) -> dict[Any, Var]:
        """Kept for one expression only: the pass may drop what was bound for another."""
        return self._rewriter.parts

    @property
    def dataflow(self) -> bool:
        return self._rewriter.in_dataflow

    @dataflow.setter
    def dataflow(self, wanted: bool) -> None:
        """Never set here: the rewriter chooses the block."""

    def add(self, binding: Binding, span: Any = None) -> None:
        if self._rewriter.visits_emitted:
            self._rewriter.visit_binding(binding)
        else:
            self._rewriter.keep(binding)
