"""The Relax pipelines, as tuples of pass values; a comment on each line says why the pass is at this place.

    for step in default(): module = step(module)      or      Sequential(default())(module)

TVM's pipelines keep their names (`zero`, `default_build`); `default` is what `baton.compile` and `relax.build` run
before lowering to native entries (`lower.relax_to_vm`), which takes call_tir directly and plans memory itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.filled_columns import FILLED, LEGALIZE
from baton._src.passes.relax.bindings.attach_global_symbol import AttachGlobalSymbol
from baton._src.passes.relax.bindings.call_closures import CallClosures
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow, ToNonDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.bindings.dissolve_marks import DissolveMarks
from baton._src.passes.relax.bindings.eliminate_common_subexpr import MergeEqualBindings
from baton._src.passes.relax.bindings.inline_private_functions import InlinePrivateFunctions
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize
from baton._src.passes.relax.fusion.annotate_tir_op_pattern import AnnotateTIROpPattern
from baton._src.passes.relax.fusion.fuse_attention import FuseAttention
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.fusion.inline_scalar_arguments import InlineScalarArguments
from baton._src.passes.relax.fusion.name_sizes import NameSizes
from baton._src.passes.relax.layouts.block_channels import BlockChannels
from baton._src.passes.relax.layouts.channels_first import ChannelsFirst
from baton._src.passes.relax.layouts.sampled_channels_last import SampledChannelsLast
from baton._src.passes.relax.layouts.transpose_uneven_resizes import TransposeUnevenResizes
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.compute_prim_value import ComputePrimValue
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.machine.lower_alloc_tensor import LowerAllocTensor
from baton._src.passes.relax.machine.lower_runtime_builtin import LowerRuntimeBuiltin
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape
from baton._src.passes.relax.machine.static_plan_block_memory import StaticPlanBlockMemory
from baton._src.passes.relax.machine.vm_shape_lower import VMShapeLower
from baton._src.passes.relax.operators.append_in_place import AppendInPlace
from baton._src.passes.relax.operators.check_sizes import CheckSizes
from baton._src.passes.relax.operators.count_results import CountResults
from baton._src.passes.relax.operators.decompose_ops import DecomposeOps
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.passes.relax.operators.shape_tensors import ShapeTensors
from baton._src.passes.relax.products.batch_slice_products import BatchSliceProducts
from baton._src.passes.relax.products.byte_products import ByteProducts
from baton._src.passes.relax.products.einsum_products import EinsumProducts
from baton._src.passes.relax.products.fake_quantize import FakeQuantize
from baton._src.passes.relax.products.fold_scale_into_weights import FoldScaleIntoWeights
from baton._src.passes.relax.products.fuse_transpose_matmul import FuseTransposeMatmul
from baton._src.passes.relax.products.half_convolutions import HalfConvolutions
from baton._src.passes.relax.products.phases_of_transposed import PhasesOfTransposed
from baton._src.passes.relax.products.volumes_as_images import VolumesAsImages
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.transform.passes import Pass, Sequential

Pipeline = tuple[Pass, ...]


def simplify() -> Pipeline:
    """Graph-level passes, which run while operators are still operators."""
    return (
        Normalize(),  # whatever the front end gave: normal form, every StructInfo known
        LambdaLift(),  # first-order functions from here on: nothing below looks into inner functions
        CallClosures(),  # ... and what is called there is named
        InlinePrivateFunctions(),  # helpers become part of what is optimised; recursive ones stay
        CountResults(),  # sizes that depend on data get names, of which the checks of sizes know then
        CanonicalizeBindings(),  # copies and tuple detours hide operands from the passes below
        CheckSizes(),  # the user's operators, before any is rewritten; helpers' sizes are their callers' by now
        *_registered(),  # what scripts compute in an operator's place, before it becomes another one
        DecomposeOps(),  # batch_norm as scale and shift, so that both can be folded
        CanonicalizeBindings(),  # ... whose tuple of results is taken apart right away
        EinsumProducts(),  # whose weights are reshaped by folding, and packed
        ChannelsFirst(),  # one layout for what follows; the weights' transposes are folded next
        ByteProducts(),  # sees zero points and scales of weights, which folding takes away
        FakeQuantize(),  # the pairs that products of bytes have left
        FoldConstant(),  # weights alone: transposes, the scale and shift of normalisations
        FoldScaleIntoWeights(),  # a scale behind a convolution costs nothing once it is in the weights
        CanonicalizeBindings(),  # the copies that leaves
        HalfConvolutions(),  # maps of float16 are computed in float32; scales are in the weights by now
        PhasesOfTransposed(),  # transposed convolutions as ordinary ones, scales being in their weights
        VolumesAsImages(),  # slices of videos, which may be in blocks then
        BlockChannels(),  # chains of convolutions in the layout of vectors; weights are final here
        TransposeUnevenResizes(),  # of images that are in no blocks
        SampledChannelsLast(),  # of such images, too: those in blocks have their channels side by side
        BatchSliceProducts(),  # what unrolled loops compute of each slice of an input, at once
        MergeEqualBindings(),  # before kernels exist: operators compare cheaply
        DissolveMarks(),  # which kept apart what a gradient computes again
        FuseAttention(),  # two products and a softmax as one kernel; values are shared already, so uses count right
        FuseTransposeMatmul(most_rows=256),  # what is transposed by now is not constant; attention moves keys itself
        AppendInPlace(),  # concatenations of loops, while they are operators
        DeadCodeElimination(),  # what folding and merging left without users
    )


def _registered() -> Pipeline:
    """Legalisation by the kernels that scripts registered for operators, if there are any."""
    return (LegalizeOps(registered="only", sizes_checked=True),) if LEGALIZE in FILLED else ()


def kernels() -> Pipeline:
    """From operators to fused kernels."""
    return (
        ShapeTensors(),  # what is computed of sizes is native code, too
        # operators of known rank become PrimFuncs; the rest is left to run-time compilation
        LegalizeOps(fusion_classes=True, sizes_checked=True, registered="not"),
        AnnotateTIROpPattern(),  # users' own PrimFuncs join in fusion, too
        ConvertToDataflow(),  # fusion looks at dataflow blocks; programs written without them get them here
        RewriteDataflowReshape(),  # a reshape is a view, not a kernel; before fusion, which would bury it
        # which kernels run together; very long chains cost more to compile than they save
        FuseOps(max_depth=64),
        InlineScalarArguments(),  # better kernels, but one for all layers that differ in their scales
        FuseTIR(inline=True),  # ... as one
        DeadCodeElimination(),  # kernels that live on only inside fused ones
        NameSizes(),  # kernels that differ only in how their sizes are computed; whatever compares sizes ran before
    )


def default() -> Pipeline:
    """What `compile` runs."""
    return (*simplify(), *kernels())


def zero() -> Pipeline:
    """TVM's `zero`, the default of `get_pipeline`."""
    return (
        LegalizeOps(fusion_classes=True),
        AnnotateTIROpPattern(),
        FoldConstant(),
        FuseOps(),
        FuseTIR(inline=True),
    )


