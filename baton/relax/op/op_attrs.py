"""The classes of operators' attributes (`tvm.relax.op.op_attrs`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.op_attrs import relax_attribute_classes
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {},
    before=wire,
    more=relax_attribute_classes,
)
