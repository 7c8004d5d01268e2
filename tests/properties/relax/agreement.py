"""What must hold for every random program: all machines agree on it, and on what passes make of it.

`make test` runs 240 programs, 60 in each of four files (so that processes share them); `make fuzz` 3,000 longer
ones. A failure is shrunk by hypothesis and its program printed as TVMScript.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, note, reject, settings
from hypothesis import strategies as st

from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.pipelines import default
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow, ToNonDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.bindings.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relax.bindings.inline_private_functions import InlinePrivateFunctions
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.interfaces.bind_params import BindSymbolicVars
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.transform.passes import Sequential
from baton.relax import transform
from tests.properties.relax.outcomes import (
    Outcome,
    Run,
    assert_agree,
    both_builds,
    hangs_on_rounding,
    in_threads,
    interpreted,
)
from tests.properties.relax.rules import RULES
from tests.relax.build import load
from tests.relax.random_programs.strategies import Program

PASSES = {
    "Normalize": Normalize(),
    "CanonicalizeBindings": CanonicalizeBindings(),
    "EliminateCommonSubexpr": EliminateCommonSubexpr(),
    "FoldConstant": FoldConstant(),
    "DeadCodeElimination": DeadCodeElimination(),
    "LambdaLift": LambdaLift(),
    "InlinePrivateFunctions": InlinePrivateFunctions(),
    "LegalizeOps": LegalizeOps(),
    "ToNonDataflow": ToNonDataflow(),
    "ConvertToDataflow": ConvertToDataflow(),
    "FuseOps": FuseOps(),
    "FuseTIR": FuseTIR(),
    "default": Sequential(default()),
}
EVERY = PASSES | RULES | {
    name: getattr(transform, name)()
    for name in (
        "AdjustMatmulOrder", "AnnotateTIROpPattern", "AttachGlobalSymbol", "BatchSliceProducts", "BlockChannels",
        "BundleModelParams", "ByteProducts", "ChannelsFirst", "CheckSizes", "CombineParallelMatmul", "ComputePrimValue",
        "DataflowUseInplaceCalls", "DecomposeOpsForInference", "DecomposeOpsForTraining", "ExpandMatmulOfSum",
        "ExpandTupleArguments", "FastMathTransform", "FoldScaleIntoWeights", "FuseAttention", "FuseTransposeMatmul",
        "LiftTransformParams", "OptimizeLayoutTransform", "PhasesOfTransposed", "RemoveRedundantReshape",
        "RemoveUnusedOutputs", "RemoveUnusedParameters", "ReorderPermuteDimsAfterConcat", "ReorderTakeAfterMatmul",
        "RewriteDataflowReshape", "TopologicalSort", "VolumesAsImages",
    )
}  # fmt: skip
"""Those that seldom find anything to do included: for `make fuzz`."""
sizes, seeds = st.integers(1, 4), st.integers(0, 5)
sequences = st.lists(st.sampled_from(sorted(PASSES)), min_size=1, max_size=5)
sequences_of_every = st.lists(st.sampled_from(sorted(EVERY)), min_size=1, max_size=7)
SHARE = 60
"""Programs of one test file."""
THREADS = 3


def examples(count: int) -> settings:
    """So many programs, however long each takes."""
    return settings(max_examples=count, suppress_health_check=list(HealthCheck))


def check(
    program: Program, names: list[str], size: int, seed: int, checked: bool = False, is_known: bool = False
) -> None:
    """Interpreter, bytecode and compiled code agree; so does what the passes `names` make of the program."""
    check_machines(program, size, seed, checked, is_known)
    check_passes(program, names, size, seed)


def check_texts(program: Program, names: list[str]) -> None:
    """What is printed behind each pass reads back as the same."""
    module = program.module
    for name in names:
        module = EVERY[name](module)
        text = script(module, show_meta=True)
        note(f"after {name}:\n{text}")
        assert_structural_equal(load(text), module)


def check_machines(program: Program, size: int, seed: int, checked: bool = False, is_known: bool = False) -> None:
    """Both execution modes against the interpreter: value, printed text, logged tensors, changes of arguments.

    `is_known`: `n` is a number when it is compiled.
    """
    note(script(program.module))
    run = Run(program, program.module, size, seed)
    expected = interpreted(run)
    module = BindSymbolicVars({"n": size})(program.module) if is_known else program.module
    for mode, found in both_builds(replace(run, module=module), checked).items():
        note(f"exec_mode {mode}, n = {size}, {'known' if is_known else 'open'}, seed {seed}")
        _require_agreement(found, expected, run)


def check_threads(program: Program, size: int, seed: int) -> None:
    """Threads that call a program at the same time, with sizes and inputs of their own, get what each gets alone."""
    if not program.pure:
        return
    note(script(program.module))
    runs = [Run(program, program.module, size + number, seed + number) for number in range(THREADS)]
    for run, found in zip(runs, in_threads(runs), strict=True):
        note(f"in threads, n = {run.size}, seed {run.seed}")
        _require_agreement(found, interpreted(run), run)


def check_passes(program: Program, names: list[str], size: int, seed: int) -> None:
    """What passes made is well-formed and does the same: effects keep their order and number."""
    run = Run(program, program.module, size, seed)
    expected = interpreted(run)
    module = program.module
    for name in names:
        module = EVERY[name](module)
        faults = well_formed(module, normalized=True, entry_required=True)
        if faults:
            note(f"after {name}:\n{script(module)}")
        assert faults == [], name
    note(f"after {', '.join(names)}:\n{script(module)}")
    _require_agreement(interpreted(replace(run, module=module)), expected, run)


def _require_agreement(found: Outcome, expected: Outcome, run: Run) -> None:
    """Programs that order, round or count values which rounding decides on say nothing of who is right."""
    try:
        assert_agree(found, expected)
    except AssertionError:
        if hangs_on_rounding(run, expected):
            reject()
        raise
