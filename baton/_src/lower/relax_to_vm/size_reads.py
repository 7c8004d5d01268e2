"""Sizes that tensors hold, read as late as possible.

    count = R.call_tir(cls.counted, (x,), R.Tensor((1,), "int64"))
    size = R.tensor_to_shape(count)
    sizes = R.match_cast(size, R.Shape([n]))            # deferred: later kernels may not depend on n
    other = R.call_tir(cls.other, (x,), ...)            # the same native entry as `counted`
    places = R.call_tir(cls.places, (x,), R.Tensor((2, n), "int64"))

Reading ends a run of kernels. Each pair of conversion and cast becomes one instruction, once something depends on its
sizes or may be observed; all that wait become instructions together, after the kernels that compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.abstract_values import Literal, Pending, Value, memory_of
from baton._src.lower.relax_to_vm.function_values import FunctionValues
from baton._src.lower.relax_to_vm.infos import to_value_info
from baton._src.lower.relax_to_vm.waiting_kernels import WaitingKernels
from baton._src.relax.check.narrowed import is_narrowed
from baton._src.relax.nodes import Binding, Call, MatchCast, ShapeExpr, Var, VarBinding
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.runtime.executable.constants import Data
from baton._src.tir.expr import Var as DimVar
from baton._src.values.dtype import INT64


class SizeReads:
    """Those of one sequence of bindings."""

    def __init__(
        self,
        values: FunctionValues,
        waiting: WaitingKernels,
        bindings: Sequence[Binding],
        body: GraphExpr,
        prover: DimProver,
    ) -> None:
        self._values, self._waiting = values, waiting
        self._conversions = _only_cast(bindings, body, prover)
        self._reads: list[tuple[MatchCast, Value]] = []
        self._unknown: set[Var | DimVar] = set()
        """What has no value yet: sizes, and the variables of shapes of them."""

    def defers(self, binding: Binding) -> bool:
        """Whether the binding is a conversion or a cast that waits from here on."""
        if binding.var in self._conversions:
            return True
        if not (isinstance(binding, MatchCast) and binding.value in self._conversions):
            return False
        dims = _dims(binding)
        source = self._conversions[binding.value].args[0]
        self._reads.append((binding, self._values.value(source)))
        self._unknown.update((binding.var, *dims))
        self._values.env[binding.var] = Literal(ShapeExpr(dims))
        return True

    def needed_by(self, binding: Binding, is_observed: bool) -> bool:
        """Whether what waits has to be read before the binding: it mentions a size, or it `is_observed`, as what is no
        kernel.
        """
        if not self._reads:
            return False
        nodes = (*post_order(binding.value), *post_order(binding.var.struct_info_))
        return is_observed or not self._unknown.isdisjoint(nodes)

    def emit(self, is_used: Callable[[Var], bool]) -> None:
        """Read all that waits. Results of kernels that `is_used` holds for stay available."""
        reads, self._reads = self._reads, []
        self._unknown.clear()
        if any(isinstance(memory_of(source), Pending) for _, source in reads):
            self._waiting.flush(is_used, [source for _, source in reads])
        scope = self._values.scope
        for cast, source in reads:
            info = to_value_info(cast.struct_info, scope.slots, [])
            facts = Data([f"{self._values.name}: {cast.place}", scope.slot_names])
            tensor = self._values.operand(memory_of(source))
            scope.call("vm.builtin.read_sizes", [scope.heap(), info, facts, tensor])
            scope.bind(cast.struct_info)


def _only_cast(bindings: Sequence[Binding], body: GraphExpr, prover: DimProver) -> dict[Var, Call]:
    """The conversions to shapes that nothing but casts to shapes of as many dims reads, by variable."""
    found: dict[Var, Call] = {}
    for binding in bindings:
        match binding:
            case VarBinding(value=Call(op=Op(name="relax.tensor_to_shape"), args=(source, *_)) as call):
                info = source.struct_info_
                if isinstance(info, TensorStructInfo) and info.ndim == 1 and info.dtype == INT64:
                    if not is_narrowed(binding, prover):
                        found[binding.var] = call
            case _:
                pass
    if not found:
        return found
    others = {n for n in post_order(body, notes=False) if isinstance(n, Var)}
    for binding in bindings:
        is_cast = isinstance(binding, MatchCast) and bool(_dims(binding)) and not is_narrowed(binding, prover)
        if not (is_cast and binding.value in found):
            others.update(n for n in post_order(binding.value, notes=False) if isinstance(n, Var))
    return {var: call for var, call in found.items() if var not in others}


def _dims(cast: MatchCast) -> tuple[DimVar, ...]:
    """The sizes that a cast to a shape names; none if it is another cast, or checks anything."""
    dims = cast.struct_info.values if isinstance(cast.struct_info, ShapeStructInfo) else None
    if dims is None or len(set(dims)) != len(dims):
        return ()
    return tuple(d for d in dims if isinstance(d, DimVar)) if all(isinstance(d, DimVar) for d in dims) else ()
