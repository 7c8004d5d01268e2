"""Rewriting and partitioning by patterns.

class AddZero(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = self.x + is_constant()

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]

rewrite(AddZero(), expr)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import binders, parts, walk, with_parts
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Match, Tuple, TupleGetItem, Var, as_expr
from baton._src.relay.pattern_match import Matcher
from baton._src.relay.patterns import (
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
    must_be_pattern,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

MAX_ROUNDS = 100
MAX_GROWTH = 1000
"""Times as many nodes as at the beginning: what doubles in every round would not end, either."""
_STRUCTURAL = (CallPattern, TuplePattern, TupleGetItemPattern, IfPattern, LetPattern, FunctionPattern, ConstantPattern)
_GLOBAL = (Op, Constant, Function, GlobalVar, Constructor)
"""What exists outside of any group: many may use it."""


class DFPatternCallback:
    """What to do where a pattern matches. `require_type`: types are inferred before; `rewrite_once`: no fixpoint."""

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: GraphExpr) -> Any:
        """`expr` with every match replaced by what `callback` returns."""
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: Mapping[DFPattern, list[Any]]) -> Any:
        """The replacement for `post`. `pre` is the node before its parts were rewritten."""
        raise NotImplementedError(f"{type(self).__name__} has no callback(pre, post, node_map)")


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: GraphExpr, mod: Any = None) -> Any:
    """Apply each callback wherever its pattern matches, again and again until nothing changes (structurally).

    The outermost match is rewritten first; matches do not overlap, nor hold what is used outside of them. Error
    `relay-node`: a callback gives something that is no expression.
    """
    steps: list[Any] = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for one in steps:
        if not isinstance(one, DFPatternCallback):
            message = f"a {type(one).__name__} is no DFPatternCallback"
            raise fail("api", message, help="a function is a callback of pattern.rewrite(function, expr)")
        if not isinstance(getattr(one, "pattern", None), DFPattern):
            raise fail("api", f"{type(one).__name__} has no pattern", help="set self.pattern in its __init__")
    _must_be_expression(expr)
    largest = MAX_GROWTH * len(walk(expr))
    for _ in range(MAX_ROUNDS):
        if len(walk(expr)) > largest:
            break
        before = expr
        for one in steps:
            if one.require_type:
                expr = infer_expr(expr, mod)
            expr = _once(one, expr)
        if not steps or steps[-1].rewrite_once or expr is before or structural_equal(expr, before):
            return expr
    help = "its callback makes what its pattern matches; pass rewrite_once=True"
    raise fail("relay-pattern", f"{type(steps[-1]).__name__} never comes to an end", help=help)


def _once(one: DFPatternCallback, expr: GraphExpr) -> Any:
    groups = _groups(one.pattern, expr)
    done: dict[Any, Any] = {}
    for node in walk(expr):
        made = with_parts(node, done)
        if node in groups:
            done[node] = made
            matches = {**{p: [m] for p, m in groups[node].found.items()}, **groups[node].on_path}
            node_map = {p: [done.get(m, m) for m in several] for p, several in matches.items()}
            done[node] = as_expr(one.callback(node, made, node_map))
        elif made is not node:
            done[node] = made
    return done.get(expr, expr)


def partition(
    pattern: DFPattern,
    expr: Any,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], bool] = lambda matched: True,
) -> Any:
    """`expr` with every match (the outermost first, none overlapping) as a call of a function of its own.

    The function has the attribute `PartitionedFromPattern` and `attrs`. A match whose inner values are used outside of
    it is left alone, as is one that `check` refuses, and what was partitioned before. Constants that the pattern asks
    for stay inside of the function; those that a wildcard stands for are arguments. Of a pattern that is a function's
    there are no matches: a function that is not called is not computed.
    """
    must_be_pattern(pattern, "partition")
    _must_be_expression(expr)
    groups = {} if isinstance(pattern, FunctionPattern) else _groups(pattern, expr)
    done: dict[Any, Any] = {}
    made_so_far = 0
    for node in walk(expr):
        if node in groups and check(node):
            made: Any = _call_of(node, groups[node], done, dict(attrs or {}), made_so_far)
            made_so_far += 1
        else:
            made = with_parts(node, done)
        if made is not node:
            done[node] = made
    return done.get(expr, expr)


def _must_be_expression(expr: Any) -> None:
    if not isinstance(expr, GraphExpr):
        message = f"patterns are about expressions, got {type(expr).__name__}"
        raise fail("relay-pattern", message, help='of a module, give a function: module["main"]', kind=TypeError)


@dataclass(frozen=True)
class _Group:
    """A match: the expression each pattern matched, the nodes that belong to it (without its inputs), and for the
    patterns of a dominator's path the expressions they matched."""

    found: Mapping[Any, Any]
    inside: frozenset[Any]
    on_path: Mapping[Any, list[Any]]


