"""Structural equality and hashing of IR, derived from field roles: same meaning up to names, spans and inferred types.

Variables are paired where they are defined (binder fields; shapes in annotations and buffers, see `Role.MATCH`) and
then must stay paired: no variable has two partners. A variable nobody defines is only equal to itself, unless
`map_free_vars`. Functions of a module are paired by name and compared each in a scope of its own. Sharing matters
where it means something (`is_graph_node`: Relay): `%0 + %0` differs from `f(x) + f(x)`; elsewhere a shared node equals
a copy. The annotations (struct info) of Relax variables are compared where both sides have them. What Relay programs
leave out has to be what the other side wrote, once it is inferred (`Node.compared_as`).

Both walks use an explicit stack and look at a pair of nodes once, so DAGs take linear time and chains any depth.
Semantics follow TVM's `StructuralEqual` and `StructuralHash` (v0.19).
"""

from __future__ import annotations

import math
import zlib
from hashlib import blake2b
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node, Role
from baton._src.ir.structural_report import Entry, access_path, report
from baton._src.ir.types import Constructor, TypeData
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.values.tensor import NDArray


class StructuralMismatchError(DiagnosticError, ValueError):
    """Two pieces of IR that should mean the same do not (a `ValueError`, as TVM's is)."""


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes (or tuples, dicts of nodes) mean the same up to renaming of bound variables.

    `map_free_vars` also pairs variables that neither side defines, by order of first use.
    """
    return _Comparison(map_free_vars).run(lhs, rhs) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `StructuralMismatchError` unless equal: the path to the first difference, and both sides printed with the
    differing term underlined."""
    comparison = _Comparison(map_free_vars)
    failed = comparison.run(lhs, rhs)
    if failed is not None:
        message = report(failed, comparison.reason)
        raise StructuralMismatchError(Diagnostic("structural-mismatch", message))


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[str, str] | None:
    """The paths to the first difference, one in each side; None if the sides are equal."""
    failed = _Comparison(map_free_vars).run(lhs, rhs)
    return None if failed is None else (path := f"<root>{access_path(failed)}", path)


def structural_hash(root: Any, map_free_vars: bool = False) -> int:
    """A 64-bit number, equal for structurally equal nodes; the same in every process.

    (A node with free variables hashes by their identity unless `map_free_vars`, so then only within one process.)
    """
    if isinstance(root, IRModule):
        return _hash_module(root, map_free_vars) & _MASK
    return _Hasher(map_free_vars).run(root) & _MASK


_MASK = (1 << 64) - 1
_RESET = object()
_ABSENT = object()
_fields_of: dict[type, tuple[tuple[str, Role], ...]] = {}


def _fields(cls: type[Node]) -> tuple[tuple[str, Role], ...]:
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


def _contents(left: Any, right: Any, name: str) -> tuple[Any, Any]:
    """A field of two nodes of one class as it is compared: what neither side wrote down is the same on both, what one
    wrote has to be what the other wrote or inferred."""
    a, b = getattr(left, name), getattr(right, name)
    other = type(left).compared_as.get(name) if a is None or b is None else None
    if other is None or a is b:
        return a, b
    return getattr(left, other), getattr(right, other)


def _is_content(item: Any) -> bool:
    """Whether comparing `item` needs the stack (nodes and containers), or is a plain value."""
    return isinstance(item, (Node, tuple, list, dict, Attrs))


def _same_value(left: Any, right: Any) -> bool:
    """Plain contents: numbers by value and sign of zero, NaN equal to NaN, arrays by dtype, shape and bytes."""
    if left is right:
        return True
    if isinstance(left, NDArray):
        left, right = left.data, right.data if isinstance(right, NDArray) else right
    if isinstance(left, np.ndarray):
        if not isinstance(right, np.ndarray) or left.dtype != right.dtype or left.shape != right.shape:
            return False
        return left.tobytes() == right.tobytes()
    if isinstance(left, float) and isinstance(right, float):
        both_nan = left != left and right != right
        return both_nan or (left == right and math.copysign(1, left) == math.copysign(1, right))
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


