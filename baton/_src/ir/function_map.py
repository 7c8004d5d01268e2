"""The functions of a module by their names: a dict whose items have numbers, as those of TVM's maps have."""

from __future__ import annotations

from collections.abc import ItemsView
from typing import Any

from baton._src.ir.expr import GlobalVar


class NumberedItems(ItemsView[GlobalVar, Any]):
    """Items of a dict, of which scripts take the first: `var, function = mod.functions.items()[0]`."""

    def __getitem__(self, number: Any) -> Any:
        return list(self)[number]


class FunctionMap(dict[GlobalVar, Any]):
    """A dict of functions."""

    def items(self) -> NumberedItems:  # type: ignore[override]  # as good a view as Python's own, which is final
        """(variable, function) of each function, in their order."""
        return NumberedItems(self)
