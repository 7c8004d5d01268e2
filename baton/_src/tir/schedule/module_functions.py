"""The functions of the module that a schedule works on: the current one, and those that handles belong to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from baton._src.ir.expr import GlobalVar
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, LoopRV, handles_in
from baton._src.tir.schedule.tree import refuse


class ModuleFunctions:
    """A base class of `Schedule`. `func`: the current function, which primitives change."""

    func: PrimFunc

    def _take(self, mod: PrimFunc | IRModule, func_name: str | None) -> None:
        """Begin with a function, or with that function of a module."""
        self._module: IRModule | None = None
        self._name, self._is_decided = func_name or "main", True
        self._functions: WeakKeyDictionary[BlockRV | LoopRV, str] = WeakKeyDictionary()
        """The functions that handles were made in."""
        found: Any = mod
        if isinstance(mod, IRModule):
            self._module = mod
            if func_name is None:
                self._name, self._is_decided = _entry(mod)
            found = mod[self._name]
        if not isinstance(found, PrimFunc):
            raise refuse("a Schedule needs a PrimFunc or a module with one")
        self.func = found.with_fields(body=with_unique_names(found.body))

    @property
    def mod(self) -> IRModule:
        """The module with the current function."""
        if self._module is None:
            return IRModule({self._name: self.func})
        return self._module.with_function(self._module.get_global_var(self._name), self.func)

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The name of the function that primitives work on; None as long as `work_on` has to tell."""
        return self.mod.get_global_var(self._name) if self._is_decided else None

    def work_on(self, func_name: str) -> None:
        """Switch to another function of the module."""
        self._switch(func_name)
        self._is_decided = True

    def _switch(self, name: str) -> None:
        if name == self._name:
            return
        module = self.mod
        found = module[name]
        if not isinstance(found, PrimFunc):
            raise refuse(f"{name} is not a PrimFunc")
        self._module, self._name = module, name
        self.func = found.with_fields(body=with_unique_names(found.body))

    @contextlib.contextmanager
    def in_function_of(self, given: Any, name: str | None = None) -> Iterator[None]:
        """Work meanwhile on the function called `name`, or on that of the given handles."""
        handles = [h for h in handles_in(given) if h in self._functions]
        meant = {self._functions[handle] for handle in handles} | ({name} if name is not None else set())
        if len(meant) > 1:
            raise refuse(f"one primitive was given blocks or loops of several functions: {', '.join(sorted(meant))}")
        before = self._name
        self._switch(meant.pop() if meant else before)
        try:
            yield
        finally:
            self._switch(before)

    def made_here(self, result: Any) -> None:
        """Remember that handles are of the current function."""
        if self._module is not None:
            self._functions.update(dict.fromkeys(handles_in(result), self._name))

    def name_to_look_in(self, name: str | None) -> str:
        """The function whose blocks are looked up by name: `name`, or the current one."""
        if name is None and not self._is_decided:
            raise refuse("the module has several functions, and none is called main", help="call work_on, or name one")
        return name or self._name


def _entry(mod: IRModule) -> tuple[str, bool]:
    """The function to work on, and whether the module tells which: the marked one, the only one, or `main`."""
    kernels = {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, PrimFunc)}
    marked = [name for name, f in kernels.items() if (f.attrs or {}).get("tir.is_entry_func")]
    for names in (marked, list(kernels)):
        if len(names) == 1:
            return names[0], True
    return ("main", True) if "main" in kernels or not kernels else (next(iter(kernels)), False)


def with_unique_names(body: st.Stmt) -> st.Stmt:
    """The body with unique block names (the first keeps its name)."""
    taken: set[str] = set()

    def rule(node: Node) -> Node | None:
        if not isinstance(node, st.Block):
            return None
        name = free_name(node.name_hint, taken, "_")
        taken.add(name)
        return None if name == node.name_hint else node.with_fields(name_hint=name)

    found: st.Stmt = rewrite(body, rule, below=st.inner_statements)
    return found
