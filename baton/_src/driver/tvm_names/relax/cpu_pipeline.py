"""`relax.backend.cpu_generic`: the default pipeline in its parts, between which scripts put passes of their own.

    steps = library_dispatch_passes(target) + [MyPass()] + legalize_passes(target)
    relax.build(mod, target, pipeline=Sequential(steps + dataflow_lower_passes(target) + finalize_passes(target)))

The parts are the same for every CPU. Modules that went through all of them are built call by call: leave the last two
out, and `relax.build` makes faster code of what the others made.
"""

from __future__ import annotations

from baton._src.passes.relax.bindings.attach_global_symbol import AttachGlobalSymbol
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.fusion.annotate_tir_op_pattern import AnnotateTIROpPattern
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.compute_prim_value import ComputePrimValue
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.machine.lower_alloc_tensor import LowerAllocTensor
from baton._src.passes.relax.machine.lower_runtime_builtin import LowerRuntimeBuiltin
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape
from baton._src.passes.relax.machine.static_plan_block_memory import StaticPlanBlockMemory
from baton._src.passes.relax.machine.vm_shape_lower import VMShapeLower
from baton._src.passes.relax.operators.dispatch import DispatchSampling, DispatchSortScan
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.transform.passes import Pass, Sequential


def library_dispatch_passes(target: object = None) -> list[Pass]:
    """The first part of the default pipeline: operators that a library would compute."""
    return [DispatchSampling(), DispatchSortScan()]


def legalize_passes(target: object = None) -> list[Pass]:
    """Its second part: operators become kernels, which are fused."""
    return [LegalizeOps(), AnnotateTIROpPattern(), FoldConstant(), FuseOps(), FuseTIR()]


def dataflow_lower_passes(target: object = None) -> list[Pass]:
    """Its third part: memory of results is allocated, and calls have effects."""
    return [RewriteDataflowReshape(), ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite()]


def finalize_passes(target: object = None) -> list[Pass]:
    """Its last part: memory is planned and released, sizes are computed, all in terms of the virtual machine."""
    memory: list[Pass] = [StaticPlanBlockMemory(), LowerAllocTensor(), KillAfterLastUse(), LowerRuntimeBuiltin()]
    return [*memory, ComputePrimValue(), VMShapeLower(), AttachGlobalSymbol()]


def get_default_pipeline(target: object = None) -> Pass:
    """The four parts one after the other."""
    first = library_dispatch_passes(target) + legalize_passes(target)
    return Sequential(first + dataflow_lower_passes(target) + finalize_passes(target))
