"""The reference interpreter of Relax: the oracle that everything compiled is tested against (seed 001, Semantics).

Small and independent of the compiler. Operators run by their NumPy reference, kernels by TIR's interpreter. Values are
passed by reference; closures capture by reference; arguments are evaluated left to right; signatures and casts are
checked. Nesting and recursion cost memory, not Python stack; a call in tail position costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.relax.check.compatibility import is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.signatures import function_info, is_claimed
from baton._src.relax.check.unread import unread_calls
from baton._src.relax.interpret.checks import Checker, as_said, claimed, describe_value, numbers_as_declared
from baton._src.relax.interpret.environment import Frame, FunctionClosure, PartialClosure, PrimFuncValue
from baton._src.relax.interpret.mentioned_variables import mentioned_variables
from baton._src.relax.interpret.named_functions import NamedFunctions
from baton._src.relax.interpret.operators import by_reference
from baton._src.relax.interpret.special import RUN, RUN_CALLS
from baton._src.relax.interpret.tail_calls import PendingChecks, TailCall, tail_binding
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import FuncStructInfo, PrimStructInfo, TupleStructInfo
from baton._src.runtime.value_errors import argument_count, describe
from baton._src.support.diagnostics import InternalError, fail
from baton._src.support.trampoline import Task, run
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.convert import from_host
from baton._src.values.packed_func import PROCESS_FUNCTIONS, FunctionTable
from baton._src.values.prim import literal_prim, prim
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


class Interpreter:
    """Runs the functions of a module. `functions` are the packed functions it may call; default: those registered."""

    def __init__(self, module: IRModule, functions: FunctionTable | None = None) -> None:
        self.module = module
        self.functions = functions if functions is not None else PROCESS_FUNCTIONS
        self._named = NamedFunctions(module, self.functions, self._invoke)
        self._proved: dict[int, tuple[Any, bool]] = {}
        self._free: dict[int, tuple[Function, Any]] = {}
        self._unread: dict[Function, set[Call]] = {}

    # ----------------------------------------------------------------------------------------------- entrances

    def __getitem__(self, name: str) -> Any:
        """A public function: `interpreter["main"](x)`."""
        self._named.check_public(name)
        return lambda *args: self.run(name, *args)

    def run(self, name: str, *args: Any) -> Any:
        """Call a function of the module with host or run-time values."""
        closure = self._named.of_module(name)
        params = closure.definition.params
        if len(args) != len(params):
            argument_count(name, len(params), len(args), [p.name_hint for p in params])
        given = [(from_host(_number(a, p.struct_info_)), p.struct_info_) for a, p in zip(args, params)]
        found = tuple(numbers_as_declared(value, info) for value, info in given)
        return run(self.call(closure, found))

    # --------------------------------------------------------------------------------------------------- calls

    def call(self, callee: Any, args: tuple[Any, ...]) -> Task[Any]:
        """Call a value."""
        pending: PendingChecks | None = None
        while True:
            while isinstance(callee, PartialClosure):
                callee, args = callee.called(args)
            if isinstance(callee, FunctionClosure):
                frame = self._enter(callee, args)
                result = yield self._body(callee.definition.body, frame)
                ret = callee.definition.ret_struct_info
                place = f"the result of {callee.name}"
                if isinstance(result, TailCall):
                    pending = pending if pending is not None else PendingChecks()
                    if ret is not None:
                        pending.add(frame, ret, place)
                    callee, args = result.closure, result.args
                    continue
                if ret is not None:
                    Checker(frame, bind=False).cast(result, ret, place)
            elif isinstance(callee, PrimFuncValue):
                self.run_kernel(callee, list(args))
                result = ()
            elif callable(callee):
                result = from_host(callee(*args))
            else:
                raise fail("value-mismatch", f"{describe_value(callee)} cannot be called: it is not a function")
            if pending is not None:
                pending.run(result)
            return result

    def _enter(self, closure: FunctionClosure, args: tuple[Any, ...]) -> Frame:
        """The frame of a call: captured variables, then the parameters, with the signature checked."""
        function = closure.definition
        if len(args) != len(function.params):
            argument_count(closure.name, len(function.params), len(args), [p.name_hint for p in function.params])
        if function not in self._unread:
            self._unread[function] = unread_calls(function)
        frame = Frame(dict(closure.frame.values), dict(closure.frame.shapes), self._unread[function])
        if closure.own is not None:
            frame.values[closure.own] = closure
        frame.values.update(zip(function.params, args))
        Checker(frame, bind=True).signature(function.params, args)
        return frame

    def partial(self, callee: Any, captured: tuple[Any, ...]) -> Any:
        """The value of `make_closure`: its run-time info is the function's without the parameters that are bound."""
        info = getattr(callee, "info", None)
        if isinstance(info, FuncStructInfo) and info.params is not None and captured:
            count = len(info.params) - len(captured)
            if count < 0:
                raise fail("argument-count", f"{len(captured)} captured values for {len(info.params)} parameters")
            frame = Frame()
            for value, part in zip(captured, info.params[count:]):
                Checker(frame, bind=True).cast(value, part, "captured value")
            info = Checker(frame, bind=False).concrete(info.with_fields(params=info.params[:count]))
        name = getattr(callee, "name", "closure")
        return PartialClosure(name, callee, captured, self._invoke, info)

    def packed(self, callee: Any) -> Any:
        """A packed function by name."""
        return self.functions.lookup(callee)

    def run_kernel(self, function: Any, args: list[Any]) -> None:
        """Run a PrimFunc on tensors (changed in place) and scalars."""
        kernel = function.function if isinstance(function, PrimFuncValue) else function
        if not isinstance(kernel, PrimFunc):
            raise fail("value-mismatch", f"a kernel is expected, found {describe_value(function)}")
        found = [a.data if isinstance(a, NDArray) else a for a in args]
        run_prim_func(kernel, found, self._named.kernels)

    # ------------------------------------------------------------------------------------------------- bodies

    def _body(self, expr: Any, frame: Frame) -> Task[Any]:
        """A function body or branch; may give a `TailCall`."""
        if not isinstance(expr, SeqExpr):
            return (yield self._tail(expr, frame))
        last = tail_binding(expr)
        for block in expr.blocks:
            for binding in block.bindings:
                if binding is last:
                    return (yield self._tail_value(binding, frame))
                yield self._bind(binding, frame)
            _end_block(block, frame)
        return self._atom(expr.body, frame) if _is_atom(expr.body) else (yield self._tail(expr.body, frame))

    def _tail_value(self, binding: Any, frame: Frame) -> Task[Any]:
        """The last binding of a body that returns what it binds."""
        if self._needs_check(binding):
            yield self._bind(binding, frame)
            return frame.values[binding.var]
        return (yield self._tail(binding.value, frame))

    def _tail(self, expr: Any, frame: Frame) -> Task[Any]:
        """An expression whose value is the function's result."""
        if isinstance(expr, If):
            branch = yield self._branch(expr, frame)
            return (yield self._body(branch, frame))
        if isinstance(expr, Call) and not isinstance(expr.op, Op) and not is_claimed(expr):
            callee, args = yield self._callee_and_args(expr, frame)
            if isinstance(callee, FunctionClosure):
                return TailCall(callee, args)
            return (yield self.call(callee, args))
        return (yield self.evaluate(expr, frame))

    def _branch(self, expr: If, frame: Frame) -> Task[Any]:
        cond = yield self.evaluate(expr.cond, frame)
        return expr.true_branch if _truth(cond) else expr.false_branch

    def _bind(self, binding: Binding, frame: Frame) -> Task[None]:
        if isinstance(binding, MatchCast):
            value = yield self.evaluate(binding.value, frame)
            name = binding.var.name_hint if binding.var is not None else "the value"
            Checker(frame, bind=True).cast(value, binding.struct_info, f"match_cast of {name}")
            if binding.var is not None:
                frame.values[binding.var] = value
            return
        assert isinstance(binding, VarBinding)
        if isinstance(binding.value, Function):
            frame.values[binding.var] = self._closure(binding.value, frame, binding.var)
            return
        value = (
            self._atom(binding.value, frame) if _is_atom(binding.value) else (yield self.evaluate(binding.value, frame))
        )
        if self._needs_check(binding):
            info = binding.var.struct_info_
            assert info is not None
            Checker(frame, bind=False).cast(value, info, f"variable {binding.var.name_hint}")
        frame.values[binding.var] = value

    def _needs_check(self, binding: Any) -> bool:
        """Whether a variable's annotation says more than is known of its value (contradictions A-33)."""
        want, have = binding.var.struct_info_, binding.value.struct_info_
        if want is None or want is have or have is None:
            return want is not None and have is None
        known = self._proved.get(id(binding))
        if known is None or known[0] is not binding:
            proved = is_subtype(have, want, Analyzer()) is Answer.YES
            known = self._proved[id(binding)] = (binding, not proved)
        return known[1]

    # ---------------------------------------------------------------------------------------------- expressions

    def evaluate(self, expr: Any, frame: Frame) -> Task[Any]:
        """The value of an expression."""
        match expr:
            case Call():
                if isinstance(expr.op, Op):
                    return (yield self._operator(expr, frame))
                callee, args = yield self._callee_and_args(expr, frame)
                return claimed((yield self.call(callee, args)), expr, frame)
            case Tuple():
                fields: list[Any] = []
                for item in expr.fields:
                    fields.append(self._atom(item, frame) if _is_atom(item) else (yield self.evaluate(item, frame)))
                return tuple(fields)
            case TupleGetItem():
                whole = yield self.evaluate(expr.tuple_value, frame)
                return _item(whole, expr.index)
            case SeqExpr():
                return (yield self._sequence(expr, frame))
            case If():
                branch = yield self._branch(expr, frame)
                return (yield self._sequence(branch, frame))
            case Function():
                return self._closure(expr, frame, None)
            case _:
                return self._atom(expr, frame)

    def _sequence(self, expr: Any, frame: Frame) -> Task[Any]:
        """A SeqExpr that is not in tail position."""
        if not isinstance(expr, SeqExpr):
            return (yield self.evaluate(expr, frame))
        for block in expr.blocks:
            for binding in block.bindings:
                yield self._bind(binding, frame)
            _end_block(block, frame)
        return (yield self.evaluate(expr.body, frame))

    def _callee_and_args(self, expr: Call, frame: Frame) -> Task[tuple[Any, tuple[Any, ...]]]:
        callee = self._atom(expr.op, frame) if _is_atom(expr.op) else (yield self.evaluate(expr.op, frame))
        args: list[Any] = []
        for arg in expr.args:
            args.append(self._atom(arg, frame) if _is_atom(arg) else (yield self.evaluate(arg, frame)))
        return callee, tuple(args)

    def _operator(self, expr: Call, frame: Frame) -> Task[Any]:
        args: list[Any] = []
        for arg in expr.args:
            args.append(self._atom(arg, frame) if _is_atom(arg) else (yield self.evaluate(arg, frame)))
        definition = expr.op.definition
        if isinstance(definition, SpecialOp):
            calling = RUN_CALLS.get(definition.name)
            if calling is not None:
                return claimed((yield calling(self, expr, tuple(args), frame)), expr, frame)
            return RUN[definition.name](self, expr, tuple(args), frame)
        if isinstance(definition, OpDef):
            return as_said(by_reference(definition, args, expr, frame), expr, frame)
        raise fail("relax-run", f"operator {expr.op.name} has no definition, so it cannot be run", span=expr.span)

    def _atom(self, expr: Any, frame: Frame) -> Any:
        match expr:
            case Var():
                if expr not in frame.values:
                    raise InternalError(f"variable {expr.name_hint} has no value: the program is not well-formed")
                return frame.values[expr]
            case Constant():
                # Each evaluation gives a fresh tensor: a constant may be written to (contradictions A-22).
                return NDArray(expr.data.data.copy(), expr.data.device)
            case ShapeExpr():
                return ShapeTuple(frame.dims(expr.values))
            case PrimValue(value=IntImm() | FloatImm() as number):
                return literal_prim(number.value, number.dtype)
            case PrimValue():
                value = frame.scalar(expr.value)
                return prim(value.item() if hasattr(value, "item") else value, expr.value.dtype)
            case StringImm():
                return expr.value
            case DataTypeImm():
                return expr.value
            case GlobalVar():
                return self._named.of_module(expr.name_hint)
            case ExternFunc():
                return self._named.extern(expr.global_symbol)
            case _:
                raise InternalError(f"{type(expr).__name__} cannot be evaluated")

    # ------------------------------------------------------------------------------------------------ functions

    def _closure(self, function: Function, frame: Frame, own: Var | None) -> FunctionClosure:
        """A function literal with the values of its free variables, by reference."""
        known = self._free.get(id(function))
        if known is None or known[0] is not function:
            known = self._free[id(function)] = (function, mentioned_variables(function))
        relax_vars, shape_vars, _ = known[1]
        captured = Frame(
            {v: frame.values[v] for v in relax_vars if v is not own and v in frame.values},
            {v: frame.shapes[v] for v in shape_vars if v in frame.shapes},
        )
        info = Checker(captured, bind=False).concrete(function_info(function))
        name = own.name_hint if own is not None else "<function>"
        return FunctionClosure(name, function, captured, own, info, self._invoke)

    def _invoke(self, closure: Any, args: Sequence[Any]) -> Any:
        """A closure called from the host (a packed function may call one it was given)."""
        return run(self.call(closure, tuple(from_host(a) for a in args)))


