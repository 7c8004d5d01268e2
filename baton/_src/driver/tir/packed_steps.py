"""Split kernels that call packed functions into steps: native code cannot call Python functions.

    with T.block("B"):                         step 1   the packed function "my.f" on (A, B)
        T.call_packed("my.f", A.data, B.data)
    for i in range(n):                         step 2   the kernel main_step_1 on (A, C, B)
        C[i] = B[i] * 2

What `te.extern` makes has this form, and what scripts write between loops. A call inside a loop or under a condition is
refused. Buffers that several steps use become temporaries, which whoever runs the steps makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature, scalar_slots
from baton._src.runtime.native.stepped_kernel import Operand, Step, StepPlan
from baton._src.runtime.value_info import TensorValue
from baton._src.support.diagnostics import fail
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Call, FloatImm, IntImm, StringImm, Var, literal
from baton._src.tir.kernel_abi import kernel_abi
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.tree import is_true
from baton._src.values.dtype import BOOL, HANDLE

_PACKED = frozenset(f"tir.tvm_call_{kind}" for kind in ("packed", "cpacked", "packed_lowered", "cpacked_lowered"))


def in_steps(functions: Mapping[str, PrimFunc]) -> tuple[dict[str, PrimFunc], dict[str, StepPlan]]:
    """The kernels with those that call packed functions replaced by their native steps, and how these are run.

    Raises `DiagnosticError` (`kernel-call`) for calls that are no steps, and for kernels that call such kernels.
    """
    found: dict[str, PrimFunc] = {}
    plans: dict[str, StepPlan] = {}
    for symbol, func in functions.items():
        if any(_is_packed(n) for n in post_order(func.body)):
            plans[symbol], natives = _Steps(symbol, func).taken_apart(functions)
            found |= natives
        else:
            found[symbol] = func
    for symbol, func in found.items():
        for node in post_order(func.body):
            if isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name_hint in plans:
                message = f"{symbol} calls {node.op.name_hint}, which calls packed functions"
                raise fail("kernel-call", message, span=node.span, help="call it from outside, after the other")
    return found, plans


def _is_packed(node: Any) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _PACKED


def _refuse(symbol: str, call: Call, why: str) -> NoReturn:
    raise fail(
        "kernel-call",
        f"{symbol} calls the packed function {call.args[0] if call.args else ''} {why}",
        span=call.span,
        help="packed functions can be called between the loops of a kernel, on its buffers, numbers and strings; "
        "functions of C libraries can be called anywhere, by T.call_extern",
    )


class _Steps:
    """One function being taken apart."""

    def __init__(self, symbol: str, func: PrimFunc) -> None:
        self.symbol = symbol
        self.func = func
        self.allocated: list[Buffer] = []
        self.groups: list[list[st.Stmt] | Call] = []
        """In turn: the statements of a native step, or a call."""
        for part in self._parts(func.body):
            if isinstance(part, Call):
                self.groups.append(part)
            elif self.groups and isinstance(self.groups[-1], list):
                self.groups[-1].append(part)
            else:
                self.groups.append([part])
        self.tensors: dict[Var, int] = {}
        for place, param in enumerate(func.params):
            buffer = func.buffer_map.get(param)
            self.tensors[param if buffer is None else buffer.data] = place
        self.shared = self._shared()
        for buffer in self.shared:
            self.tensors[buffer.data] = len(self.tensors)

    def _parts(self, body: st.Stmt) -> Iterator[st.Stmt | Call]:
        """Statements without packed calls, and packed calls, in order."""
        for one in st.stmt_list(body):
            calls = [n for n in post_order(one) if _is_packed(n)]
            match one:
                case _ if not calls:
                    yield one
                case st.Evaluate(value=Call() as call) if _is_packed(call):
                    yield call
                case st.BlockRealize(iter_values=(), block=st.Block(init=None, match_buffers=()) as block) if is_true(
                    one.predicate
                ):
                    self.allocated += block.alloc_buffers
                    yield from self._parts(block.body)
                case st.DeclBuffer(body=inner):
                    yield from self._parts(inner)
                case _:
                    _refuse(self.symbol, calls[0], f"inside a {type(one).__name__}")

    def _shared(self) -> list[Buffer]:
        """The buffers that several steps use, or that a packed function is given."""
        uses = [_variables(g if isinstance(g, list) else [g]) for g in self.groups]
        packed = set().union(*(u for u, g in zip(uses, self.groups) if isinstance(g, Call)))
        return [b for b in self.allocated if b.data in packed or sum(b.data in u for u in uses) > 1]

    def taken_apart(self, taken: Mapping[str, PrimFunc]) -> tuple[StepPlan, dict[str, PrimFunc]]:
        """The plan, and its native kernels under names that are not `taken`."""
        slots = scalar_slots(kernel_abi(self.func))
        natives: dict[str, PrimFunc] = {}
        steps: list[Step] = []
        for number, group in enumerate(self.groups):
            if isinstance(group, Call):
                steps.append(self._packed_step(group, slots))
                continue
            name = f"{self.symbol}_step_{number}"
            while name in taken:
                name += "_"
            natives[name], used = self._native(name, group)
            places = (*range(len(self.func.params)), *(self.tensors[b.data] for b in used))
            steps.append(Step(name, False, tuple(("tensor", place) for place in places)))
        temporaries = tuple(
            TensorValue(str(b.dtype), b.ndim, tuple(to_dim_expr(d, slots) for d in b.shape)) for b in self.shared
        )
        return StepPlan(kernel_signature(self.symbol, self.func), temporaries, tuple(steps)), natives

    def _packed_step(self, call: Call, slots: Mapping[Var, int]) -> Step:
        name, *operands = call.args
        if not isinstance(name, StringImm):
            _refuse(self.symbol, call, "without a name")
        return Step(name.value, True, tuple(self._operand(call, o, slots) for o in operands))

    def _operand(self, call: Call, operand: Any, slots: Mapping[Var, int]) -> Operand:
        match operand:
            case Var() if operand in self.tensors and operand.dtype == HANDLE:
                return "tensor", self.tensors[operand]
            case IntImm() | FloatImm() | StringImm():
                value = operand.value
                return "constant", bool(value) if operand.dtype == BOOL else value
            case PrimExpr() if _variables([operand]) <= slots.keys() and operand.dtype.is_int:
                return "scalar", to_dim_expr(operand, slots)
            case Var() if operand in slots:
                return "scalar", ["v", slots[operand]]
            case _:
                _refuse(
                    self.symbol, call, f"on {operand}, which is neither one of its buffers nor known when it starts"
                )

    def _native(self, name: str, parts: list[st.Stmt]) -> tuple[PrimFunc, list[Buffer]]:
        """The kernel of a run of statements, and the temporaries that it takes behind the parameters."""
        variables = _variables(parts)
        used = [b for b in self.shared if b.data in variables]
        own = [b for b in self.allocated if b not in self.shared and b.data in variables]
        handles = [Var(f"{b.name}_handle", HANDLE) for b in used]
        root = st.Block((), (), (), "root", st.stmt_seq(*parts), alloc_buffers=own)
        made: PrimFunc = self.func.with_fields(
            params=(*self.func.params, *handles),
            body=st.BlockRealize((), literal(True), root),
            buffer_map={**self.func.buffer_map, **dict(zip(handles, used))},
        )
        return made.with_attr("global_symbol", name), used


def _variables(parts: Iterable[Any]) -> set[Any]:
    return {node for part in parts for node in post_order(part) if isinstance(node, Var)}
