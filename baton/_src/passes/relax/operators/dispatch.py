"""Passes of TVM that choose an implementation by device: on CPUs nothing is left to choose.

`DispatchSampling` and `DispatchSortScan` replace sampling, sorting and scans by kernels for the target. Here these
operators have their own kernels, which `LegalizeOps` puts in place, so the module stays as it is.
`SplitLayoutRewritePreproc` splits off the layout changes of weights that a tuner has marked inside kernels; no tuner
marks any here (weights are packed when compiling), and a kernel marked elsewhere is refused rather than left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_MARK = "meta_schedule.layout_rewrite_preproc"


@dataclass(frozen=True)
class DispatchSampling(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return module


@dataclass(frozen=True)
class DispatchSortScan(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return module


@dataclass(frozen=True)
class SplitLayoutRewritePreproc(Pass):
    """See the module. Error `pass-layout-rewrite`: a kernel with a marked block."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        for var, function in module.functions.items():
            if isinstance(function, PrimFunc):
                for node in post_order(function.body):
                    if isinstance(node, Block) and node.annotations.get(_MARK):
                        raise fail(
                            "pass-layout-rewrite",
                            f"block {node.name_hint} of {var.name_hint} is marked {_MARK} by a tuner",
                            help="lift the change of layout into a function of its own with R.permute_dims",
                        )
        return module
