"""LiftTransformParams: computations that depend on weights alone move into a function of their own, to be run once.

    main(x, w)  num_input=1                            main_transform_params(params: (w,)) -> (lv,)
        lv = R.permute_dims(w)            ->               lv = R.permute_dims(w)
        gv = R.matmul(x, lv)                           main(x, lv)
                                                           gv = R.matmul(x, lv)

The parameters from `num_input` on are weights. `<name>_transform_params` takes them as a tuple and gives a tuple of
what the function takes instead (`weight_preparation`). It exists even if there is nothing to compute, since scripts
call it in any case. `R.builtin.stop_lift_params(v)` keeps computations on `v` in the function.

With `shared_transform` the functions (all, or those named) share one `transform_params`; they must take the same
weights. If it runs again, the pass appends to the earlier preparation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.passes.relax.interfaces.calls_within import keep_calls_within
from baton._src.passes.relax.interfaces.weight_preparation import prepare_weights
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info
from baton._src.relax.nodes import Function, SeqExpr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_SUFFIX = "transform_params"


@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """See the module. `shared_transform`: False, or the names of the functions that share; True, or no names, means all
    functions with the attribute `num_input`.
    """

    opt_level = 1
    shared_transform: bool | Sequence[str] = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        changed: dict[GlobalVar, Any] = {}
        if self.shared_transform is False:
            for var, function in _with_weights(module).items():
                _lift(module, {var: function}, f"{var.name_hint}_{_SUFFIX}", changed)
        else:
            names = () if self.shared_transform is True else self.shared_transform
            _lift(module, _named(module, names) if names else _with_weights(module), _SUFFIX, changed)
        return keep_calls_within(module, module.with_functions({**module.functions, **changed}))


def _with_weights(module: IRModule) -> dict[GlobalVar, Function]:
    """The functions that say which parameters are weights, in the order of their names; what the pass made is none."""
    found = {
        var: function
        for var, function in module.functions.items()
        if isinstance(function, Function) and "num_input" in function.attrs and not var.name_hint.endswith(_SUFFIX)
    }
    return dict(sorted(found.items(), key=lambda item: item[0].name_hint))


def _named(module: IRModule, names: Sequence[str]) -> dict[GlobalVar, Function]:
    """The functions of these names. Errors: `module-missing`, and `pass-lift` for one that names no weights."""
    found = {}
    for name in names:
        function = module[name]
        if not isinstance(function, Function) or "num_input" not in function.attrs:
            raise fail("pass-lift", f"LiftTransformParams: {name} is not a Relax function with the attribute num_input")
        found[module.get_global_var(name)] = function
    return found


def _lift(module: IRModule, targets: Mapping[GlobalVar, Function], name: str, changed: dict[GlobalVar, Any]) -> None:
    """Record in `changed` the preparation, named `name`, of the weights of all `targets`, and the rest of each
    function.
    """
    if not targets:
        return
    preparation, rest = prepare_weights(list(targets.values()))
    changed.update(zip(targets, rest))
    known = next((var for var in module.functions if var.name_hint == name), GlobalVar(name))
    before = module.functions.get(known)
    if isinstance(before, Function):
        preparation = _composed(before, preparation)
    changed[known] = preparation.with_attr("global_symbol", name)


def _composed(first: Function, second: Function) -> Function:
    """`second` applied to the results of `first`. Error `pass-lift`: they do not fit."""
    assert isinstance(first.body, SeqExpr)
    given, taken = first.body.body.struct_info, second.params[0].struct_info
    if not structural_equal(given, taken, map_free_vars=True):
        raise fail("pass-lift", f"LiftTransformParams: what was prepared before is {given}, the functions take {taken}")
    dims = zip(definable_tir_vars_in_struct_info(taken), definable_tir_vars_in_struct_info(given))
    then = substitute(second.body, {**dict(dims), second.params[0]: first.body.body})
    body = SeqExpr([*first.body.blocks, *then.blocks], then.body)
    found: Function = BlockBuilder().normalize(Function(first.params, body, None, True, second.attrs))
    return found
