"""VMShapeLower: signatures, match_casts and computed shapes become calls of the VM's functions on a shape heap.

    def main(x: R.Tensor(("n", 4), "float32")):
        s = R.shape([n * 2])
    ->
        shape_heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(2),))
        _ = R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), R.str("main: argument x"))
        _ = R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, 1, 0, 0, 4, R.str("main: argument x"))
        _ = cls.shape_func(shape_heap)                     # heap[1] = heap[0] * 2
        s = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1)

Every shape variable has a slot of the heap, and every computed dim another. All parameters bind their variables before
any dim is compared. With `emit_err_ctx` the checks name their place in the program. Functions get the attribute
`relax.checks_lowered`: lowering to bytecode then adds no checks of its own, and the casts, which stay because
annotations mention the variables they bind, only rename values. A function value is checked to be callable; the
function itself checks its parameters.

Errors: `pass-nested-function` where LambdaLift has not run; `pass-shape` for shapes that are not int64 numbers.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.relax.binding_rewriter import BindingRewriter, joined
from baton._src.passes.relax.machine.shape_heap import ShapeHeap, has_variables
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import erase_to_well_defined
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataTypeImm,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.runtime.vm.builtins.shapes import MakeCode, MatchCode
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import INT64


@dataclass(frozen=True)
class VMShapeLower(Pass):
    """See the module."""

    emit_err_ctx: bool = True

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        builder = BlockBuilder(module)
        changed: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function) and not function.attrs.get("relax.checks_lowered"):
                _reject_nested(var.name_hint, function)
                lowerer = _Lowerer(module, builder, var.name_hint, self.emit_err_ctx)
                changed[var] = lowerer.lowered(function)
        if not changed:
            return module
        return module.with_functions({**builder.context.functions, **changed})


def _reject_nested(name: str, function: Function) -> None:
    if any(isinstance(n, Function) for n in post_order(function.body)):
        raise fail(
            "pass-nested-function",
            f"{name} contains a nested function",
            span=function.span,
            help="run LambdaLift first",
        )


@dataclass
class _Match:
    """A value whose dims must still be compared with expressions over the heap."""

    value: Any
    dims: list[PrimExpr]
    place: str
    is_prim: bool = False


class _Lowerer(BindingRewriter):
    """One function."""

    def __init__(self, module: IRModule, builder: BlockBuilder, name: str, says_where: bool) -> None:
        super().__init__(module)
        self.name, self.says_where = name, says_where
        self.heap = ShapeHeap(builder)
        self.bound: list[set[TirVar]] = [set()]
        """Shape variables that have their value at this point: one set per open sequence."""
        self.ready: list[set[int]] = [set()]
        """Slots of computed dims that hold their value at this point: one set per open sequence."""

    # ------------------------------------------------------------------------------------------ the function

    def lowered(self, function: Function) -> Function:
        function = function.with_fields(body=rewrite(function.body, _with_variable_as_body))
        self._check_all([(p, p.struct_info, f"argument {p.name_hint}") for p in function.params])
        head, self._made = self._made, []
        body = self.function(function).body
        self._check_result(function, body)
        tail, self._made = self._made, []
        head.insert(0, self.heap.allocation())
        self.heap.finish_kernels()
        blocks = [BindingBlock(head), *body.blocks, BindingBlock(tail)]
        body = SeqExpr(joined([b for b in blocks if b.bindings]), body.body).with_fields(struct_info_=body.struct_info_)
        return function.with_fields(body=body).with_attr("relax.checks_lowered", True)

    def _check_result(self, function: Function, body: Any) -> None:
        wanted, value = function.ret_struct_info, body.body
        if wanted is None or struct_info_base_check(wanted, value.struct_info, Analyzer()) is BaseCheckResult.PASS:
            return
        self._check_all([(value, wanted, "result")])

    # ---------------------------------------------------------------------------------------------- bindings

    def enter_sequence(self, seq: SeqExpr) -> None:
        self.ready.append(set())
        self.bound.append(set())

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.ready.pop()
        self.bound.pop()

    def visit_binding(self, binding: Binding) -> None:
        if isinstance(binding, MatchCast):
            value = self._without_dims(binding.value)
            self._check_all([(value, binding.struct_info, binding.place)])
            self.keep(MatchCast(binding.var, value, binding.struct_info, binding.span))
            return
        assert isinstance(binding, VarBinding)
        value = binding.value
        if isinstance(value, If):
            cond = self._without_dims(value.cond)
            made: Any = value if cond is value.cond else value.with_fields(cond=cond)
        elif isinstance(value, Call):
            args = [self._without_dims(a) for a in value.args]
            same = all(a is b for a, b in zip(args, value.args))
            made = value if same else value.with_fields(args=tuple(args))
        else:
            made = self._made_of_heap(value) or self._without_dims(value)
        self.keep(binding if made is value else VarBinding(binding.var, made, binding.span))

    def _without_dims(self, expr: GraphExpr) -> Any:
        """The leaf with shapes and scalars that mention variables taken from the heap."""
        return rewrite(expr, self._from_heap)

    def _from_heap(self, item: Any) -> Any:
        """A variable that holds a shape or scalar that mentions variables, for `rewrite`."""
        call = self._made_of_heap(item)
        return None if call is None else self._bound(call, "prim_value" if isinstance(item, PrimValue) else "shape")

    def _made_of_heap(self, item: Any) -> Call | None:
        """The call that makes a shape or scalar that mentions variables; None for other expressions."""
        if isinstance(item, ShapeExpr) and not all(isinstance(v, IntImm) for v in item.values):
            self._compute(item.values)
            codes = [c for v in item.values for c in self._make_code(v)]
            args = [self.heap.var, PrimValue(len(item.values)), *codes]
            return _builtin("make_shape", args, ShapeStructInfo(ndim=len(item.values)))
        if isinstance(item, PrimValue) and has_variables(item.value):
            if item.value.dtype != INT64:
                raise fail("pass-shape", f"{self.name} computes {item.value.dtype}", help="run ComputePrimValue first")
            self._compute((item.value,))
            args = [self.heap.var, *self._make_code(item.value)]
            return _builtin("make_prim_value", args, PrimStructInfo(item.value.dtype))
        return None

    def _make_code(self, dim: PrimExpr) -> list[Any]:
        if isinstance(dim, IntImm):
            return [PrimValue(int(MakeCode.USE_IMM)), PrimValue(dim.value)]
        return [PrimValue(int(MakeCode.LOAD_SHAPE)), PrimValue(self.heap.slot(dim))]

    def _packed(self, name: str, args: list[Any], info: StructInfo = UNIT_INFO) -> Var:
        """Call a VM builtin, bound before the current binding."""
        return self._bound(_builtin(name, args, info), "_" if info is UNIT_INFO else name)

    def _bound(self, call: Call, name: str) -> Var:
        var = Var(name, call.struct_info)
        self.keep(VarBinding(var, call))
        return var

    # -------------------------------------------------------------------------------------------- computed dims

    def _compute(self, exprs: Any) -> None:
        """Ensure that the slots of computed dims hold their values."""
        wanted: dict[int, PrimExpr] = {}
        for expr in exprs:
            if isinstance(expr, (IntImm, TirVar)):
                continue
            if not (expr.dtype.is_int or expr.dtype.is_bool):
                raise fail("pass-shape", f"{self.name} computes {expr!r} of dtype {expr.dtype}", help="dims are int64")
            slot = self.heap.slot(expr)
            if not any(slot in ready for ready in self.ready):
                wanted[slot] = expr
                for used in post_order(expr):
                    if isinstance(used, TirVar):
                        self.heap.slot(used)
        if wanted:
            self.ready[-1].update(wanted)
            self.keep(self.heap.computation(wanted))

    # ------------------------------------------------------------------------------------------------- checks

    def _check_all(self, values: list[tuple[Any, StructInfo, str]]) -> None:
        """Categories first, then new variables, then what is compared with expressions over them."""
        matches: list[_Match] = []
        todo = list(reversed(values))
        while todo:
            value, info, where = todo.pop()
            place = f"{self.name}: {where}" if self.says_where else ""
            if isinstance(info, TupleStructInfo):
                self._packed("check_tuple_info", [value, PrimValue(len(info.fields)), StringImm(place)])
                for index, part in reversed(list(enumerate(info.fields))):
                    if _says_something(part):
                        args = [value, PrimValue(index)]
                        item = self._packed("tuple_getitem", args, erase_to_well_defined(part))
                        todo.append((item, part, f"{where}[{index}]"))
            else:
                found = self._check_one(value, info, place)
                if found is not None:
                    matches.append(found)
        later = [m for m in matches if self._match_now(m)]
        for match in later:
            self._compute(match.dims)
        for match in later:
            codes = [self._compare_code(d) for d in match.dims]
            self._match(match, codes)

    def _check_one(self, value: GraphExpr, info: StructInfo, place: str) -> _Match | None:
        context = StringImm(place)
        match info:
            case TensorStructInfo():
                kind = DataTypeImm(info.dtype)
                self._packed("check_tensor_info", [value, PrimValue(info.ndim), kind, context])
                if info.shape is not None and not isinstance(info.shape, ShapeExpr):
                    raise fail(
                        "pass-shape", f"{self.name}: a tensor has the shape of the variable {info.shape!r}",
                        help="name its dims by a match_cast of the shape",
                    )  # fmt: skip
                return None if info.shape is None else _Match(value, list(info.shape.values), place)
            case ShapeStructInfo():
                self._packed("check_shape_info", [value, PrimValue(info.ndim), context])
                return None if info.values is None else _Match(value, list(info.values), place)
            case PrimStructInfo():
                self._packed("check_prim_value_info", [value, DataTypeImm(info.dtype), context])
                if info.value is None:
                    return None
                if info.dtype != INT64 and has_variables(info.value):
                    raise fail("pass-shape", f"{self.name}: a {info.dtype} variable", help="dims are int64")
                return _Match(value, [info.value], place, True)
            case FuncStructInfo():
                self._packed("check_func_info", [value, context])
            case _:
                pass
        return None

    def _match_now(self, match: _Match) -> bool:
        """Bind new variables and compare what is known; whether expressions remain to be compared."""
        remains = False
        codes: list[tuple[MatchCode, int]] = []
        for dim in match.dims:
            if isinstance(dim, TirVar) and not any(dim in bound for bound in self.bound):
                self.bound[-1].add(dim)
                codes.append((MatchCode.STORE_TO_HEAP, self.heap.slot(dim)))
            elif isinstance(dim, (IntImm, TirVar)):
                codes.append(self._compare_code(dim))
            else:
                remains = True
                codes.append((MatchCode.NO_OP, 0))
        self._match(match, codes)
        return remains

    def _compare_code(self, dim: PrimExpr) -> tuple[MatchCode, int]:
        if isinstance(dim, IntImm):
            return MatchCode.ASSERT_EQUAL_TO_IMM, dim.value
        return MatchCode.ASSERT_EQUAL_TO_LOAD, self.heap.slot(dim)

    def _match(self, match: _Match, codes: list[tuple[MatchCode, int]]) -> None:
        numbers = [PrimValue(int(n)) for code in codes for n in code]
        context = StringImm(match.place)
        if match.is_prim:
            self._packed("match_prim_value", [match.value, self.heap.var, *numbers, context])
        else:
            args = [match.value, self.heap.var, PrimValue(len(codes)), *numbers, context]
            self._packed("match_shape", args)


def _with_variable_as_body(item: Any) -> Any:
    """The sequence with its result bound to a variable, if it is another kind of leaf."""
    if not isinstance(item, SeqExpr) or isinstance(item.body, Var):
        return None
    info = item.body.struct_info_
    var = Var("result", info)
    blocks = (*item.blocks, BindingBlock([VarBinding(var, item.body)]))
    return item.with_fields(blocks=blocks, body=var, struct_info_=info)


def _builtin(name: str, args: list[Any], info: StructInfo) -> Call:
    """A call of a VM builtin."""
    return Call(ExternFunc(f"vm.builtin.{name}"), args, None, (info,)).with_fields(struct_info_=info)


def _says_something(info: StructInfo) -> bool:
    return isinstance(info, (TensorStructInfo, ShapeStructInfo, PrimStructInfo, TupleStructInfo, FuncStructInfo))
