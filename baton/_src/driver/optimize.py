"""Which passes a build runs. The lists themselves are `passes.pipelines`; here they are chosen and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.passes.relax.annotate_tir_op_pattern import AnnotateTIROpPattern
from baton._src.passes.relax.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relax.fold_constant import FoldConstant
from baton._src.passes.relax.fuse_ops import FuseOps
from baton._src.passes.relax.fuse_tir import FuseTIR
from baton._src.passes.relax.legalize_ops import LegalizeOps
from baton._src.transform.context import PassContext

Note = Callable[[str, IRModule], None]


def optimize(module: IRModule, target: Target, pipeline: Any, note: Note) -> IRModule:
    """`module` after the passes of `pipeline`; `note` is told the module after each one."""
    if pipeline is None:
        return module
    context = PassContext.current()
    with target:
        for one in DEFAULT:
            if context.pass_enabled(one.info):
                module = one(module)
                note(one.name, module)
    return module


DEFAULT = (
    CanonicalizeBindings(),
    EliminateCommonSubexpr(),
    LegalizeOps(),
    FoldConstant(),
    DeadCodeElimination(),
    AnnotateTIROpPattern(),
    FuseOps(),
    FuseTIR(),
    DeadCodeElimination(),
)
