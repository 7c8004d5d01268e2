"""TVM's object system as far as scripts use it: `isinstance` checks, and nodes by class name."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from baton._src.driver.tvm_names.op_attrs import attribute_classes, relax_attribute_classes
from baton._src.driver.wiring import wire
from baton._src.ir import expr as ir_expr
from baton._src.ir import types
from baton._src.ir.attrs import Attrs, DictAttrs
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Source, Span
from baton._src.te.tensor import Tensor
from baton._src.tir import buffer, expr, prim_func, stmt
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.passes import Pass
from baton._src.values.packed_func import PackedFunc
from baton._src.values.shape import ShapeTuple


class Like(type):
    """A class for `isinstance` checks: instances are all objects of the classes `kinds`."""

    kinds: tuple[builtins.type, ...] = ()

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.kinds)

    def __subclasscheck__(cls, subclass: builtins.type) -> bool:
        return issubclass(subclass, cls.kinds)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise fail("api", f"{cls.__name__} is for isinstance checks: create nodes with their own classes")


class Object(metaclass=Like):
    """The base of everything in TVM's object system: nodes, types, attributes, passes, targets, containers."""

    kinds = (
        Node, Attrs, DictAttrs, Pass, PassContext, PassInfo, Target, Tensor, Span, Source, ShapeTuple, PackedFunc,
        Executable, tuple, list, dict,
    )  # fmt: skip


class Array(metaclass=Like):
    """A sequence in a node: Python's tuples and lists."""

    kinds = (tuple, list)


class Map(metaclass=Like):
    """A mapping in a node: Python's dicts."""

    kinds = (Mapping,)


class CallingConv(IntEnum):
    """How a kernel is called; the attribute `calling_conv` of TVM's lowered kernels has these numbers."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


class BaseFunc(metaclass=Like):
    """A function of any language."""

    kinds = (relay.Function, relax.Function, prim_func.PrimFunc)


_MODULES: dict[str, tuple[Any, ...]] = {
    "": (ir_expr, types, expr, stmt, buffer, prim_func),
    "tir": (expr, stmt, buffer, prim_func),
    "relay": (relay, types),
    "relax": (relax,),
    "ir": (ir_expr, types),
}


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node by the key of its class: "DictAttrs", "relay.attrs.Conv2DAttrs", "tir.IntImm", "relax.Var", ...

    Attributes that are not given have their defaults; the name of their class is enough (scripts copy attributes by
    `make_node(str(attrs).split("(")[0], **changed)`). Error `node-unknown` for keys that are no class of baton.
    """
    wire()
    if type_key == "DictAttrs":
        return DictAttrs(**kwargs)
    family, _, name = type_key.rpartition(".")
    found = [getattr(module, name, None) for module in _MODULES.get(family, ())]
    made = next((c for c in found if isinstance(c, type) and issubclass(c, Node)), None)
    if made is None:
        made = _attribute_class(family, name)
    if made is None:
        raise fail("node-unknown", f"there is no class of nodes {type_key!r}", help='e.g. "relay.attrs.Conv2DAttrs"')
    return made(**kwargs)


def _attribute_class(family: str, name: str) -> Any:
    """The class of attributes by its name in TVM or here; in both languages unless the family says which."""
    tables = {"relay.attrs": [attribute_classes], "relax.attrs": [relax_attribute_classes]}
    either = [attribute_classes, relax_attribute_classes] if not family else []
    for table in tables.get(family, either):
        known = table()
        if known.get(name) is not None:
            return known[name]
        own = next((found for found in known.values() if found is not None and found.__name__ == name), None)
        if own is not None:
            return own
    return None
