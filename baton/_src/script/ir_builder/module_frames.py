"""Modules under a builder: `with I.ir_module(): with T.prim_func(): ...`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.global_info import VDevice
from baton._src.ir.module import IRModule
from baton._src.script.ir_builder.base import IRBuilder, IRBuilderFrame
from baton._src.support.diagnostics import fail


class IRModuleFrame(IRBuilderFrame):
    """Collects functions by name."""

    def __init__(self) -> None:
        super().__init__()
        self.global_vars: dict[str, GlobalVar] = {}
        self.functions: dict[str, Any] = {}
        self.signatures: dict[str, Any] = {}
        """Signatures of functions that are declared but defined later, used to type calls of them."""
        self.attrs: dict[str, Any] = {}
        self.global_infos: dict[str, list[Any]] = {}

    def declare(self, name: str, signature: Any = None) -> GlobalVar:
        """A function's variable, before the function is built. Error `ir-builder`: the name is taken."""
        if name in self.global_vars:
            raise fail("ir-builder", f"the module has a function {name} already")
        self.global_vars[name] = GlobalVar(name)
        if signature is not None:
            self.signatures[name] = signature
        return self.global_vars[name]

    def known(self, name: str) -> Any:
        """The function of this name, or its signature; None if neither is given yet."""
        return self.functions.get(name, self.signatures.get(name))

    def define(self, name: str, function: Any) -> None:
        """Give a declared (or new) variable its function. Error `ir-builder`: it has one."""
        if name in self.functions:
            raise fail("ir-builder", f"the function {name} is defined twice")
        if name not in self.global_vars:
            self.declare(name)
        self.functions[name] = function

    def close(self, builder: IRBuilder) -> None:
        for name in self.global_vars:
            if name not in self.functions:
                raise fail("ir-builder", f"the function {name} is declared and never defined")
        functions = {self.global_vars[name]: function for name, function in self.functions.items()}
        builder.finish(IRModule(functions, attrs=self.attrs, global_infos=self.global_infos))


def ir_module() -> IRModuleFrame:
    """The frame of a module."""
    return IRModuleFrame()


def _module() -> IRModuleFrame:
    found = IRBuilder.current().innermost(IRModuleFrame)
    if found is None:
        raise fail("ir-builder", "this belongs in a module", help="write it under `with I.ir_module():`")
    return found


def decl_function(func_name: str, func_signature: Any = None) -> GlobalVar:
    """The name of a function that is defined later."""
    return _module().declare(func_name, func_signature)


def def_function(func_name: str, func: Any) -> None:
    """A function of the module."""
    _module().define(func_name, func)


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """The attributes of the module."""
    held = _module()
    if held.attrs and not allow_overwrite:
        raise fail("ir-builder", "the module has attributes already")
    held.attrs = dict(attrs)


def current_ir_module() -> IRModuleFrame:
    """The frame of the module being built."""
    return _module()


def module_get_attrs() -> dict[str, Any]:
    """The attributes given so far."""
    return dict(_module().attrs)


def module_get_attr(attr_key: str) -> Any:
    """One attribute, None if it is not there."""
    return _module().attrs.get(attr_key)


def module_set_attr(attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """One attribute."""
    held = _module().attrs
    if attr_key in held and not allow_overwrite:
        raise fail("ir-builder", f"the module has the attribute {attr_key} already")
    held[attr_key] = attr_value


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """The global infos of the module, lists by name."""
    _module().global_infos = {name: list(listed) for name, listed in global_infos.items()}


def lookup_vdevice(target_kind: str, device_index: int = -1) -> VDevice:
    """The `device_index`-th virtual device of a kind of target (-1: the first)."""
    listed = [d for d in _module().global_infos.get("vdevice", []) if d.target.kind.name == target_kind]
    place = max(device_index, 0)
    if place >= len(listed):
        raise fail("ir-builder", f"the module has no virtual device {target_kind}:{place}")
    found: VDevice = listed[place]
    return found
