"""One Relax function (normal form, no nested functions) to bytecode and native entries.

Bindings are processed in order. Kernel calls are deferred (as `Pending`) until something other than a kernel call needs
a result, or the sequence ends; then the deferred run becomes one native call. In bytecode mode each kernel call is
emitted separately.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.abstract_values import (
    Fields,
    InRegister,
    KernelCall,
    Pending,
    Value,
    View,
    resolve,
)
from baton._src.lower.relax_to_vm.cast_conditions import cast_conditions
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.relax_to_vm.function_values import FunctionValues
from baton._src.lower.relax_to_vm.infos import to_value_info
from baton._src.lower.relax_to_vm.kernel_calls import as_kernel_call, as_view
from baton._src.lower.relax_to_vm.operator_calls import CLAIMED, HANDLERS, emit_kernel_call, emit_operator
from baton._src.lower.relax_to_vm.program import Program
from baton._src.lower.relax_to_vm.size_reads import SizeReads
from baton._src.lower.relax_to_vm.variable_uses import Overlay, last_uses, read_by_kernels_only
from baton._src.lower.relax_to_vm.waiting_kernels import WaitingKernels
from baton._src.passes.relax.operators.append_in_place import known_result
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import erase_to_well_defined
from baton._src.relax.check.narrowed import is_narrowed
from baton._src.relax.check.signatures import is_claimed, is_of_host
from baton._src.relax.check.unread import unread_calls
from baton._src.relax.check.variables import tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    Call,
    Constant,
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
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.runtime.executable.bytecode import Goto, Operand
from baton._src.runtime.executable.bytecode import If as Branch
from baton._src.runtime.executable.constants import Data
from baton._src.runtime.value_info import ObjectValue, TupleValue
from baton._src.support.diagnostics import InternalError
from baton._src.support.trampoline import Task, run
from baton._src.values.dtype import BOOL


def is_alias(binding: Binding) -> bool:
    """Whether a variable is another name of a value, or of a literal."""
    aliases = (Var, Tuple, TupleGetItem, ShapeExpr, PrimValue, StringImm, DataTypeImm, GlobalVar, ExternFunc)
    return isinstance(binding, VarBinding) and isinstance(binding.value, aliases)


class FunctionLowering:
    """Emits one function into the program's builder."""

    def __init__(self, program: Program, name: str, function: Function) -> None:
        self.program = program
        self.name = name
        self.function = function
        self.values = FunctionValues(program, name, function)
        self.scope = self.values.scope
        self.waiting = WaitingKernels(self.values)
        self.native_only = read_by_kernels_only(function)
        self.unread = unread_calls(function)
        self.checked = bool(function.attrs.get("relax.checks_lowered"))
        """Whether VMShapeLower has put the checks into the body."""

    # ---------------------------------------------------------------------------------------- the whole

    def emit(self) -> None:
        """Emit the body, between the signature's checks and `Ret`. The caller has opened the builder's function."""
        if not self.checked:
            self.scope.open_heap()
            self._check_arguments()
        result = run(self._sequence(self.function.body))
        register = self.values.register(result)
        register = self._check_result(register)
        self.program.builder.emit_ret(self.program.builder.r(register))

    def _check_arguments(self) -> None:
        params = self.function.params
        holders: list[Var] = []
        infos = TupleValue(tuple(to_value_info(p.struct_info_, self.scope.slots, holders) for p in params))
        if all(isinstance(i, ObjectValue) for i in infos.fields):
            return
        held = [params.index(h) for h in holders]
        facts = Data([self.name, [p.name_hint for p in params], self.scope.slot_names, *held])
        arguments = [self.program.builder.r(i) for i in range(len(params))]
        self.scope.call("vm.builtin.check_signature", [self.scope.heap(), infos, facts, *arguments])

    def _check_result(self, register: int) -> int:
        """Check the return annotation, unless the body's StructInfo proves it."""
        wanted = self.function.ret_struct_info
        if self.checked or wanted is None or isinstance(wanted, ObjectStructInfo):
            return register
        known = self.function.body.struct_info_
        if known is not None and struct_info_base_check(wanted, known, self.program.prover) is BaseCheckResult.PASS:
            return register
        return self._cast(register, wanted, f"{self.name}: result")

    def _cast(self, register: int, info: StructInfo, place: str) -> int:
        holders: list[Var] = []
        wanted = to_value_info(info, self.scope.slots, holders)
        facts = Data([place, self.scope.slot_names])
        shapes = [self.values.operand(self.values.env[h]) for h in holders]
        value = self.program.builder.r(register)
        return self.scope.call_into("vm.builtin.match_cast", [self.scope.heap(), wanted, facts, value, *shapes])

    # ---------------------------------------------------------------------------------------- sequences

    def _sequence(self, seq: GraphExpr) -> Task[Value]:
        """The value of a SeqExpr (or of a leaf); waiting kernel calls are emitted before it ends."""
        if not isinstance(seq, SeqExpr):
            value = self.values.value(seq)
            self.waiting.flush(lambda var: False, [value])
            return value
        bindings = [b for block in seq.blocks for b in block.bindings]
        last_use = last_uses(bindings, seq.body)
        reads = SizeReads(self.values, self.waiting, bindings, seq.body, self.program.prover)
        for number, binding in enumerate(bindings):
            if not self.checked and reads.defers(binding):
                continue
            value = binding.value
            call = as_kernel_call(value, self.program.module, self.values.value) if isinstance(value, Call) else None
            view = as_view(value, binding.var, self.values.value) if isinstance(value, Call) else None
            if reads.needed_by(binding, is_observed=call is None and view is None and not is_alias(binding)):
                position = number
                reads.emit(lambda var: last_use.get(var, -1) >= position)  # noqa: B023
            if call is not None:
                self._wait(binding.var, call)
            elif view is not None:
                self.values.env[binding.var] = view
                self.waiting.note_binding(binding.var)
            elif self._is_free(binding):
                self.values.env[binding.var] = self.values.value(value)
                self.waiting.note_binding(binding.var)
            else:
                position = number
                self.waiting.flush(lambda var: last_use.get(var, -1) >= position, [])  # noqa: B023
                self.values.env[binding.var] = yield self._barrier(binding)
            if not self.checked and is_narrowed(binding, self.program.prover):
                self._narrow(binding.var, last_use, number)
        reads.emit(lambda var: last_use.get(var, -1) == len(bindings))
        result = self.values.value(seq.body)
        self.waiting.flush(lambda var: False, [result])
        return resolve(result)

    def _narrow(self, var: Var, last_use: Mapping[Var, int], position: int) -> None:
        """Check an annotation that is more specific than the value's StructInfo, as a cast is."""
        self.waiting.flush(lambda other: last_use.get(other, -1) > position, [self.values.env[var]])
        register = self._cast(
            self.values.register(self.values.env[var]), var.struct_info_, f"{self.name}: annotation of {var.name_hint}"
        )
        self.values.env[var] = InRegister(register, var.struct_info_)

    def _is_free(self, binding: Binding) -> bool:
        """Whether the binding is only an alias, which needs no instruction."""
        if isinstance(binding, MatchCast):
            if self.checked:
                return not any(isinstance(i, FuncStructInfo) for i in post_order(binding.struct_info))
            value = self.values.value(binding.value)
            return self._is_proven(value, binding.struct_info) or self._compare_dims(binding, value)
        value = binding.value
        if isinstance(value, Constant):
            return binding.var in self.native_only
        return is_alias(binding)

    def _wait(self, var: Var, call: KernelCall) -> None:
        call.results = tuple(Pending(call, i) for i in range(len(call.outputs)))
        is_tuple = isinstance(var.struct_info_, TupleStructInfo) or len(call.results) != 1
        self.values.env[var] = Fields(tuple(call.results)) if is_tuple else call.results[0]
        if self.program.compiled:
            self.waiting.add(call)
        else:
            emit_kernel_call(self.values, call)
        self.waiting.note_binding(var)

    def _barrier(self, binding: Binding) -> Task[Value]:
        """Emit a binding that needs instructions of its own, after the deferred kernel calls."""
        match binding:
            case MatchCast(value=value):
                return self._match_cast(binding, self.values.value(value))
            case VarBinding(var=var, value=If() as branch):
                merged: Value = yield self._branch(branch, var)
                return merged
            case VarBinding(var=var, value=Constant() as constant):
                return InRegister(self.values.fresh(constant), var.struct_info_)
            case VarBinding(var=var, value=Call() as call):
                return InRegister(self._call(call), var.struct_info_)
            case _:
                pass
        raise InternalError(f"lowering {self.name}: {type(binding).__name__} of {binding!r} is not in normal form")

    # ------------------------------------------------------------------------------------ control flow

    def _branch(self, branch: If, var: Var) -> Task[Value]:
        """Both branches leave their value in one register; their definitions go out of scope afterwards."""
        builder = self.program.builder
        condition = self._condition(branch.cond)
        merged = self.scope.new_register()
        test = builder.position
        builder.emit_if(condition, 1)
        yield self._arm(branch.true_branch, merged)
        leave = builder.position
        builder.emit_goto(1)
        builder.patch(test, Branch(condition.value, builder.position - test))
        yield self._arm(branch.false_branch, merged)
        builder.patch(leave, Goto(builder.position - leave))
        return InRegister(merged, var.struct_info_)

    def _condition(self, cond: GraphExpr) -> Operand:
        """The condition's value; it is checked to be a bool scalar unless its StructInfo says so."""
        found, known = self.values.argument(cond), cond.struct_info_
        if isinstance(known, TensorStructInfo) and (known.ndim, known.dtype) != (0, BOOL):
            found = self.program.builder.r(self.scope.call_into("vm.builtin.read_if_cond", [found]))
        return found

    def _arm(self, body: GraphExpr, merged: int) -> Task[None]:
        outer = self.values.env
        self.values.env = Overlay(outer)
        value = yield self._sequence(body)
        self.scope.copy(self.values.register(value), merged)
        self.values.env = outer

    def _is_proven(self, value: Value, info: StructInfo) -> bool:
        """Whether a cast to `info` certainly succeeds and binds nothing."""
        known = value.info if isinstance(value, (InRegister, Pending, View)) else None
        if known is None or self.scope.binds(info):
            return False
        if isinstance(known, FuncStructInfo) and tir_vars_in_struct_info(known):
            return False  # captured variables are read like the function's own; the closure holds their values
        return struct_info_base_check(info, known, self.program.prover) is BaseCheckResult.PASS

    def _compare_dims(self, binding: MatchCast, value: Value) -> bool:
        """Emit a cast as comparisons of dims, where that suffices: it need not wait for the value."""
        if self.scope.binds(binding.struct_info):
            return False
        place = f"{self.name}: {binding.place}"
        found = cast_conditions(value, binding.struct_info, place)
        if found is None:
            return False
        slots = self.scope.slots
        pairs = [[c.place, to_dim_expr(c.found, slots), to_dim_expr(c.expected, slots)] for c in found]
        if pairs:
            self.scope.call("vm.builtin.check_dims", [self.scope.heap(), Data([self.scope.slot_names, pairs])])
        return True

    def _match_cast(self, binding: MatchCast, value: Value) -> Value:
        """Emit a cast that is checked here. If `VMShapeLower` has run, these are casts to functions, whose dims it
        leaves.
        """
        info = erase_to_well_defined(binding.struct_info) if self.checked else binding.struct_info
        register = self._cast(self.values.register(value), info, f"{self.name}: {binding.place}")
        self.scope.bind(info)
        return InRegister(register, info)

    # ------------------------------------------------------------------------------------------- calls

    def _call(self, call: Call) -> int:
        callee = call.op
        if isinstance(callee, Op):
            handler = HANDLERS.get(callee.name)
            register = handler(self.values, call) if handler is not None else emit_operator(self.values, call)
            return self._claimed(register, call, call.args[0], callee.name) if callee.name in CLAIMED else register
        args = [self.values.argument(a) for a in call.args]
        if isinstance(callee, GlobalVar):
            self.program.demand(callee)
            return self.scope.call_into(callee.name_hint, args)
        if isinstance(callee, ExternFunc):
            register = self.scope.call_into(self.program.extern(callee.global_symbol), args)
            return self._claimed(register, call, callee, callee.global_symbol)
        operands = [self.program.builder.vm_state(), self.values.argument(callee), *args]
        return self._claimed(self.scope.call_into("vm.builtin.invoke_closure", operands), call, callee, "a function")

    def _claimed(self, register: int, call: Call, callee: GraphExpr, name: str) -> int:
        """The result of a function, checked against its declared StructInfo, on which kernels rely.

        Unit is not checked: calls for their effect are declared so, whatever they return; nor is what nothing reads. A
        function whose checks are explicit (`VMShapeLower` has run) needs no others.
        """
        if call in self.unread:
            return register
        said = call.struct_info_
        if is_of_host(call) and any(isinstance(part, PrimStructInfo) for part in post_order(said)):
            declared = to_value_info(erase_to_well_defined(said), {})
            operands = [self.program.builder.r(register), declared]
            register = self.scope.call_into("vm.builtin.numbers_as_declared", operands)
        if self.checked or not is_claimed(call) or said is None or isinstance(said, ObjectStructInfo):
            return register
        if isinstance(said, TupleStructInfo) and not said.fields:
            return register
        promised = callee.struct_info_
        known = known_result(call)
        if isinstance(promised, FuncStructInfo) and promised.params is not None:
            known = promised.ret  # a closure checks its own result
        if known is not None and struct_info_base_check(said, known, self.program.prover) is BaseCheckResult.PASS:
            return register
        return self._cast(register, said, f"{self.name}: result of {name}")
