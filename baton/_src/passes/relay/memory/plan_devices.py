"""PlanDevices: derive a device for every expression from annotations (`on_device`), and insert copies between devices.

    add(on_device(exp(%x), "cpu"), on_device(%y, "cuda"))
becomes
    add(device_copy(exp(%x), "cpu" -> "cuda"), %y)      if `%y` was asked for on "cuda"

An operator runs on the device of its operands and its result is there too. `on_device` says where its operand is
computed (`constrain_body`) and where its result is (`constrain_result`); if it constrains only one of them, data may be
copied there. Unconstrained expressions are on the default device. Error `relay-device`: an expression would have to be
on two devices and no copy is allowed.

This compiler generates code for CPUs only; the pass is for programs that name other devices, and for inspecting them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import binders, parts, walk, with_parts
from baton._src.relay.nodes import Call, Function, If, Let, Match
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.disjoint_sets import DisjointSets
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class PlanDevices(RelayFunctionPass):
    """`default` is the device of unconstrained expressions; `config` may be a mapping with that key, a name, or a
    target.
    """

    opt_level: ClassVar[int] = 0
    config: Any = "cpu"

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if not any(is_call(n, "on_device") for n in walk(function)):
            return function
        found = self.config.get("default", "cpu") if isinstance(self.config, Mapping) else self.config
        return _Plan(function, device_name(found)).function()


def device_name(device: Any) -> str:
    """The name of a device, given as a name, a Device or a Target. Error `api`: none is given."""
    if device is None:
        raise fail("api", "a device was expected, got None", help='name one: "cpu", tvm.cpu(0) or a Target')
    kind = getattr(device, "kind", device)
    return str(getattr(kind, "name", kind)).split("(")[0]


def planned_devices(function: Function) -> dict[Any, str | None]:
    """For each expression of a typed function the name of its device; None if it is unconstrained."""
    return _Plan(function, "").devices()


class _Domains:
    """Disjoint sets of expressions on one device, and the device of each."""

    def __init__(self) -> None:
        self._sets: DisjointSets[Any] = DisjointSets()
        self._device: dict[Any, str] = {}

    def device(self, key: Any) -> str | None:
        return self._device.get(self._sets.find(key))

    def join(self, one: Any, other: Any) -> bool:
        """Require both to be on one device; False if they are on different ones."""
        one, other = self._sets.find(one), self._sets.find(other)
        if one is other:
            return True
        devices = {d for d in (self._device.get(one), self._device.get(other)) if d is not None}
        if len(devices) > 1:
            return False
        self._sets.join(one, other)
        if devices:
            self._device[one] = devices.pop()
        return True

    def place(self, key: Any, device: str) -> bool:
        """Require a set to be on a device; False if it is on another one."""
        return self._device.setdefault(self._sets.find(key), device) == device


class _Plan:
    """The devices of one function."""

    def __init__(self, function: Function, default: str) -> None:
        self._function = function
        self._default = default
        self._domains = _Domains()
        self._result: dict[Any, Any] = {}

    def function(self) -> Function:
        order = walk(self._function)
        self.devices()
        build = Build()
        done: dict[Any, Any] = {}
        for node in order:
            made = self._realized(build, node, done) if is_call(node, "on_device") else with_parts(node, done)
            if made is not node:
                done[node] = made
        planned: Function = done.get(self._function, self._function)
        return planned

    def devices(self) -> dict[Any, str | None]:
        """The device of each expression, after all constraints."""
        order = walk(self._function)
        for node in order:
            self._constrain(node)
        return {node: self._domains.device(node) for node in order}

    def _constrain(self, node: Any) -> None:
        if is_call(node, "on_device"):
            name = device_name(node.attrs.virtual_device)
            if node.attrs.constrain_body:
                self._put(node.args[0], name)
            if node.attrs.constrain_result:
                self._put(node, name)
        elif is_call(node, "device_copy"):
            for key, device in ((node.args[0], "src_virtual_device"), (node, "dst_virtual_device")):
                if getattr(node.attrs, device) is not None:
                    self._put(key, device_name(getattr(node.attrs, device)))
        else:
            together = [p for p in self._with_result(node) if getattr(p, "checked_type_", None) is not None]
            for part in together:
                if not self._domains.join(node, part):
                    self._conflict(node, part)

    def _with_result(self, node: Any) -> tuple[Any, ...]:
        """The nodes that are on the device of this node's result."""
        match node:
            case Let():
                if not self._domains.join(node.var, node.value):
                    self._conflict(node.value, node.var)
                return (node.body,)
            case If():
                return (node.cond, node.true_branch, node.false_branch)
            case Match():
                return (*parts(node), *binders(node))
            case Function():
                return (node.body,)
            case Call():
                return node.args
            case _:
                return parts(node)

    def _put(self, node: Any, device: str) -> None:
        if not self._domains.place(node, device):
            self._conflict(node, node, device)

    def _conflict(self, node: Any, part: Any, device: str = "") -> None:
        one = self._domains.device(node)
        other = device or self._domains.device(part)
        message = f"an expression would have to be on {one} and on {other}"
        help = "mark the operand with on_device(..., constrain_result=False), which allows a copy, or write device_copy"
        raise fail("relay-device", message, span=getattr(node, "span", None) or getattr(part, "span", None), help=help)

    def _realized(self, build: Build, node: Any, done: dict[Any, Any]) -> Any:
        """The operand of an annotation, or a copy of it if the result is on another device."""
        (body,) = node.args
        source = self._domains.device(body) or self._default
        target = self._domains.device(node) or self._default
        value = done.get(body, body)
        if source == target:
            return value
        return build.op("device_copy", value, src_virtual_device=source, dst_virtual_device=target)
