"""AlterOpLayout: operators take the layout their target prefers. SimplifyExprPostAlterOp: clear up behind it.

The preference is data: `preferred` maps operators to layouts, as for ConvertLayout. The native backend schedules every
layout itself, so its preference is empty and the pass leaves programs as they are unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.convert_layout import convert
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.simplify_expr import SimplifyExpr
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class AlterOpLayout(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    preferred: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return convert(function, self.preferred) if self.preferred else function


@dataclass(frozen=True)
class SimplifyExprPostAlterOp(RelayFunctionPass):
    """Chains of transposes and reshapes that layouts left behind."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return SimplifyExpr().run_function(function, module, ctx)
