"""Walking and rewriting IR of any language, without the Python stack and without visitor code per node class.

Everything is derived from `Node.specs`: a child is a node in a field that is no note, directly or inside a tuple, a
dict (keys and values) or an attribute record. `notes=True` walks notes that hold nodes as well (the struct info of
Relax variables, where shape variables live; Relay's checked types) except those of GlobalVars, which belong to the
function they name.

    children(call)                       # one level
    post_order(function)                 # the DAG, each node once, children first
    rewrite(body, lambda n: ...)         # bottom-up; None keeps the node; unchanged parts stay the same objects
    substitute(body, {x: y})             # by identity of the key
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GlobalVar
from baton._src.ir.node import Node, Role

Rule = Callable[[Any], Node | None]
"""Node to node; Any, here and below: which classes of nodes a program holds, its reader knows."""
N = TypeVar("N", bound=Node)

_NO_NODES = frozenset({"int", "str", "float", "bool", "DataType", "DataType | None", "ForKind", "NDArray", "TypeKind"})
"""Annotations of fields that cannot hold a node: walking skips them."""

_plans: dict[tuple[type, bool], tuple[str, ...]] = {}
"""A cache: which fields of a class may hold nodes, without and with notes."""


def _plan(cls: type[Node], notes: bool) -> tuple[str, ...]:
    found = _plans.get((cls, notes))
    if found is None:
        annotations: dict[str, object] = {}
        for base in reversed(cls.__mro__):
            annotations.update(inspect.get_annotations(base))
        found = tuple(
            s.name
            for s in cls.specs
            if annotations.get(s.name) not in _NO_NODES
            and s.name not in ("span", "definition")
            and (s.role is not Role.NOTE or (notes and cls is not GlobalVar))
        )
        _plans[(cls, notes)] = found
    return found


def _collect(content: object, into: list[Node]) -> None:
    """Append the nodes in a field's content; containers nest only as deep as they were written."""
    if isinstance(content, Node):
        into.append(content)
    elif isinstance(content, (tuple, list)):
        for item in content:
            if isinstance(item, Node):
                into.append(item)
            elif item is not None:
                _collect(item, into)
    elif isinstance(content, dict):
        for key, item in content.items():
            if isinstance(key, Node):
                into.append(key)
            _collect(item, into)
    elif isinstance(content, Attrs):
        for name in content.names:
            _collect(getattr(content, name), into)


Reader = Callable[[Node], Sequence[Node]]

_readers: tuple[dict[type, Reader], dict[type, Reader]] = ({}, {})
"""A cache by class: the functions that list a node's children, without and with notes."""


def _reader(cls: type[Node], notes: bool) -> Reader:
    """Compiling spends much of its time in walks, so common forms of nodes have a fast path."""
    names = _plan(cls, notes)
    kinds: dict[int, Callable[..., Reader]] = {0: lambda: _nothing, 1: _single, 2: _pair}
    found = _readers[notes][cls] = kinds.get(len(names), _several)(*names)
    return found


def _nothing(node: Node) -> Sequence[Node]:
    return ()


def _single(name: str) -> Reader:
    get = attrgetter(name)

    def read(node: Node) -> Sequence[Node]:
        content = get(node)
        if isinstance(content, Node):
            return (content,)
        found: list[Node] = []
        if content is not None:
            _collect(content, found)
        return found

    return read


def _pair(first: str, second: str) -> Reader:
    get, general = attrgetter(first, second), _several(first, second)

    def read(node: Node) -> Sequence[Node]:
        both: tuple[Any, Any] = get(node)
        return both if isinstance(both[0], Node) and isinstance(both[1], Node) else general(node)

    return read


def _several(*names: str) -> Reader:
    get = attrgetter(*names)

    def read(node: Node) -> Sequence[Node]:
        found: list[Node] = []
        for content in get(node):
            if isinstance(content, Node):
                found.append(content)
            elif content is not None:
                _collect(content, found)
        return found

    return read


def children(node: Node, *, notes: bool = False) -> list[Any]:
    """The nodes directly below `node`, in field order; a node that occurs twice is listed twice."""
    cls = type(node)
    return list((_readers[notes].get(cls) or _reader(cls, notes))(node))


def post_order(root: object, *, notes: bool = False, below: Callable[[Any], Iterable[Any]] | None = None) -> list[Any]:
    """Every node reachable from `root` (a node or a container of nodes) once, children before parents, left to right.

    `below(node)` replaces `children`, e.g. to stay out of nested functions.
    """
    order: list[Node] = []
    if isinstance(root, Node):
        stack: list[Any] = [root]
    else:
        stack = []
        _collect(root, stack)
        stack.reverse()
    seen: set[Node] = set()
    push, pop, emit, note, more = stack.append, stack.pop, order.append, seen.add, stack.extend
    known = _readers[notes].get
    while stack:
        item = pop()
        if item is None:  # the mark above a node whose children are done
            emit(pop())
        elif item not in seen:
            note(item)
            if below is None:
                cls = type(item)
                kids = (known(cls) or _reader(cls, notes))(item)
            else:
                given = below(item)
                kids = given if isinstance(given, (list, tuple)) else list(given)
            if kids:
                push(item)
                push(None)
                more(kids[::-1])
            else:
                emit(item)
    return order


