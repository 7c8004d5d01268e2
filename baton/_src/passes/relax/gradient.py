"""Gradient: add a function that also returns the derivatives of its result.

    main(x) -> sum(x * x)     gets in addition     main_adjoint(x) -> (sum(x * x), (x + x,))

(`main_adjoint1` where the module has that already.)

Reverse mode: the adjoint repeats the bindings, then visits them backwards; each operator has its own rule
(`OpDef.gradient`), and contributions of several users are added. The target is the result, or field `target_index` of a
tuple result; it must be a floating scalar. `require_grads` are the parameters and variables to differentiate with
respect to (None: all parameters). A match_cast passes gradients on to its operand; a `call_tir_with_grad` is
differentiated by its te function (`te_gradients`) and is a plain `call_tir` in the adjoint. Sections between
`start_checkpoint` and `end_checkpoint` are computed again (`checkpoints`). Transposes around products, of which there
are two where a transposed matrix was multiplied, are removed (`transposed_products`).

Errors (`pass-gradient`): another target, a variable the function does not have, control flow, effects, calls of
functions, an operator without a rule between a wanted variable and the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import body_bindings
from baton._src.analysis.purity import find_impure_call
from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.traverse import post_order, substitute, with_fresh_binders
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.passes.relax.checkpoints import Recomputation, is_mark, sections
from baton._src.passes.relax.te_gradients import (
    has_te_gradient,
    operator_gradient,
    te_gradient,
    without_te_gradient,
)
from baton._src.passes.relax.transposed_products import without_transposes
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
    definition_of,
)
from baton._src.relax.own_variables import with_own_symbols
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

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
        fresh = with_own_symbols(with_fresh_binders(function))
        builder = BlockBuilder(module)
        name = free_name(f"{self.func_name}_adjoint", {v.name_hint for v in module.functions})
        with builder.function(name, fresh.params, dict(fresh.attrs)):
            with builder.dataflow():
                own = _variables(fresh)
                result = _Reverse(builder, fresh, self.target_index).run([own[i] for i in wanted])
            builder.emit_func_output(result)
        made = builder.get()
        return made.with_function(made.get_global_var(name), without_transposes(remove_all_unused(made[name])))

    def _wanted(self, function: Function) -> list[int]:
        """The numbers of the variables whose gradients are wanted."""
        if self.require_grads is None:
            return list(range(len(function.params)))
        given = self.require_grads if isinstance(self.require_grads, (list, tuple)) else [self.require_grads]
        places = {v: number for number, v in enumerate(_variables(function))}
        for var in given:
            if var not in places:
                raise _wrong(f"{self.func_name} has no parameter or variable {var!r}")
            if not _is_real(var.struct_info):
                raise _wrong(f"variable {var.name_hint} is {var.struct_info!r}, which has no gradient", help=_REAL)
        if len(set(given)) != len(given):
            raise _wrong("a variable is named twice")
        return [places[var] for var in given]


def _variables(function: Function) -> list[Var]:
    """The parameters, then the variables that are bound."""
    return [*function.params, *(b.var for b in body_bindings(function))]


_REAL = "only tensors of floats and tuples of them have; leave it out of require_grads"


def _is_real(info: StructInfo) -> bool:
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
        """What is known of each variable's gradient: a variable, or a list of such for a tuple (None: nothing)."""
        self.values: dict[Var, Any] = {}
        self.wanted: set[Any] = set()
        """Variables whose gradients are wanted, and what is computed from them; nothing else gets a gradient."""
        self.renamed: dict[Any, Any] = {}
        self.prover = Analyzer()
        self.make = RelaxMaker(CATALOGUE.get("add"), CATALOGUE)

    def run(self, wanted: Sequence[Var]) -> Any:
        """(the result, (a gradient for each of `wanted`, ...))"""
        result = self._forward()
        passing, starts = ({self.renamed.get(v, v) for v in found} for found in sections(self.function))
        self.recomputed = Recomputation(self.builder, self.make, self.values, passing, starts)
        target = self._target(result)
        own = [self.renamed.get(v, v) for v in wanted]
        self._mark(own)
        one = self.make.op("ones", ShapeExpr([]), dtype=target.struct_info.dtype)
        self._add(target, one)
        for var in reversed(list(self.values)):
            if var in self.adjoints:
                self._spread(var, self.values[var], self.adjoints[var])
        grads = [self._whole(self.adjoints.get(v), v.struct_info) for v in own]
        outputs = [self.builder.emit_output(g, f"{v.name_hint}_adjoint_out") for g, v in zip(grads, own)]
        hidden = {v: self.builder.emit_output(v) for v in post_order(result) if isinstance(v, DataflowVar)}
        return Tuple([substitute(result, hidden, notes=False), Tuple(outputs)])

    def _mark(self, wanted: Sequence[Any]) -> None:
        self.wanted.update(wanted)
        for var, value in self.values.items():
            if any(n in self.wanted for n in post_order(value)):
                self.wanted.add(var)

    def _forward(self) -> Any:
        returned = set(post_order(self.function.body.body))
        for binding in body_bindings(self.function):
            if isinstance(binding, MatchCast):
                self._cast(binding)
                continue
            assert isinstance(binding, VarBinding)
            if not isinstance(binding.value, (*_LEAVES, Call)):
                raise _wrong(f"{type(binding.value).__name__} is control flow, which has no gradient", binding.value)
            if find_impure_call(binding.value) is not None:
                raise _wrong(
                    "a call with effects cannot be repeated in the adjoint, which is one dataflow block", binding.value
                )
            self._repeat(binding, binding.var in returned)
        return substitute(self.function.body.body, self.renamed, notes=False)

    def _repeat(self, binding: VarBinding, returned: bool) -> None:
        """Repeat a binding; a mark of a checkpoint is its operand."""
        value = substitute(binding.value, self.renamed, notes=False)
        if is_mark(value):
            value = value.args[0]
            if not (returned and isinstance(value, DataflowVar)):
                self.renamed[binding.var] = value
                return
        shown = without_te_gradient(value)
        emit = self.builder.emit_output if returned else self.builder.emit
        self.renamed[binding.var] = var = emit(shown, binding.var.name_hint)
        self.values[var] = self.builder.lookup_binding(var) if shown is value else value

    def _cast(self, binding: MatchCast) -> None:
        """Repeat a cast; its variable is the operand, with more known of it."""
        value = substitute(binding.value, self.renamed, notes=False)
        if binding.var is None:
            self.builder.emit_normalized(MatchCast(None, value, binding.struct_info))
            return
        var = self.builder.match_cast(value, binding.struct_info, binding.var.name_hint)
        self.renamed[binding.var] = var
        self.values[var] = value

    def _target(self, result: Any) -> Any:
        """The scalar of the result that is differentiated."""
        info = result.struct_info
        target = result
        if isinstance(info, TupleStructInfo):
            if not 0 <= self.target_index < len(info.fields):
                raise _wrong(f"there is no field {self.target_index} in a result of {len(info.fields)}")
            fields = result if isinstance(result, Tuple) else self.values.get(result)
            found = fields.fields[self.target_index] if isinstance(fields, Tuple) else None
            target = found if found is not None else self.builder.emit(TupleGetItem(result, self.target_index))
            if found is None:
                self.values[target] = TupleGetItem(result, self.target_index)
        elif self.target_index != 0:
            raise _wrong(f"the result is not a tuple, so there is no field {self.target_index}")
        said = target.struct_info
        if not isinstance(said, TensorStructInfo) or said.ndim != 0 or not said.dtype.is_float:
            raise _wrong(
                f"the target must be a floating scalar, it is {said!r}", help="reduce it first, such as by relax.op.sum"
            )
        return target

    # ----------------------------------------------------------------------------------------------- adjoints

    def _add(self, var: Any, piece: Any) -> None:
        """Add a contribution, an expression or a list of such, to the gradient of a variable or of a tuple in sight."""
        if isinstance(var, Tuple):
            for number, part in enumerate(var.fields):
                self._add(part, _part(piece, number, self.make))
        elif var in self.wanted and piece is not None:
            name = f"{var.name_hint}_adjoint"
            self.adjoints[var] = self._sum(self.adjoints.get(var), piece, var.struct_info, name)

    def _sum(self, known: Any, piece: Any, info: StructInfo, name: str) -> Any:
        """The sum of what is known of a gradient, if anything is, and a contribution."""
        if known is None and piece is None:
            return None
        if isinstance(info, TupleStructInfo):
            parts = enumerate(info.fields)
            return [
                self._sum(_part(known, n, self.make), _part(piece, n, self.make), field, name) for n, field in parts
            ]
        if known is None or piece is None:
            only = known if piece is None else self._fitted(piece)
            return only if isinstance(only, (Var, Constant)) else self.builder.emit(only, name)
        return self.builder.emit(self.make.op("add", known, self.builder.normalize(self._fitted(piece))), name)

    def _whole(self, adjoint: Any, info: StructInfo) -> Any:
        """A gradient with its missing parts filled with zeros."""
        if isinstance(info, TupleStructInfo):
            parts = adjoint if isinstance(adjoint, list) else [adjoint] * len(info.fields)
            return Tuple([self._whole(p, i) for p, i in zip(parts, info.fields)])
        if adjoint is not None:
            return adjoint
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or info.dtype.is_void:
            raise _wrong(f"only tensors of known shape and dtype have gradients, not {info!r}")
        return self.builder.emit(self.make.op("zeros", info.shape, dtype=info.dtype), "zeros")

    def _spread(self, var: Var, value: GraphExpr, adjoint: Any) -> None:
        match value:
            case Var() | Tuple():
                self._add(value, adjoint)
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
        if has_te_gradient(call):
            self._spread_kernel(var, call, adjoint)
            return
        for arg, piece in zip(call.args, self._pieces(var, call, adjoint)):
            if piece is not None and _differentiable(arg.struct_info):
                self._add(arg, piece)

    def _pieces(self, var: Var, call: Call, adjoint: Any) -> Sequence[Any]:
        """What an operator's operands get."""
        again, repeated = self.recomputed.call(var, call)
        registered = operator_gradient(call.op.name) if isinstance(call.op, Op) else None
        if registered is not None:
            found: Sequence[Any] = registered(again, repeated, self._whole(adjoint, var.struct_info), self.builder)
            return found
        definition = definition_of(call)
        if not isinstance(definition, OpDef):
            name = getattr(call.op, "name", None) or getattr(call.op, "name_hint", type(call.op).__name__)
            raise _wrong(f"a call of {name} has no gradient", call, "differentiate before LegalizeOps")
        if isinstance(definition.gradient, NotApplicable):
            raise _wrong(f"{definition.name} has no gradient: {definition.gradient.why}", call)
        maker = RelaxMaker(definition, CATALOGUE)
        grad = self._whole(adjoint, var.struct_info)
        found = definition.gradient(maker, repeated.args, repeated.attrs, again, grad)
        return found

    def _spread_kernel(self, var: Var, call: Call, adjoint: Any) -> None:
        """A kernel's operands get what the te function registered for it says."""
        name = str(call.attrs.te_grad_name)
        function = te_gradient(name)
        if function is None:
            raise _wrong(f"no te gradient {name!r} is registered", call, "register_te_gradient does that")
        operands = _operands(call)
        grad = self._whole(adjoint, var.struct_info)
        given = list(grad.fields) if isinstance(grad, Tuple) else grad
        options = dict(call.attrs.te_grad_kwargs or {})
        repeated = _operands(self.recomputed.call(var, call)[1])
        made = self.builder.emit_te(function, given, *repeated, primfunc_name_hint=name, **options)
        info = made.struct_info
        pieces = (
            [made] if isinstance(info, TensorStructInfo) else [self.make.item(made, n) for n in range(len(info.fields))]
        )
        if len(pieces) != len(operands):
            raise _wrong(f"the te gradient {name!r} gives {len(pieces)} tensors for {len(operands)} operands", call)
        for operand, piece in zip(operands, pieces):
            self._add(operand, piece)

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


def _differentiable(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_differentiable(f) for f in info.fields)
    return isinstance(info, TensorStructInfo) and (info.dtype.is_float or info.dtype.is_void)


def _operands(call: Call) -> Sequence[Any]:
    """The tensors that a kernel's call gives it."""
    return call.args[1].fields if isinstance(call.args[1], Tuple) else (call.args[1],)


def _part(piece: Any, number: int, make: RelaxMaker) -> Any:
    """Field `number` of a gradient that is a list, or an expression that is a tuple."""
    if piece is None:
        return None
    return piece[number] if isinstance(piece, (list, tuple)) else make.item(piece, number)
