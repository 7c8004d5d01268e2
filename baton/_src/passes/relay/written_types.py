"""Write the types of function literals down: passes may remove the code that decided them.

if (True) { fn (%x) { 1 } } else { %f }      becomes      if (True) { fn (%x: int32) { 1 } } else { %f }
"""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.ir.types import IncompleteType, Type, TypeVar
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Function


def with_written_types(module: IRModule) -> IRModule:
    """The typed module with the types of parameters written that are known completely."""
    functions = {v: written(f) for v, f in module.functions.items() if isinstance(f, Function)}
    return module.with_functions({**module.functions, **functions})


def written(function: Function) -> Function:
    """The same for one function."""
    literals = (n for n in walk(function.body) if isinstance(n, Function))
    open_ = (p for literal in literals for p in literal.params if p.type_annotation is None)
    known = {p: p.with_fields(type_annotation=p.checked_type_) for p in open_ if _is_known(p.checked_type_)}
    made: Function = substitute(function, known, notes=False)
    return made


def _is_known(type_: Type | None) -> bool:
    return type_ is not None and not any(isinstance(leaf, (TypeVar, IncompleteType)) for leaf in leaves(type_))
