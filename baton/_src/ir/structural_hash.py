"""Structural hashing of IR: programs that are equal by `structural.structural_equal` have equal hashes.

Linear in the size of a DAG, without recursion. Semantics follow TVM's `StructuralHash` (v0.19).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node, Role
from baton._src.ir.structural_fields import compared_fields, is_content, is_variable, is_variables, match_key
from baton._src.values.tensor import NDArray

_MASK = (1 << 64) - 1


def structural_hash(node: object, map_free_vars: bool = False) -> int:
    """A 64-bit number, equal for structurally equal nodes; the same in every process.

    (A node with free variables hashes by their identity unless `map_free_vars`, so then only within one process.)
    """
    if isinstance(node, IRModule):
        return _hash_module(node, map_free_vars) & _MASK
    return _Hasher(map_free_vars).run(node) & _MASK


class _Hasher:
    """Hashes one closed piece of IR: content of nodes bottom-up, variables by order of definition."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.known: dict[object, int] = {}
        self.numbers: dict[object, int] = {}

    def run(self, root: object) -> int:
        stack: list[tuple[object, bool, bool]] = [(root, False, False)]
        known = self.known
        while stack:
            item, defining, ready = stack.pop()
            if not isinstance(item, Node):
                self._expand(item, defining, stack)
            elif ready:
                skipped = type(item).compared_as  # may be missing on one of two equal sides
                parts = (
                    self._of(getattr(item, name)) for name, _ in compared_fields(type(item)) if name not in skipped
                )
                known[item] = hash((_class_code(type(item)), *parts))
            elif item not in known:
                if item.is_variable:
                    known[item] = self._variable(item, defining)
                    info = getattr(item, "struct_info_", None)
                    if info is not None:  # defines shape variables, but is no part of the hash: it may be missing
                        stack.append((info, True, False))
                    continue
                stack.append((item, defining, True))
                for name, role in reversed(compared_fields(type(item))):
                    content = getattr(item, name)
                    if is_content(content):
                        mode = defining or role is Role.MATCH or (role is Role.BINDER and is_variables(content))
                        stack.append((content, mode, False))
        return self._of(root)

    def _expand(self, content: object, defining: bool, stack: list[tuple[object, bool, bool]]) -> None:
        """Put the nodes of a container on the stack, first one on top."""
        if isinstance(content, dict):
            items: Sequence[object] = [content[key] for key in sorted(content, key=self._key_order)]
        elif isinstance(content, Attrs):
            items = [content[n] for n in content.names]
        elif isinstance(content, (tuple, list)):
            items = content
        else:
            return
        stack.extend((item, defining, False) for item in reversed(items) if is_content(item))

    def _variable(self, variable: Node, defining: bool) -> int:
        if defining or self.map_free_vars:
            number = self.numbers[variable] = len(self.numbers) + 1
            dtype = getattr(variable, "dtype", "") if "dtype" in variable.field_names else ""
            return hash((_class_code(type(variable)), number, _text_code(dtype)))
        return hash(("free", id(variable)))

    def _key_order(self, key: object) -> tuple[int, str]:
        """Dict keys in a fixed order: variables (keys of buffer maps) as they were defined, others by name."""
        return (self.numbers.get(key, 0), "") if is_variable(key) else (0, str(match_key(key)))

    def _of(self, content: object) -> int:
        """The hash of a field's content whose nodes are known."""
        if isinstance(content, Node):
            return self.known[content]
        if isinstance(content, (tuple, list)):
            return hash((1, *(self._of(item) for item in content)))
        if isinstance(content, dict):
            pairs = [(0 if isinstance(k, Node) else self._of(k), self._of(v)) for k, v in content.items()]
            return hash((2, *sorted(pairs)))
        if isinstance(content, Attrs):
            return hash((_class_code(type(content)), *(self._of(content[n]) for n in content.names)))
        return _value_hash(content)


def _value_hash(content: object) -> int:
    if isinstance(content, str):
        return _text_code(content)
    if content is None:
        return 3
    if isinstance(content, (bool, int, float)):
        return 5 if content != content else hash((isinstance(content, bool), *_number_parts(content)))
    data = content.data if isinstance(content, NDArray) else content
    if isinstance(data, np.ndarray):
        digest = blake2b(np.ascontiguousarray(data).view(np.uint8).data, digest_size=8).digest()
        return hash((_text_code(str(data.dtype)), data.shape, int.from_bytes(digest, "little")))
    return 7  # functions and other opaque things: equality decides


def _number_parts(number: float) -> tuple[float, ...]:
    """What a number is hashed by. Python's hashes of -1 and -2, and of 1 and 2**61, are the same; equal integers and
    floats have to have the same here, too.
    """
    if not isinstance(number, int) and not number.is_integer():
        return (number,)
    whole = int(number)
    return (whole >> 60) + (1 << 8), whole & ((1 << 60) - 1)


_codes: dict[str, int] = {}


def _text_code(text: str) -> int:
    """A hash of a string that is the same in every process."""
    code = _codes.get(text)
    if code is None:
        code = _codes[text] = zlib.crc32(text.encode()) | 1 << 40
    return code


_class_codes: dict[type, int] = {}


def _class_code(cls: type) -> int:
    code = _class_codes.get(cls)
    if code is None:
        code = _class_codes[cls] = _text_code(f"{cls.__module__}.{cls.__qualname__}")
    return code


def _hash_module(module: IRModule, map_free_vars: bool) -> int:
    functions = ((_text_code(v.name_hint), _Hasher(map_free_vars).run(f)) for v, f in module.functions.items())
    rest = (_Hasher(map_free_vars).run(getattr(module, n)) for n in ("type_definitions", "attrs", "global_infos"))
    return hash((*sorted(functions), *rest))
