"""Read a function with control flow in normal form as `steps`, if all of it can be native code.

That requires that every value is a tensor of known dtype and dims, a shape, or a tuple of such, every callee is a
kernel or the function itself in tail position, and conditions are boolean scalars. Closures that are called where they
are created count as calls of their function. If the result of a recursive function has unknown dims only by its
annotation, it gets those of the returned values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import DimProver
from baton._src.lower.native_control.collector_calls import returned_by, settle, with_own_capacity
from baton._src.lower.native_control.function_calls import call_of_kernel, called_by_closure, keeps_word
from baton._src.lower.native_control.parameters import (
    Parameters,
    nested,
    over,
    parameters_of,
    shape_of,
    tensors_in,
    told_dims,
)
from baton._src.lower.native_control.read_sizes import read_sizes, room_for
from baton._src.lower.native_control.read_values import (
    NotNative,
    info_of,
    leaf_info,
    leaves_of,
    needed,
    without_renaming,
)
from baton._src.lower.native_control.steps import (
    Callee,
    Check,
    Choose,
    Compute,
    Keep,
    Refuse,
    Repeat,
    Return,
    Step,
    Steps,
)
from baton._src.lower.relax_to_vm.abstract_values import (
    InRegister,
    KernelCall,
    Literal,
    Longer,
    Pending,
    Value,
    View,
    memory_of,
)
from baton._src.lower.relax_to_vm.cast_conditions import cast_conditions
from baton._src.lower.relax_to_vm.kernel_calls import as_kernel_call, as_view, is_known
from baton._src.lower.relax_to_vm.variable_values import NoValue, Values
from baton._src.passes.relax.operators.append_in_place import APPENDED, COMPLETE
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.narrowed import is_narrowed
from baton._src.relax.check.variables import (
    definable_tir_vars_in_struct_info,
    leaf_dims,
    prim_vars,
    tir_vars_in_struct_info,
)
from baton._src.relax.nodes import (
    Binding,
    Call,
    Constant,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.runtime.value_errors import refusal
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import Var as TirVar

REFUSE = "vm.builtin.refuse"


def read_steps(
    module: IRModule, own: GlobalVar, function: Function, prover: DimProver, callees: Mapping[str, Callee]
) -> Steps | None:
    """The steps of `function`, or None if it needs the VM. Results are not told if iterations change sizes."""
    parameters = parameters_of(p.struct_info_ for p in function.params)
    if parameters is None:
        return None
    reader = _Reader(module, own, function, parameters, prover, callees)
    try:
        run(reader.sequence(function.body, True, reader.steps))
        results = () if any(r.sizes for r in reader.rounds) else reader.results()
    except NoValue:
        return None
    if results is None or (reader.rounds and not reader.leaves) or reader.open:
        return None
    return Steps(
        tuple(reader.params), reader.steps, tuple(results), tuple(reader.rounds), parameters.sizes, reader.room
    )


def is_op(call: Call, name: str) -> bool:
    """Whether it calls the operator of that name."""
    return isinstance(call.op, Op) and call.op.name == name


class _Reader:
    def __init__(
        self,
        module: IRModule,
        own: GlobalVar,
        function: Function,
        parameters: Parameters,
        prover: DimProver,
        callees: Mapping[str, Callee],
    ) -> None:
        self.module = module
        self.parameters = parameters
        self.callees = callees
        self.own = own
        self.function = function
        self.prover = prover
        self.params = [InRegister(i, info) for i, info in enumerate(parameters.tensors)]
        given = iter(self.params)
        self.known = set(definable_tir_vars_in_struct_info(TupleStructInfo(parameters.leaves)))
        """The shape variables that the parameters tell."""
        self.env = Values({p: nested(p.struct_info_, given) for p in function.params})
        self.closures: dict[GraphExpr, Call] = {}
        self.read: set[TirVar] = set()
        """Further ones, which are read from tensors."""
        self.shapes: dict[Var, Value] = {}
        """The tensors that variables have as shapes."""
        self.open: dict[KernelCall, TirVar] = {}
        """Calls whose capacity is not known yet, with its variable."""
        self.room: dict[Value, TensorStructInfo] = {}
        self.steps: list[Step] = []
        self.rounds: list[Repeat] = []
        self.leaves: list[Return] = []

    def sequence(self, seq: SeqExpr, is_tail: bool, into: list[Step]) -> Task[Value | None]:
        """The steps of a sequence and its value; without one it leaves the function: by `Repeat` or `Return`, in tail
        position, or by an error.
        """
        bindings, body = without_renaming(seq)
        for number, binding in enumerate(bindings):
            is_last = number == len(bindings) - 1 and isinstance(body, Var) and body is binding.var
            if (yield self.binding(binding, is_tail and is_last, into)):
                return None
        if not is_tail:
            return self.env.of(body)
        leaving = Return(tuple(leaves_of(self.env.of(body))))
        into.append(leaving)
        self.leaves.append(leaving)
        return None

    def binding(self, binding: Binding, is_tail: bool, into: list[Step]) -> Task[bool]:
        """Read one binding. Returns whether control has left the function."""
        value = binding.value
        if is_narrowed(binding, self.prover):
            raise NotNative
        match binding:
            case MatchCast():
                self.env[binding.var] = self._cast(binding, into)
            case VarBinding(value=Call(args=(ExternFunc(global_symbol=name), StringImm(value=why)))) if name == REFUSE:
                into.append(Refuse(refusal(why)))
                return True
            case VarBinding(var=var, value=If() as branch):
                left: bool = yield self.branch(branch, var, is_tail, into)
                return left
            case VarBinding(value=Call(op=GlobalVar() as callee, args=args)) if (
                is_tail and callee.name_hint == self.own.name_hint
            ):
                again = self._again(args)
                into.append(again)
                self.rounds.append(again)
                return True
            case VarBinding(var=var, value=Call() as call):
                self._call(call, var, into)
            case _:
                self.env[binding.var] = self.env.of(value)
        return False

    def _cast(self, cast: MatchCast, into: list[Step]) -> Value:
        """The value of a cast; sizes that the compiler cannot compare are compared where it stands."""
        place = f"{self.function.attrs.get('global_symbol', 'function')}: {cast.place}"
        if cast.value in self.shapes:
            return self._sizes(cast, self.shapes[cast.value], place, into)
        source, info = self.env.of(cast.value), cast.struct_info
        if isinstance(source, Pending) and source.node in self.open:
            into += needed(settle(source.node, self.open.pop(source.node), info, self.known, place))
        if struct_info_base_check(info, cast.value.struct_info_, self.prover) is BaseCheckResult.PASS:
            return source
        if not (self.known | self.read).issuperset(tir_vars_in_struct_info(info)):
            raise NotNative
        into.append(Check(tuple(needed(cast_conditions(source, info, place)))))
        return View(source, info) if is_known(info) else source

    def _sizes(self, cast: MatchCast, tensor: Value, place: str, into: list[Step]) -> Value:
        """The sizes that a cast takes from a tensor."""
        read, conditions = needed(read_sizes(cast, tensor, info_of(tensor), self.known | self.read, place))
        into += [read, Check(tuple(conditions))]
        self.read.update(read.sizes)
        return Literal(ShapeExpr(leaf_dims(cast.struct_info)))

    def _call(self, call: Call, var: Var, into: list[Step]) -> None:
        if is_op(call, "relax.make_closure"):
            self.closures[var] = call
            return
        if is_op(call, "relax.call_pure_packed"):
            self.env[var] = self._collected(call)
            return
        if is_op(call, "relax.tensor_to_shape"):
            self.shapes[var] = self.env.of(call.args[0])
            return
        view = as_view(call, var, self.env.of)
        if view is not None:
            self.env[var] = view
            return
        if isinstance(call.op, GlobalVar) or is_op(call, "relax.invoke_pure_closure"):
            results = self._function_call(call, into)
        else:
            results = self._compute(needed(as_kernel_call(call, self.module, self.env.of)), into)
        self.env[var] = nested(var.struct_info_, iter(results))

    def _compute(self, kernel: KernelCall, into: list[Step]) -> Sequence[Value]:
        """The results of a kernel that is run here."""
        if any(place >= 0 for place in kernel.inplace):
            raise NotNative
        kernel.results = tuple(Pending(kernel, i) for i in range(len(kernel.outputs)))
        if self._make_room(kernel.name, kernel.results, into) and kernel in self.open:
            raise NotNative
        into.append(Compute(kernel))
        return kernel.results

    def _make_room(self, name: str, values: Sequence[Pending | InRegister], into: list[Step]) -> bool:
        """Limit the sizes of values; whether some depend on data."""
        known = self.known | set(self.open.values())
        room, tests = needed(room_for(name, values, known, self.parameters.sizes, self.prover))
        self.room.update(room)
        into += tests
        return bool(room)

    def _function_call(self, call: Call, into: list[Step]) -> Sequence[Value]:
        is_plain = isinstance(call.op, GlobalVar)
        function, args = (call.op, call.args) if is_plain else needed(called_by_closure(call, self.closures))
        callee = self.callees.get(function.name_hint)
        arguments = [v for a in args for v in leaves_of(self.env.of(a))]
        infos = [leaf_info(v) for v in arguments]
        kernel = needed(call_of_kernel(callee, arguments, infos, self._covers))
        if not is_plain and not keeps_word(call, self.module[function], kernel, self._covers):
            raise NotNative
        collecting = callee.collecting if callee is not None else None
        if collecting is None:
            return self._compute(kernel, into)
        self.open[kernel] = with_own_capacity(kernel, collecting)
        self._compute(kernel, into)
        return returned_by(collecting, [a for a in arguments if shape_of(a) is None], kernel)

    def _collected(self, call: Call) -> Value:
        """What `AppendInPlace` has left: a parameter with one more row, or the parameter itself."""
        name, *args = call.args
        values = [self.env.of(a) for a in args]
        if name.global_symbol == COMPLETE and values[0] in self.params:
            return values[0]
        if name.global_symbol != APPENDED or values[0] not in self.params or not is_known(args[1].struct_info_):
            raise NotNative
        return Longer(values[0], values[1])

    def branch(self, branch: If, var: Var, is_tail: bool, into: list[Step]) -> Task[bool]:
        """In tail position both branches leave the function; elsewhere both store their value in the same place."""
        condition = memory_of(self.env.of(branch.cond))
        if isinstance(condition, Literal) and isinstance(condition.expr, Constant):
            decided = branch.true_branch if condition.expr.data.numpy().item() else branch.false_branch
            kept: Value | None = yield self.sequence(decided, is_tail, into)
            if kept is not None:
                self.env[var] = kept
            return is_tail
        if not is_known(branch.cond.struct_info_):
            raise NotNative
        choice = Choose(condition)
        arms = ((branch.true_branch, choice.then_steps), (branch.false_branch, choice.else_steps))
        merged = [] if is_tail else self._merged(var)
        self._make_room("if", merged, into)
        into.append(choice)
        for body, steps in arms:
            value = yield self.sequence(body, is_tail, steps)
            if value is not None:
                steps += [Keep(v, m) for v, m in zip(leaves_of(value), merged, strict=True)]
        if not is_tail:
            self.env[var] = nested(var.struct_info_, iter(merged))
        return is_tail

    def _merged(self, var: Var) -> list[InRegister]:
        infos = tensors_in(var.struct_info_)
        if infos is None:
            raise NotNative
        return [InRegister(-1, info) for info in infos]

    def _again(self, args: Sequence[GraphExpr]) -> Repeat:
        """A tail call. Its arguments fit the parameters, so that they can replace them; sizes may be others."""
        values = [v for a in args for v in leaves_of(self.env.of(a))]
        again = Repeat(tuple(v for v in values if shape_of(v) is None))
        if len(values) != len(self.parameters.leaves) or len(again.values) != len(self.params):
            raise NotNative
        if any(isinstance(v, Longer) and v.param is not p for p, v in zip(self.params, again.values)):
            raise NotNative
        again.sizes = self._sizes_after(list(map(leaf_info, values)))
        return again

    def _sizes_after(self, infos: Sequence[StructInfo]) -> dict[TirVar, PrimExpr]:
        """The sizes that change if these become the parameters."""
        leaves = self.parameters.leaves
        told = told_dims(leaves, infos)
        if not all(self._covers(over(leaf, told), info) for leaf, info in zip(leaves, infos)):
            raise NotNative
        changed = {v: dim for v, dim in told.items() if self.prover.equal(v, dim) is not True}
        if not all(self.known.issuperset(prim_vars(dim)) for dim in changed.values()):
            raise NotNative
        return changed

    def _covers(self, base: StructInfo, derived: StructInfo) -> bool:
        return struct_info_base_check(base, derived, self.prover) is BaseCheckResult.PASS

    def results(self) -> list[TensorStructInfo] | None:
        """The struct infos of the leaves of the result; None if they are unknown, or differ from leaf to leaf."""
        known = tensors_in(self.function.body.struct_info_)
        if known is not None or not self.leaves:
            return known if known is None or all(map(self._is_over_params, known)) else None
        first, *others = ([info_of(v) for v in leaving.values] for leaving in self.leaves)
        same = all(self._covers(a, b) and self._covers(b, a) for other in others for a, b in zip(first, other))
        return first if same and all(map(self._is_over_params, first)) else None

    def _is_over_params(self, info: StructInfo) -> bool:
        return self.known.issuperset(tir_vars_in_struct_info(info))
