"""RealizeVDevice and UpdateVDevice: the devices of tensors.

    lv = R.add(R.hint_on_device(x, tvm.cpu(1)), y)     ->     x, y and lv are annotated with the vdevice "llvm:1"

RealizeVDevice turns hints into annotations and propagates them: operators compute where their operands are, so the
device of one tensor of a call is that of the others and of the result. A hint gives the device of its result and,
unless something else does, of its operand; it is removed if the two agree and becomes a copy (`to_vdevice`) if not.
UpdateVDevice(new, index) replaces device number `index` of the module's list, also in annotations, hints and copies.

Errors (`pass-device`): tensors of two devices meet in a call, a hint names a device that the module does not list, or
the index is out of range.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_info import VDevice
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Binding, Call, Function, If, SeqExpr, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.special.devices import ToVDeviceAttrs
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_HINT, _TO_VDEVICE = special_op("hint_on_device"), special_op("to_vdevice")


@dataclass(frozen=True)
class RealizeVDevice(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        listed = module.global_infos.get("vdevice", ())
        changed: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function):
                groups = _Groups(function, listed)
                if groups.devices:
                    changed[var] = _Annotator(module, groups).annotated(function)
        return module.with_functions({**module.functions, **changed}) if changed else module


class _Groups:
    """Which tensors live together (a disjoint-set forest), and where."""

    def __init__(self, function: Function, listed: tuple[VDevice, ...]) -> None:
        self.parents: dict[Any, Any] = {}
        self.devices: dict[Any, VDevice] = {}
        self.listed = listed
        self.values: dict[Var, Any] = {}
        hints: dict[Any, VDevice] = {}
        for param in function.params:
            self._annotated(param)
        for binding in post_order(function.body):
            if isinstance(binding, VarBinding):
                self._annotated(binding.var)
                self._bound(binding.var, binding.value)
                if _is_hint(binding.value):
                    hints[binding.value.args[0]] = self.hinted(binding.value)
        for operand, device in hints.items():
            self.devices.setdefault(self.root(operand), device)

    def root(self, var: Any) -> Any:
        while var in self.parents:
            above = self.parents[var]
            self.parents[var] = self.parents.get(above, above)
            var = above
        return var

    def device(self, var: Any) -> VDevice | None:
        """The device of a tensor, if known."""
        return self.devices.get(self.root(var))

    def _annotated(self, var: Var) -> None:
        info = var.struct_info_
        if isinstance(info, TensorStructInfo) and info.vdevice is not None:
            self._place(var, info.vdevice)

    def _bound(self, var: Var, value: GraphExpr) -> None:
        self.values[var] = value
        if isinstance(value, Var):
            self._join(var, value)
        elif isinstance(value, If):
            for branch in (value.true_branch, value.false_branch):
                if isinstance(branch.body, Var) and isinstance(var.struct_info_, TensorStructInfo):
                    self._join(var, branch.body)
        elif isinstance(value, TupleGetItem):
            whole = self.values.get(value.tuple_value)
            part = whole.fields[value.index] if isinstance(whole, Tuple) else None
            if isinstance(part, Var) and isinstance(var.struct_info_, TensorStructInfo):
                self._join(var, part)
        elif isinstance(value, Call) and isinstance(value.op, Op) and value.op is not _TO_VDEVICE:
            if _is_hint(value):
                self._place(var, self.hinted(value))
                return
            args = [f for a in value.args for f in (a.fields if isinstance(a, Tuple) else (a,))]
            for arg in args:
                if isinstance(arg, Var) and isinstance(arg.struct_info_, TensorStructInfo):
                    self._join(var, arg)

    def hinted(self, call: Call) -> VDevice:
        """The device of the module that a hint means: by kind, number and scope."""
        wanted = int(call.attrs.dev_type), int(call.attrs.dev_id), str(call.attrs.memory_scope)
        for device in self.listed:
            kind = Target(device.target).get_target_device_type()
            if (kind, device.vdevice_id, device.memory_scope) == wanted:
                return device
        where = f"device {call.attrs.dev_id} of kind {call.attrs.dev_type}"
        raise fail("pass-device", f"a hint wants {where}, which is not among the module's devices", span=call.span)

    def _join(self, a: Any, b: Any) -> None:
        one, other = self.root(a), self.root(b)
        if one is other:
            return
        self.parents[one] = other
        device = self.devices.pop(one, None)
        if device is not None:
            self._place(other, device)

    def _place(self, var: Any, device: VDevice) -> None:
        root = self.root(var)
        there = self.devices.setdefault(root, device)
        if there != device:
            name = getattr(var, "name_hint", "a tensor")
            message = f"{name} is wanted on {there.reference()} and on {device.reference()}"
            raise fail("pass-device", message, span=getattr(var, "span", None), help="copy it with to_vdevice")


class _Annotator(BindingRewriter):
    """Writes devices into annotations, and takes hints out."""

    def __init__(self, module: IRModule, groups: _Groups) -> None:
        super().__init__(module)
        self.groups, self.module = groups, module

    def annotated(self, function: Function) -> Function:
        params = tuple(self._moved(p) for p in function.params)
        found = rewrite(self.function(function), _forgetful).with_fields(params=params, ret_struct_info=None)
        normal: Function = BlockBuilder(self.module).normalize(found)
        return normal

    def _moved(self, var: Var, info: Any = None) -> Var:
        """The variable annotated with its device, which replaces the old one from now on."""
        known, device = info if info is not None else var.struct_info_, self.groups.device(var)
        if isinstance(known, TensorStructInfo) and known.vdevice is None and device is not None:
            known = known.with_fields(vdevice=device)
        return self.with_info(var, known)

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if isinstance(value, Call) and _is_hint(value):
            value = self._there(value.args[0], self.groups.hinted(value))
        elif isinstance(value, (Call, Tuple, TupleGetItem)):
            value = self.normalized(value.with_fields(struct_info_=None))
        if value is None:
            self.keep(binding)
            return
        var = self._moved(binding.var, None if isinstance(value, If) else value.struct_info_)
        self.keep(VarBinding(var, value, getattr(binding, "span", None)))

    def _there(self, operand: GraphExpr, device: VDevice) -> Any:
        """The operand on a device: itself if it is there already, or a copy."""
        if operand.struct_info.vdevice == device:
            return operand
        return self.normalized(Call(_TO_VDEVICE, [operand], ToVDeviceAttrs(device)))


def _is_hint(value: GraphExpr) -> bool:
    """Whether a right side is a hint of a device."""
    return isinstance(value, Call) and value.op is _HINT


def _forgetful(node: Any) -> Any:
    """Discard the StructInfo of an expression if it was deduced from its parts."""
    parts_say = isinstance(node, (Function, SeqExpr, If, Tuple)) and node.struct_info_ is not None
    return node.with_fields(struct_info_=None) if parts_say else None


@dataclass(frozen=True)
class UpdateVDevice(Pass):
    """See the module."""

    new_vdevice: VDevice
    index: int

    def __post_init__(self) -> None:
        if not isinstance(self.new_vdevice, VDevice):
            raise fail(
                "pass-device", f"UpdateVDevice takes a device, got {self.new_vdevice!r}",
                help="make it by tvm.ir.VDevice(target, number, memory_scope)",
            )  # fmt: skip

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        listed = module.global_infos.get("vdevice", ())
        if not 0 <= self.index < len(listed):
            raise fail("pass-device", f"UpdateVDevice: the module lists {len(listed)} devices, none at {self.index}")
        old = listed[self.index]
        infos = {**module.global_infos, "vdevice": (*listed[: self.index], self.new_vdevice, *listed[self.index + 1 :])}

        def rule(item: Any) -> Node | None:
            if isinstance(item, Call):
                return self._redirected(item, old)
            there = isinstance(item, TensorStructInfo) and item.vdevice is not None and item.vdevice == old
            return item.with_fields(vdevice=self.new_vdevice) if there else None

        functions = {
            v: rewrite(f, rule, notes=True) if isinstance(f, Function) else f for v, f in module.functions.items()
        }
        return IRModule(functions, module.type_definitions, module.attrs, infos)

    def _redirected(self, call: Call, old: VDevice) -> Call | None:
        """A copy to the old device, or a hint of it, with the new one."""
        if call.op is _TO_VDEVICE and call.attrs.dst_vdevice == old:
            return call.with_fields(attrs=call.attrs.with_attrs(dst_vdevice=self.new_vdevice))
        if call.op is _HINT and (call.attrs.dev_id, call.attrs.memory_scope) == (old.vdevice_id, old.memory_scope):
            place = {"dev_id": self.new_vdevice.vdevice_id, "memory_scope": self.new_vdevice.memory_scope}
            return call.with_fields(attrs=call.attrs.with_attrs(**place))
        return None
