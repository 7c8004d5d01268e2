"""The names that functions inside functions get in the module: those that TVM gives them.

    def main(x):
        def f(y):
            def inner(z): ...          main_inner, or main_f_inner if there is another `inner` in main

In this order, where a name is nobody else's: the `global_symbol`, which has to be the name; the names of the outermost
function and of the variable; all names on the way; the former with a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order
from baton._src.relax.nodes import Function, Var, VarBinding
from baton._src.support.diagnostics import fail

Place = tuple[GlobalVar, Var]
"""A function of the module, and the variable of a function inside of it."""
Path = tuple[str, ...]
"""The names of the functions around a function, outermost first, and its own."""


def lifted_names(module: IRModule) -> dict[Place, str]:
    """The name of each inner function. Error `module-duplicate`: a `global_symbol` that another function has."""
    paths, names = _paths(module), _Names(module)
    for place, (path, function) in paths.items():
        if "global_symbol" in function.attrs:
            names.give(place, str(function.attrs["global_symbol"]), path, function)
    counts: Counter[str] = Counter()

    def with_number(path: Path) -> str:
        name = f"{path[0]}_{path[-1]}"
        counts[name] += 1
        return f"{name}_{counts[name] - 1}"

    only_paths = {place: path for place, (path, _) in paths.items()}
    names.try_all(only_paths, lambda path: f"{path[0]}_{path[-1]}")
    names.try_all(only_paths, "_".join)
    while len(names.found) < len(paths):
        names.try_all(only_paths, with_number)
    return names.found


class _Names:
    """The names found so far."""

    def __init__(self, module: IRModule) -> None:
        self.found: dict[Place, str] = {}
        self.taken = {var.name_hint for var in module.functions}

    def give(self, place: Place, name: str, path: Path, function: Function) -> None:
        """The name that a function must have."""
        if name in self.taken:
            raise fail(
                "module-duplicate",
                f"{'.'.join(path)} has the global_symbol {name!r}, as another function of the module has",
                span=function.span,
                help="give it another global_symbol, or none",
            )
        self.found[place] = name
        self.taken.add(name)

    def try_all(self, paths: Mapping[Place, Path], propose: Callable[[Path], str]) -> None:
        """Give names that nobody has, and that are proposed for one function only, to those without a name."""
        proposed: dict[str, list[Place]] = {}
        for place, path in paths.items():
            if place not in self.found:
                proposed.setdefault(propose(path), []).append(place)
        for name, places in proposed.items():
            if name not in self.taken and len(places) == 1:
                self.found[places[0]] = name
                self.taken.add(name)


def _paths(module: IRModule) -> dict[Place, tuple[Path, Function]]:
    """The inner functions, with the way to each."""
    found: dict[Place, tuple[Path, Function]] = {}
    for var, function in module.functions.items():
        todo: list[tuple[Any, Path]] = [(function, (var.name_hint,))] if isinstance(function, Function) else []
        while todo:
            outer, path = todo.pop()
            for node in post_order(outer.body, below=lambda n: () if isinstance(n, Function) else children(n)):
                if isinstance(node, VarBinding) and isinstance(node.value, Function):
                    inner = (*path, node.var.name_hint)
                    found[var, node.var] = inner, node.value
                    todo.append((node.value, inner))
    return found