def _number(given: Any, info: Any) -> Any:
    """NumPy's numbers are tensors of rank 0, except where a number is declared."""
    if isinstance(info, TupleStructInfo) and type(given) in (tuple, list) and len(given) == len(info.fields):
        return tuple(map(_number, given, info.fields))
    return given.item() if isinstance(given, np.generic) and isinstance(info, PrimStructInfo) else given


def _end_block(block: BindingBlock, frame: Frame) -> None:
    if isinstance(block, DataflowBlock):
        for binding in block.bindings:
            if isinstance(binding.var, DataflowVar):
                frame.values.pop(binding.var, None)


def _is_atom(expr: Any) -> bool:
    atoms = (Var, Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm, GlobalVar, ExternFunc)
    return isinstance(expr, atoms)


def _truth(cond: Any) -> bool:
    if isinstance(cond, NDArray) and cond.ndim == 0 and cond.dtype.is_bool:
        return bool(cond.data)
    if isinstance(cond, bool):
        return cond
    raise fail("value-mismatch", f"the condition of if: expected a boolean scalar, found {describe(cond)}")


def _item(whole: Any, index: int) -> Any:
    if not isinstance(whole, tuple) or isinstance(whole, ShapeTuple):
        raise fail("value-mismatch", f"item {index}: expected a tuple, found {describe_value(whole)}")
    if index >= len(whole):
        raise fail("value-mismatch", f"item {index} is out of range for a tuple with {len(whole)} fields")
    return whole[index]
