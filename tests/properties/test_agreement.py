"""Random programs do the same in the interpreter, in both execution modes, and after any sequence of passes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import default
from baton._src.passes.relax.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.dataflow_blocks import ConvertToDataflow, ToNonDataflow
from baton._src.passes.relax.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.eliminate_common_subexpr import EliminateCommonSubexpr
from baton._src.passes.relax.fold_constant import FoldConstant
from baton._src.passes.relax.fuse_ops import FuseOps
from baton._src.passes.relax.fuse_tir import FuseTIR
from baton._src.passes.relax.inline_private_functions import InlinePrivateFunctions
from baton._src.passes.relax.lambda_lift import LambdaLift
from baton._src.passes.relax.legalize_ops import LegalizeOps
from baton._src.passes.relax.normalize import Normalize
from baton._src.relax.check.well_formed import well_formed
from baton._src.relax.text.printer import script
from baton._src.transform.passes import Sequential
from tests.properties.outcomes import Run, assert_agree, built, interpreted
from tests.relax.strategies import Program, programs

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
sizes, seeds = st.integers(1, 4), st.integers(0, 5)
sequences = st.lists(st.sampled_from(sorted(PASSES)), min_size=1, max_size=5)


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


def check_machines(program: Program, size: int, seed: int) -> None:
    """Both execution modes against the interpreter."""
    note(script(program.module))
    run = Run(program, program.module, size, seed)
    expected = interpreted(run)
    for mode in ("bytecode", "compiled"):
        note(f"exec_mode {mode}")
        assert_agree(built(run, mode), expected)


def check_passes(program: Program, names: list[str], size: int, seed: int) -> None:
    """What passes made is well-formed and does the same."""
    note(script(program.module))
    expected = interpreted(Run(program, program.module, size, seed))
    module: IRModule = program.module
    for name in names:
        module = PASSES[name](module)
        note(f"after {name}:\n{script(module)}")
        assert well_formed(module, normalized=True, entry_required=True) == []
    assert_agree(interpreted(Run(program, module, size, seed)), expected)


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.rule("RELAX-SEM-10")
@given(programs(), sizes, seeds)
@examples(120)
def test_machines_agree(program: Program, size: int, seed: int) -> None:
    """Value, printed text, logged tensors, changes of arguments."""
    check_machines(program, size, seed)


@pytest.mark.rule("RELAX-SEM-10")
@pytest.mark.rule("RELAX-PURE-05")
@given(programs(), sequences, sizes, seeds)
@examples(150)
def test_passes_keep_what_programs_do(program: Program, names: list[str], size: int, seed: int) -> None:
    """Effects keep their order and number through every sequence of passes."""
    check_passes(program, names, size, seed)


@pytest.mark.fuzz
@given(programs(max_statements=20), sizes, seeds)
@examples(3000)
def test_machines_agree_at_length(program: Program, size: int, seed: int) -> None:
    """The same, for many and larger programs."""
    check_machines(program, size, seed)


@pytest.mark.fuzz
@given(programs(max_statements=20), sequences, sizes, seeds)
@examples(3000)
def test_passes_keep_what_programs_do_at_length(program: Program, names: list[str], size: int, seed: int) -> None:
    """The same, for many and larger programs."""
    check_passes(program, names, size, seed)
