"""SplitArgs: a concatenation of very many tensors becomes a chain of concatenations, for targets whose kernels take few
arguments.

    concatenate((%a, %b, %c, %d))    with four at most, of which one is the result's:
    concatenate(stop_fusion((concatenate(stop_fusion((%a, %b, %c))), %d)))

`stop_fusion` prevents FuseOps from joining the links again. A tensor whose extents are known only at run time takes
more arguments: those extents and its strides.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ir.types import TensorType, Type
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function, Tuple
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class SplitArgs(RelayFunctionPass):
    """`max_function_args`: the most tensors that a kernel may take and return; 0: any number. Error `api`: fewer than
    the result needs.
    """

    opt_level: ClassVar[int] = 1
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    max_function_args: int

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        if self.max_function_args == 0:
            return function
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "concat") or not isinstance(new.args[0], Tuple):
                return None
            limit = self._limit(old)
            costs = [1 + _extra_arguments(field.checked_type) for field in old.args[0].fields]
            return None if sum(costs) < limit else _chain(build, new, costs, limit)

        return rewrite(function, rule)

    def _limit(self, call: Call) -> int:
        """The number of arguments left for the tensors to concatenate."""
        type_ = call.checked_type
        limit = self.max_function_args - 1 - (len(type_.shape) if _extra_arguments(type_) else 0)
        if limit <= 0:
            message = f"max_function_args is {self.max_function_args}: that is the result of a concatenation alone"
            raise fail("api", message, span=call.span, help="allow more arguments, or 0 for any number")
        return limit


def _chain(build: Build, call: Any, costs: list[int], limit: int) -> Any:
    """Each link concatenates the result of the previous one and as many fields as there is room for."""

    def joined(fields: list[Any]) -> Any:
        return build.call(call.with_fields(args=(build.op("annotation.stop_fusion", build.tuple(*fields)),)))

    link: list[Any] = []
    taken = 0
    for field, cost in zip(call.args[0].fields, costs):
        if link and taken + cost > limit:
            link, taken = [joined(link)], cost
        link.append(field)
        taken += cost
    return joined(link)


def _extra_arguments(type_: Type) -> int:
    """The arguments of a kernel for a tensor besides the tensor itself."""
    if not isinstance(type_, TensorType):
        return 0
    unknown = sum(isinstance(d, AnyDim) for d in type_.shape)
    return unknown + len(type_.shape) if unknown else 0
