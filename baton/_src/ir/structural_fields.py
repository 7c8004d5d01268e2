"""Which parts of a node count when programs are compared or hashed by structure."""

from __future__ import annotations

from typing import TypeGuard

from baton._src.ir.attrs import Attrs
from baton._src.ir.node import Node, Role
from baton._src.ir.types import Constructor

_fields_of: dict[type, tuple[tuple[str, Role], ...]] = {}


def compared_fields(cls: type[Node]) -> tuple[tuple[str, Role], ...]:
    """The fields of a class that say what a node means, in the order in which variables are defined."""
    found = _fields_of.get(cls)
    if found is None:
        found = tuple((s.name, s.role) for s in cls.specs if s.role is not Role.NOTE)
        if cls.is_variable:  # the first field of a variable is its name hint
            found = found[1:] if found[0][0].startswith("name") else tuple(f for f in found if f[0] != "name")
        # Type parameters are defined before the parameters' annotations mention them.
        found = tuple(sorted(found, key=lambda f: f[0] != "type_params"))
        if cls is Constructor:  # what its fields are is said (and compared) where its type is defined
            found = tuple(f for f in found if f[0] != "inputs")
        _fields_of[cls] = found
    return found


def is_content(item: object) -> bool:
    """Whether comparing `item` needs the stack (nodes and containers), or is a plain value."""
    return isinstance(item, (Node, tuple, list, dict, Attrs))


def is_variables(content: object) -> bool:
    """Whether a binder field holds variables themselves (an IterVar or a pattern has binder fields of its own)."""
    if isinstance(content, tuple):
        return bool(content) and content[0].is_variable
    return isinstance(content, Node) and content.is_variable


def is_variable(item: object) -> TypeGuard[Node]:
    """Whether a content is a variable of any language."""
    return isinstance(item, Node) and item.is_variable


def match_key(key: object) -> object:
    """What dict keys are matched by: names of global variables, else the key itself."""
    return key if is_variable(key) else getattr(key, "name_hint", key)
