"""`IRModule`: functions of any language by global name, ADT definitions, attributes, global infos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.function_map import FunctionMap
from baton._src.ir.node import Node, init_field, node, part
from baton._src.ir.traverse import substitute
from baton._src.ir.types import Constructor, GlobalTypeVar, TypeData
from baton._src.support.diagnostics import fail


@node
class IRModule(Node):
    """The unit of compilation. `with_function` and `with_functions` give modules; that is what the compiler uses.

    TVM's mutating spellings (`mod["main"] = f`, `update_func`, `update`) change the module in place; they are for
    users' scripts, and no pass uses them.
    """

    functions: dict[GlobalVar, Any] = part(kw_only=True)
    type_definitions: dict[GlobalTypeVar, TypeData] = part(kw_only=True)
    attrs: dict[str, Any] = part(kw_only=True)
    global_infos: dict[str, tuple[Any, ...]] = part(kw_only=True)

    def __init__(
        self,
        functions: Mapping[Any, Node] | None = None,
        type_definitions: Mapping[GlobalTypeVar, TypeData] | None = None,
        attrs: Mapping[str, object] | None = None,
        global_infos: Mapping[str, Iterable[Any]] | None = None,
    ) -> None:
        if functions is not None and not isinstance(functions, Mapping):
            raise fail(
                "module-function", f"a module takes a dict of functions by name, got {functions!r:.60}", kind=TypeError
            )
        found = FunctionMap()
        for key, function in (functions or {}).items():
            if not isinstance(key, (str, GlobalVar)):
                raise TypeError(f"functions have names (GlobalVar or str), not a {type(key).__name__}")
            if isinstance(function, GraphExpr) and not hasattr(function, "params"):
                if not hasattr(function, "global_symbol"):
                    raise fail("module-function", f"{key} is a {type(function).__name__}, not a function")
            if not isinstance(function, Node):
                raise fail("module-function", f"{key} is a {type(function).__name__}, not a function", kind=TypeError)
            found[GlobalVar(key) if isinstance(key, str) else key] = function
        names = [v.name_hint for v in found]
        if len(set(names)) != len(names):
            twice = sorted({n for n in names if names.count(n) > 1})
            raise fail("module-duplicate", f"the module defines {', '.join(twice)} more than once")
        init_field(self, "functions", found)
        init_field(self, "type_definitions", dict(type_definitions or {}))
        init_field(self, "attrs", dict(attrs or {}))
        init_field(self, "global_infos", {k: tuple(v) for k, v in (global_infos or {}).items()})

    pickled: ClassVar[Callable[[IRModule], tuple[object, ...]] | None] = None
    """Implements `__reduce__`; bound by `driver.wiring`."""

    as_function: ClassVar[Callable[[Any], Node] | None] = None
    """Makes a function of an expression over its free variables; in later layers, hence bound by `driver.wiring`."""

    @staticmethod
    def from_expr(
        expr: Node,
        functions: Mapping[Any, Node] | None = None,
        type_defs: Mapping[GlobalTypeVar, TypeData] | None = None,
    ) -> IRModule:
        """A module whose `main` (or `global_symbol`) is `expr`; an expression's free variables become parameters.

        It is `main_1`, as in TVM, if one of the `functions` is called `main`.
        """
        attributes = getattr(expr, "attrs", None)
        function = expr
        if not hasattr(expr, "params") and IRModule.as_function is not None:
            function = IRModule.as_function(expr)
        symbol = attributes.get("global_symbol") if isinstance(attributes, dict) else None
        taken = {getattr(key, "name_hint", key) for key in functions or ()}
        fresh = ("main", *(f"main_{number}" for number in range(1, len(taken) + 1)))
        name = symbol or next(name for name in fresh if name not in taken)
        return IRModule({GlobalVar(name): function, **(functions or {})}, type_defs)

    def get_global_var(self, name: str) -> GlobalVar:
        """The variable named `name`; `DiagnosticError` (`module-missing`) if there is none."""
        for var in self.functions:
            if var.name_hint == name:
                return var
        known = ", ".join(sorted(v.name_hint for v in self.functions)) or "none"
        raise fail("module-missing", f"the module has no function {name!r}", help=f"it has: {known}", kind=ValueError)

    def get_global_vars(self) -> list[GlobalVar]:
        """The variables of all functions."""
        return list(self.functions)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The variable of the type definition `name`. Error: there is none."""
        for var in self.type_definitions:
            if var.name_hint == name:
                return var
        raise fail("module-missing", f"the module has no type {name!r}", kind=ValueError)

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """The variables of all type definitions."""
        return list(self.type_definitions)

    def get_type(self, name: str) -> tuple[GlobalTypeVar | Constructor, ...]:
        """The ADT `name` and its constructors: `List, Cons, Nil = mod.get_type("List")`."""
        var = self.get_global_type_var(name)
        return (var, *self.type_definitions[var].constructors)

    def get_constructor(self, tag: int) -> Constructor:
        """The constructor with this tag. Error: there is none."""
        for data in self.type_definitions.values():
            for constructor in data.constructors:
                if constructor.tag == tag:
                    return constructor
        raise fail("module-missing", f"no constructor has tag {tag}")

    def __getitem__(self, key: str | GlobalVar | GlobalTypeVar) -> Any:
        if isinstance(key, GlobalVar) and key in self.functions:
            return self.functions[key]
        if isinstance(key, GlobalTypeVar):
            return self.type_definitions[key]
        name = key.name_hint if isinstance(key, GlobalVar) else key
        if name not in {v.name_hint for v in self.functions} and any(
            v.name_hint == name for v in self.type_definitions
        ):
            return self.type_definitions[self.get_global_type_var(name)]
        return self.functions[self.get_global_var(name)]

    def __contains__(self, key: object) -> bool:
        name = key.name_hint if isinstance(key, GlobalVar) else key
        return any(v.name_hint == name for v in self.functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __delitem__(self, key: str | GlobalVar) -> None:
        self.remove(key)

    def functions_items(self) -> list[tuple[GlobalVar, Any]]:
        """(variable, function) of each function."""
        return list(self.functions.items())

    def with_function(self, var: GlobalVar, function: Node) -> IRModule:
        """This module with `var` defined (anew) as `function`."""
        return self.with_functions({**self.functions, var: function})

    def with_functions(self, functions: Mapping[GlobalVar, Node]) -> IRModule:
        """This module with exactly these functions."""
        return IRModule(functions, self.type_definitions, self.attrs, self.global_infos)

    # TVM's mutating spellings.

    def __setitem__(self, key: str | GlobalVar | GlobalTypeVar, content: Node) -> None:
        if isinstance(content, TypeData):
            self.type_definitions[key if isinstance(key, GlobalTypeVar) else content.header] = content
            return
        if isinstance(key, GlobalTypeVar) or not isinstance(content, Node):
            raise fail("module-function", f"{key} is a {type(content).__name__}, not a function", kind=TypeError)
        name = key if isinstance(key, str) else key.name_hint
        var = self.get_global_var(name) if key in self else GlobalVar(key) if isinstance(key, str) else key
        if isinstance(key, GlobalVar) and var is not key:
            help = f'another GlobalVar has this name: mod["{name}"] = ... defines it anew'
            raise fail("module-duplicate", f"the module defines @{name} already", help=help)
        self.functions[var] = content

    def update_func(self, var: GlobalVar, func: Node) -> None:
        """Define `var` (anew) as `func`, in place."""
        self[var] = func

    def update(self, other: IRModule | Mapping[Any, Node]) -> None:
        """Take over every definition of `other`, in place; what its functions call by a name that was there before is
        what this name means here."""
        if not isinstance(other, (IRModule, Mapping)):
            raise fail(
                "module-function",
                f"expected a module or a dict of functions by name, got {other!r:.60}",
                kind=TypeError,
            )
        given = other.functions if isinstance(other, IRModule) else other
        own = {var.name_hint: var for var in self.functions}
        renewed = {v: own[v.name_hint] for v in given if isinstance(v, GlobalVar) and v.name_hint in own}
        for var, function in given.items():
            self[renewed.get(var, var)] = substitute(function, renewed, notes=False)
        if isinstance(other, IRModule):
            self.type_definitions.update(other.type_definitions)

    relay_text: ClassVar[Callable[[IRModule], str] | None] = None
    """Relay's printer; bound by `driver.wiring`."""

    def astext(self, show_meta_data: bool = True, annotate: Callable[[Any], str] | None = None) -> str:
        """The text, by default with large constants. An empty module, which has no language, is printed as Relay."""
        printer = IRModule.relay_text
        if printer is not None and not self.functions and not self.type_definitions:
            return printer(self)
        return Node.astext(self, show_meta_data, annotate)

    standard: ClassVar[Callable[[IRModule, str], None] | None] = None
    """Adds one of Relay's standard files to a module in place; bound by `driver.wiring`."""

    def import_from_std(self, file_to_import: str) -> None:
        """Add a standard file's definitions (`prelude.rly`, `gradient.rly`, ...), in place."""
        if IRModule.standard is not None:
            IRModule.standard(self, file_to_import)

    def remove(self, name: str | GlobalVar) -> None:
        """Delete a definition, in place."""
        self.functions.pop(self.get_global_var(name if isinstance(name, str) else name.name_hint), None)

    def shallow_copy(self) -> IRModule:
        """A new module with the same functions."""
        return self.with_functions(self.functions)

    clone = shallow_copy

    def __deepcopy__(self, memo: dict[int, object]) -> IRModule:
        return self.shallow_copy()  # functions never change

    def __reduce__(self) -> tuple[object, ...]:
        """Modules are pickled as text: pickling node by node takes Python's stack, and programs are deep."""
        if IRModule.pickled is None:
            return IRModule, (self.functions, self.type_definitions, self.attrs, self.global_infos)
        return IRModule.pickled(self)

    def update_global_info(self, name: str, global_info: Iterable[object]) -> None:
        """Set the global infos of a kind, in place."""
        self.global_infos[name] = tuple(global_info)

    def replace_global_vars(self, replacements: Mapping[str | GlobalVar, str | GlobalVar]) -> IRModule:
        """A module with functions renamed, in their uses as well, and with them any `global_symbol`."""
        mapping: dict[GlobalVar, GlobalVar] = {}
        for old, new in replacements.items():
            var = self.get_global_var(old if isinstance(old, str) else old.name_hint)
            mapping[var] = var.with_fields(name_hint=new) if isinstance(new, str) else new
        found: dict[GlobalVar, Node] = {}
        for var, function in self.functions.items():
            changed = substitute(function, mapping)
            if var in mapping and "global_symbol" in (getattr(changed, "attrs", None) or {}):
                changed = changed.with_attr("global_symbol", mapping[var].name_hint)
            found[mapping.get(var, var)] = changed
        return self.with_functions(found)

    def with_attrs(self, attr_map: Mapping[str, object]) -> IRModule:
        """A copy with several attributes added."""
        return IRModule(self.functions, self.type_definitions, {**self.attrs, **attr_map}, self.global_infos)

    def get_attr(self, attr_key: str) -> Any:
        """The attribute `attr_key` of the module, None if it has none."""
        return self.attrs.get(attr_key)

    def get_attrs(self) -> dict[str, Any]:
        """All attributes."""
        return self.attrs

    def with_attr(self, attr_key: str, attr_value: object) -> IRModule:
        """A copy with one attribute added."""
        return self.with_attrs({attr_key: attr_value})

    def without_attr(self, attr_key: str) -> IRModule:
        """A module without the attribute `attr_key`."""
        kept = {k: v for k, v in self.attrs.items() if k != attr_key}
        return IRModule(self.functions, self.type_definitions, kept, self.global_infos)