class _Comparison:
    """One run; `reason` says why it failed."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.stack: list[Entry] = []
        self.reason = ""
        self._reset()

    def _reset(self) -> None:
        self.partner: dict[Any, Any] = {}  # variables and graph nodes of the left side
        self.partner_of: dict[Any, Any] = {}  # the same from the right
        self.seen: set[tuple[int, int]] = set()

    def run(self, lhs: Any, rhs: Any) -> Entry | None:
        """None if equal, else the entry that differs."""
        stack = self.stack
        stack.append(Entry(lhs, rhs, False, None, ""))
        while stack:
            entry = stack.pop()
            if entry.left is _RESET:
                self._reset()
            elif not self._compare(entry):
                return entry
        return None

    def _compare(self, entry: Entry) -> bool:
        left, right = entry.left, entry.right
        if isinstance(left, Node):
            if type(left) is not type(right):
                return self._fail(f"{_kind(left)} on the left, {_kind(right)} on the right")
            if left.is_variable:
                return self._compare_variables(entry)
            if isinstance(left, IRModule):
                return self._compare_modules(entry)
            return self._compare_nodes(entry)
        if isinstance(left, (tuple, list)):
            return self._compare_sequences(entry)
        if isinstance(left, dict):
            return self._compare_dicts(entry)
        if isinstance(left, Attrs):
            if type(left) is not type(right):
                return self._fail(f"{_kind(left)} on the left, {_kind(right)} on the right")
            self._push([(getattr(left, n), getattr(right, n), f".{n}") for n in left.names], entry, False)
            return True
        if _same_value(left, right):
            return True
        return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")

    def _fail(self, reason: str) -> bool:
        self.reason = reason
        return False

    def _push(self, parts: list[tuple[Any, Any, str]], parent: Entry, defining: bool) -> None:
        for left, right, step in reversed(parts):
            self.stack.append(Entry(left, right, defining, parent, step))

    def _compare_variables(self, entry: Entry) -> bool:
        left, right = entry.left, entry.right
        partner = self.partner.get(left)
        if partner is not None:
            return partner is right or self._fail(f"{_name(left)} was paired with {_name(partner)} before")
        if right in self.partner_of:
            return self._fail(f"{_name(right)} was paired with {_name(self.partner_of[right])} before")
        if left is not right and not (entry.defining or self.map_free_vars):
            return self._fail(f"{_name(left)} and {_name(right)} are defined by neither side")
        self._pair(left, right)
        # Where a Relay variable is defined, its annotation defines the dim variables in it.
        parts = [(*_contents(left, right, n), f".{n}") for n, _ in _fields(type(left))]
        self._push(parts, entry, entry.defining)
        known = getattr(left, "struct_info_", None), getattr(right, "struct_info_", None)
        if known[0] is not None and known[1] is not None:
            self.stack.append(Entry(known[0], known[1], True, entry, ".struct_info"))
        return True

    def _pair(self, left: Any, right: Any) -> None:
        self.partner[left] = right
        self.partner_of[right] = left

    def _compare_nodes(self, entry: Entry) -> bool:
        left, right, defining = entry.left, entry.right, entry.defining
        if left.is_graph_node:
            partner = self.partner.get(left)
            if partner is not None:
                return partner is right or self._fail("the left side uses one node twice, the right side two copies")
            if right in self.partner_of:
                return self._fail("the right side uses one node twice, the left side two copies")
            self._pair(left, right)
        else:
            pair = (id(left), id(right))
            if pair in self.seen:
                return True
            self.seen.add(pair)
        first = len(self.stack)
        if isinstance(left, TypeData):
            inputs = [tuple(c.inputs for c in data.constructors) for data in (left, right)]
            self.stack.append(Entry(inputs[0], inputs[1], False, entry, ".constructors"))
        for name, role in _fields(type(left)):
            a, b = _contents(left, right, name)
            if _is_content(a) or _is_content(b):
                mode = defining or role is Role.MATCH or (role is Role.BINDER and _is_variables(a))
                self.stack.append(Entry(a, b, mode, entry, f".{name}"))
            elif not _same_value(a, b):
                self.stack.append(Entry(a, b, False, entry, f".{name}"))
                return True  # it is next, and fails with its own path
        if len(self.stack) - first > 1:
            self.stack[first + isinstance(left, TypeData) :] = self.stack[first + isinstance(left, TypeData) :][::-1]
        return True

    def _compare_sequences(self, entry: Entry) -> bool:
        left, right = entry.left, entry.right
        if not isinstance(right, (tuple, list)):
            return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")
        if len(left) != len(right):
            return self._fail(f"{len(left)} items on the left, {len(right)} on the right")
        self._push([(a, b, f"[{i}]") for i, (a, b) in enumerate(zip(left, right))], entry, entry.defining)
        return True

    def _compare_dicts(self, entry: Entry) -> bool:
        left, right = entry.left, entry.right
        if not isinstance(right, dict):
            return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")
        parts: list[tuple[Any, Any, str]] = []
        named = {_key(k): v for k, v in right.items()}
        for key, content in left.items():
            wanted = self.partner.get(key, key) if _is_variable(key) else key
            found = named.pop(_key(wanted), _ABSENT)
            if found is _ABSENT:
                return self._fail(f"only the left side has {_key_text(key)}")
            parts.append((content, found, f"[{_key_text(key)}]"))
        if named:
            return self._fail(f"only the right side has {_key_text(next(iter(named)))}")
        self._push(parts, entry, entry.defining)
        return True

    def _compare_modules(self, entry: Entry) -> bool:
        left, right = entry.left, entry.right
        functions = Entry(left.functions, right.functions, False, entry, ".functions")
        ours = {v.name_hint: f for v, f in left.functions.items()}
        theirs = {v.name_hint: f for v, f in right.functions.items()}
        for one, other, side in ((ours, theirs, "left"), (theirs, ours, "right")):
            missing = sorted(one.keys() - other.keys())
            if missing:
                return self._fail(f"only the {side} side has a function {missing[0]!r}")
        for name in sorted(ours, reverse=True):
            if ours[name] is not theirs[name]:
                self.stack.append(Entry(ours[name], theirs[name], False, functions, f'["{name}"]'))
                self.stack.append(Entry(_RESET, None, False, None, ""))
        fields = ("type_definitions", "attrs", "global_infos")
        self._push([(getattr(left, n), getattr(right, n), f".{n}") for n in fields], entry, False)
        return True


def _is_variables(content: Any) -> bool:
    """Whether a binder field holds variables themselves (an IterVar or a pattern has binder fields of its own)."""
    if isinstance(content, tuple):
        return bool(content) and content[0].is_variable
    return isinstance(content, Node) and content.is_variable


def _is_variable(item: Any) -> bool:
    return isinstance(item, Node) and item.is_variable


def _key(key: Any) -> Any:
    """What dict keys are matched by: names of global variables, else the key itself."""
    return key if _is_variable(key) else getattr(key, "name_hint", key)


def _key_text(key: Any) -> str:
    return f'"{_key(key)}"' if isinstance(_key(key), str) else _name(key)


def _kind(item: Any) -> str:
    return type(item).__name__ if isinstance(item, (Node, Attrs)) else _brief(item)


def _name(variable: Any) -> str:
    return str(getattr(variable, "name_hint", None) or getattr(variable, "name", variable))


def _brief(item: Any) -> str:
    text = f"a node {type(item).__name__}" if isinstance(item, Node) else repr(item)
    return text if len(text) <= 60 else f"{type(item).__name__} {text[:50]}..."


class _Hasher:
    """Hashes one closed piece of IR: content of nodes bottom-up, variables by order of definition."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.known: dict[Any, int] = {}
        self.numbers: dict[Any, int] = {}

    def run(self, root: Any) -> int:
        stack: list[tuple[Any, bool, bool]] = [(root, False, False)]
        known = self.known
        while stack:
            item, defining, ready = stack.pop()
            if not isinstance(item, Node):
                self._expand(item, defining, stack)
            elif ready:
                skipped = type(item).compared_as  # may be missing on one of two equal sides
                parts = (self._of(getattr(item, name)) for name, _ in _fields(type(item)) if name not in skipped)
                known[item] = hash((_class_code(type(item)), *parts))
            elif item not in known:
                if item.is_variable:
                    known[item] = self._variable(item, defining)
                    info = getattr(item, "struct_info_", None)
                    if info is not None:  # defines shape variables, but is no part of the hash: it may be missing
                        stack.append((info, True, False))
                    continue
                stack.append((item, defining, True))
                for name, role in reversed(_fields(type(item))):
                    content = getattr(item, name)
                    if _is_content(content):
                        mode = defining or role is Role.MATCH or (role is Role.BINDER and _is_variables(content))
                        stack.append((content, mode, False))
        return self._of(root)

    def _expand(self, content: Any, defining: bool, stack: list[tuple[Any, bool, bool]]) -> None:
        """Put the nodes of a container on the stack, first one on top."""
        if isinstance(content, dict):
            items: Any = [content[key] for key in sorted(content, key=self._key_order)]
        elif isinstance(content, Attrs):
            items = [getattr(content, n) for n in content.names]
        elif isinstance(content, (tuple, list)):
            items = content
        else:
            return
        stack.extend((item, defining, False) for item in reversed(items) if _is_content(item))

    def _variable(self, variable: Any, defining: bool) -> int:
        if defining or self.map_free_vars:
            number = self.numbers[variable] = len(self.numbers) + 1
            return hash((_class_code(type(variable)), number, _text_code(getattr(variable, "dtype", ""))))
        return hash(("free", id(variable)))

    def _key_order(self, key: Any) -> tuple[int, str]:
        """Dict keys in a fixed order: variables (keys of buffer maps) as they were defined, others by name."""
        return (self.numbers.get(key, 0), "") if _is_variable(key) else (0, str(_key(key)))

    def _of(self, content: Any) -> int:
        """The hash of a field's content whose nodes are known."""
        if isinstance(content, Node):
            return self.known[content]
        if isinstance(content, (tuple, list)):
            return hash((1, *(self._of(item) for item in content)))
        if isinstance(content, dict):
            pairs = [(0 if isinstance(k, Node) else self._of(k), self._of(v)) for k, v in content.items()]
            return hash((2, *sorted(pairs)))
        if isinstance(content, Attrs):
            return hash((_class_code(type(content)), *(self._of(getattr(content, n)) for n in content.names)))
        return _value_hash(content)


def _value_hash(content: Any) -> int:
    if isinstance(content, str):
        return _text_code(content)
    if content is None:
        return 3
    if isinstance(content, (bool, int, float)):
        return 5 if content != content else hash((isinstance(content, bool), content))
    data = content.data if isinstance(content, NDArray) else content
    if isinstance(data, np.ndarray):
        digest = blake2b(np.ascontiguousarray(data).view(np.uint8).data, digest_size=8).digest()
        return hash((_text_code(str(data.dtype)), data.shape, int.from_bytes(digest, "little")))
    return 7  # functions and other opaque things: equality decides


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
