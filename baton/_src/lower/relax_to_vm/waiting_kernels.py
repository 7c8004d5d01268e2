"""Kernel calls that are deferred until one of their results is needed, and then become one native entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.lower.relax_to_vm.abstract_values import (
    Fields,
    InRegister,
    KernelCall,
    Pending,
    Value,
    View,
    memory_of,
    resolve,
)
from baton._src.lower.relax_to_vm.function_values import FunctionValues
from baton._src.lower.relax_to_vm.native_entry import EntryBuilder, live_calls, written_into
from baton._src.relax.nodes import Var


class WaitingKernels:
    """The kernel calls of one function that are not emitted yet, in order."""

    def __init__(self, values: FunctionValues) -> None:
        self._values = values
        self._calls: list[KernelCall] = []
        self._bound: list[Var] = []
        self._entries = 0

    def add(self, call: KernelCall) -> None:
        """Defer `call`; its results are `Pending`."""
        self._calls.append(call)

    def note_binding(self, var: Var) -> None:
        """Record that the value of `var` may depend on a deferred call."""
        self._bound.append(var)

    def flush(self, is_used: Callable[[Var], bool], results: Sequence[Value]) -> None:
        """Emit the deferred calls. Results in `results`, or of variables for which `is_used` holds, stay available."""
        values = self._values
        bound, self._bound = self._bound, []
        if not self._calls:
            return
        calls, self._calls = self._calls, []
        wanted: dict[Pending, None] = {}
        for value in (*results, *[values.env[v] for v in bound if is_used(v)]):
            wanted.update(dict.fromkeys(_pending_in(value)))
        live = live_calls(calls, list(wanted))
        if not live:
            return
        # An output written in place is not a new tensor but the argument under another name.
        roots = {output: written_into(output) for output in wanted}
        made = [memory_of(root) for root in roots.values()]
        self._emit_native(live, list({m: None for m in made if isinstance(m, Pending)}))
        for output, root in roots.items():
            if output is not root:
                output.emitted = InRegister(values.register(root), output.info)

    def _emit_native(self, calls: Sequence[KernelCall], outputs: Sequence[Pending]) -> None:
        program, scope = self._values.program, self._values.scope
        self._entries += 1
        name = program.unique_name(f"{self._values.name}.native{self._entries}")
        builder = EntryBuilder(name, calls, outputs, spoils=program.spoils)
        entry = builder.build()
        program.add_entry(entry)
        for call in builder.calls:
            program.use_kernel(call.kernel, call.function)
        args = [program.builder.r(v.register) for v in entry.inputs]
        args += [scope.slot(v) for v in entry.scalars]
        if not outputs:
            scope.call(name, args)
            return
        register = scope.call_into(name, args)
        if len(outputs) == 1:
            outputs[0].emitted = InRegister(register, outputs[0].info)
            return
        for index, output in enumerate(outputs):
            part = [program.builder.r(register), program.builder.imm(index)]
            output.emitted = InRegister(scope.call_into("vm.builtin.tuple_getitem", part), output.info)


def _pending_in(value: Value) -> list[Pending]:
    """The results of deferred calls inside a value."""
    found: list[Pending] = []
    work = [value]
    while work:
        item = resolve(work.pop())
        if isinstance(item, View):
            item = memory_of(item)
        if isinstance(item, Pending):
            found.append(item)
        elif isinstance(item, Fields):
            work.extend(reversed(item.fields))
    return found
