"""What tvmc does to a program before it is built: other layouts, other precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from baton._src.driver.relay.quantization import prerequisite_optimize
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layouts.convert_layout import ConvertLayout
from baton._src.passes.relay.operators.mixed_precision_rules import ALWAYS
from baton._src.passes.relay.operators.to_mixed_precision import ToMixedPrecision
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext

LAYOUT_OPS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")
PRECISION_OPS = ("nn.conv2d", "nn.dense")
_COLUMN = "FTVMMixedPrecisionConversionType"
_KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


@raising_tvmc
def convert_graph_layout(
    mod: IRModule, desired_layouts: str | Sequence[str], ops: Sequence[str] | None = None
) -> IRModule:
    """The module with `ops` in other layouts: one for all, or one for each; "NHWC", or "NHWC:HWIO" with that of the
    kernel."""
    names = list(ops or LAYOUT_OPS)
    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    if len(layouts) not in (1, len(names)):
        raise refuse(f"Expected 1 or {len(names)} layouts but got {len(layouts)}")
    every = layouts if len(layouts) == len(names) else layouts * len(names)
    wanted = {name: _data_and_kernel(layout) for name, layout in zip(names, every)}
    # Called one by one, not as a Sequential: what was asked for is done at every opt_level.
    return ConvertLayout(wanted)(RemoveUnusedFunctions(("main",))(mod))


def _data_and_kernel(layout: str) -> list[str]:
    data, _, kernel = layout.partition(":")
    return [data, kernel or "default"]


@raising_tvmc
def convert_to_mixed_precision(
    mod: IRModule,
    ops: Sequence[str] | None = None,
    calculation_type: str | None = "float16",
    acc_type: str | None = "float16",
) -> IRModule:
    """The module with `ops` computing in `calculation_type` and summing in `acc_type`; results keep their dtype."""
    narrow = calculation_type or "float16"
    with _always_narrow(ops or PRECISION_OPS, acc_type or "float16"), PassContext(opt_level=3, config=_KEEP):
        return ToMixedPrecision(narrow)(InferType()(mod))


@contextmanager
def _always_narrow(ops: Sequence[str], acc_type: str) -> Iterator[None]:
    """Have these operators converted wherever they are, until the end of the block."""

    def rule(call: Any, narrow: str) -> list[Any]:
        return [ALWAYS, acc_type, narrow]

    found = [Op.get(name) for name in ops]
    before = [(op.columns or {}).get(_COLUMN) for op in found]
    try:
        for op in found:
            op.reset_attr(_COLUMN)
            op.set_attr(_COLUMN, rule)
        yield
    finally:
        for op, column in zip(found, before):
            op.reset_attr(_COLUMN)
            if column is not None:
                op.set_attr(_COLUMN, *column)


@dataclass(frozen=True)
class GraphChanges:
    """What `compile` and `tune` are told to change, by the names of their options."""

    desired_layout: str | Sequence[str] | None = None
    desired_layout_ops: Sequence[str] | None = None
    mixed_precision: bool = False
    mixed_precision_ops: Sequence[str] | None = None
    mixed_precision_calculation_type: str | None = None
    mixed_precision_acc_type: str | None = None

    def apply(self, module: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
        """The module after these changes."""
        if self.desired_layout:
            module = convert_graph_layout(module, self.desired_layout, self.desired_layout_ops)
        if not self.mixed_precision:
            return module
        return convert_to_mixed_precision(
            prerequisite_optimize(module, params),
            self.mixed_precision_ops,
            self.mixed_precision_calculation_type,
            self.mixed_precision_acc_type,
        )


def apply_graph_transforms(
    mod: IRModule, args: Mapping[str, Any] | None, params: Mapping[str, Any] | None = None
) -> IRModule:
    """The module after the changes in `args`, by the names of `compile`'s options."""
    known = {field.name for field in fields(GraphChanges)}
    return GraphChanges(**{n: v for n, v in (args or {}).items() if n in known}).apply(mod, params)
