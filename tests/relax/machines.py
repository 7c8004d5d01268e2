"""Runs a program in the interpreter, by bytecode and compiled, and expects the same of all three."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import FunctionTable
from baton._src.values.tensor import NDArray
from tests.relax.build import module

MODES = ("interpreter", "bytecode", "compiled")


def f32(*values: float) -> np.ndarray:
    """A vector of float32."""
    return np.array(values, np.float32)


def machine(program: str | IRModule, mode: str, functions: FunctionTable | None = None) -> Any:
    """What has the program's functions by name."""
    found = module(program) if isinstance(program, str) else program
    if mode == "interpreter":
        return Interpreter(found, functions)
    return VirtualMachine(relax_build(found, exec_mode=mode), functions=functions)


def table(**functions: Any) -> FunctionTable:
    """Packed functions under `test.<name>`."""
    found = FunctionTable()
    for name, function in functions.items():
        found.register(f"test.{name}", function)
    return found


def everywhere(program: str | IRModule, *args: Any, functions: FunctionTable | None = None, entry: str = "main") -> Any:
    """The result that all three give; each gets copies of the arguments."""
    results = [machine(program, mode, functions)[entry](*copy.deepcopy(args)) for mode in MODES]
    for mode, result in zip(MODES[1:], results[1:]):
        _same(result, results[0], mode)
    return results[0]


def fails_everywhere(
    program: str | IRModule, *args: Any, functions: FunctionTable | None = None, says: str = "", code: str = ""
) -> DiagnosticError:
    """The error of the interpreter; every machine fails while running, with `says` in its message."""
    errors = []
    for mode in MODES:
        main = machine(program, mode, functions)["main"]
        with pytest.raises(DiagnosticError) as error:
            main(*copy.deepcopy(args))
        assert says in str(error.value), (mode, str(error.value))
        assert not code or error.value.code == code, (mode, error.value.code)
        errors.append(error.value)
    return errors[0]


def _same(found: Any, expected: Any, mode: str) -> None:
    if isinstance(expected, NDArray):
        assert isinstance(found, NDArray), mode
        assert found.dtype == expected.dtype, mode
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, err_msg=mode)
    elif type(expected) is tuple:
        assert type(found) is tuple, (mode, found)
        assert len(found) == len(expected), mode
        for a, b in zip(found, expected):
            _same(a, b, mode)
    elif not callable(expected):
        assert found == expected, mode