def _groups(pattern: DFPattern, expr: GraphExpr) -> dict[Any, _Group]:
    """The matches in `expr` by their roots: from the results up, none overlapping, none with a leak."""
    matcher = Matcher(expr)
    nodes = walk(expr)
    users = matcher.users
    taken: set[Any] = set()
    for node in nodes:
        if isinstance(node, Function) and "PartitionedFromPattern" in node.attrs:
            taken.update(walk(node.body))
    groups: dict[Any, _Group] = {}
    for node in reversed(nodes):
        if node in taken:
            continue
        found = matcher.match(pattern, node)
        if found is None:
            continue
        inside = _members(found)
        own = {m for m in inside if not isinstance(m, _GLOBAL)}
        if not own & taken and all(m is node or all(u in inside for u in users.get(m, ())) for m in own):
            groups[node] = _Group(found, frozenset(inside), _on_path(found, matcher))
            taken |= own | {node}
    return groups


def _members(found: Mapping[Any, Any]) -> set[Any]:
    """The nodes of a match: those matched by structural patterns, whole functions, and dominated paths."""
    # Of alternatives and conditions what they hold is found, too: a value that a wildcard stood for is an input.
    inside = {m for p, m in found.items() if isinstance(p, _STRUCTURAL)}
    for p, m in found.items():
        if isinstance(p, FunctionPattern):
            inside.update(walk(m))
        elif isinstance(p, DominatorPattern):
            inside.update(_between(found[p.parent], found[p.child]))
    return inside


def _on_path(found: Mapping[Any, Any], matcher: Matcher) -> dict[Any, list[Any]]:
    """What the paths of dominators matched, from the parent to the child."""
    ends = {m for p, m in found.items() if isinstance(p, _STRUCTURAL)}
    matches: dict[Any, list[Any]] = {}
    for dominator in (p for p in found if isinstance(p, DominatorPattern)):
        ends |= {found[dominator.parent], found[dominator.child]}
        for node in _between(found[dominator.parent], found[dominator.child]):
            for pattern, matched in (matcher.match(dominator.path, node) or {}).items() if node not in ends else ():
                matches.setdefault(pattern, []).append(matched)
    return matches


def _between(parent: Any, child: Any) -> dict[Any, None]:
    """The nodes through which `child` is computed from `parent`, in order."""
    leading = {parent: None}
    for node in post_order(child, below=lambda node: () if node is parent else parts(node)):
        if any(part in leading for part in parts(node)):
            leading[node] = None
    return leading


def _call_of(root: GraphExpr, group: _Group, done: dict[Any, Any], attrs: dict[str, Any], number: int) -> Call:
    """The function of a match, called: its inputs in the order in which the pattern mentions them."""
    order = post_order(root, below=lambda node: [p for p in parts(node) if p in group.inside])
    nodes = [n for n in order if not isinstance(n, Constant)]
    bound = {v for n in nodes for v in binders(n)}
    border = dict.fromkeys(p for n in nodes for p in parts(n) if p not in group.inside and p not in bound)
    stood_for = {m for p, m in group.found.items() if isinstance(p, (WildcardPattern, VarPattern))}
    inputs = [p for p in border if not isinstance(p, _GLOBAL) or (isinstance(p, Constant) and p in stood_for)]
    places: dict[Any, int] = {}
    for place, matched in enumerate(group.found.values()):
        places.setdefault(matched, place)
    inputs.sort(key=lambda p: places.get(p, len(places)))
    params = {p: Var(f"FunctionVar_{number}_{i}", p.checked_type_) for i, p in enumerate(inputs)}
    inner: dict[Any, Any] = dict(params)
    names: list[str] = []
    for node in nodes:
        inner[node] = with_parts(node, inner)
        names.append(_name_of(node))
    marked = {"PartitionedFromPattern": "".join(names), **attrs}
    function = Function(list(params.values()), inner[root], root.checked_type_, attrs=marked)
    return Call(function, [done.get(p, p) for p in params])


def _name_of(node: GraphExpr) -> str:
    """What a node adds to `PartitionedFromPattern`."""
    match node:
        case Call(op=Op()):
            return f"{node.op.name}_"
        case TupleGetItem():
            return f"TupleGetItem{node.index}_"
        case Function():
            return "Function"
        case Call() | Tuple() | Let() | If() | Match():
            return f"{type(node).__name__}_"
        case _:
            return ""


def match(pattern: DFPattern, expr: GraphExpr) -> bool:
    """Whether `expr` as a whole matches."""
    _must_be_expression(expr)
    return Matcher(expr).match(pattern, expr) is not None


class _Plain(DFPatternCallback):
    """A function as a callback."""

    def __init__(self, pattern: DFPattern, function: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()
        self.pattern = pattern
        self.function = function

    def callback(self, pre: Any, post: Any, node_map: Mapping[DFPattern, list[Any]]) -> Any:
        return self.function(pre, post, node_map)


def rewrite_with(pattern: DFPattern, callback: Callable[[Any, Any, Any], Any], expr: GraphExpr) -> Any:
    """`pattern.rewrite(callback, expr)`."""
    return rewrite(_Plain(pattern, callback), expr)
