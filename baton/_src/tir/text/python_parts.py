"""Python expressions of a script that are evaluated while reading it: attributes, methods, comprehensions, lambdas.

Attributes of buffers, scalars and ranges may be read in any script. Other objects may be inspected and called only
where the script is Python code that is being executed anyway (`Scope.is_trusted`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.support.diagnostics import DiagnosticError, InternalError
from baton._src.support.trampoline import Task, run
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.text.scope import Frame, PoisonedError, Scope, Word

Read = Callable[[Scope, ast.expr], Task[Any]]

_OF_BUFFERS = "data dtype shape strides elem_offset name scope access_ptr vload vstore offset_of get_flattened_buffer"
_ATTRIBUTES: tuple[tuple[Any, frozenset[str]], ...] = (
    (Buffer, frozenset(_OF_BUFFERS.split())),
    ((PrimExpr, IterVar), frozenset(["dtype", "var", "dom", "astype", "equal", "value"])),
    (Range, frozenset(("min", "extent"))),
)
"""What any text may ask of objects of the script's own."""


def described(found: Any) -> str:
    """What a value is, for messages."""
    if isinstance(found, Buffer):
        return f"the buffer {found.name}"
    return repr(found) if isinstance(found, Word) else f"a {type(found).__name__}"


def attribute(scope: Scope, node: ast.Attribute, owner: Any) -> Any:
    """`owner.name`."""
    name = node.attr
    if isinstance(owner, Word):
        return Word(f"{owner.name}.{name}" if owner.name else name)
    allowed = any(isinstance(owner, kinds) and name in names for kinds, names in _ATTRIBUTES)
    if (allowed or scope.is_trusted) and hasattr(owner, name):
        return getattr(owner, name)
    find = getattr(owner, "get_global_var", None)
    if find is not None:
        return find(name)
    raise scope.error(node, "tir-syntax", f"{described(owner)} has no {name!r} in a PrimFunc")


def call(scope: Scope, node: ast.Call, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`callee(...)`, run now; the statements it builds are kept (`Scope.take_built`)."""
    own = isinstance(getattr(callee, "__self__", None), Node)
    if not callable(callee) or not (own or scope.is_trusted):
        raise scope.error(node, "tir-call", f"{described(callee)} cannot be called in a PrimFunc")
    try:
        if not scope.blocks:
            return callee(*args, **kwargs)
        with Scope.building(scope.blocks[-1]) as built:
            found = callee(*args, **kwargs)
        scope.built += built
        return found
    except (DiagnosticError, InternalError, PoisonedError):
        raise
    except Exception as error:
        name = getattr(callee, "__name__", "the function")
        raise scope.error(node, "tir-call", f"{name} fails: {type(error).__name__}: {error}") from error


def comprehension(scope: Scope, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, read: Read) -> Task[Any]:
    """`[f(i) for i in items if c]`, as a list; a dict for a dict."""
    pairs: list[tuple[Any, Any]] = []
    with scope.inner():
        yield _generate(scope, node, list(node.generators), pairs, read)
    return dict(pairs) if isinstance(node, ast.DictComp) else [value for _, value in pairs]


def _generate(
    scope: Scope, node: Any, generators: list[ast.comprehension], pairs: list[tuple[Any, Any]], read: Read
) -> Task[None]:
    if not generators:
        if isinstance(node, ast.DictComp):
            key = yield read(scope, node.key)
            pairs.append((key, (yield read(scope, node.value))))
        else:
            pairs.append((None, (yield read(scope, node.elt))))
        return
    first, *rest = generators
    items = yield read(scope, first.iter)
    if not isinstance(items, Iterable) or isinstance(items, Node):
        raise scope.error(first.iter, "tir-syntax", f"{described(items)} cannot be iterated over")
    for item in items:
        _bind(scope, first.target, item)
        wanted = True
        for condition in first.ifs:
            wanted = wanted and bool((yield read(scope, condition)))
        if wanted:
            yield _generate(scope, node, rest, pairs, read)


def _bind(scope: Scope, target: ast.expr, content: Any) -> None:
    if isinstance(target, ast.Name):
        scope.define(target.id, content)
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise scope.error(target, "tir-syntax", "a name is needed here")
    for part, item in zip(target.elts, content, strict=True):
        _bind(scope, part, item)


def function(scope: Scope, node: ast.Lambda, read: Read) -> Callable[..., Any]:
    """A lambda: its body is read anew at each call, among the names of the place it is written at."""
    given = node.args
    names = [a.arg for a in given.args]
    if given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg or given.defaults:
        raise scope.error(node, "tir-syntax", "a lambda must name its parameters one by one")
    around = list(scope.frames)

    def apply(*args: Any) -> Any:
        if len(args) != len(names):
            raise scope.error(node, "tir-call", f"the lambda takes {len(names)} arguments, got {len(args)}")
        kept, scope.frames = scope.frames, [*around, Frame(dict(zip(names, args)), is_call=True)]
        try:
            return run(read(scope, node.body))
        finally:
            scope.frames = kept

    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    apply.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return apply
