"""Loops and branches without the VM: a function of kernel calls, branches and tail calls becomes one kernel.

    def loop(i, x):                          loop_steps: a kernel (`write_kernel`)
        c = call_tir(less, (i, 0))
        if c: return x                 =>    def loop(i, x):
        y = call_tir(step, (x,))                 r = call_tir(loop_steps, (i, x, 0), out_sinfo=[x's, workspace])
        return loop(i - 1, y)                    return r[0]

Functions that it calls become kernels too. Such a function always returns a new tensor, while the VM would return a
parameter itself; programs in which the difference is observable (something writes into tensors) stay on the VM.
"""

from __future__ import annotations

from baton._src.analysis.call_graph import call_graph
from baton._src.analysis.purity import allocates, is_impure_call
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import post_order
from baton._src.lower.native_control.collecting import chunk_caller, in_chunks, nested_tuple
from baton._src.lower.native_control.known_lengths import known_loops
from baton._src.lower.native_control.parameters import Parameters, parameters_of
from baton._src.lower.native_control.places import Places, as_expr, find_places
from baton._src.lower.native_control.read_steps import is_op, read_steps
from baton._src.lower.native_control.steps import Callee, Steps
from baton._src.lower.native_control.stretches import in_stretches, resuming, usual_capacities
from baton._src.lower.native_control.write_chunk import ChunkWriter
from baton._src.lower.native_control.write_kernel import KernelWriter
from baton._src.lower.native_control.write_stretch import StretchWriter
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.lower.relax_to_vm.whole_native import result_fits
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.graphs import components

_HARMLESS = frozenset({"relax.print", "relax.assert_op"})
"""Impure operators that write into no tensor."""


def native_control_flow(module: IRModule, prover: DimProver) -> IRModule:
    """`module` with every function that can be run natively, and needs control flow, as a call of one kernel."""
    if not any(_needs_control(f) for f in module.functions.values() if isinstance(f, Function)):
        return module
    if any(_writes(c) for f in module.functions.values() if isinstance(f, Function) for c in _calls(f)):
        return module
    maker = _Maker(module, prover)
    for component in components(call_graph(module)):
        function = module.functions[component[0]]
        if len(component) == 1 and isinstance(function, Function):
            maker.try_function(component[0], function)
    return maker.result()


class _Maker:
    def __init__(self, module: IRModule, prover: DimProver) -> None:
        self.module = module
        self.prover = prover
        self.functions: dict[GlobalVar, Node] = dict(module.functions)
        self.names = {v.name_hint for v in module.functions}
        self.callees: dict[str, Callee] = {}

    def try_function(self, var: GlobalVar, function: Function) -> None:
        """Make a kernel of the function if possible. It replaces the function if that needs control flow; other kernels
        serve callers.
        """
        if function.attrs.get("relax.checks_lowered"):
            return
        params = parameters_of(p.struct_info_ for p in function.params)
        if params is None or not result_fits(function, self.prover):
            return
        callee = self._kernel(var, function, params)
        if callee is None:
            self._call_kernels(var, function)
            return
        if callee.stretch is not None:
            self.functions[var] = resuming(function, var, callee, callee.stretch)
            return
        self.callees[var.name_hint] = callee
        if callee.collecting is not None:
            self.functions[var] = chunk_caller(function, var, callee, callee.collecting)
        elif _needs_control(function):
            self.functions[var] = _wrapper(function, callee)

    def _kernel(self, var: GlobalVar, function: Function, params: Parameters) -> Callee | None:
        """The function as a kernel, if possible."""
        steps = read_steps(self.module, var, function, self.prover, self.callees)
        if steps is None:
            return None
        chunked = in_chunks(function, steps) if steps.collects else None
        if chunked is not None:
            steps = chunked.steps
        elif steps.resizes:
            found = in_stretches(function, steps)
            if found is None:
                return None
            steps = found
        places = find_places(steps)
        kernel = GlobalVar(self._unused(f"{var.name_hint}_steps"))
        made = self.functions[kernel] = _writer(steps, places).function()
        workspace = TensorStructInfo(ShapeExpr([as_expr(places.total)]), "uint8")
        outputs = (*steps.results, workspace)
        collecting = None if chunked is None else chunked.collecting
        usual = {} if steps.stretch is None else usual_capacities(steps, steps.stretch)
        return Callee(kernel, made, params, tuple(places.constants), outputs, collecting, steps.stretch, usual)

    def _call_kernels(self, var: GlobalVar, function: Function) -> None:
        """Let a function of the machine call the kernels of loops whose lengths are known."""
        changed = function
        for loop in known_loops(function, self.callees):
            params = parameters_of(p.struct_info_ for p in loop.function.params)
            name = GlobalVar(f"{var.name_hint}_rows")
            callee = None if params is None else self._kernel(name, loop.function, params)
            if callee is not None:
                changed = loop.replaced(changed, callee)
        if changed is not function:
            self.functions[var] = BlockBuilder(self.module.with_functions(self.functions)).normalize(changed)

    def result(self) -> IRModule:
        """The module with the kernels, without the private functions that only kernels need now."""
        return remove_unreachable(self.module.with_functions(self.functions))

    def _unused(self, wish: str) -> str:
        name, count = wish, 1
        while name in self.names:
            count += 1
            name = f"{wish}_{count}"
        self.names.add(name)
        return name


