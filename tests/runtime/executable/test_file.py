"""Saving and loading executables: equal behaviour, mapped constants, and refusal of everything damaged."""

from __future__ import annotations

import copy
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.executable.exec_builder import ExecBuilder
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.runtime.value_info import FunctionValue, PrimScalar, ShapeValue, TensorValue, TupleValue
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim, prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

CONSTANTS = [
    NDArray(np.arange(5, dtype="int8")),
    NDArray(np.arange(6, dtype="float32").reshape(2, 3)),
    NDArray(np.ones((2, 0), "float64")),
    NDArray(np.array(3, ml_dtypes.bfloat16)),
    NDArray(np.array([1, -8], ml_dtypes.int4)),
    ShapeTuple((2, 3)),
    "text",
    DataType("int8"),
    None,
    (1, (2.5, True)),
    prim(3, "int32"),
    float("inf"),
    TensorValue("float32", 2, (2, ["+", ["v", 0], 1])),
    TupleValue((ShapeValue(2), PrimScalar("int64", ["v", 1]), FunctionValue((TensorValue(),), TensorValue(), True))),
    Data({"a": [1, 2]}),
]


def sample() -> Executable:
    ib = ExecBuilder()
    with ib.function("constants", 0):
        operands = [ib.convert_constant(c) for c in CONSTANTS]
        ib.emit_call("vm.builtin.make_tuple", operands, ib.r(0))
        ib.emit_ret(ib.r(0))
    with ib.function("choose", 1, ["flag"]):
        ib.emit_if(ib.r(0), 4)
        ib.emit_call("vm.builtin.identity", [ib.imm(1 << 54)], ib.r(1))
        ib.emit_call("vm.builtin.identity", [ib.imm(-(1 << 50))], ib.r(1))
        ib.emit_goto(2)
        ib.emit_call("vm.builtin.identity", ["no"], ib.r(1))
        ib.emit_ret(ib.r(1))
    return ib.get(ir_text="# the program", facts={"target": "llvm"})


def code_of(error: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return error.value.code


@pytest.mark.rule("RELAX-VM-2")
def test_round_trip(tmp_path: Path) -> None:
    """Every kind of constant comes back with its class, dtype and value; functions behave the same."""
    executable = sample()
    path = tmp_path / "model.baton"
    executable.save(path)
    loaded = load_executable(path, verify=True)
    assert loaded.as_text() == executable.as_text()
    assert loaded.stats() == executable.stats()
    assert loaded.ir_text == "# the program"
    found = VirtualMachine(loaded)["constants"]()
    for before, after in zip(CONSTANTS, found):
        assert type(before) is type(after)
        if isinstance(before, NDArray):
            np.testing.assert_array_equal(before.data, after.data)
            assert before.dtype == after.dtype
        elif isinstance(before, Data):
            assert before.content == after.content
        else:
            assert before == after
            assert prim_dtype(before) == prim_dtype(after)
    assert VirtualMachine(loaded)["choose"](True) == -(1 << 50)
    assert VirtualMachine(loaded)["choose"](False) == "no"


def test_constants_are_mapped_and_aligned(tmp_path: Path) -> None:
    """Tensors lie at multiples of 64 bytes in the file, are not copied, and other readers can read them."""
    path = tmp_path / "model.baton"
    sample().save(path)
    tensors = [c for c in load_executable(path).constants if isinstance(c, NDArray)]
    for tensor in tensors:
        assert not tensor.data.flags.owndata
        assert tensor.data.nbytes == 0 or tensor.data.ctypes.data % 64 == 0
    with zipfile.ZipFile(path) as pack:
        others = dict(safetensors.deserialize(pack.read("constants.safetensors")))
    assert others["1"]["shape"] == [2, 3]
    assert bytes(others["1"]["data"]) == CONSTANTS[1].data.tobytes()


def test_saving_is_atomic(tmp_path: Path) -> None:
    """A failed save leaves the old file and no debris."""
    path = tmp_path / "model.baton"
    sample().save(path)
    before = path.read_bytes()
    ib = ExecBuilder()
    with ib.function("f", 0):
        ib.emit_call("vm.builtin.identity", [ib.imm(1)], ib.r(0))
        ib.emit_ret(ib.r(0))
    with pytest.raises(TypeError):
        ib.get(facts={"bad": object()}).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.baton"]
    with pytest.raises(DiagnosticError) as caught:
        sample().save(tmp_path / "no" / "such" / "folder")
    assert code_of(caught) == "file-missing"


@pytest.mark.rule("RELAX-VM-2", rejects=True)
def test_wrong_magic_and_version(tmp_path: Path) -> None:
    path = tmp_path / "model.baton"
    sample().save(path)
    wrong: list[tuple[str, object, str]] = [
        ("version", 99, "executable-version"),
        ("magic", "other", "executable-corrupt"),
    ]
    wrong.append(("public_kernels", [1], "executable-corrupt"))
    for key, value, code in wrong:
        changed = tmp_path / f"{key}.baton"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "manifest.json":
                    content = json.dumps({**json.loads(content), key: value}).encode()
                new.writestr(name, content)
        with pytest.raises(DiagnosticError) as caught:
            load_executable(changed)
        assert code_of(caught) == code
        assert changed.name in str(caught.value)


def test_every_truncation_and_most_flips_are_refused(tmp_path: Path) -> None:
    """Damaged files give diagnostics, never another exception; whole ones load."""
    path = tmp_path / "model.baton"
    sample().save(path)
    content = path.read_bytes()
    damaged = tmp_path / "damaged.baton"
    for length in range(0, len(content) - 1, 97):
        damaged.write_bytes(content[:length])
        with pytest.raises(DiagnosticError) as caught:
            load_executable(damaged)
        assert code_of(caught) == "executable-corrupt"
    for position in range(0, len(content), 31):
        flipped = bytearray(content)
        flipped[position] ^= 0x5A
        damaged.write_bytes(bytes(flipped))
        with suppress(DiagnosticError):
            load_executable(damaged)


def test_directories_that_point_before_the_file_are_refused(tmp_path: Path) -> None:
    """Found by damaging files: what the operating system says of such a place came through."""
    path = tmp_path / "model.baton"
    sample().save(path)
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\5\6")
    entry = content.index(b"PK\1\2")
    content[end + 16 : end + 20] = struct.pack("<I", entry + 4096)  # where the entries are said to begin
    path.write_bytes(bytes(content))
    with pytest.raises(DiagnosticError) as caught:
        load_executable(path)
    assert code_of(caught) == "executable-corrupt"


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="cannot read"):
        load_executable(tmp_path / "nope")
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as pack:
        pack.writestr("readme", "hello")
    with pytest.raises(DiagnosticError, match="not an executable of baton"):
        load_executable(other)


