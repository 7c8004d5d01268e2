"""What the parser knows while it reads: names in nested scopes, places in the source, findings so far."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node, set_note
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Source, Span
from baton._src.support.suggestions import did_you_mean
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import For, MatchBufferRegion, Stmt
from baton._src.tir.text.slips import instead_of_name

_CHANGING = "keep what changes in a buffer, x[0] = ...; choose a value with T.if_then_else; or take another name"
SpanOf = Callable[[ast.AST], Span | None]


class Word:
    """`T.name`, not yet called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"T.{self.name}"


class ScriptWord(partial[Any]):
    """`T.name` as Python has it, outside of scripts: its first argument is the name."""

    def __getitem__(self, key: Any) -> Any:
        """`T.Buffer[(16,), "float32"]`, as it was written once: Python evaluates the annotation, too."""
        return self(*key) if isinstance(key, tuple) and isinstance(key[-1], str) else self(key)


@dataclass(frozen=True)
class Expansion:
    """A call of a macro: statements to be read in place of the call."""

    name: str
    body: list[ast.stmt]
    names: Mapping[str, Any]
    """What the parameters stand for."""
    environment: Mapping[str, Any] | None
    """The names around the definition; None for a macro that sees those around the call."""
    roots: frozenset[str]
    span: SpanOf


_MOST_EXPANSIONS = 500


class PoisonedError(Exception):
    """A name was used whose definition was wrong already: nothing more is to be said."""


class BlockFrame:
    """The head of the block being read."""

    def __init__(self, name: str, depth: int = 0) -> None:
        self.name = name
        self.depth = depth
        """How many loops are around the block."""
        self.iter_vars: list[Any] = []
        self.iter_values: list[Any] = []
        self.predicate: Any = None
        self.reads: list[Any] | None = None
        self.writes: list[Any] | None = None
        self.annotations: dict[str, Any] = {}
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[MatchBufferRegion] = []
        self.init: Any = None


class Frame(dict[str, Any]):
    """The names of one scope."""

    def __init__(self, names: Mapping[str, Any] | None = None, is_loop: bool = False, is_call: bool = False) -> None:
        super().__init__(names or {})
        self.is_loop = is_loop
        """Whether it is read once and runs again and again."""
        self.is_call = is_call
        """Whether it is that of a function, whose assignments are its own."""
        self.read: set[str] = set()
        """Names of scopes around it that are used in it."""
        self.outdated: dict[str, ast.AST] = {}
        """Names of it that a scope inside, which has ended, assigned anew, and where."""