def _writer(steps: Steps, places: Places) -> KernelWriter:
    if steps.chunk is not None:
        return ChunkWriter(steps, places, steps.chunk)
    return KernelWriter(steps, places) if steps.stretch is None else StretchWriter(steps, places, steps.stretch)


def _needs_control(function: Function) -> bool:
    """Whether the function branches, or calls a function of the module, possibly through a closure."""
    return any(
        isinstance(n, If) or (isinstance(n, Call) and (isinstance(n.op, GlobalVar) or is_op(n, "relax.make_closure")))
        for n in post_order(function.body)
    )


def _calls(function: Function) -> list[Call]:
    return [n for n in post_order(function.body) if isinstance(n, Call)]


def _writes(call: Call) -> bool:
    """Whether the call may write into a tensor that is visible elsewhere."""
    if isinstance(call.op, Op) and call.op.name in _HARMLESS:
        return False
    return is_impure_call(call) or (allocates(call) and not isinstance(call.op, GlobalVar))


def _wrapper(function: Function, callee: Callee) -> Function:
    """The function as one call of its kernel."""
    info = TupleStructInfo(callee.outputs)
    bindings: list[VarBinding] = []
    given = [leaf for param in function.params for leaf in _taken_apart(param, bindings)]
    whole = Var("steps", info)
    bindings.append(VarBinding(whole, callee.call(given)))
    leaves = [Var(f"result{i}", o) for i, o in enumerate(callee.outputs[:-1])]
    bindings += [VarBinding(leaf, TupleGetItem(whole, i)) for i, leaf in enumerate(leaves)]
    result = nested_tuple(function.body.struct_info_, iter(leaves))
    builder = BlockBuilder(IRModule({callee.kernel: callee.function}))
    found: Function = builder.normalize(function.with_fields(body=SeqExpr([BindingBlock(bindings)], result)))
    return found


def _taken_apart(param: Var, bindings: list[VarBinding]) -> list[Var]:
    """The tensors in a parameter, left to right; the projections are added to `bindings`."""
    found: list[Var] = []
    work = [param]
    while work:
        item = work.pop()
        info = item.struct_info_
        if not isinstance(info, TupleStructInfo):
            found += [item] if is_known(info) else []
            continue
        fields = [Var(f"{item.name_hint}_{i}", f) for i, f in enumerate(info.fields)]
        bindings += [VarBinding(field, TupleGetItem(item, i)) for i, field in enumerate(fields)]
        work += reversed(fields)
    return found
