"""The form of programs for passes that change the representation of functions and data."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.relay.check.infer_type import infer_type


def monomorphic_form(module: IRModule) -> IRModule:
    """One function for each instance of a polymorphic function, constructors and globals used as values eta-expanded,
    and every intermediate result bound to a variable.
    """
    expanded = EtaExpand(expand_constructor=True, expand_global_var=True)(infer_type(module))
    named = ToANormalForm()(expanded)  # a polymorphic literal that a graph shares has to have a name to be specialised
    found: IRModule = ToANormalForm()(Specialize(shared=False)(named))
    return found
