"""`relay.analysis`: the device of each expression of a program with device annotations.

Code of this compiler runs on CPUs; these serve programs that name other devices, and those who look at them.
"""

from __future__ import annotations

from typing import Any

from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import is_call
from baton._src.passes.relay.memory.plan_devices import device_name, planned_devices
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Function
from baton._src.values.device import KINDS, Device

_NUMBERS = {name: number for number, name in KINDS.items()} | {"llvm": 1}


def context_analysis(mod: IRModule, default_device: Any = "cpu") -> dict[Any, Device]:
    """The device of every expression in the functions of a module; `default_device` where nothing says which.

    Error `relay-device`: an expression that would have to be on two.
    """
    wire()
    found: dict[Any, Device] = {}
    for function in infer_type(mod).functions.values():
        if isinstance(function, Function):
            for node, name in planned_devices(function).items():
                found[node] = Device(_number(name or device_name(default_device)))
    return found


def collect_device_info(expr: Any) -> dict[Any, int]:
    """The number of the device of each expression that copies and marks in `expr` place; others are left out.

    `expr` is typed first if it is not: then the keys are of the typed expression.
    """
    wire()
    typed = expr if expr.checked_type_ is not None else infer_expr(expr)
    function = typed if isinstance(typed, Function) else Function([], typed)
    return {n: _number(name) for n, name in planned_devices(function).items() if name and n is not function}


def collect_device_annotation_ops(expr: Any) -> dict[Any, int]:
    """The `on_device` marks in `expr`, each with the number of its device."""
    wire()
    marks = (node for node in walk(expr) if is_call(node, "on_device"))
    return {mark: _number(device_name(mark.attrs.virtual_device)) for mark in marks}


def _number(name: str) -> int:
    """DLPack's number of a kind of device; of a kind it does not know, 0."""
    return _NUMBERS.get(name, 0)
