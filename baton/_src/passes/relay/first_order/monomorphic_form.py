"""The form of programs for passes that change the representation of functions and data: of all functions, also of those
that other passes leave alone (`SkipOptimization`, functions for external compilers), since all call one another.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function

_OF_THE_CODE = ("Primitive", "Closure", "Compiler", "Extern", "global_symbol", "hash", "relay.reshape_only")
"""Attributes that say how a function is compiled as it is written."""


class _EtaExpand(EtaExpand):
    skipped: ClassVar[tuple[str, ...]] = ()


class _ToANormalForm(ToANormalForm):
    skipped: ClassVar[tuple[str, ...]] = ()


def monomorphic_form(module: IRModule) -> IRModule:
    """One function for each instance of a polymorphic function, constructors and globals used as values eta-expanded,
    every intermediate result bound to a variable, and no explicit memory.
    """
    named = expanded_form(module)  # a polymorphic literal that a graph shares has to have a name to be specialised
    found: IRModule = _ToANormalForm()(Specialize(shared=False)(named))
    return found


def expanded_form(module: IRModule) -> IRModule:
    """The same with polymorphic functions."""
    values = DissolveMemory()(infer_type(module))
    found: IRModule = _ToANormalForm()(_EtaExpand(expand_constructor=True, expand_global_var=True)(values))
    return found


def translated_attrs(function: Function) -> dict[str, Any]:
    """The attributes of a function that the translation of it has, too."""
    return {name: content for name, content in function.attrs.items() if name not in _OF_THE_CODE}
