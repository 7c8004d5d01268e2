"""Gradient: add a function that also returns the derivatives of its result.

    main(x) -> sum(x * x)     gets in addition     main_adjoint(x) -> (sum(x * x), (x + x,))

(`main_adjoint1` where the module has that already.)

Reverse mode: the adjoint repeats the bindings, then visits them backwards; each operator has its own rule
(`OpDef.gradient`), and contributions of several users are added. The target is the result, or field `target_index` of a
tuple result; it must be a floating scalar. `require_grads` are the parameters to differentiate with respect to (None:
all). A match_cast passes gradients on to its operand; a `call_tir_with_grad` is differentiated by its te function
(`te_gradients`).

Errors (`pass-gradient`): another target, a parameter the function does not have, control flow, effects, calls of
functions, an operator without a rule between a wanted parameter and the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import body_bindings
from baton._src.analysis.purity import find_impure_call
from baton._src.ir.expr import Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.traverse import post_order, substitute, with_fresh_binders
from baton._src.ops.call_maker import Maker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.passes.relax.te_gradients import operator_gradient, te_gradient
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.dims import Answer, same_shape
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataflowVar,
    Function,
    MatchCast,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_WITH_GRAD = special_op("call_tir_with_grad")
_LEAVES = (Var, Tuple, TupleGetItem, Constant, ShapeExpr)


@dataclass(frozen=True)
class Gradient(Pass):
    """See the module."""

    func_name: str
    require_grads: Any = None
    target_index: int = 0

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        function = module[self.func_name]
        if not isinstance(function, Function):
            raise _wrong(f"{self.func_name} is not a Relax function")
        wanted = self._wanted(function)
        fresh = with_fresh_binders(function)
        symbols = {n for n in post_order(fresh, notes=True) if isinstance(n, TirVar)}
        fresh = substitute(fresh, {v: v.copy() for v in symbols})
        builder = BlockBuilder(module)
        name = free_name(f"{self.func_name}_adjoint", {v.name_hint for v in module.functions})
        with builder.function(name, fresh.params):
            with builder.dataflow():
                result = _Reverse(builder, fresh, self.target_index).run([fresh.params[i] for i in wanted])
            builder.emit_func_output(result)
        made = builder.get()
        return made.with_function(made.get_global_var(name), remove_all_unused(made[name]))

    def _wanted(self, function: Function) -> list[int]:
        """The numbers of the parameters whose gradients are wanted."""
        if self.require_grads is None:
            return list(range(len(function.params)))
        given = self.require_grads if isinstance(self.require_grads, (list, tuple)) else [self.require_grads]
        places = {p: number for number, p in enumerate(function.params)}
        for var in given:
            if var not in places:
                raise _wrong(f"{self.func_name} has no parameter {var!r}")
            if not _is_real(var.struct_info):
                raise _wrong(f"parameter {var.name_hint} is {var.struct_info!r}, which has no gradient", help=_REAL)
        if len(set(given)) != len(given):
            raise _wrong("a parameter is named twice")
        return [places[var] for var in given]


_REAL = "only tensors of floats and tuples of them have; leave it out of require_grads"


def _is_real(info: Any) -> bool:
    """Whether it is a tensor of floats, or a tuple of such."""
    if isinstance(info, TupleStructInfo):
        return all(map(_is_real, info.fields))
    return isinstance(info, TensorStructInfo) and info.dtype.is_float


def _wrong(message: str, at: Any = None, help: str | None = None) -> DiagnosticError:
    return fail("pass-gradient", f"Gradient: {message}", span=getattr(at, "span", None), help=help)


class _Reverse:
    """One function: its bindings again, and their adjoints from the last to the first."""

    def __init__(self, builder: BlockBuilder, function: Function, target_index: int) -> None:
        self.builder, self.function, self.target_index = builder, function, target_index
        self.adjoints: dict[Var, Any] = {}
        """What is known of each variable's gradient: an expression, or a list of such for a tuple (None: nothing)."""
        self.values: dict[Var, Any] = {}
        self.wanted: set[Any] = set()
        """Parameters whose gradients are wanted, and what is computed from them; nothing else gets a gradient."""
        self.prover = Analyzer()
        self.make = Maker("relax", CATALOGUE.get("add"), CATALOGUE)

    def run(self, wanted: Sequence[Var]) -> Any:
        """(the result, (a gradient for each of `wanted`, ...))"""
        self.wanted.update(wanted)
        result = self._forward()
        self._start(result)
        for var in reversed(list(self.values)):
            adjoint = self._settled(var)
            if adjoint is not None:
                self._spread(var, self.values[var], adjoint)
        grads = [self._whole(self._settled(p), p.struct_info) for p in wanted]
        outputs = [self.builder.emit_output(g, f"{p.name_hint}_adjoint_out") for g, p in zip(grads, wanted)]
        hidden = {v: self.builder.emit_output(v) for v in post_order(result) if isinstance(v, DataflowVar)}
        return Tuple([substitute(result, hidden, notes=False), Tuple(outputs)])

    def _forward(self) -> Any:
        renamed: dict[Any, Any] = {}
        returned = set(post_order(self.function.body.body))
        for binding in body_bindings(self.function):
            value = binding.value if isinstance(binding, VarBinding) else None
            if isinstance(binding, MatchCast):
                self._cast(binding, renamed)
                continue
            if not isinstance(value, (*_LEAVES, Call)):
                raise _wrong(f"{type(value).__name__} is control flow, which has no gradient", value)
            if find_impure_call(value) is not None:
                raise _wrong(
                    "a call with effects cannot be repeated in the adjoint, which is one dataflow block", value
                )
            emit = self.builder.emit_output if binding.var in returned else self.builder.emit
            var = emit(substitute(value, renamed, notes=False), binding.var.name_hint)
            renamed[binding.var] = var
            self._define(var, self.builder.lookup_binding(var))
        return substitute(self.function.body.body, renamed, notes=False)

    def _cast(self, binding: MatchCast, renamed: dict[Any, Any]) -> None:
        """Repeat a cast; its variable is the operand, with more known of it."""
        value = substitute(binding.value, renamed, notes=False)
        if binding.var is None:
            self.builder.emit_normalized(MatchCast(None, value, binding.struct_info))
            return
        var = self.builder.match_cast(value, binding.struct_info, binding.var.name_hint)
        renamed[binding.var] = var
        self._define(var, value)

    def _define(self, var: Var, value: Any) -> None:
        self.values[var] = value
        if any(n in self.wanted for n in post_order(value)):
            self.wanted.add(var)

    def _start(self, result: Any) -> None:
        info = result.struct_info
        target = result
        if isinstance(info, TupleStructInfo):
            if not 0 <= self.target_index < len(info.fields):
                raise _wrong(f"there is no field {self.target_index} in a result of {len(info.fields)}")
            fields = result if isinstance(result, Tuple) else self.values.get(result)
            found = fields.fields[self.target_index] if isinstance(fields, Tuple) else None
            target = found if found is not None else self.builder.emit(TupleGetItem(result, self.target_index))
            if found is None:
                self._define(target, TupleGetItem(result, self.target_index))
        elif self.target_index != 0:
            raise _wrong(f"the result is not a tuple, so there is no field {self.target_index}")
        said = target.struct_info
        if not isinstance(said, TensorStructInfo) or said.ndim != 0 or not said.dtype.is_float:
            raise _wrong(
                f"the target must be a floating scalar, it is {said!r}", help="reduce it first, such as by relax.op.sum"
            )
        one = self.make.op("ones", ShapeExpr([]), dtype=said.dtype)
        self._add(target, self.builder.emit(one, "grad"))

    # ----------------------------------------------------------------------------------------------- adjoints

    def _add(self, var: Any, piece: Any) -> None:
        """Add a contribution to the gradient of a variable or of a tuple in sight."""
        if isinstance(var, Tuple):
            for number, part in enumerate(var.fields):
                self._add(part, _part(piece, number, self.make))
            return
        if var not in self.wanted or piece is None:
            return
        self.adjoints.setdefault(var, []).append(piece)

    def _settled(self, var: Var) -> Any:
        """The sum of the contributions: None, an expression, or for a tuple a list of these."""
        pieces = self.adjoints.get(var)
        if not pieces:
            return None
        info = var.struct_info
        if isinstance(info, TupleStructInfo):
            parts = range(len(info.fields))
            return [self._sum([_part(p, n, self.make) for p in pieces], info.fields[n]) for n in parts]
        return self._sum(pieces, info)

    def _sum(self, pieces: Sequence[Any], info: Any) -> Any:
        there = [p for p in pieces if p is not None]
        if not there:
            return None
        if isinstance(info, TupleStructInfo):
            parts = range(len(info.fields))
            return [self._sum([_part(p, n, self.make) for p in there], info.fields[n]) for n in parts]
        total = self._bound(there[0])
        for piece in there[1:]:
            total = self.builder.emit(self.make.op("add", total, piece), "grad")
        return total

    def _bound(self, expr: Any) -> Any:
        return expr if isinstance(expr, (Var, Constant)) else self.builder.emit(expr, "grad")

    def _whole(self, adjoint: Any, info: Any) -> Any:
        """A gradient with its missing parts filled with zeros."""
        if isinstance(info, TupleStructInfo):
            parts = adjoint if isinstance(adjoint, list) else [adjoint] * len(info.fields)
            return Tuple([self._whole(p, i) for p, i in zip(parts, info.fields)])
        if adjoint is not None:
            return adjoint
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or info.dtype.is_void:
            raise _wrong(f"only tensors of known shape and dtype have gradients, not {info!r}")
        return self.builder.emit(self.make.op("zeros", info.shape, dtype=info.dtype), "grad")

    def _spread(self, var: Var, value: Any, adjoint: Any) -> None:
        match value:
            case Var():
                self._add(value, _as_piece(adjoint))
            case Tuple():
                for number, part in enumerate(value.fields):
                    self._add(part, _part(adjoint, number, self.make))
            case TupleGetItem(tuple_value=whole, index=index):
                count = len(whole.struct_info.fields)
                self._add(whole, [adjoint if n == index else None for n in range(count)])
            case Call():
                self._spread_call(var, value, adjoint)
            case _:
                return

    def _spread_call(self, var: Var, call: Call, adjoint: Any) -> None:
        floats = [a for a in call.args if _differentiable(a.struct_info)]
        if not floats or all(isinstance(a, Constant) for a in floats):
            return
        definition = call.op.definition if isinstance(call.op, Op) else None
        if call.op is _WITH_GRAD:
            self._spread_kernel(var, call, adjoint)
            return
        registered = operator_gradient(call.op.name) if isinstance(call.op, Op) else None
        if registered is not None:
            grad = self._whole(adjoint, var.struct_info)
            self._add_all(call.args, registered(var, call, grad, self.builder))
            return
        if not isinstance(definition, OpDef):
            name = getattr(call.op, "name", None) or getattr(call.op, "name_hint", type(call.op).__name__)
            raise _wrong(f"a call of {name} has no gradient", call, "differentiate before LegalizeOps")
        if isinstance(definition.gradient, NotApplicable):
            raise _wrong(f"{definition.name} has no gradient: {definition.gradient.why}", call)
        maker = Maker("relax", definition, CATALOGUE)
        grad = self._whole(adjoint, var.struct_info)
        self._add_all(call.args, definition.gradient(maker, call.args, call.attrs, var, grad))

    def _add_all(self, args: Any, pieces: Any) -> None:
        for arg, piece in zip(args, pieces):
            if piece is not None and _differentiable(arg.struct_info):
                self._add(arg, self._emitted(piece))

    def _spread_kernel(self, var: Var, call: Call, adjoint: Any) -> None:
        """A kernel's operands get what the te function registered for it says."""
        name = str(call.attrs.te_grad_name)
        function = te_gradient(name)
        if function is None:
            raise _wrong(f"no te gradient {name!r} is registered", call, "register_te_gradient does that")
        operands = call.args[1].fields if isinstance(call.args[1], Tuple) else (call.args[1],)
        grad = self._whole(adjoint, var.struct_info)
        given = list(grad.fields) if isinstance(grad, Tuple) else grad
        options = dict(call.attrs.te_grad_kwargs or {})
        made = self.builder.emit_te(function, given, *operands, primfunc_name_hint=name, **options)
        info = made.struct_info
        pieces = (
            [made] if isinstance(info, TensorStructInfo) else [self.make.item(made, n) for n in range(len(info.fields))]
        )
        if len(pieces) != len(operands):
            raise _wrong(f"the te gradient {name!r} gives {len(pieces)} tensors for {len(operands)} operands", call)
        for operand, piece in zip(operands, pieces):
            self._add(operand, self._emitted(piece))

    def _emitted(self, piece: Any) -> Any:
        if isinstance(piece, (list, tuple)):
            return [self._emitted(p) for p in piece]
        piece = self._fitted(piece)
        return piece if isinstance(piece, (Var, Constant, Tuple)) else self.builder.emit(piece, "grad")

    def _fitted(self, piece: Any) -> Any:
        """Sum a gradient back to the shape of an operand, unless the shapes are equal."""
        if not isinstance(piece, Call) or piece.op is not CATALOGUE.get("collapse_sum_like").relax_op:
            return piece
        grad, wanted = self.builder.normalize(piece.args[0]), piece.args[1].struct_info
        given = grad.struct_info
        if not all(isinstance(i, TensorStructInfo) and isinstance(i.shape, ShapeExpr) for i in (given, wanted)):
            return piece.with_fields(args=(grad, piece.args[1]))
        if same_shape(given.shape, wanted.shape, self.prover) is Answer.YES:
            return grad
        return self.make.op("collapse_sum_to", grad, wanted.shape)


def _differentiable(info: Any) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_differentiable(f) for f in info.fields)
    return isinstance(info, TensorStructInfo) and (info.dtype.is_float or info.dtype.is_void)


def _as_piece(adjoint: Any) -> Any:
    return list(adjoint) if isinstance(adjoint, list) else adjoint


def _part(piece: Any, number: int, make: Maker) -> Any:
    """Field `number` of a gradient that is a list, or an expression that is a tuple."""
    if piece is None:
        return None
    return piece[number] if isinstance(piece, list) else make.item(piece, number)
