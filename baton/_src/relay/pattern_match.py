"""Match an expression with a pattern, recording what each inner pattern matched.

Operands of `add` and `multiply` may be in either order. Alternatives are tried in order; the assumptions of a failed
one are dropped. Recursion is as deep as the pattern, never as the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.structural import structural_equal
from baton._src.ir.types import TensorType
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from baton._src.relay.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    is_op,
)
from baton._src.tir.expr import FloatImm, IntImm, StringImm

Bindings = Mapping[Any, Any]
COMMUTATIVE = ("add", "multiply")
"""As in TVM: callbacks rely on the order of the operands of others (`maximum`, `equal`)."""


def match(pattern: DFPattern, expr: Any, root: Any = None) -> dict[Any, Any] | None:
    """What each pattern matched, or None. `root` is the program around `expr`, which dominators look at."""
    matcher = Matcher(root if root is not None else expr)
    return matcher.match(pattern, expr)


class Matcher:
    """Matching within one program; the users of its nodes are computed once."""

    def __init__(self, root: GraphExpr) -> None:
        self._root = root

    def match(self, pattern: DFPattern, expr: Any) -> dict[Any, Any] | None:
        found = next(self._try(pattern, expr, {}), None)
        return None if found is None else dict(found)

    def _try(self, pattern: Any, expr: Any, known: Bindings) -> Iterator[Bindings]:
        """Every way to match, as the resulting bindings."""
        if pattern in known:
            if known[pattern] is expr or (
                isinstance(pattern, ConstantPattern) and structural_equal(known[pattern], expr)
            ):
                yield known
            return
        for found in self._ways(pattern, expr, known):
            yield {**found, pattern: expr}

    def _ways(self, pattern: Any, expr: Any, known: Bindings) -> Iterator[Bindings]:
        match pattern:
            case WildcardPattern():
                yield from self._try(pattern.target[0], expr, known) if pattern.target else (known,)
            case VarPattern():
                fits = isinstance(expr, Var) and pattern.name_hint in ("", expr.name_hint)
                yield from (known,) if fits else ()
            case ConstantPattern():
                yield from (known,) if isinstance(expr, Constant) else ()
            case ExprPattern():
                yield from (known,) if _is_same(pattern.expr, expr) else ()
            case AltPattern():
                yield from self._try(pattern.left, expr, known)
                yield from self._try(pattern.right, expr, known)
            case AttrPattern():
                if _has_attrs(expr, pattern.attrs):
                    yield from self._try(pattern.pattern, expr, known)
            case TypePattern() | DataTypePattern() | ShapePattern():
                if _has_type(expr, pattern):
                    yield from self._try(pattern.pattern, expr, known)
            case DominatorPattern():
                yield from self._dominated(pattern, expr, known)
            case _:
                yield from self._compound(pattern, expr, known)

    def _compound(self, pattern: Any, expr: Any, known: Bindings) -> Iterator[Bindings]:
        match pattern, expr:
            case CallPattern(), Call():
                yield from self._call(pattern, expr, known)
            case TuplePattern(), Tuple():
                if pattern.fields is None:
                    yield known
                else:
                    yield from self._all(pattern.fields, expr.fields, known)
            case TupleGetItemPattern(), TupleGetItem():
                if pattern.index in (None, -1, expr.index):
                    yield from self._try(pattern.tuple_value, expr.tuple_value, known)
            case IfPattern(), If():
                wanted = (pattern.cond, pattern.true_branch, pattern.false_branch)
                yield from self._all(wanted, (expr.cond, expr.true_branch, expr.false_branch), known)
            case LetPattern(), Let():
                yield from self._all(
                    (pattern.var, pattern.value, pattern.body), (expr.var, expr.value, expr.body), known
                )
            case FunctionPattern(), Function():
                params = pattern.params if pattern.params is not None else ()
                given = expr.params if pattern.params is not None else ()
                yield from self._all((*params, pattern.body), (*given, expr.body), known)
            case _:
                return

    def _call(self, pattern: CallPattern, expr: Call, known: Bindings) -> Iterator[Bindings]:
        for found in self._try(pattern.op, expr.op, known):
            if pattern.args is None:
                yield found
                continue
            yield from self._all(pattern.args, expr.args, found)
            if _op_name(pattern) in COMMUTATIVE:
                yield from self._all(pattern.args, tuple(reversed(expr.args)), found)
        for regrouped in _regrouped(pattern, expr):
            yield from self._try(regrouped, expr, known)

    def _all(self, patterns: tuple[Any, ...], exprs: tuple[Any, ...], known: Bindings) -> Iterator[Bindings]:
        if len(patterns) != len(exprs):
            return
        if not patterns:
            yield known
            return
        for found in self._try(patterns[0], exprs[0], known):
            yield from self._all(patterns[1:], exprs[1:], found)

    # ---- dominators

    def _dominated(self, pattern: DominatorPattern, expr: Any, known: Bindings) -> Iterator[Bindings]:
        for found in self._try(pattern.child, expr, known):
            if not self._all_come_from(pattern, expr, found):
                continue
            for parent, bound in self._parents(pattern, expr, found):
                if self._all_lead_to(pattern, parent, expr):
                    yield bound

    def _all_come_from(self, pattern: DominatorPattern, child: Any, known: Bindings) -> bool:
        """Everything the child is computed from is on the path, up to what takes the parent itself; constants are free.

        As in TVM the operands of such a node are looked at in order, up to the parent: a bias behind it is no path
        around it.
        """
        work, seen = [child], {child}
        while work:
            for operand in parts(work.pop()):
                if isinstance(operand, (Op, Constant)) or operand in seen:
                    continue
                if next(self._try(pattern.parent, operand, known), None) is not None:
                    break
                if next(self._try(pattern.path, operand, {}), None) is None:
                    return False
                seen.add(operand)
                work.append(operand)
        return True

    def _parents(self, pattern: DominatorPattern, child: Any, known: Bindings) -> Iterator[tuple[Any, Bindings]]:
        """Matches of the parent that are reached from the child through the path."""
        work, seen = deque(parts(child)), set()
        while work:
            node = work.popleft()
            if node in seen or isinstance(node, Op):
                continue
            seen.add(node)
            bound = next(self._try(pattern.parent, node, known), None)
            if bound is not None:
                yield node, bound
            elif next(self._try(pattern.path, node, {}), None) is not None:
                work.extend(parts(node))

    def _all_lead_to(self, pattern: DominatorPattern, parent: Any, child: Any) -> bool:
        """Every use of the parent, and of what is computed from it, ends in the child along the path."""
        work, seen = [parent], {parent}
        while work:
            node = work.pop()
            users = self.users.get(node, ())
            if not users:
                return False
            for user in users:
                if user is child or user in seen:
                    continue
                if next(self._try(pattern.path, user, {}), None) is None:
                    return False
                seen.add(user)
                work.append(user)
        return True

    @cached_property
    def users(self) -> dict[Any, list[Any]]:
        """The nodes of the program that each of its nodes is a part of."""
        found: dict[Any, list[Any]] = {}
        for node in walk(self._root):
            for part in parts(node):
                found.setdefault(part, []).append(node)
        return found


def _regrouped(pattern: CallPattern, expr: Call) -> Iterator[CallPattern]:
    """The pattern `a * b / c` as `b * (a / c)` and `a * (b / c)`, the patterns `a / b * c` and `c * (a / b)` as
    `a * c / b`, where `expr` has that form."""
    name = _op_name(pattern)
    other = {"divide": "multiply", "multiply": "divide"}.get(name)
    if other is None or getattr(expr.op, "name", "") != other or not any(_calls(a, name) for a in expr.args):
        return
    multiply, divide = is_op("multiply"), is_op("divide")
    operands = pattern.args or ()
    for inner, rest in zip(operands, reversed(operands)):
        if not (isinstance(inner, CallPattern) and _op_name(inner) == other and inner.args):
            continue
        a, b = inner.args
        if name == "multiply":
            yield CallPattern(divide, (CallPattern(multiply, (a, rest)), b))
        elif inner is operands[0]:
            yield CallPattern(multiply, (b, CallPattern(divide, (a, rest))))
            yield CallPattern(multiply, (a, CallPattern(divide, (b, rest))))


def _is_same(wanted: Any, expr: GraphExpr) -> bool:
    if isinstance(wanted, Op):
        return isinstance(expr, Op) and expr.name == wanted.name
    return expr is wanted or structural_equal(expr, wanted)


def _op_name(pattern: CallPattern) -> str:
    """The operator that a pattern of calls asks for; empty if it asks for another pattern."""
    callee = pattern.op
    return callee.expr.name if isinstance(callee, ExprPattern) and isinstance(callee.expr, Op) else ""


def _calls(node: GraphExpr, name: str) -> bool:
    return isinstance(node, Call) and getattr(node.op, "name", "") == name


def _has_attrs(expr: GraphExpr, wanted: Mapping[str, Any]) -> bool:
    """Of a call: its attributes, or columns of its operator; of a function: its attributes."""
    given = getattr(expr, "attrs", None)
    op = getattr(expr, "op", expr)
    for name, content in wanted.items():
        found = given.get(name, _MISSING) if given is not None else _MISSING
        if found is _MISSING and isinstance(op, Op):
            column = op.get_attr(name)
            found = _MISSING if column is None else column
        if found is _MISSING or _plain(found) != _plain(content):
            return False
    return True


def _plain(content: Any) -> Any:
    if isinstance(content, (list, tuple)):
        return tuple(_plain(c) for c in content)
    return content.value if isinstance(content, (IntImm, FloatImm, StringImm)) else content


_MISSING = object()


def _has_type(expr: Any, pattern: Any) -> bool:
    """Whether the expression has the pattern's type, which is inferred if necessary."""
    if not isinstance(expr, Expr):
        return False
    type_ = expr.checked_type_ if expr.checked_type_ is not None else infer_expr(expr).checked_type
    if isinstance(pattern, TypePattern):
        return structural_equal(type_, pattern.ttype)
    if not isinstance(type_, TensorType):
        return False
    if isinstance(pattern, DataTypePattern):
        return bool(type_.dtype == pattern.dtype)
    return structural_equal(type_.shape, pattern.shape)
