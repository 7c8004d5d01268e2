"""Normal form (seed 001, Normal Form): nested expressions become bindings, evaluated left to right, inner before outer.

    f(g(x), h(k(x)))   ->   lv = g(x); lv1 = k(x); lv2 = h(lv1); lv3 = f(lv, lv2); return lv3

An expression object that is nested in several places is bound once per block. SeqExprs are flattened into the scope
they stand in, neighbouring blocks of a kind merged, empty ones dropped; function bodies and branches become SeqExprs
that end in a leaf. Every expression gets its StructInfo on the way. A program already in normal form comes back as the
same object, so normalising again costs one look at each binding.

Linear in the size of the program, and no Python recursion: each rule is a task of `support.trampoline`.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.relax.check.compatibility import check_compatibility, is_subtype
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.report import STRUCT_INFO, described, unless_object
from baton._src.relax.check.signatures import function_info
from baton._src.relax.frames import Frame, all_same
from baton._src.relax.fresh_names import FreshNames
from baton._src.relax.leaves import is_leaf
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.settled import is_settled, is_settled_leaf
from baton._src.relax.shape_scopes import ShapeScopes
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import FuncStructInfo, StructInfo
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.support.trampoline import Task, run
from baton._src.tir.prim_func import PrimFunc


class Normalizer:
    """The state of normalisation: frames of open SeqExprs, variables in scope, names in use."""

    def __init__(self, context: Context | None = None) -> None:
        self.context = context if context is not None else Context()
        self.context.lookup = self.lookup
        self.frames: list[Frame] = []
        self.bound: dict[Var, Any] = {}
        """The value of every variable bound so far."""
        self.names = FreshNames()
        self.shapes = ShapeScopes(self.context)
        self._defining: set[Var] = set()

    # ---------------------------------------------------------------------------------------------- entrances

    def expression(self, expr: Any) -> Any:
        """`expr` as the right-hand side of a binding; nested expressions are bound in the current frame."""
        return expr if is_settled(expr, self.context) else run(self._value(expr))

    def atom(self, expr: Any) -> Any:
        """`expr` if it is a leaf, else a new variable bound to it."""
        return expr if is_settled_leaf(expr, self.context) else run(self._leaf(expr))

    def add_binding(self, binding: Binding) -> Binding:
        """Normalise a binding and append it to the current frame."""
        return run(self._bind(binding))

    def function(self, function: Function) -> Function:
        """A whole function."""
        return run(self._function(function))

    def lookup(self, var: Var) -> Any:
        """The value bound to a variable; None for parameters and unknown ones."""
        return self.bound.get(var)

    # --------------------------------------------------------------------------------------------------- state

    @property
    def frame(self) -> Frame:
        if not self.frames:
            raise fail(
                "relax-api",
                "a nested expression can only be normalised where its parts can be bound",
                help="normalise within `with builder.function(...)`, or bind the parts one by one",
            )
        return self.frames[-1]

    def fresh_var(self, info: StructInfo | None, hint: str = "", *, output: bool = False) -> Var:
        """A new variable for the current frame: a DataflowVar inside a DataflowBlock unless it is an output."""
        dataflow = self.frame.dataflow and not output
        name = self.names.fresh(hint or ("lv" if dataflow else "gv"))
        return DataflowVar(name, info) if dataflow else Var(name, info)

    # --------------------------------------------------------------------------------------------------- rules

    def _leaf(self, expr: Any) -> Task[Any]:
        if self.frames and (known := self.frame.parts.get(expr)) is not None:
            return known
        value = expr if is_settled(expr, self.context) else (yield self._value(expr))
        if is_leaf(value):
            return value
        var = self.fresh_var(value.struct_info)
        self._append(VarBinding(var, value, value.span), value)
        self.frame.parts[expr] = var
        return var

    def _append(self, binding: Binding, value: Any) -> None:
        self.frame.add(binding)
        if binding.var is not None:
            self.bound[binding.var] = value

    def _value(self, expr: Any) -> Task[Any]:
        """The right side of a binding."""
        if isinstance(expr, Call):
            return (yield self._call(expr))
        if isinstance(expr, Tuple):
            fields: list[Any] = []
            for part in expr.fields:
                fields.append(part if is_settled_leaf(part, self.context) else (yield self._leaf(part)))
            return self._informed(expr if all_same(fields, expr.fields) else _fresh(expr, fields=tuple(fields)))
        if isinstance(expr, TupleGetItem):
            whole = expr.tuple_value
            if not is_settled_leaf(whole, self.context):
                whole = yield self._leaf(whole)
            return self._informed(expr if whole is expr.tuple_value else _fresh(expr, tuple_value=whole))
        if isinstance(expr, SeqExpr):
            return (yield self._flatten(expr))
        if isinstance(expr, If):
            return (yield self._conditional(expr))
        if isinstance(expr, Function):
            return (yield self._function(expr))
        if not isinstance(expr, (GraphExpr, PrimFunc)):
            message = f"{expr!r} is not a Relax expression"
            raise fail(
                STRUCT_INFO, message, span=getattr(expr, "span", None), help="R.prim_value makes one of a scalar"
            )
        return self._informed(expr)

    def _informed(self, expr: Any) -> Any:
        """`expr` with its StructInfo filled in."""
        if isinstance(expr, Var) and expr in self._defining and expr.struct_info_ is None:
            raise fail(
                STRUCT_INFO,
                f"the local function {expr.name_hint} calls itself, so it must be annotated",
                span=expr.span,
                help="annotate its parameters and its result, or the variable it is bound to",
            )
        if expr.struct_info_ is None:
            set_note(expr, "struct_info_", deduce(expr, self.context))
        return expr

    def _call(self, expr: Call) -> Task[Any]:
        callee = expr.op
        if not isinstance(callee, (Op, ExternFunc, GlobalVar)):
            callee = yield self._leaf(callee)
        elif isinstance(callee, ExternFunc):
            self._informed(callee)
        args: list[Any] = []
        for arg in expr.args:
            args.append(arg if is_settled_leaf(arg, self.context) else (yield self._leaf(arg)))
        call = expr if callee is expr.op and all_same(args, expr.args) else _fresh(expr, op=callee, args=tuple(args))
        definition = callee.definition if isinstance(callee, Op) else None
        if isinstance(definition, SpecialOp) and definition.normalize is not None:
            spelled = definition.normalize(call, self.lookup)
            if spelled is not call:
                return (yield self._call(_fresh(spelled)))
        return self._informed(call)

    def _conditional(self, expr: If) -> Task[Any]:
        cond = expr.cond if is_settled_leaf(expr.cond, self.context) else (yield self._leaf(expr.cond))
        then = yield self._sequence(expr.true_branch)
        other = yield self._sequence(expr.false_branch)
        if cond is expr.cond and then is expr.true_branch and other is expr.false_branch:
            return self._informed(expr)
        return self._informed(_fresh(expr, cond=cond, true_branch=then, false_branch=other))

    def _flatten(self, expr: SeqExpr) -> Task[Any]:
        """Flatten a SeqExpr used as a value: its bindings move into the current frame."""
        frame = self.frame
        outer = frame.dataflow
        for block in expr.blocks:
            yield self._block(block, outer)
        frame.dataflow = outer
        return expr.body if is_settled(expr.body, self.context) else (yield self._value(expr.body))

    def _block(self, block: BindingBlock, inside_dataflow: bool) -> Task[None]:
        dataflow = isinstance(block, DataflowBlock)
        if inside_dataflow and not dataflow and block.bindings:
            raise fail(
                "RELAX-NF-9",
                "an ordinary binding block stands inside a DataflowBlock",
                span=block.span or block.bindings[0].span,
                help="only DataflowBlocks can be nested there",
            )
        frame = self.frame
        frame.dataflow = dataflow
        for binding in block.bindings:
            yield self._bind(binding)

    def _sequence(self, expr: Any) -> Task[Any]:
        """A function body or branch: a SeqExpr of its own."""
        frame = Frame()
        self.frames.append(frame)
        try:
            with self.shapes.scope():
                if isinstance(expr, SeqExpr):
                    for block in expr.blocks:
                        yield self._block(block, False)
                    frame.dataflow = False
                    inner = expr.body
                else:
                    inner = expr
                body = inner if is_settled_leaf(inner, self.context) else (yield self._leaf(inner))
        finally:
            self.frames.pop()
        if isinstance(expr, SeqExpr):
            blocks = frame.finish(expr.blocks)
            if blocks is expr.blocks and body is expr.body:
                return self._informed(expr)
            return self._informed(_fresh(expr, blocks=blocks, body=body))
        return self._informed(SeqExpr(frame.finish(), body, getattr(expr, "span", None)))

    def _function(self, expr: Function) -> Task[Function]:
        with self.shapes.scope(expr.params):
            body = yield self._sequence(expr.body)
        same = body is expr.body and expr.ret_struct_info is not None
        function = expr if same else _fresh(expr, body=body)
        if expr.ret_struct_info is None:
            info = deduce(function, self.context)
            assert isinstance(info, FuncStructInfo)
            function = _fresh(function, ret_struct_info=info.ret)
        elif not same or expr.struct_info_ is None:
            self._check_result(function)
        informed: Function = self._informed(function)
        return informed

    def _check_result(self, function: Function) -> None:
        have, want = function.body.struct_info, function.ret_struct_info
        assert want is not None
        answer = check_compatibility(have, want, self.context.prover)
        if answer is not Answer.YES:
            self.context.report.answer(
                answer, f"the function returns {described(have)} but promises {described(want)}",
                span=function.body.body.span or function.span,
                help=unless_object(have, "return what is promised, or promise what is returned"),
            )  # fmt: skip

    # ------------------------------------------------------------------------------------------------ bindings

    def _bind(self, binding: Binding) -> Task[Binding]:
        if isinstance(binding, MatchCast):
            cast: Binding = yield self._bind_cast(binding)
            return cast
        assert isinstance(binding, VarBinding)
        var, value = binding.var, binding.value
        if not is_settled(value, self.context):
            if isinstance(value, Function):
                value = yield self._bound_function(var, value)
            else:
                value = yield self._value(value)
        self.annotate(var, value.struct_info, binding.span)
        if value is not binding.value:
            binding = VarBinding(var, value, binding.span)
        self._append(binding, value)
        return binding

    def _bound_function(self, var: Var, value: Function) -> Task[Any]:
        """A function bound to a variable may call itself by it."""
        if var.struct_info_ is None and value.ret_struct_info is not None:
            set_note(var, "struct_info_", function_info(value))
        self._defining.add(var)
        try:
            return (yield self._function(value))
        finally:
            self._defining.discard(var)

    def annotate(self, var: Var, info: StructInfo, span: Span | None = None) -> None:
        """Set the StructInfo of `var` to that of its value. An existing annotation is checked against it and kept."""
        want = var.struct_info_
        if want is None:
            set_note(var, "struct_info_", info)
        elif want is not info:
            answer = check_compatibility(info, want, self.context.prover)
            if answer is not Answer.YES:
                self.context.report.answer(
                    answer,
                    f"the value of {var.name_hint} is {described(info)} but {described(want)} is declared",
                    span=span or var.span,
                    help=unless_object(info, "declare what the value is, or nothing: it is deduced"),
                )

    def _annotate_cast(self, var: Var, info: StructInfo, span: Span | None) -> None:
        """As `annotate` for a MatchCast. Only the cast is checked at run time, so it has to imply the annotation."""
        declared = var.struct_info_
        if declared is None:
            self.annotate(var, info, span)
        elif declared is not info and is_subtype(info, declared, self.context.prover) is not Answer.YES:
            raise fail(
                STRUCT_INFO,
                f"{var.name_hint} is cast to {described(info)} but {described(declared)} is declared",
                span=span or var.span,
                help="cast to what is declared, or declare no more than the cast checks",
            )

    def _bind_cast(self, binding: MatchCast) -> Task[Binding]:
        """The operand of a cast becomes a leaf: passes and the VM look for calls among the values of variables."""
        value, want = binding.value, binding.struct_info
        if not is_settled_leaf(value, self.context):
            value = yield self._leaf(value)
        have = value.struct_info
        self.shapes.define_shape_vars(want)
        prover = self.context.prover
        if (
            check_compatibility(have, want, prover) is Answer.NO
            and check_compatibility(want, have, prover) is Answer.NO
        ):
            self.context.report.warn(
                f"match_cast of {described(have)} to {described(want)} always fails", span=binding.span
            )
        if binding.var is not None:
            self._annotate_cast(binding.var, want, binding.span)
        if value is not binding.value:
            binding = MatchCast(binding.var, value, want, binding.span)
        self._append(binding, value)
        return binding


def _fresh(expr: Any, **changes: Any) -> Any:
    """A copy with some fields changed and no StructInfo."""
    return (
        expr.with_fields(struct_info_=None, **changes) if expr.struct_info_ is not None else expr.with_fields(**changes)
    )
