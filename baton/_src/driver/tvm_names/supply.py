"""`tvm.ir.supply`: names and global variables that are unique among those a supply knows."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail

MODULE_NAME = "mod_name"
"""The attribute of modules that names them; supplies made for a module put it in front of new names."""


class NameSupply:
    """Gives names that it has not given before and that were not reserved; `prefix` stands in front of them."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._counts: dict[str, int] = {}
        """By name that is taken the last number that was tried behind it."""

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """`name`, or `name_1`, `name_2`, ... (`name1` without underscore) if it is taken; dots become underscores."""
        wanted = self._prefixed(name, add_prefix).replace(".", "_")
        found = wanted
        while found in self._counts:
            self._counts[wanted] += 1
            found = f"{wanted}{'_' if add_underscore else ''}{self._counts[wanted]}"
        self._counts[found] = 0
        return found

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take a name as it is, dots included; it may be taken already. The name with its prefix comes back."""
        taken = self._prefixed(name, add_prefix)
        self._counts.setdefault(taken, 0)
        return taken

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name was given or reserved."""
        return self._prefixed(name, add_prefix) in self._counts

    def _prefixed(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name


class GlobalVarSupply:
    """Gives global variables of unique names, and remembers which one each name has.

    It knows the functions of the modules it is made for; the first module's `mod_name` (or `tvmgen_default`) stands in
    front of new names. Made for a `NameSupply`, it takes names from that one.
    """

    def __init__(self, value: Sequence[IRModule] | IRModule | NameSupply | None = None) -> None:
        modules = [value] if isinstance(value, IRModule) else value
        if modules is None or isinstance(modules, NameSupply):
            self._names, modules = modules or NameSupply(), ()
        elif isinstance(modules, (list, tuple)) and all(isinstance(module, IRModule) for module in modules):
            self._names = NameSupply(_name_of(modules[0]) if modules else "")
        else:
            raise TypeError(f"a GlobalVarSupply is made for modules or a NameSupply, not {type(value).__name__}")
        self._variables: dict[str, GlobalVar] = {}
        for module in modules:
            for variable in module.functions:
                self.reserve_global(variable)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A new variable whose name is `name`, or that with a number behind it."""
        found = self._names.fresh_name(name, add_prefix)
        if found in self._variables:
            raise fail("global-exists", f"the supply has a variable @{found} already")
        return self._variables.setdefault(found, GlobalVar(found))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The variable of this name: the one that was given or reserved, or else a new one."""
        found = self._names.reserve_name(name, add_prefix)
        if found not in self._variables:
            self._variables[found] = GlobalVar(found)
        return self._variables[found]

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Take a variable with its name. Another one of that name is an error, unless `allow_conflict`."""
        name = global_var.name_hint
        if not allow_conflict and name in self._variables:
            raise fail("global-exists", f"the supply has a variable @{name} already", help="pass allow_conflict=True")
        self._names.reserve_name(name, add_prefix=False)
        self._variables[name] = global_var


def _name_of(module: IRModule) -> str:
    """What stands in front of names made for a module."""
    return str(module.attrs.get(MODULE_NAME, "tvmgen_default"))