class Scope:
    """The state of reading one function."""

    building: ClassVar[Callable[[BlockFrame], AbstractContextManager[list[Stmt]]]] = lambda head: nullcontext([])
    """The context in which functions of Python run: it collects the statements that they build for a block, as a
    builder's words do (`T.buffer_store`, `with T.If(..)`). Bound by `driver.wiring`."""

    def __init__(
        self,
        source: Source,
        environment: Mapping[str, Any],
        roots: frozenset[str],
        span: SpanOf,
        is_trusted: bool = False,
    ) -> None:
        self.source = source
        self.is_trusted = is_trusted
        """Whether the text is Python that is running anyway, so that what is around it may be called."""
        self.environment = environment
        self.roots = roots
        self.span = span
        self.frames: list[Frame] = [Frame()]
        self.failed: set[str] = set()
        self.blocks: list[BlockFrame] = []
        self.loops: dict[Any, For] = {}
        """Loops being read, by their variable; the body is not known yet."""
        self.findings: list[Diagnostic] = []
        self.buffer_map: dict[Any, Buffer] = {}
        self.params: list[Any] = []
        self.attrs: dict[str, Any] = {}
        self.has_blocks = False
        self.expansions = 0
        """How many macros are being expanded, one within another."""
        self.is_endless = False
        """Whether that were too many: then no further one is."""
        self.built: list[Stmt] = []
        """Statements that functions of Python have built, not yet in the kernel."""

    def take_built(self) -> list[Stmt]:
        """The statements that functions of Python have built since this was asked."""
        taken, self.built = self.built, []
        return taken

    def buffers_of_blocks(self) -> list[Buffer]:
        """The buffers of the parameters, and those that the blocks being read allocate or view."""
        own = [b for block in self.blocks for b in block.alloc_buffers]
        views = [view.buffer for block in self.blocks for view in block.match_buffers]
        return [*self.buffer_map.values(), *own, *views]

    # ---------------------------------------------------------------------------------------------- names

    def define(self, name: str, value: Any) -> Any:
        """Bind a name in the innermost scope."""
        self.failed.discard(name)
        self.frames[-1].outdated.pop(name, None)
        self.frames[-1][name] = value
        return value

    def assign(self, node: ast.AST, name: str, value: Any) -> Any:
        """Bind a name, which may have a value in a scope around already: that one is not changed by it.

        Error `tir-name`: in Python it would be, and this loop would go on with the new value.
        """
        at = next((n for n in reversed(range(len(self.frames))) if name in self.frames[n]), None)
        inside = [] if at is None else self.frames[at + 1 :]
        if (
            at is not None
            and inside
            and not any(frame.is_call for frame in inside)
            and _is_value(self.frames[at][name])
        ):
            if any(frame.is_loop and name in frame.read for frame in inside):
                message = (
                    f"{name!r} would have the value of outside in each iteration: a loop changes no name of outside"
                )
                raise self.error(node, "tir-name", message, _CHANGING)
            self.frames[at].outdated[name] = node
        return self.define(name, value)

    @contextmanager
    def branches(self) -> Iterator[Callable[[], None]]:
        """Branches, in each of which names have the values from before; what is given is called in front of each."""
        before = [(frame, dict(frame.outdated)) for frame in self.frames]
        found: list[tuple[Frame, dict[str, ast.AST]]] = []

        def begin() -> None:
            found.extend((frame, frame.outdated) for frame, _ in before)
            for frame, outdated in before:
                frame.outdated = dict(outdated)

        yield begin
        for frame, outdated in found:
            frame.outdated |= outdated

    def knows(self, name: str) -> bool:
        """Whether something has, or would have, this name."""
        found = name in self.failed or name in self.environment or any(name in frame for frame in self.frames)
        return found or (self.is_trusted and hasattr(builtins, name))

    def word_called(self, name: str) -> str:
        """The word of T that a name of the script's own stands for (`loop = T.serial`); empty if it is none."""
        places = (*reversed(self.frames), self.environment)
        found = next((place[name] for place in places if name in place), None)
        return str(found.args[0]) if isinstance(found, ScriptWord) else ""

    def lookup(self, node: ast.Name) -> Any:
        """What a name means; reports names that nothing defines."""
        name = node.id
        for at in reversed(range(len(self.frames))):
            frame = self.frames[at]
            if name in frame:
                self._check_present(node, frame)
                for inside in self.frames[at + 1 :]:
                    inside.read.add(name)
                return frame[name]
        if name in self.failed:
            raise PoisonedError
        if name in self.environment:
            return self.environment[name]
        if self.is_trusted and hasattr(builtins, name):
            return getattr(builtins, name)
        known = [n for frame in self.frames for n in frame]
        raise self.error(node, "tir-name", f"{name!r} is not defined", did_you_mean(name, known, instead_of_name(name)))

    def _check_present(self, node: ast.Name, frame: Frame) -> None:
        """Python would give the value that was assigned last."""
        last = self.span(frame.outdated[node.id]) if node.id in frame.outdated else None
        if last is not None:
            message = f"{node.id!r} has the value here that it had before line {last.line}, where it is another name"
            raise self.error(node, "tir-name", message, _CHANGING)

    @contextmanager
    def inner(self, is_loop: bool = False) -> Iterator[None]:
        """A scope whose names end with it."""
        self.frames.append(Frame(is_loop=is_loop))
        try:
            yield
        finally:
            self.frames.pop()

    @contextmanager
    def expanding(self, macro: Expansion, node: ast.AST) -> Iterator[None]:
        """The names and places of a macro called at `node`, while its statements are read."""
        if self.is_endless:
            raise PoisonedError
        if self.expansions >= _MOST_EXPANSIONS:
            self.is_endless = True
            raise self.error(node, "script-macro", f"macro {macro.name} calls itself without end")
        kept = self.frames, self.environment, self.roots, self.span
        self.expansions += 1
        own = Frame(macro.names, is_call=True)
        self.frames = [own] if macro.environment is not None else [*self.frames, own]
        self.environment = self.environment if macro.environment is None else macro.environment
        self.roots, self.span = self.roots | macro.roots, macro.span
        try:
            yield
        finally:
            self.expansions -= 1
            self.frames, self.environment, self.roots, self.span = kept

    @property
    def block(self) -> BlockFrame | None:
        """The block being read; None directly in the function, whose implicit root block has no head."""
        return self.blocks[-1] if len(self.blocks) > 1 else None

    # -------------------------------------------------------------------------------------------- findings

    def error(self, node: ast.AST, code: str, message: str, help: str | None = None) -> DiagnosticError:
        """A finding at `node`, to be raised."""
        return DiagnosticError(Diagnostic(code, message, span=self.span(node), help=help))

    def placed(self, error: DiagnosticError, node: ast.AST) -> DiagnosticError:
        """What went wrong at `node`, where it names a place outside: that of a name's definition."""
        here = self.span(node)
        if here is None or all(_is_inside(found.span, here) for found in error.diagnostics):
            return error
        moved = [f if _is_inside(f.span, here) else replace(f, span=here) for f in error.diagnostics]
        return DiagnosticError(moved)

    @contextmanager
    def recover(self, node: ast.AST, names: Iterator[str] | tuple[str, ...] = ()) -> Iterator[None]:
        """Collect what goes wrong inside and go on; `names` would have been defined."""
        try:
            yield
        except DiagnosticError as error:
            place = self.span(node)
            self.findings += [found.at(place) for found in error.diagnostics]
            self.failed.update(names)
        except PoisonedError:
            self.failed.update(names)

    def at(self, node: ast.AST, made: Any) -> Any:
        """`made` with the place it was written, if it has none."""
        if isinstance(made, Node) and getattr(made, "span", self) is None:
            set_note(made, "span", self.span(node))
        return made


def _is_value(held: Any) -> bool:
    """Whether what a name stands for is a scalar, rather than a buffer or what Python has."""
    return isinstance(held, (PrimExpr, bool, int, float))


def _is_inside(span: Span | None, outer: Span) -> bool:
    """Whether a place lies in another one, or in another text."""
    if span is None:
        return False
    begin, end = (span.line, span.column), (span.end_line, span.end_column)
    inside = (outer.line, outer.column) <= begin and end <= (outer.end_line, outer.end_column)
    return inside or span.source is not outer.source


def default_span(source: Source) -> SpanOf:
    """Places for a tree parsed from the very text of `source`."""
    lines = source.text.split("\n")

    def column(line: int, offset: int) -> int:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="ignore")) + 1

    def span(node: Any) -> Span | None:
        if getattr(node, "lineno", None) is None:
            return None
        first = source.first_line - 1
        end = node.end_lineno or node.lineno
        start, stop = column(node.lineno, node.col_offset), column(end, node.end_col_offset or node.col_offset + 1)
        return Span(source, node.lineno + first, end + first, start, stop)

    return span