def test_bytecode_that_points_nowhere_is_refused(tmp_path: Path) -> None:
    """The verifier looks at registers, constants, functions and jumps."""
    path = tmp_path / "model.baton"
    broken = sample()
    object.__setattr__(broken, "constants", broken.constants[:3])
    broken.save(path)
    with pytest.raises(DiagnosticError, match="refers to something that does not exist"):
        load_executable(path)


def test_loading_and_running_needs_no_compiler(tmp_path: Path) -> None:
    """The runtime imports nothing of `ir` and above."""
    path = tmp_path / "model.baton"
    sample().save(path)
    program = (
        "import sys\n"
        "from baton._src.runtime.executable.executable import load_executable\n"
        "from baton._src.runtime.vm.virtual_machine import VirtualMachine\n"
        f"assert VirtualMachine(load_executable({str(path)!r}))['choose'](False) == 'no'\n"
        "layers = {m.split('.')[2] for m in sys.modules if m.startswith('baton._src.')}\n"
        "print(sorted(layers - {'support', 'values', 'runtime'}), 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_constants_that_look_alike_are_not_shared() -> None:
    """Guards that numbers keep their dtypes, and tuples their tensors: the first of those that looked alike was taken
    for all."""
    ib = ExecBuilder()
    zeros = [NDArray(np.zeros(5000, "float32")) for _ in range(2)]
    zeros[1].data[2500] = 1
    alike = [
        *(prim(1, dtype) for dtype in ("int8", "int32", "uint8", "int64", "bool", "float32", "float64")),
        *(prim(zero, dtype) for dtype in ("float16", "float64") for zero in (0.0, -0.0)),
        *((zero,) for zero in zeros),
        (prim(1, "int8"),),
        (prim(1, "int32"),),
    ]
    assert len({ib.convert_constant(c).value for c in alike}) == len(alike)
    assert ib.convert_constant((zeros[1],)).value == ib.convert_constant((zeros[1],)).value


def test_builder_program_rebuilds_the_bytecode() -> None:
    """`as_python` is a program for ExecBuilder that gives the same instructions."""
    executable = sample()
    ib = ExecBuilder()
    for constant in executable.constants:
        ib.convert_constant(constant)
    program = executable.as_python().replace("ib = ExecBuilder()\n", "")
    exec(program, {"ib": ib})
    assert ib.get().instructions == executable.instructions


@pytest.mark.parametrize(
    "emit",
    [
        lambda ib: ib.emit_ret(ib.convert_constant(5)),
        lambda ib: ib.emit_ret(ib.void_arg()),
        lambda ib: ib.emit_if(ib.imm(0), 1),
        lambda ib: ib.emit_call("vm.builtin.copy", [ib.r(0)], dst=ib.imm(0)),
        lambda ib: ib.emit_call("vm.builtin.copy", [ib.r(0)], dst=ib.r(-1)),
        lambda ib: ib.emit_call(ib.r(0), [ib.r(0)]),
        lambda ib: ib.emit_goto(7),
        lambda ib: ib.emit_if(ib.r(0), -1),
    ],
)
def test_the_builder_refuses_what_is_no_register_and_jumps_away(emit: Callable[[ExecBuilder], None]) -> None:
    """Guards slips: a constant was taken for the register of its number, and wrong jumps were errors of a list."""

    def build() -> None:
        ib = ExecBuilder()
        with ib.function("main", 1):
            emit(ib)
            ib.emit_ret(ib.r(0))

    with pytest.raises(DiagnosticError, match="vm-builder"):
        build()


def test_copies_are_the_same_and_pickles_are_refused() -> None:
    """Guards pools of processes: errors of local functions."""
    executable = sample()
    assert copy.copy(executable) is executable
    assert copy.deepcopy([executable]) == [executable]
    with pytest.raises(DiagnosticError, match=r"module-pickle(.|\n)*load_module\(path\)"):
        executable.__reduce__()


def test_an_executable_shows_what_can_be_called() -> None:
    """Not its table of functions, which is as long as the program."""
    assert repr(sample()) == "<Executable with functions constants, choose>"
