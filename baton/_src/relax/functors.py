"""Visitors and mutators over Relax for users (`relax.expr_functor`): one overridable method per node class.

    class CountCalls(ExprVisitor):
        def visit_call_(self, call): self.count += 1; super().visit_call_(call)

    @mutator
    class ReluToGelu(ExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return gelu(call.args[0]) if call.op == RELU else call

They recurse into nested expressions. In normal form that is one level per binding, so the depth is that of nested
branches and local functions. The compiler's own passes use `passes.relax.binding_rewriter`. Names follow TVM v0.19
(facts: passes-vm §4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.relax import nodes as rx
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.same_info import same_info
from baton._src.relax.struct_info import StructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc

C = TypeVar("C", bound=type)

METHODS: dict[type, str] = {
    rx.Constant: "visit_constant_",
    rx.Tuple: "visit_tuple_",
    rx.DataflowVar: "visit_dataflow_var_",
    rx.Var: "visit_var_",
    rx.ShapeExpr: "visit_shape_expr_",
    rx.ExternFunc: "visit_extern_func_",
    GlobalVar: "visit_global_var_",
    rx.Function: "visit_function_",
    rx.Call: "visit_call_",
    rx.SeqExpr: "visit_seq_expr_",
    rx.If: "visit_if_",
    Op: "visit_op_",
    rx.TupleGetItem: "visit_tuple_getitem_",
    rx.PrimValue: "visit_prim_value_",
    rx.StringImm: "visit_string_imm_",
    rx.DataTypeImm: "visit_data_type_imm_",
}


def _method(expr: Any) -> str:
    found = METHODS.get(type(expr))
    if found is None:
        raise fail("relax-functor", f"a {type(expr).__name__} is not a Relax expression")
    return found


def visitor(cls: C) -> C:
    """TVM's decorator for visitors; here it returns the class unchanged."""
    return cls


def mutator(cls: C) -> C:
    """TVM's decorator for mutators; here it returns the class unchanged."""
    return cls


class ExprFunctor:
    """Dispatches on the class of an expression to its `visit_*_` method; one that no subclass defines is an error."""

    def visit_expr(self, expr: Any) -> Any:
        """The value of the case for the expression's class."""
        return getattr(self, _method(expr))(expr)

    def _undefined(self, expr: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define {_method(expr)}")

    visit_constant_ = visit_var_ = visit_dataflow_var_ = visit_shape_expr_ = visit_extern_func_ = _undefined
    visit_global_var_ = visit_op_ = visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _undefined
    visit_tuple_ = visit_tuple_getitem_ = visit_call_ = visit_if_ = visit_function_ = visit_seq_expr_ = _undefined


class ExprVisitor:
    """Visits every part of an expression; override the methods of interest and call `super()` to visit a node's
    parts.
    """

    def visit_expr(self, expr: Any) -> None:
        """Visit an expression by its class."""
        if not isinstance(expr, PrimFunc):
            getattr(self, _method(expr))(expr)

    def _nothing(self, expr: Any) -> None:
        """A leaf."""

    visit_constant_ = visit_var_ = visit_dataflow_var_ = visit_shape_expr_ = visit_extern_func_ = _nothing
    visit_global_var_ = visit_op_ = visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _nothing

    def visit_tuple_(self, expr: rx.Tuple) -> None:
        for field in expr.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, expr: rx.TupleGetItem) -> None:
        self.visit_expr(expr.tuple_value)

    def visit_call_(self, expr: rx.Call) -> None:
        self.visit_expr(expr.op)
        for arg in expr.args:
            self.visit_expr(arg)

    def visit_if_(self, expr: rx.If) -> None:
        for part in (expr.cond, expr.true_branch, expr.false_branch):
            self.visit_expr(part)

    def visit_function_(self, expr: rx.Function) -> None:
        for param in expr.params:
            self.visit_var_def(param)
        self.visit_expr(expr.body)

    def visit_seq_expr_(self, expr: rx.SeqExpr) -> None:
        for block in expr.blocks:
            self.visit_binding_block(block)
        self.visit_expr(expr.body)

    def visit_binding_block(self, block: rx.BindingBlock) -> None:
        """A block by its class."""
        dataflow = isinstance(block, rx.DataflowBlock)
        (self.visit_dataflow_block_ if dataflow else self.visit_binding_block_)(block)

    def visit_binding_block_(self, block: rx.BindingBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: rx.BindingBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_binding(self, binding: rx.Binding) -> None:
        """A binding by its class."""
        if isinstance(binding, rx.MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)

    def visit_var_binding_(self, binding: Any) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: rx.MatchCast) -> None:
        self.visit_expr(binding.value)
        if binding.var is not None:
            self.visit_var_def(binding.var)

    def visit_var_def(self, var: rx.Var) -> None:
        """A variable where it is defined."""
        defined = self.visit_dataflow_var_def_ if isinstance(var, rx.DataflowVar) else self.visit_var_def_
        defined(var)

    visit_var_def_ = visit_dataflow_var_def_ = _nothing


