"""The Prelude: lists, options, trees, natural numbers and gradient cells, read from the `.rly` files beside this one.

    prelude = Prelude(CATALOGUE)          # or Prelude(CATALOGUE, module) to add it to a module
    prelude.module                        # with everything defined
    prelude.get_global_var("map"), prelude.get_ctor("List", "Cons"), prelude.get_type("List")

Source: facts relay-language §4.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, GlobalTypeVar
from baton._src.relay.text.names import OperatorNames
from baton._src.relay.text.parser import parse
from baton._src.support.diagnostics import fail

FOLDER = Path(__file__).parent
FILES = ("prelude", "nat", "gradient")
"""In order: later ones use earlier ones."""


def import_text(name: str, module: IRModule, catalogue: OperatorNames, complete: bool = False) -> IRModule:
    """`module` with the definitions of one of the files; itself if it has them already.

    `complete` adds what is missing although the types are there: passes drop functions that are not used.
    """
    path = FOLDER / f"{name}.rly"
    if name not in FILES:
        raise fail("api", f"there is no prelude file {name!r}", help=f"there are {', '.join(FILES)}")
    first = {"prelude": "List", "nat": "nat", "gradient": "GradCell"}[name]
    text = path.read_text(encoding="utf-8")
    if any(v.name_hint == first for v in module.type_definitions):
        missing = [d for d in _functions(text) if d[0] not in module] if complete else []
        if not missing:
            return module
        text = "\n".join(definition for _, definition in missing)
    return parse(text, catalogue, module=module, source_name=path.name)


def _functions(text: str) -> list[tuple[str, str]]:
    """The functions of one of the files, name and text: there each definition begins a line, and ends with one."""
    return [(m[1], m[0]) for m in re.finditer(r"^def @(\w+).*?^}", text, re.MULTILINE | re.DOTALL)]


def constructor_of(module: IRModule, type_name: str, name: str) -> Constructor:
    """The constructor `name` of a type; `DiagnosticError` (`module-missing`) if there is none."""
    data = module.type_definitions[module.get_global_type_var(type_name)]
    for constructor in data.constructors:
        if constructor.name_hint == name:
            return constructor
    known = ", ".join(c.name_hint for c in data.constructors)
    raise fail("module-missing", f"{type_name} has no constructor {name}", help=f"it has {known}")


class Prelude:
    """A module with the Prelude in it, and its parts by name."""

    def __init__(self, catalogue: OperatorNames, module: IRModule | None = None) -> None:
        self.module = module if module is not None else IRModule()
        for name in FILES:
            self.module = import_text(name, self.module, catalogue)

    def get_type(self, name: str) -> GlobalTypeVar:
        """The name of an algebraic data type."""
        return self.module.get_global_type_var(name)

    def get_ctor(self, type_name: str, name: str) -> Constructor:
        """A constructor of a type."""
        return constructor_of(self.module, type_name, name)

    def get_global_var(self, name: str) -> GlobalVar:
        """The name of a function."""
        return self.module.get_global_var(name)

    def __getattr__(self, name: str) -> Any:
        """`prelude.map`, `prelude.length`, ... (TVM's spelling)."""
        if name.startswith("_") or name == "module" or name not in self.module:
            raise AttributeError(name)
        return self.get_global_var(name)
