"""AlterOpLayout: operators take the layout their target prefers.

    AlterOpLayout({"nn.conv2d": ["NCHW8c"]})       convolutions become nn.contrib_conv2d_NCHWc of blocks of 8 channels

The preference is data: `preferred` maps operators to layouts, as for ConvertLayout. Rules that users registered come
first: `register_alter_op_layout(name, rule)`, `(attrs, args, types, result type) -> expression or None`. The native
backend blocks channels itself (BlockChannels, in Relax), so by itself the pass leaves programs as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layouts.convert_layout import convert, in_wanted_layout
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class AlterOpLayout(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    preferred: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        operators = {n for n in walk(function) if isinstance(n, Op)}
        concerned = any(o.name in self.preferred or o.get_attr("FTVMAlterOpLayout") for o in operators)
        return convert(function, self._rule) if concerned else function

    def _rule(self, call: Call, types: list[Any]) -> Any:
        user = call.op.get_attr("FTVMAlterOpLayout")
        found = user(call.attrs, call.args, types, call.checked_type) if user is not None else None
        if found is None and call.op.name in self.preferred:
            found = in_wanted_layout(call, self.preferred[call.op.name])
        return found
