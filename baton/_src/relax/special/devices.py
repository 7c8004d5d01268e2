"""Where a tensor lives: to_vdevice and hint_on_device (facts §8, §10)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.relax.nodes import Call
from baton._src.relax.special.shapes import tensor_argument
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import StructInfo


@attrs
class ToVDeviceAttrs(Attrs):
    """Attributes of to_vdevice."""

    dst_vdevice: Any = attr(None, "the virtual device the result lives on")


@attrs
class HintOnDeviceAttrs(Attrs):
    """Attributes of hint_on_device."""

    dev_type: int = attr(1, "DLPack's number of the kind of device")
    dev_id: int = attr(0, "its number among devices of that kind")
    memory_scope: str = attr("global", "the kind of memory on it")

    @property
    def device_type(self) -> int:
        """What later versions of TVM call `dev_type`."""
        return self.dev_type

    @property
    def index(self) -> int:
        """What later versions of TVM call `dev_id`."""
        return self.dev_id


def _infer_to_vdevice(call: Call, context: Any) -> StructInfo:
    return tensor_argument(call).with_fields(vdevice=call.attrs.dst_vdevice)


def _infer_hint(call: Call, context: Any) -> StructInfo:
    return tensor_argument(call)


TO_VDEVICE = SpecialOp(
    "to_vdevice", doc="the tensor, copied to another device", infer=_infer_to_vdevice, pure=True, arity=(1, 1),
    attrs=ToVDeviceAttrs,
)  # fmt: skip
HINT_ON_DEVICE = SpecialOp(
    "hint_on_device", doc="the tensor is wanted on a device", infer=_infer_hint, pure=True, arity=(1, 1),
    attrs=HintOnDeviceAttrs,
)  # fmt: skip
