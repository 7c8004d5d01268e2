"""Write results over dead operands.

    b = exp(a); c = add(b, r)       b takes a's memory (a is dead then), c takes b's: one piece of the arena for three

This is done for kernels that are proven to allow it (`kernel_schedules.overwriting`). If the result is one of the
entry's outputs, the operand that it would have overwritten is placed in the result's memory instead, unless other
values are parts of that operand: outputs have addresses, but no places inside. Parameters and constants are never
overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from baton._src.ir.expr import GlobalVar
from baton._src.lower.kernel_schedules.overwriting import overwritable
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Pending, Value
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count
from baton._src.lower.size_polynomial import Atoms, to_polynomial
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc

Located = Callable[[Value], tuple[Value, int]]
"""The value whose memory another one shares, and the byte offset in it."""


@dataclass
class ReusedOperands:
    """`homes`: values that live in another's memory; `pairs`: by kernel, the (operand, result) parameters that share
    memory in some call.
    """

    homes: dict[Pending, Pending] = field(default_factory=dict)
    pairs: dict[GlobalVar, set[tuple[int, int]]] = field(default_factory=dict)

    def home(self, value: Pending) -> Pending:
        """The value in whose memory `value` lives: its own, unless it reuses an operand's."""
        while value in self.homes:
            value = self.homes[value]
        return value


def reused_operands(calls: Sequence[KernelCall], kept: set[Value], located: Located) -> ReusedOperands:
    """Choose for every result the first operand that it may overwrite. `kept`: the values in whose memory outputs
    live.
    """
    last: dict[Value, int] = {}
    divided: set[Value] = set()
    for number, call in enumerate(calls):
        for root, start in map(located, (*call.args, *call.results)):
            last[root] = number
            if start:
                divided.add(root)
    found = ReusedOperands()
    known: dict[PrimFunc, tuple[tuple[int, int], ...]] = {}
    for number, call in enumerate(calls):
        places = [located(a) for a in call.args]
        dying = {v for v, _ in places if isinstance(v, Pending) and v not in kept and last[v] == number}
        if not dying or any(place >= 0 for place in call.inplace):
            continue
        if call.function not in known:
            known[call.function] = overwritable(call.function)
        _choose(call, places, dying, known[call.function], kept, divided, located, found)
    return found


def _choose(
    call: KernelCall,
    places: Sequence[tuple[Value, int]],
    dying: set[Pending],
    pairs: Sequence[tuple[int, int]],
    kept: set[Value],
    divided: set[Value],
    located: Located,
    found: ReusedOperands,
) -> None:
    """Record the operand that a result of `call` overwrites, if there is one. `divided`: values that others are parts
    of, beyond their beginning.
    """
    tensors = [n for n, p in enumerate(call.function.params) if p in call.function.buffer_map]
    count = len(places)
    for operand, result in pairs:
        if tensors.index(operand) >= count or tensors.index(result) < count:
            continue  # not what `call_tir` passes there
        source, target = places[tensors.index(operand)][0], call.results[tensors.index(result) - count]
        if source not in dying or located(target)[0] is not target or not _same_size(source, target):
            continue
        inside = [n for n, (value, _) in enumerate(places) if value is source]
        used = {(tensors[n], result) for n in inside}
        home = found.home(source)
        if any(places[n][1] for n in inside) or not used <= set(pairs) or home in kept:
            continue
        if target in kept and any(found.home(v) is home for v in divided if isinstance(v, Pending)):
            continue
        found.pairs.setdefault(call.kernel, set()).update(used)
        if target in kept:
            found.homes[home] = target
        else:
            found.homes[target] = home
        return


def _same_size(a: Pending, b: Pending) -> bool:
    atoms = Atoms()
    return to_polynomial(byte_count(a.info), atoms) == to_polynomial(byte_count(b.info), atoms)
