"""The walk over a function that tracks what is in scope, and the criteria that depend on it (seed 001, Variable
Scoping).

Criteria 1, 2, 5, 7, 9, 18, 21, and 4 and 6 on signatures; those on definitions and uses are in `variable_scope`, those
on annotations in `annotation_rules`. It accepts programs that are not normalised, and continues after a violation.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.relax.check.annotation_rules import AnnotationRules, Place
from baton._src.relax.check.findings import Findings
from baton._src.relax.check.purity import FORCE_PURE
from baton._src.relax.check.variable_scope import VariableScope
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, prim_vars
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
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.support.diagnostics import Severity
from baton._src.support.spans import Span
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc


class ScopeWalk:
    """Walks the functions of one module; names and variables that must be unique in the module are kept across
    functions.
    """

    def __init__(
        self,
        findings: Findings,
        module_names: frozenset[str],
        recursive: dict[str, frozenset[str]],
    ) -> None:
        self.findings = findings
        self.module_names = module_names
        self.recursive = recursive
        """For each function, the names of those it is mutually recursive with (itself included)."""
        self.scope = VariableScope(findings)
        scope = self.scope
        self.annotations = AnnotationRules(findings, scope.shape_vars, scope.add_shape_var, scope.visible.__contains__)
        self.in_dataflow = False
        self.current: tuple[str | Var, ...] = ()
        """The functions being defined, outermost first: a global name, then variables of local functions."""
        self.aliases: dict[Var, Var | GlobalVar] = {}
        """Variables that are bound to another variable, with the first of that chain: a function by another name."""

    def global_function(self, name: str, function: Function) -> None:
        """Check one function of the module."""
        self.findings.function = name
        self.scope.begin(function)
        self.current = (name,)
        run(self._function(function))
        self.findings.function = ""

    # --------------------------------------------------------------------------------------------- expressions

    def _expr(self, expr: Any, span: Span | None = None) -> Task[None]:
        at = getattr(expr, "span", None) or span
        match expr:
            case Var():
                self.scope.use(expr, at)
            case Call():
                yield self._call(expr, at)
            case Tuple():
                for field in expr.fields:
                    yield self._expr(field, at)
            case TupleGetItem():
                yield self._expr(expr.tuple_value, at)
            case ShapeExpr():
                self._dims(expr, at)
            case PrimValue():
                self._prim_value(expr, at)
            case GlobalVar():
                self._global(expr, at)
            case Op():
                self.findings.add("RELAX-WF-9", f"operator {expr.name} is used as a value", span=at)
            case If():
                yield self._conditional(expr, at)
            case SeqExpr():
                yield self._sequence(expr)
            case Function():
                yield self._local_function(expr, None)
            case PrimFunc():
                self.findings.add(
                    "RELAX-GRAMMAR-10", "a PrimFunc stands inside a Relax function", span=at,
                    help="define it in the module and name it by its GlobalVar",
                )  # fmt: skip
            case _:
                pass

    def _dims(self, expr: ShapeExpr, span: Span | None) -> None:
        for dim in expr.values:
            if not dim.dtype.is_int or dim.dtype.lanes != 1:
                self.findings.add("RELAX-WF-25", f"a dimension has dtype {dim.dtype}, not an integer one", span=span)
            self._scalar_vars(dim, span)

    def _prim_value(self, expr: PrimValue, span: Span | None) -> None:
        if not isinstance(expr.value, (IntImm, FloatImm)) or expr.value.dtype.lanes != 1:
            # Rule 18 says what is intended; a computed scalar has a meaning, and programs written for TVM hold some.
            self.findings.add(
                "RELAX-WF-18", f"a PrimValue holds {expr.value!r} instead of one number", span=span,
                help="computed scalars stand as arguments of operators, packed and global functions, in conditions and "
                "shapes, or are tensors of rank 0",
                severity=Severity.WARNING if expr.value.dtype.lanes == 1 else Severity.ERROR,
            )  # fmt: skip
        self._scalar_vars(expr.value, span)

    def _operand(self, expr: Any, span: Span | None) -> Task[None]:
        """An argument of an operator, packed or global function, or a condition: scalars may be computed.

        Rule 18 is about values of the program; what PrimValues are for are these arguments (seed 001, Survey 6): they
        give functions their sizes (`R.Prim(value="n")`).
        """
        match expr:
            case PrimValue() if expr.value.dtype.lanes == 1:
                self._scalar_vars(expr.value, getattr(expr, "span", None) or span)
            case Tuple():
                for field in expr.fields:
                    yield self._operand(field, getattr(expr, "span", None) or span)
            case _:
                yield self._expr(expr, span)

    def _scalar_vars(self, scalar: Any, span: Span | None) -> None:
        # A variable by itself has the place of its declaration.
        place = span or scalar.span if isinstance(scalar, TirVar) else scalar.span or span
        for var in prim_vars(scalar):
            if var not in self.scope.shape_vars:
                self.findings.add(
                    "RELAX-WF-5", f"shape variable {var.name} is used before it is bound", span=place,
                    help=self.scope.namesake(var)
                    or "bind it first: alone in a dimension of a parameter or of a match_cast",
                )  # fmt: skip

    def _global(self, expr: GlobalVar, span: Span | None) -> None:
        if expr.name_hint not in self.module_names:
            self.findings.add("RELAX-SCOPE-1", f"the module has no function {expr.name_hint!r}", span=span)

    def _call(self, expr: Call, span: Span | None) -> Task[None]:
        callee = expr.op
        if isinstance(callee, GlobalVar):
            self._global(callee, span)
            self._called(callee, span)
        elif isinstance(callee, Var):
            self.scope.use(callee, callee.span or span)
            self._called(self.aliases.get(callee, callee), span)
        elif not isinstance(callee, Op):
            yield self._expr(callee, span)
        visit = self._operand if isinstance(callee, (Op, ExternFunc, GlobalVar)) else self._expr
        for arg in expr.args:
            yield visit(arg, span)
        for info in expr.sinfo_args:
            self.annotations.check(info, Place.CALL, span, "a struct info argument")

    def _called(self, callee: Var | GlobalVar, span: Span | None) -> None:
        """Criteria 7.1 and 7.2: no recursive call inside a DataflowBlock."""
        if not self.in_dataflow:
            return
        current, name = str(self.current[0]), callee.name_hint
        if callee in self.current if isinstance(callee, Var) else name == current:
            self.findings.add(
                "RELAX-WF-7-1", f"{name} calls itself inside a DataflowBlock", span=span, help="end the block before it"
            )
        elif isinstance(callee, GlobalVar) and name in self.recursive.get(current, ()):
            self.findings.add(
                "RELAX-WF-7-2", f"{current} calls {name}, which calls it back, inside a DataflowBlock", span=span,
                help="end the block before it",
            )  # fmt: skip

    def _conditional(self, expr: If, span: Span | None) -> Task[None]:
        if self.in_dataflow:
            self.findings.add(
                "RELAX-WF-7-3", "an If stands inside a DataflowBlock", span=span, help="end the block before it"
            )
        yield self._operand(expr.cond, span)
        for branch in (expr.true_branch, expr.false_branch):
            yield self._scoped(branch)

    # ----------------------------------------------------------------------------------------------- sequences

    def _scoped(self, expr: Any) -> Task[None]:
        """A branch or body: what it defines is out of scope afterwards."""
        if isinstance(expr, SeqExpr):
            yield self._sequence(expr)
        else:
            yield self._expr(expr)

    def _sequence(self, expr: SeqExpr) -> Task[None]:
        marks = self.scope.marks()
        for block in expr.blocks:
            yield self._block(block)
        yield self._expr(expr.body, expr.span)
        self.scope.leave(marks)

    def _block(self, block: BindingBlock) -> Task[None]:
        dataflow = isinstance(block, DataflowBlock)
        if self.in_dataflow and not dataflow and block.bindings:
            self.findings.add(
                "RELAX-NF-9", "an ordinary binding block stands inside a DataflowBlock",
                span=block.span or block.bindings[0].span,
            )  # fmt: skip
        outer, self.in_dataflow = self.in_dataflow, self.in_dataflow or dataflow
        for binding in block.bindings:
            yield self._binding(binding, dataflow)
        self.in_dataflow = outer
        if dataflow and not outer:
            self.scope.visible.difference_update(b.var for b in block.bindings if isinstance(b.var, DataflowVar))

    def _binding(self, binding: Binding, dataflow: bool) -> Task[None]:
        var, span = binding.var, binding.span
        value = binding.value if isinstance(binding, (VarBinding, MatchCast)) else None
        if isinstance(value, Function):
            yield self._local_function(value, var)
        else:
            outer, self.scope.own = self.scope.own, var
            yield self._expr(value, span)
            self.scope.own = outer
        if isinstance(binding, MatchCast):
            mark = len(self.scope.shape_trail)
            self.annotations.check(binding.struct_info, Place.CAST, span, "a match_cast")
            self.scope.claim_shape_vars(self.scope.shape_trail[mark:], span)
        if var is None:
            return
        if isinstance(value, (Var, GlobalVar)):
            self.aliases[var] = self.aliases.get(value, value) if isinstance(value, Var) else value
        if isinstance(var, DataflowVar) and not dataflow:
            self.findings.add(
                "RELAX-WF-1", f"dataflow variable {var.name_hint} is bound outside of a DataflowBlock",
                span=var.span or span,
            )  # fmt: skip
        if not (isinstance(value, Function) and var in self.scope.visible):
            self.scope.define(var, span)
        if var.struct_info_ is not None and (value is None or var.struct_info_ is not value.struct_info_):
            self.annotations.check(var.struct_info_, Place.BINDING, var.span or span, f"variable {var.name_hint}")

    # ----------------------------------------------------------------------------------------------- functions

    def _local_function(self, expr: Function, var: Var | None) -> Task[None]:
        """A local function: it may use outer variables except DataflowVars; `var` is the variable it is bound to."""
        hidden = {v: None for v in self.scope.visible if isinstance(v, DataflowVar)} if self.in_dataflow else {}
        self.scope.visible.difference_update(hidden)
        saved = (self.in_dataflow, self.scope.hidden_dataflow, self.current, self.scope.own)
        self.in_dataflow, self.scope.own = False, None
        self.scope.hidden_dataflow = {**self.scope.hidden_dataflow, **hidden}
        if var is not None:
            self.current = (*self.current, var)
            self.scope.define(var, var.span or expr.span)
        yield self._function(expr)
        self.in_dataflow, self.scope.hidden_dataflow, self.current, self.scope.own = saved
        self.scope.visible.update(hidden)

    def _function(self, expr: Function) -> Task[None]:
        marks = self.scope.marks()
        if expr.attrs.get(FORCE_PURE) and not expr.is_pure:
            self.findings.add("RELAX-WF-21", "the function has relax.force_pure but is not pure", span=expr.span)
        for param in expr.params:
            for var in definable_tir_vars_in_struct_info(param.struct_info_) if param.struct_info_ is not None else ():
                self.scope.add_shape_var(var)
        self.scope.claim_shape_vars(self.scope.shape_trail[marks[1] :], expr.span)
        for param in expr.params:
            self._param(param)
        yield self._scoped(expr.body)
        if expr.ret_struct_info is not None:  # after the body: a deduced one repeats what is wrong there
            self.annotations.check(expr.ret_struct_info, Place.RETURN, expr.span, "the return annotation")
        self.scope.leave(marks)

    def _param(self, param: Var) -> None:
        if isinstance(param, DataflowVar):
            self.findings.add(
                "RELAX-GRAMMAR-27", f"parameter {param.name_hint} is a dataflow variable", span=param.span
            )
        self.scope.define(param, param.span, param=True)
        if param.struct_info_ is not None:
            self.annotations.check(param.struct_info_, Place.PARAM, param.span, f"parameter {param.name_hint}")
