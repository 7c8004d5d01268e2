"""Parse text to syntax trees, and map tree nodes to spans in the file they came from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.support.spans import Source, Span


@dataclass(frozen=True)
class ScriptSource:
    """A piece of program text: its tree, and what is needed to point into it."""

    tree: ast.Module
    source: Source
    indent: int = 0
    """Columns of indentation removed from each line before parsing."""
    lines: tuple[str, ...] = ()

    def span(self, node: Any) -> Span | None:
        """The span of a tree node."""
        if getattr(node, "lineno", None) is None:
            return None
        first = self.source.first_line - 1
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset + 1
        return Span(
            self.source,
            node.lineno + first,
            end_line + first,
            self._column(node.lineno, node.col_offset),
            self._column(end_line, end_column),
        )

    def _column(self, line: int, offset: int) -> int:
        """A byte offset in a line of the tree as a column of the file, from 1."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if not text.isascii():
            offset = len(text.encode()[:offset].decode(errors="ignore"))
        return offset + self.indent + 1


def parse_text(text: str, name: str = "<string>") -> ScriptSource:
    """The syntax tree of a text; `DiagnosticError` (`script-syntax`) if it is not valid Python."""
    return _parse(textwrap.dedent(text), Source(name, text), _indent_of(text))


def source_of(subject: Any, line: int | None = None) -> ScriptSource:
    """The source text of a class or function. `line`: one of its lines, if known: Python finds a class by its name
    alone, and a scope may define several classes of one name.
    """
    try:
        lines, first = inspect.getsourcelines(subject)
        name = inspect.getsourcefile(subject) or "<unknown>"
        if line is not None and inspect.isclass(subject) and not first <= line < first + len(lines):
            lines, first = _class_at(subject, line) or (lines, first)
    except (OSError, TypeError):
        raise fail(
            "script-source",
            f"the source text of {getattr(subject, '__name__', subject)!r} is not available",
            help="define it in a file, or use from_source on its text",
        ) from None
    text = "".join(lines)
    return _parse(textwrap.dedent(text), Source(name, text, max(first, 1)), _indent_of(text))


def _class_at(subject: type, line: int) -> tuple[list[str], int] | None:
    """The lines of the class named like `subject` that encloses a line of its file, and the number of the first one."""
    lines, _ = inspect.findsource(subject)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef) and node.name == subject.__name__ and node.end_lineno is not None:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= line <= node.end_lineno:
                return lines[first - 1 : node.end_lineno], first
    return None


def _indent_of(text: str) -> int:
    dedented = textwrap.dedent(text)
    for before, after in zip(text.split("\n"), dedented.split("\n")):
        if after.strip():
            return len(before) - len(after)
    return 0


def _parse(text: str, source: Source, indent: int) -> ScriptSource:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        column = (error.offset or 1) + indent
        end = (error.end_offset + indent) if error.end_offset and error.end_lineno == error.lineno else column + 1
        number = line + source.first_line - 1
        span = Span(source, number, number, column, max(end, column + 1))
        raise DiagnosticError(Diagnostic("script-syntax", error.msg or "invalid syntax", span=span)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise fail("script-syntax", f"the text cannot be parsed: {error}") from None
    return ScriptSource(tree, source, indent, tuple(text.split("\n")))
