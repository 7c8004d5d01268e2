"""Structural equality of IR, derived from field roles: same meaning up to names, spans and inferred types.

Variables are paired where they are defined (binder fields; shapes in annotations and buffers, see `Role.MATCH`) and
then must stay paired: no variable has two partners. A variable nobody defines is only equal to itself, unless
`map_free_vars`. Functions of a module are paired by name and compared each in a scope of its own. Sharing matters where
it means something (`is_graph_node`: Relay): `%0 + %0` differs from `f(x) + f(x)`; elsewhere a shared node equals a
copy. The annotations (struct info) of Relax variables are compared where both sides have them. What a Relay program
leaves out must, once inferred, be what the other side wrote (`Node.compared_as`).

The walk uses an explicit stack and looks at a pair of nodes once, so DAGs take linear time and chains any depth.
Semantics follow TVM's `StructuralEqual` (v0.19), but for numbers, which are compared exactly unless the caller gives a
tolerance (`near_structural` has TVM's); `structural_hash` goes with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node, Role
from baton._src.ir.structural_fields import compared_fields, is_content, is_variable, is_variables, match_key
from baton._src.ir.structural_report import Entry, access_path, report
from baton._src.ir.types import TypeData
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.values.tensor import NDArray


class StructuralMismatchError(DiagnosticError, ValueError):
    """Two pieces of IR that should mean the same do not (a `ValueError`, as TVM's is)."""


def structural_equal(lhs: object, rhs: object, map_free_vars: bool = False, *, within: float = 0.0) -> bool:
    """Whether two nodes (or tuples, dicts of nodes) mean the same up to renaming of bound variables.

    `map_free_vars` also pairs variables that neither side defines, by order of first use. Numbers that differ by less
    than `within` are equal (arrays are not: their bytes are compared).
    """
    return _Comparison(map_free_vars, within).run(lhs, rhs) is None


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False, *, within: float = 0.0) -> None:
    """Raise `StructuralMismatchError` unless equal: the path to the first difference, and both sides printed with the
    differing term underlined."""
    comparison = _Comparison(map_free_vars, within)
    failed = comparison.run(lhs, rhs)
    if failed is not None:
        message = report(failed, comparison.reason)
        raise StructuralMismatchError(Diagnostic("structural-mismatch", message))


def get_first_structural_mismatch(
    lhs: object, rhs: object, map_free_vars: bool = False, *, within: float = 0.0
) -> tuple[str, str] | None:
    """The paths to the first difference, one in each side; None if the sides are equal."""
    failed = _Comparison(map_free_vars, within).run(lhs, rhs)
    return None if failed is None else (path := f"<root>{access_path(failed)}", path)


_RESET = object()
_ABSENT = object()


def _contents(left: Node, right: Node, name: str) -> tuple[object, object]:
    """A field of two nodes of one class, as compared: what neither side wrote counts as equal; what one wrote must be
    what the other wrote or inferred.
    """
    a, b = getattr(left, name), getattr(right, name)
    other = type(left).compared_as.get(name) if a is None or b is None else None
    if other is None or a is b:
        return a, b
    return getattr(left, other), getattr(right, other)


def _same_value(left: object, right: object, within: float) -> bool:
    """Plain contents: numbers by value and sign of zero, or nearer than `within`; NaN equal to NaN; arrays by dtype,
    shape and bytes.
    """
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
        same = left == right and math.copysign(1, left) == math.copysign(1, right)
        return both_nan or same or abs(left - right) < within
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


