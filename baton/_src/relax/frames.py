"""A SeqExpr while it is being built: by the normaliser, the block builder and the readers of scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.relax.nodes import Binding, BindingBlock, DataflowBlock, Var
from baton._src.support.spans import Span


class Frame:
    """The blocks of one SeqExpr while it is being built. `dataflow`: whether bindings currently go into a
    DataflowBlock.
    """

    def __init__(self) -> None:
        self.blocks: list[tuple[bool, list[Binding], Span | None]] = []
        self.dataflow = False
        self._parts: tuple[object, dict[Any, Var]] = (None, {})

    @property
    def parts(self) -> dict[Any, Var]:
        """The variables of the nested expressions bound in the current block: each is bound once per block."""
        block = self.block()
        if self._parts[0] is not block:
            self._parts = (block, {})
        return self._parts[1]

    def block(self) -> object:
        """An identifier of the current block."""
        return self.blocks[-1][1] if self.blocks and self.blocks[-1][0] is self.dataflow else None

    def add(self, binding: Binding, span: Span | None = None) -> None:
        """Append to the last block if it is of the kind wanted, else to a new one."""
        if not self.blocks or self.blocks[-1][0] is not self.dataflow:
            self.blocks.append((self.dataflow, [], span))
        self.blocks[-1][1].append(binding)

    def finish(self, old: tuple[BindingBlock, ...] = ()) -> tuple[BindingBlock, ...]:
        """The finished blocks; those of `old` (and `old` itself) where nothing changed."""
        made: list[BindingBlock] = []
        for position, (dataflow, bindings, span) in enumerate(self.blocks):
            before = old[position] if position < len(old) else None
            if (
                before is not None
                and isinstance(before, DataflowBlock) is dataflow
                and all_same(bindings, before.bindings)
            ):
                made.append(before)
            else:
                made.append((DataflowBlock if dataflow else BindingBlock)(bindings, span))
        return old if all_same(made, old) else tuple(made)


def all_same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether nothing changed: the same objects in the same places."""
    return len(new) == len(old) and all(a is b for a, b in zip(new, old))
