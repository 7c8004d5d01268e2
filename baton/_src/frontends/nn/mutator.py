"""`nn.Mutator`: changes a model in place, part by part.

    class Halve(nn.Mutator):
        def visit_module(self, name, node):
            node = self.visit(name, node)          # what is inside first
            return Smaller(node) if isinstance(node, nn.Linear) else node

    model = Halve().visit_module("", model)

Names are paths from the model. The return value of a method replaces its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.nn.effects import Effect
from baton._src.frontends.nn.module import Module, ModuleList
from baton._src.frontends.nn.tensor import Parameter


class Mutator:
    """See the module. The base class changes nothing."""

    def visit_module(self, name: str, node: Any) -> Any:
        """Visit a module that is not a list."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: Any) -> Any:
        """Visit a list of modules."""
        return self.visit(name, node)

    def visit_param(self, name: str, node: Any) -> Any:
        """Visit a parameter."""
        return node

    def visit_effect(self, name: str, node: Any) -> Any:
        """Visit an effect."""
        return node

    def visit(self, name: str, node: Any) -> Any:
        """Visit everything directly inside `node`; returns `node`."""
        if isinstance(node, ModuleList):
            for place, inside in enumerate(list(node)):
                node[place] = self._visited(_path(name, str(place)), inside)
        else:
            for key, inside in list(vars(node).items()):
                found = self._visited(_path(name, key), inside)
                if found is not inside:
                    setattr(node, key, found)
        return node

    def _visited(self, name: str, inside: Any) -> Any:
        kinds: tuple[tuple[type, Callable[[str, Any], Any]], ...] = (
            (ModuleList, self.visit_modulelist),
            (Module, self.visit_module),
            (Effect, self.visit_effect),
            (Parameter, self.visit_param),
        )
        visit = next((visit for kind, visit in kinds if isinstance(inside, kind)), None)
        return inside if visit is None else visit(name, inside)


def _path(name: str, inside: str) -> str:
    return f"{name}.{inside}" if name else inside
