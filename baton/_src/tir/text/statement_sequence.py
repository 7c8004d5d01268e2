"""The statements of one scope while they are read."""

from __future__ import annotations

from baton._src.tir.expr import IntImm
from baton._src.tir.stmt import (
    Evaluate,
    SeqStmt,
    Stmt,
)
from baton._src.tir.text.read_scoped_words import Wrap

_NOTHING = Evaluate(IntImm("int32", 0))


class StatementSequence:
    """The statements of one scope; a flat statement opens a level that ends with the scope."""

    def __init__(self) -> None:
        self.levels: list[tuple[list[Stmt], Wrap | None]] = [([], None)]

    def add(self, statement: Stmt) -> None:
        self.levels[-1][0].append(statement)

    def open(self, wrap: Wrap) -> None:
        """What follows becomes the body of a statement."""
        self.levels.append(([], wrap))

    def close(self) -> Stmt:
        """The scope as one statement."""
        while len(self.levels) > 1:
            parts, wrap = self.levels.pop()
            assert wrap is not None
            self.levels[-1][0].append(wrap(_join(parts)))
        return _join(self.levels[0][0])


def _join(parts: list[Stmt]) -> Stmt:
    return _NOTHING if not parts else parts[0] if len(parts) == 1 else SeqStmt(tuple(parts))