class _Comparison:
    """One comparison; `reason` is why it failed."""

    def __init__(self, map_free_vars: bool, within: float) -> None:
        self.map_free_vars = map_free_vars
        self.within = within
        self.stack: list[Entry] = []
        self.reason = ""
        self._reset()

    def _reset(self) -> None:
        self.partner: dict[Node, Node] = {}  # variables and graph nodes of the left side
        self.partner_of: dict[Node, Node] = {}  # the same from the right
        self.seen: set[tuple[int, int]] = set()

    def run(self, lhs: object, rhs: object) -> Entry | None:
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
            if not isinstance(right, Node) or type(left) is not type(right):
                return self._fail(f"{_kind(left)} on the left, {_kind(right)} on the right")
            if left.is_variable:
                return self._compare_variables(entry, left, right)
            if isinstance(left, IRModule) and isinstance(right, IRModule):
                return self._compare_modules(entry, left, right)
            return self._compare_nodes(entry, left, right)
        if isinstance(left, (tuple, list)):
            return self._compare_sequences(entry, left, right)
        if isinstance(left, dict):
            return self._compare_dicts(entry, left, right)
        if isinstance(left, Attrs):
            if not isinstance(right, Attrs) or type(left) is not type(right):
                return self._fail(f"{_kind(left)} on the left, {_kind(right)} on the right")
            if left.names != right.names:
                return self._fail(
                    f"attributes {', '.join(left.names)} on the left, {', '.join(right.names)} on the right"
                )
            self._push([(left[n], right[n], f".{n}") for n in left.names], entry, False)
            return True
        if _same_value(left, right, self.within):
            return True
        return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")

    def _fail(self, reason: str) -> bool:
        self.reason = reason
        return False

    def _push(self, parts: list[tuple[object, object, str]], parent: Entry, defining: bool) -> None:
        for left, right, step in reversed(parts):
            self.stack.append(Entry(left, right, defining, parent, step))

    def _compare_variables(self, entry: Entry, left: Node, right: Node) -> bool:
        partner = self.partner.get(left)
        if partner is not None:
            return partner is right or self._fail(f"{_name(left)} was paired with {_name(partner)} before")
        if right in self.partner_of:
            return self._fail(f"{_name(right)} was paired with {_name(self.partner_of[right])} before")
        if left is not right and not (entry.defining or self.map_free_vars):
            return self._fail(f"{_name(left)} and {_name(right)} are defined by neither side")
        self._pair(left, right)
        # Where a Relay variable is defined, its annotation defines the dim variables in it.
        parts = [(*_contents(left, right, n), f".{n}") for n, _ in compared_fields(type(left))]
        self._push(parts, entry, entry.defining)
        known = getattr(left, "struct_info_", None), getattr(right, "struct_info_", None)
        if known[0] is not None and known[1] is not None:
            self.stack.append(Entry(known[0], known[1], True, entry, ".struct_info"))
        return True

    def _pair(self, left: Node, right: Node) -> None:
        self.partner[left] = right
        self.partner_of[right] = left

    def _compare_nodes(self, entry: Entry, left: Node, right: Node) -> bool:
        defining = entry.defining
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
        if isinstance(left, TypeData) and isinstance(right, TypeData):
            inputs = [tuple(c.inputs for c in data.constructors) for data in (left, right)]
            self.stack.append(Entry(inputs[0], inputs[1], False, entry, ".constructors"))
        for name, role in compared_fields(type(left)):
            a, b = _contents(left, right, name)
            if is_content(a) or is_content(b):
                mode = defining or role is Role.MATCH or (role is Role.BINDER and is_variables(a))
                self.stack.append(Entry(a, b, mode, entry, f".{name}"))
            elif not _same_value(a, b, self.within):
                self.stack.append(Entry(a, b, False, entry, f".{name}"))
                return True  # it is next, and fails with its own path
        if len(self.stack) - first > 1:
            self.stack[first + isinstance(left, TypeData) :] = self.stack[first + isinstance(left, TypeData) :][::-1]
        return True

    def _compare_sequences(self, entry: Entry, left: Sequence[object], right: object) -> bool:
        if not isinstance(right, (tuple, list)):
            return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")
        if len(left) != len(right):
            return self._fail(f"{len(left)} items on the left, {len(right)} on the right")
        self._push([(a, b, f"[{i}]") for i, (a, b) in enumerate(zip(left, right))], entry, entry.defining)
        return True

    def _compare_dicts(self, entry: Entry, left: Mapping[object, object], right: object) -> bool:
        if not isinstance(right, dict):
            return self._fail(f"{_brief(left)} on the left, {_brief(right)} on the right")
        parts: list[tuple[object, object, str]] = []
        named = {match_key(k): v for k, v in right.items()}
        for key, content in left.items():
            wanted = self.partner.get(key, key) if is_variable(key) else key
            found = named.pop(match_key(wanted), _ABSENT)
            if found is _ABSENT:
                return self._fail(f"only the left side has {_key_text(key)}")
            parts.append((content, found, f"[{_key_text(key)}]"))
        if named:
            return self._fail(f"only the right side has {_key_text(next(iter(named)))}")
        self._push(parts, entry, entry.defining)
        return True

    def _compare_modules(self, entry: Entry, left: IRModule, right: IRModule) -> bool:
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


def _key_text(key: object) -> str:
    return f'"{match_key(key)}"' if isinstance(match_key(key), str) else _name(key)


def _kind(item: object) -> str:
    return type(item).__name__ if isinstance(item, (Node, Attrs)) else _brief(item)


def _name(variable: object) -> str:
    return str(getattr(variable, "name_hint", None) or getattr(variable, "name", variable))


def _brief(item: object) -> str:
    text = f"a node {type(item).__name__}" if isinstance(item, Node) else repr(item)
    return text if len(text) <= 60 else f"{type(item).__name__} {text[:50]}..."
