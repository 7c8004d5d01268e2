"""What scripts of all languages share with Python: displays, arguments, slices and f-strings.

A language's reader provides how to read an expression and how to report an error (`Reading`). A text that is not
running Python may be hostile, so the sizes of the sequences and strings that it makes are limited.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import BatonError
from baton._src.support.trampoline import Task

_CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, ord("s"): str, ord("r"): repr, ord("a"): ascii}

_MOST = 1 << 20
"""Maximum length of a sequence or string that a script's constant expressions may build."""
_MOST_BITS = 1 << 12
"""Maximum bits of an integer that a script's constant expressions may compute."""


class OpenToText:
    """A namespace: text may use the attributes of these, of modules and of element types, of nothing else."""

    __slots__ = ()


def short_range(*bounds: int) -> range:
    """`range` for scripts, limited in length since it may become a list."""
    found = range(*bounds)
    if found[_MOST:]:
        raise ValueError(f"a script may not create more than {_MOST} items")
    return found


def repeated_parameter(arguments: ast.arguments) -> ast.arg | None:
    """The first parameter with the name of an earlier one, which Python itself only detects when compiling."""
    seen: set[str] = set()
    for arg in (*arguments.posonlyargs, *arguments.args):
        if arg.arg in seen:
            return arg
        seen.add(arg.arg)
    return None


@dataclass(frozen=True)
class Reading:
    """How a language reads: `read` gives an expression's value, `error` makes a diagnostic at a node, to be raised.

    `is_program` says what belongs to the program being read: it is not spread, though it may have items.
    `is_trusted`: the script is Python that is running anyway.
    """

    read: Callable[[ast.expr], Task[Any]]
    error: Callable[[ast.AST, str], BatonError]
    is_program: Callable[[Any], bool]
    is_trusted: bool

    def items(self, nodes: Sequence[ast.expr]) -> Task[list[Any]]:
        """The values of `a, *b, c`."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append((yield self.read(node)))
                continue
            spread = yield self.read(node.value)
            if not isinstance(spread, Iterable) or self.is_program(spread):
                raise self.error(node, f"* needs a sequence, got {spread!r}")
            if not self.is_trusted and len(found) + _length(spread) > _MOST:
                raise self.error(node, f"a script may not create more than {_MOST} items")
            found.extend(spread)
        return found

    def keywords(self, node: ast.Call) -> Task[dict[str, Any]]:
        """The arguments by name of a call, those of `**options` among them."""
        found: dict[str, Any] = {}
        for keyword in node.keywords:
            content = yield self.read(keyword.value)
            if keyword.arg is not None:
                content = {keyword.arg: content}
            elif not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
                raise self.error(keyword.value, f"** spreads arguments by name, got {content!r}")
            twice = sorted(found.keys() & content.keys())
            if twice:
                raise self.error(keyword.value, f"argument {twice[0]!r} is given twice")
            found.update(content)
        return found

    def slice(self, node: ast.Slice) -> Task[slice]:
        """`[a:b:c]`."""
        bounds: list[Any] = []
        for bound in (node.lower, node.upper, node.step):
            bounds.append(None if bound is None else (yield self.read(bound)))
        return slice(*bounds)

    def check_size(self, node: ast.BinOp, left: Any, right: Any) -> None:
        """Refuse an operation on two Python values whose result would be too large, before computing it."""
        if self.is_trusted:
            return
        bits = items = 0
        whole = isinstance(left, int) and isinstance(right, int)
        match node.op:
            case ast.Pow() if whole:
                bits = left.bit_length() * max(right, 0)
            case ast.LShift() if whole:
                bits = left.bit_length() + max(right, 0)
            case ast.Mult() if whole:
                bits = left.bit_length() + right.bit_length()
            case ast.Mult():
                items = _length(left) * (right if isinstance(right, int) else 1)
                items += _length(right) * (left if isinstance(left, int) else 1)
            case ast.Add():
                items = _length(left) + _length(right)
            case ast.Mod() if isinstance(left, (str, bytes)):
                raise self.error(node, "a format is not supported in a script")
            case _:
                pass
        if bits > _MOST_BITS or items > _MOST:
            raise self.error(node, "the value is too large")

    def formatted(self, node: ast.JoinedStr) -> Task[str]:
        """An f-string. Format widths are allowed only in running Python: a text could ask for huge ones."""
        text = ""
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                assert isinstance(part, ast.Constant)
                text += str(part.value)
                continue
            content = yield self.read(part.value)
            if isinstance(content, (tuple, list, dict)) and not self.is_trusted:
                raise self.error(node, f"a {type(content).__name__} in an f-string is not supported in a script")
            layout = ""
            if part.format_spec is not None:
                if not self.is_trusted:
                    raise self.error(node, "a format in an f-string is not supported in a script")
                layout = yield self.read(part.format_spec)
            try:
                text += format(_CONVERSIONS[part.conversion](content), layout)
            except BatonError:
                raise
            except Exception as error:
                raise self.error(node, f"the f-string fails: {type(error).__name__}: {error}") from None
            if len(text) > _MOST and not self.is_trusted:
                raise self.error(node, f"a script may not create more than {_MOST} characters")
        return text


def _length(value: Any) -> int:
    return len(value) if isinstance(value, Sequence | Mapping) else 0