def map_content(content: Any, changed: Mapping[Any, object]) -> Any:
    """A field's content with nodes replaced as `changed` says; the same object if nothing is replaced."""
    if isinstance(content, Node):
        return changed.get(content, content)
    if isinstance(content, (tuple, list)):
        items = [changed.get(c, c) if isinstance(c, Node) else map_content(c, changed) for c in content]
        for new, old in zip(items, content):
            if new is not old:
                return type(content)(items)
        return content
    if isinstance(content, dict):
        pairs = [(map_content(k, changed), map_content(v, changed)) for k, v in content.items()]
        same = all(k is k0 and v is v0 for (k, v), (k0, v0) in zip(pairs, content.items()))
        return content if same else type(content)(pairs)
    if isinstance(content, Attrs):
        fields = {name: map_content(old, changed) for name, old in content.items()}
        different = {name: new for name, new in fields.items() if new is not getattr(content, name)}
        return content.with_attrs(**different) if different else content
    return content


def rebuild(node: N, changed: Mapping[Any, object], *, notes: bool = False) -> N:
    """`node` with its children replaced as `changed` says; the same object if none of them is.

    A binder is replaced only by a variable: `x -> 3` leaves `fn (x)` alone.
    """
    fields: dict[str, object] = {}
    cls = type(node)
    for name in _plans.get((cls, notes)) or _plan(cls, notes):
        old = getattr(node, name)
        if isinstance(old, Node):
            new = changed.get(old, old)
        elif old is not None:
            new = map_content(old, changed)
        else:
            continue
        if new is not old:
            if name in _binders(cls) and (new := _keep_binders(old, new)) is old:
                continue
            fields[name] = new
    return _copy(node, fields) if fields else node


def _copy(node: N, fields: Mapping[str, object]) -> N:
    """`node.with_fields(**fields)`, for fields that are known to change: rewriting spends most of its time here."""
    copy = object.__new__(type(node))
    put = object.__setattr__
    for name in node.field_names:
        put(copy, name, fields[name] if name in fields else getattr(node, name))
    return copy


_binder_names: dict[type, frozenset[str]] = {}


def _binders(cls: type[Node]) -> frozenset[str]:
    found = _binder_names.get(cls)
    if found is None:
        found = _binder_names[cls] = frozenset(s.name for s in cls.specs if s.role is Role.BINDER)
    return found


def _keep_binders(old: object, new: object) -> object:
    if isinstance(old, tuple) and isinstance(new, tuple):
        items = tuple(_keep_binders(o, n) for o, n in zip(old, new))
        return old if all(i is o for i, o in zip(items, old)) else items
    kept = isinstance(old, Node) and old.is_variable and not (isinstance(new, Node) and new.is_variable)
    return old if kept else new


def rewrite(
    root: object, rule: Rule, *, notes: bool = False, below: Callable[[Any], Iterable[Any]] | None = None
) -> Any:
    """Rewrite bottom-up: `rule` sees each node of the DAG once, with its children rewritten, and returns a replacement
    or None to keep it. What does not change stays the same object.

    `root` may be a node or a tuple, list or dict of nodes. A rewritten node keeps its notes (span, type, struct info);
    a rule that changes types must refresh them. The rule sees but what `below(node)` gives of a node's children.
    """
    changed: dict[Node, Node] = {}
    for item in post_order(root, notes=notes, below=below):
        rebuilt = rebuild(item, changed, notes=notes) if changed else item
        result = rule(rebuilt)
        if result is None:
            result = rebuilt
        if result is not item:
            changed[item] = result
    return map_content(root, changed) if changed else root


def substitute(root: object, replacements: Mapping[Any, Any], *, notes: bool = True) -> Any:
    """`root` with every occurrence of the keys (compared by identity) replaced; replacements are not looked into again.

    Shape variables in the struct info of Relax variables are replaced too: such a variable becomes a new one of the
    same name, consistently at its definition and uses. Variables are unique, so nothing can be captured; a binder is
    renamed where the replacement is a variable, and left alone otherwise (strip it yourself when binding a parameter).
    """
    if not replacements:
        return root
    changed: dict[Node, Node] = {}
    for item in post_order(root, notes=notes):
        if item in replacements:
            changed[item] = replacements[item]
        elif changed:
            rebuilt = rebuild(item, changed, notes=notes)
            if rebuilt is not item:
                changed[item] = rebuilt
    return map_content(root, changed) if changed else root


def bound_variables(root: object) -> list[Any]:
    """The variables that `root` defines in binder fields, in order of definition, each once."""
    order = post_order(root)
    found: set[Node] = set()
    for item in order:
        for name in _binders(type(item)):
            content = getattr(item, name)
            found.update(content if isinstance(content, tuple) else (content,))
    return [item for item in order if item.is_variable and item in found]


def with_fresh_binders(root: N) -> N:
    """A copy of `root` whose variables are new ones of the same names (to inline a function twice)."""
    fresh: dict[Any, Any] = {}
    for variable in bound_variables(root):  # what a variable is known to be may name those before it
        fresh[variable] = copy = variable.copy()
        notes = children(variable, notes=True)
        if any(item in fresh for item in post_order(notes, notes=True)):
            fresh[variable] = rebuild(copy, {n: substitute(n, fresh) for n in notes}, notes=True)
    renamed: N = substitute(root, fresh)
    return renamed
