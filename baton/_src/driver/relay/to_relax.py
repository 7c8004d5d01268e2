"""`relax.from_relay`: a Relay program as the Relax program that it is compiled through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.driver.relay.executable import as_relay_module, bind_known, optimized
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.nodes import Function
from baton._src.transform.collector import rarely_collecting
from baton._src.transform.context import PassContext


def from_relay(mod: IRModule | Function, params: Mapping[str, Any] | None = None) -> IRModule:
    """The Relax module that computes what a Relay module (or function, which becomes `main`) does.

    `params` binds parameters of `main` by name to constants. Operators stay operators; polymorphic functions become one
    for each choice of types they are called with; algebraic data types are values of `vm.builtin` functions. Nothing is
    optimised. Raises `DiagnosticError` for ill-typed programs.
    """
    wire()
    with rarely_collecting():
        module, _ = bind_known(as_relay_module(mod), params or {})
        if "main" in module:
            module = RemoveUnusedFunctions(("main",))(module)
        module = DissolveMemory()(module)
        return lower(ToBasicBlockNormalForm()(EtaExpand()(Specialize()(module))))


def translated(
    func: IRModule | Function,
    target: Any = None,
    relay_params: Mapping[str, Any] | None = None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    disabled_pass: Any = None,
    translate_op_with_tir: Mapping[str, Any] | None = None,
    append_op_attrs: bool = False,
) -> IRModule:
    """`from_relay` under the signature of TVM's `relax.testing.relay_translator`: Relay's passes first, as its options
    say. `target`, `translate_op_with_tir` and `append_op_attrs` are accepted: operators stay operators."""
    wire()
    module, _ = bind_known(as_relay_module(func), relay_params or {})
    with PassContext(opt_level=opt_level, config=dict(pass_config or {}), disabled_pass=disabled_pass or ()):
        return from_relay(optimized(module))
