"""Programs over tensors of any dtype and shape, compiled once for all sizes, do what the interpreter does."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import seeds_at_length
from tests.properties.relax.agreement import EVERY
from tests.properties.relax.outcomes import Outcome, Run, assert_agree, hangs_on_rounding, observe
from tests.relax.build import load
from tests.relax.random_programs.any_tensors import SIZES_OF_M, AnyTensors, any_tensors


def outcome(run: Run, machine: VirtualMachine | Interpreter) -> Outcome | DiagnosticError:
    """What `main` does, or why it is refused."""
    try:
        return observe(run, lambda functions: machine["main"])
    except DiagnosticError as refused:
        return refused


def check_run(program: AnyTensors, machine: VirtualMachine, size: int, seed: int) -> None:
    """What one refuses for these sizes, the other does, too; an index by which nothing is read need not be noticed."""
    run = Run(program, program.module, size, seed)
    expected, found = outcome(run, Interpreter(program.module)), outcome(run, machine)
    if isinstance(expected, Outcome) and isinstance(found, Outcome):
        assert_agree_but_for_rounding(run, found, expected)
    elif not is_of_an_index(expected):
        assert isinstance(expected, DiagnosticError), found
        assert isinstance(found, DiagnosticError), expected


def is_of_an_index(refusal: Outcome | DiagnosticError) -> bool:
    """Whether an index is refused: it picks nothing there is, or from an axis that has nothing."""
    if not isinstance(refusal, DiagnosticError):
        return False
    return refusal.code == "relax-index" or "have nothing to pick from" in str(refusal)


def assert_agree_but_for_rounding(run: Run, found: Outcome, expected: Outcome) -> None:
    """Differences count unless inputs a few roundings away make as large ones."""
    try:
        assert_agree(found, expected)
    except AssertionError:
        if not hangs_on_rounding(run, expected):
            raise


def check(seed: int) -> None:
    program, draw = any_tensors(seed), random.Random(seed)
    assert well_formed(program.module) == []
    text = script(program.module, show_meta=True)
    assert_structural_equal(load(text), program.module)
    options = CompileOptions(workers=1, checked=draw.random() < 0.3, level=1)
    mode = draw.choice(["bytecode", "compiled"])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = VirtualMachine(relax_build(program.module, exec_mode=mode, options=options))
        for inputs in draw.sample(range(len(SIZES_OF_M)), 4):
            size = draw.choice([0, 1, 2, 3, 4, 7])
            try:
                check_run(program, machine, size, inputs)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, exec_mode {mode}, n = {size}, inputs {inputs}:\n{text}") from error


def check_passes(seed: int) -> None:
    """What passes make of the program is well-formed, and does what the program does where that is not refused."""
    program, draw = any_tensors(seed, length=10), random.Random(seed)
    names = draw.choices(sorted(EVERY), k=draw.randint(1, 6))
    module = program.module
    for name in names:
        module = EVERY[name](module)
        assert well_formed(module, normalized=True) == [], (seed, names, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inputs in draw.sample(range(len(SIZES_OF_M)), 2):
            run = Run(program, program.module, draw.choice([0, 1, 2, 3, 4]), inputs)
            expected, found = (outcome(run, Interpreter(m)) for m in (program.module, module))
            if isinstance(expected, Outcome):
                assert isinstance(found, Outcome), (seed, names, found)
                assert_agree_but_for_rounding(run, found, expected)


@pytest.mark.parametrize("seed", range(14))
def test_any_tensors(seed: int) -> None:
    """Guards what sizes are made of, empty tensors, narrow dtypes, and one executable for many sizes."""
    check(seed)


@pytest.mark.parametrize("seed", range(60))
def test_passes_over_any_tensors(seed: int) -> None:
    """Guards passes against shapes and dtypes that the programs of `strategies` have not."""
    check_passes(seed)


@pytest.mark.fuzz
def test_many_programs_over_any_tensors() -> None:
    for seed in seeds_at_length(3000):
        check(seed)
        check_passes(seed)