class ExprMutator:
    """Rebuilds an expression through `builder_`, which normalises bindings; unchanged parts remain the same objects."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._remap: dict[rx.Var, Any] = {}

    def visit_expr(self, expr: Any) -> Any:
        """The new expression."""
        if isinstance(expr, PrimFunc):
            return expr
        return getattr(self, _method(expr))(expr)

    def visit_expr_post_order(self, expr: Any) -> Any:
        """The expression with its parts visited, without calling its own overridden method."""
        if isinstance(expr, PrimFunc):
            return expr
        return getattr(ExprMutator, _method(expr))(self, expr)

    def _same(self, expr: Any) -> Any:
        return expr

    visit_constant_ = visit_shape_expr_ = visit_extern_func_ = visit_global_var_ = visit_op_ = _same
    visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _same

    def visit_var_(self, expr: rx.Var) -> Any:
        return self._remap.get(expr, expr)

    def visit_dataflow_var_(self, expr: rx.DataflowVar) -> Any:
        return self._remap.get(expr, expr)

    def visit_tuple_(self, expr: rx.Tuple) -> Any:
        fields = self._all(expr.fields)
        return expr if fields is expr.fields else rx.Tuple(fields, expr.span)

    def visit_tuple_getitem_(self, expr: rx.TupleGetItem) -> Any:
        value = self.visit_expr(expr.tuple_value)
        return expr if value is expr.tuple_value else rx.TupleGetItem(value, expr.index, expr.span)

    def visit_call_(self, expr: rx.Call) -> Any:
        op, args = self.visit_expr(expr.op), self._all(expr.args)
        if op is expr.op and args is expr.args:
            return expr
        return rx.Call(op, args, expr.attrs, expr.sinfo_args, expr.span)

    def _all(self, exprs: tuple[Any, ...]) -> tuple[Any, ...]:
        found = tuple(self.visit_expr(e) for e in exprs)
        return exprs if all(new is old for new, old in zip(found, exprs, strict=True)) else found

    def visit_if_(self, expr: rx.If) -> Any:
        condition = self.visit_expr(expr.cond)
        branches = [self.visit_with_new_scope(b) for b in (expr.true_branch, expr.false_branch)]
        if condition is expr.cond and branches == [expr.true_branch, expr.false_branch]:
            return expr
        return rx.If(condition, branches[0], branches[1], expr.span)

    def visit_function_(self, expr: rx.Function) -> Any:
        params = [self.visit_var_def(p) for p in expr.params]
        self._remap.update(zip(expr.params, params, strict=True))
        body = self.visit_with_new_scope(expr.body, params)
        if body is expr.body and all(new is old for new, old in zip(params, expr.params, strict=True)):
            return expr
        return rx.Function(params, body, expr.ret_struct_info, expr.is_pure, expr.attrs, expr.span)

    def visit_with_new_scope(self, expr: Any, params: Sequence[rx.Var] = ()) -> Any:
        """Visit a body in its own scope; it may use outer variables."""
        self.builder_.begin_scope(list(params))
        try:
            return self.visit_expr(expr)
        finally:
            self.builder_.end_scope()

    def visit_seq_expr_(self, expr: rx.SeqExpr) -> Any:
        blocks = [self.visit_binding_block(block) for block in expr.blocks]
        self.builder_.begin_binding_block()
        body = self.builder_.normalize(self.visit_expr(expr.body))
        last = self.builder_.end_block()
        if last.bindings:
            blocks.append(last)
        same = len(blocks) == len(expr.blocks) and all(a is b for a, b in zip(blocks, expr.blocks, strict=True))
        return expr if same and body is expr.body else rx.SeqExpr(blocks, body, expr.span)

    def visit_binding_block(self, block: rx.BindingBlock) -> rx.BindingBlock:
        """A block by its class."""
        dataflow = isinstance(block, rx.DataflowBlock)
        return (self.visit_dataflow_block_ if dataflow else self.visit_binding_block_)(block)

    def visit_binding_block_(self, block: rx.BindingBlock) -> rx.BindingBlock:
        self.builder_.begin_binding_block()
        return self._finish(block)

    def visit_dataflow_block_(self, block: rx.BindingBlock) -> rx.BindingBlock:
        self.builder_.begin_dataflow_block()
        return self._finish(block)

    def _finish(self, block: rx.BindingBlock) -> rx.BindingBlock:
        for binding in block.bindings:
            self.visit_binding(binding)
        made = self.builder_.end_block()
        same = len(made.bindings) == len(block.bindings) and type(made) is type(block)
        return block if same and all(a is b for a, b in zip(made.bindings, block.bindings, strict=True)) else made

    def visit_binding(self, binding: rx.Binding) -> None:
        """Dispatches on the class of the binding; emits the rewritten one."""
        if isinstance(binding, rx.MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)

    def visit_var_binding_(self, binding: Any) -> None:
        if isinstance(binding.value, rx.Function):
            self._visit_local_function(binding)
            return
        value, var = self.visit_expr(binding.value), self.visit_var_def(binding.var)
        if value is not binding.value:
            value = self.builder_.normalize(value)
            var = self.with_struct_info(var, value.struct_info_)
        self._emit(binding, rx.VarBinding, var, value)

    def _visit_local_function(self, binding: Any) -> None:
        """Its variable comes first: the function may call itself by it."""
        named = self._remap[binding.var] = self.visit_var_def(binding.var)
        value, var = self.visit_expr(binding.value), named
        if value is not binding.value:
            value = self.builder_.normalize(value)
            var = self.with_struct_info(named, value.struct_info_)
            value = value if var is named else substitute(value, {named: var}, notes=False)
        self._emit(binding, rx.VarBinding, var, value)

    def visit_match_cast_(self, binding: rx.MatchCast) -> None:
        value, var = self.visit_expr(binding.value), binding.var and self.visit_var_def(binding.var)
        self._emit(binding, partial(rx.MatchCast, struct_info=binding.struct_info), var, value)

    def _emit(self, binding: Any, kind: Callable[..., rx.Binding], var: rx.Var | None, value: Any) -> None:
        """The binding itself if nothing changed; later uses of a variable that was replaced are those of the new."""
        if var is not binding.var:
            self._remap[binding.var] = var
        same = var is binding.var and value is binding.value
        self.builder_.emit_normalized(binding if same else kind(var=var, value=value, span=binding.span))

    def visit_var_def(self, var: rx.Var) -> rx.Var:
        """A variable where it is defined."""
        defined = self.visit_dataflow_var_def_ if isinstance(var, rx.DataflowVar) else self.visit_var_def_
        found: rx.Var = defined(var)
        return found

    visit_var_def_ = visit_dataflow_var_def_ = _same

    def with_struct_info(self, var: rx.Var, struct_info: StructInfo | None) -> rx.Var:
        """`var`, or a new variable of that name if its struct info says something else."""
        if struct_info is None or same_info(var.struct_info_, struct_info):
            return var
        kind = rx.DataflowVar if isinstance(var, rx.DataflowVar) else rx.Var
        return kind(var.name_hint, struct_info, var.span)

    def set_var_remap(self, vid: rx.Var, var: Any) -> None:
        """Replace later uses of the variable `vid` (variables are their own ids) by `var`."""
        self._remap[vid] = var

    def get_var_remap(self, vid: rx.Var) -> Any:
        """The replacement for uses of the variable `vid`."""
        return self._remap.get(vid, vid)

    def lookup_binding(self, var: rx.Var) -> Any:
        """The value bound to a new variable; None for parameters."""
        return self.builder_.lookup_binding(var)
