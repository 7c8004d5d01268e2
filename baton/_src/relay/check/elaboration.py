"""The decisions that the text reader leaves to inference, and the results of inference other than types.

The reader writes down literals of open dtype (contradictions B-02) and conditions that compare whole tensors (B-01);
inference decides them; `text.elaborate` then rewrites the tree. Trees built in Python come with an empty record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.types import IncompleteType, TensorType
from baton._src.support.dataclass import dataclass


@dataclass
class Elaboration:
    """`literals` maps a Constant to its dtype hole (None before inference); `conditions` maps an If whose condition is
    a whole `==` or `!=` to the operator that would reduce it."""

    literals: dict[Any, Any] = field(default_factory=dict)
    conditions: dict[Any, str] = field(default_factory=dict)
    reduced: set[Any] = field(default_factory=set)
    """Ifs whose condition turned out to compare tensors of rank above zero."""
    type_args: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    """For each call of a polymorphic function: what its type parameters were inferred to be."""
    unreachable: list[tuple[Any, int]] = field(default_factory=list)
    """Match clauses that can never run: (match, index)."""

    def condition_rule(self, node: GraphExpr) -> Callable[..., bool]:
        """The relation between a condition's type and the scalar bool an If wants."""

        def rule(args: tuple[Any, ...], num_inputs: int, attrs: Any, reporter: Any) -> bool:
            found = reporter.known(args[0])
            if isinstance(found, IncompleteType):
                return False
            if isinstance(found, TensorType) and found.dtype == "bool" and found.shape:
                self.reduced.add(node)
                return True
            reporter.assign(args[0], args[1])
            return True

        return rule
