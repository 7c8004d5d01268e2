"""`tvm.target`, except `Target` itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from baton._src.ir.target import Target
from baton._src.ir.target_tags import add_tag
from baton._src.support.dataclass import dataclass
from baton._src.values.device import Device


def create(target: Any) -> Target:
    """A target from its description."""
    return Target(target)


def list_kinds() -> list[str]:
    """The kinds of targets there are."""
    return Target.list_kinds()


def list_tags() -> dict[str, Target]:
    """The targets that have a name."""
    return Target.list_tags()


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Register `config` under a name, so that `Target(name)` is that target, and return the target."""
    found = Target(config)
    add_tag(name, config, override)
    return found


@dataclass(frozen=True)
class VirtualDevice:
    """A device, the target code for it is compiled with, and a kind of its memory; parts may be left open."""

    device: Device | None = None
    target: Target | None = None
    memory_scope: str = ""
    device_type: int = field(init=False)
    virtual_device_id: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "device_type", -1 if self.device is None else self.device.device_type)
        object.__setattr__(self, "virtual_device_id", -1 if self.device is None else self.device.device_id)