def default_build() -> Pipeline:
    """TVM's `default_build`, without the steps for other devices: it makes every detail of the VM program explicit.

    `relax.build` does the same work in one step while lowering, with native entries instead of single calls; this
    pipeline is for inspecting programs and for building custom pipelines. Inner functions must be lifted first, as in
    TVM.
    """
    return (
        LegalizeOps(),  # nothing to do where `zero` ran
        RewriteDataflowReshape(),  # needs dataflow blocks, so before they go
        ToNonDataflow(),  # calls with effects may not stand in dataflow blocks
        RemovePurityChecking(),  # nor in pure functions
        CallTIRRewrite(),  # allocations become visible ...
        StaticPlanBlockMemory(),  # ... share memory where they may ...
        LowerAllocTensor(),  # ... or get their own ...
        KillAfterLastUse(),  # ... and end
        LowerRuntimeBuiltin(),  # what the VM has a function for
        ComputePrimValue(),  # scalars get kernels before shapes take theirs from the heap
        VMShapeLower(),  # checks and shapes on the heap: last, for every pass above makes shapes
        AttachGlobalSymbol(),
    )


PIPELINES: dict[str, Callable[..., Any]] = {"default": default, "zero": zero, "default_build": default_build}
"""Functions that make the pipelines, by name. `register_pipeline` adds users' own."""


class UnknownPipeline(DiagnosticError, ValueError):
    """No pipeline has the requested name."""


def get_pipeline(name: str = "zero", **options: Any) -> Pass:
    """The pipeline as one pass; `DiagnosticError` (`pipeline-unknown`, a ValueError) for an unknown name.

    `options` are passed to the function that makes the pipeline (TVM's own ones take none).
    """
    found = PIPELINES.get(name)
    if found is None:
        known = ", ".join(PIPELINES)
        raise UnknownPipeline(Diagnostic("pipeline-unknown", f"there is no pipeline {name!r}", help=f"known: {known}"))
    made = found(**options)
    return made if isinstance(made, Pass) else Sequential(made, name=name)


def register_pipeline(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that names a function without arguments which returns a pass, or passes in order.

    Error `pipeline-duplicate`: a name that is taken.
    """
    if name in PIPELINES:
        raise fail("pipeline-duplicate", f"there is a pipeline {name!r} already", help="choose another name")

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        PIPELINES[name] = make
        return make

    return register
