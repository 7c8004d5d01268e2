"""The machine: instructions, calls, closures, tail calls, stateful calls, instruments."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.runtime.executable.bytecode import Goto, If
from baton._src.runtime.executable.constants import Data
from baton._src.runtime.executable.exec_builder import ExecBuilder
from baton._src.runtime.value_info import TensorValue, TupleValue
from baton._src.runtime.vm import engine
from baton._src.runtime.vm.machine_code import Code, make_ready
from baton._src.runtime.vm.virtual_machine import SKIP_RUN, VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import FunctionTable
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray
from tests.relax.machines import MODES, machine

SOFTMAX = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.nn.softmax(x)
"""


def table(**functions: object) -> FunctionTable:
    found = FunctionTable()
    for name, function in functions.items():
        found.register(name, function)
    return found


def countdown(tail: bool) -> ExecBuilder:
    """f(n): if n == 0 return n else return f(n - 1); without `tail`, adds one to the result."""
    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_call("is_zero", [ib.r(0)], ib.r(1))
        ib.emit_if(ib.r(1), 2)
        ib.emit_ret(ib.r(0))
        ib.emit_call("minus_one", [ib.r(0)], ib.r(2))
        ib.emit_call("f", [ib.r(2)], ib.r(3))
        if not tail:
            ib.emit_call("plus_one", [ib.r(3)], ib.r(3))
        ib.emit_ret(ib.r(3))
    return ib


NUMBERS = {"is_zero": lambda n: n == 0, "minus_one": lambda n: n - 1, "plus_one": lambda n: n + 1}


@pytest.mark.rule("RELAX-VM-3")
def test_call_with_numpy_tuples_and_numbers() -> None:
    """Arguments are converted: arrays to tensors, lists to tuples, numbers to prim values."""
    seen = []
    ib = ExecBuilder()
    with ib.function("f", 3):
        ib.emit_call("see", [ib.r(0), ib.r(1), ib.r(2)], ib.r(3))
        ib.emit_ret(ib.r(3))
    vm = VirtualMachine(ib.get(), functions=table(see=lambda *a: seen.extend(a) or a[0]))
    result = vm["f"](np.ones(3, "float32"), [1, (np.zeros(2), "s")], 2.5)
    assert isinstance(result, NDArray)
    assert isinstance(seen[1], tuple)
    assert isinstance(seen[1][1][0], NDArray)
    assert seen[2] == 2.5


@pytest.mark.rule("RELAX-VM-3", rejects=True)
@pytest.mark.rule("RELAX-SIG-9", rejects=True)
def test_wrong_argument_count_names_both_numbers() -> None:
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    with pytest.raises(DiagnosticError, match=r"takes 1 argument: arg0; 2 given"):
        vm["f"](1, 2)


def test_a_million_tail_calls() -> None:
    """A tail call replaces its frame: neither the Python stack nor the frame list grows."""
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    assert vm["f"](1_000_000) == 0


def test_a_function_whose_preparation_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards Ctrl-C, and other threads, while a function is made ready: half of it was kept, and run by later calls."""

    def interrupted(code: Code, *parts: object) -> None:
        make_ready(code, *parts)
        code.blank = []
        raise KeyboardInterrupt

    machine = VirtualMachine(countdown(tail=False).get(), functions=table(**NUMBERS))
    with monkeypatch.context() as context:
        context.setattr(engine, "make_ready", interrupted)
        with pytest.raises(KeyboardInterrupt):
            machine["f"](3)
    assert machine["f"](3) == 3


def test_hundred_thousand_nested_calls() -> None:
    """Frames live on the heap."""
    vm = VirtualMachine(countdown(False).get(), functions=table(**NUMBERS))
    assert vm["f"](100_000) == 100_000


@pytest.mark.rule("RELAX-VM-1")
def test_if_and_goto() -> None:
    """The four instructions, in text and running."""
    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("vm.builtin.identity", [ib.imm(1)], ib.r(1))
        ib.emit_goto(2)
        ib.emit_call("vm.builtin.identity", [ib.imm(-2)], ib.r(1))
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    assert [type(i) for i in executable.instructions if isinstance(i, (Goto, If))] == [If, Goto]
    assert "If" in executable.as_text()
    vm = VirtualMachine(executable)
    assert vm["f"](np.array(True)) == 1
    assert vm["f"](False) == -2


@pytest.mark.rule("RELAX-VM-1", rejects=True)
def test_builder_refuses_unwritten_registers() -> None:
    ib = ExecBuilder()
    with pytest.raises(DiagnosticError, match="register 1 is read before"), ib.function("f", 1):
        ib.emit_call("vm.builtin.identity", [ib.r(1)], ib.r(2))


def test_closures_bind_trailing_arguments_and_call_back() -> None:
    """make_closure captures the last arguments; Python can call the closure; the machine calls it without recursion."""
    ib = ExecBuilder()
    with ib.function("sub", 2, public=False):
        ib.emit_call("sub_numbers", [ib.r(0), ib.r(1)], ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("make", 1):
        ib.emit_call("vm.builtin.make_closure", [ib.vm_state(), ib.f("sub"), ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("apply", 2):
        ib.emit_call("vm.builtin.invoke_closure", [ib.vm_state(), ib.r(0), ib.r(1)], ib.r(2))
        ib.emit_ret(ib.r(2))
    vm = VirtualMachine(ib.get(), functions=table(sub_numbers=lambda a, b: a - b))
    closure = vm["make"](2)
    assert closure(10) == 8
    assert vm.invoke_closure(closure, 5) == 3
    assert vm["apply"](closure, 4) == 2
    with pytest.raises(DiagnosticError, match="private"):
        vm["sub"]


@pytest.mark.rule("RELAX-VM-6")
def test_match_and_make_shape() -> None:
    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(1)], ib.r(1))
        codes = [ib.imm(1), ib.imm(0), ib.imm(2), ib.imm(0)]
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(1), ib.imm(2), *codes], ib.void_arg())
        parts = [ib.imm(1), ib.imm(0), ib.imm(0), ib.imm(2)]
        ib.emit_call("vm.builtin.make_shape", [ib.r(1), ib.imm(2), *parts], ib.r(2))
        ib.emit_ret(ib.r(2))
    found = VirtualMachine(ib.get())["f"](np.zeros((3, 9)))
    assert isinstance(found, ShapeTuple)
    assert found == (3, 2)


@pytest.mark.rule("RELAX-VM-6", rejects=True)
def test_match_shape_names_the_dimension() -> None:
    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), None, ib.imm(1), ib.imm(0), ib.imm(4), "x"], ib.void_arg())
        ib.emit_ret(ib.r(0))
    with pytest.raises(DiagnosticError, match="x: dimension 0 is 3, expected 4"):
        VirtualMachine(ib.get())["f"](np.zeros(3))


@pytest.mark.rule("RELAX-SIG-2")
@pytest.mark.rule("RELAX-SIG-3")
@pytest.mark.rule("RELAX-SIG-3", rejects=True)
@pytest.mark.rule("RELAX-SIG-2", rejects=True)
def test_signatures_bind_first_and_then_check() -> None:
    """f(x: Tensor((m*n,)), y: Tensor((m, n))): m and n are read from y before x is checked."""
    infos = TupleValue((TensorValue("", 1, (["*", ["v", 0], ["v", 1]],)), TensorValue("", 2, (["v", 0], ["v", 1]))))
    ib = ExecBuilder()
    with ib.function("f", 2, ["x", "y"]):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(2)], ib.r(2))
        facts = Data(["f", ["x", "y"], ["m", "n"]])
        ib.emit_call("vm.builtin.check_signature", [ib.r(2), infos, facts, ib.r(0), ib.r(1)], ib.void_arg())
        ib.emit_ret(ib.r(0))
    f = VirtualMachine(ib.get())["f"]
    assert f(np.zeros(6), np.zeros((2, 3))).shape == (6,)
    with pytest.raises(
        DiagnosticError, match=r"f: argument x: dimension 0 is 7, expected 6 \(m \* n with m = 2, n = 3\)"
    ):
        f(np.zeros(7), np.zeros((2, 3)))
    with pytest.raises(DiagnosticError, match="argument y: expected a tensor of rank 2"):
        f(np.zeros(7), np.zeros(3))


@pytest.mark.rule("RELAX-VM-4")
def test_stateful_calls() -> None:
    vm = VirtualMachine(countdown(False).get(), functions=table(**NUMBERS))
    vm.set_input("f", 3)
    vm.invoke_stateful("f")
    assert vm.get_outputs("f") == 3
    vm.set_input("f", arg0=5)
    vm.invoke_stateful("f")
    assert vm.get_outputs("f") == 5
    vm.save_function("f", "saved", 7)
    assert vm["saved"]() == 7
    vm.save_function("f", "saved", 8)
    assert vm["saved"]() == 8
    assert vm.module["get_function_arity"]("f") == 1
    assert vm.module["get_function_param_name"]("f", 0) == "arg0"
    assert vm.module["get_output_arity"]("f") == -1


@pytest.mark.rule("RELAX-VM-4", rejects=True)
def test_calls_are_not_saved_over_functions() -> None:
    vm = VirtualMachine(countdown(False).get(), functions=table(**NUMBERS))
    with pytest.raises(DiagnosticError, match="f is a function of the program"):
        vm.save_function("f", "f", 7)
    assert vm["f"](3) == 3


@pytest.mark.rule("RELAX-VM-4", rejects=True)
def test_outputs_before_a_run() -> None:
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    with pytest.raises(DiagnosticError, match="no outputs yet"):
        vm.get_outputs("f")
    with pytest.raises(DiagnosticError, match="no inputs are set"):
        vm.invoke_stateful("f")
    with pytest.raises(DiagnosticError, match="no \\(further\\) argument 'nope'"):
        vm.set_input("f", arg0=1, nope=2)


def test_copies_have_inputs_and_outputs_of_their_own() -> None:
    """Guards copies of what holds a machine, once it has run machine code: errors of ctypes."""
    x = np.arange(6, dtype="float32").reshape(2, 3)
    machine = VirtualMachine(relax_build(from_source(SOFTMAX)))
    expected = machine["main"](x).numpy()
    machine.set_input("main", NDArray(x.copy()))
    machine.invoke_stateful("main")
    together: list[Any] = [machine["main"], machine, machine.module]
    function, copied, module = copy.deepcopy(together)
    assert module["get_output"]("main").same_as(copied.get_outputs("main"))  # what belongs together stays so
    machine.get_outputs("main").data[:] = 0
    np.testing.assert_array_equal(copied.get_outputs("main").numpy(), expected)
    np.testing.assert_array_equal(function(x).numpy(), expected)
    copied.set_input("main", np.zeros((1, 3), "float32"))
    copied.invoke_stateful("main")
    machine.invoke_stateful("main")
    np.testing.assert_array_equal(machine.get_outputs("main").numpy(), expected)
    assert copied.get_outputs("main").shape == (1, 3)


@pytest.mark.rule("RELAX-VM-5")
def test_instruments_see_each_call_and_may_skip_it() -> None:
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    seen: list[tuple[str, bool]] = []
    vm.set_instrument(lambda func, name, before, result, *args: seen.append((name, before)))
    vm["f"](1)
    expected = ["is_zero", "minus_one", "is_zero"]
    assert [n for n, before in seen if before] == expected
    assert [n for n, before in seen if not before] == expected
    ib = ExecBuilder()
    with ib.function("g", 0):
        ib.emit_call("boom", [], ib.r(0))
        ib.emit_ret(ib.r(0))
    vm = VirtualMachine(ib.get(), functions=table(boom=lambda: 1 / 0))
    vm.set_instrument(lambda *a: SKIP_RUN)
    assert vm["g"]() is None


def test_packed_functions_write_in_place_and_pass_objects_through() -> None:
    """A Python packed function gets the very tensors; objects it returns come back as they are."""
    marker = object()

    def fill(tensor: NDArray) -> object:
        tensor[:] = 7.0
        return marker

    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_call("fill", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    array = np.zeros(3, "float32")
    assert VirtualMachine(ib.get(), functions=table(fill=fill))["f"](array) is marker
    assert array.tolist() == [7.0, 7.0, 7.0]


@pytest.mark.rule("RELAX-SEM-05", rejects=True)
def test_missing_packed_function() -> None:
    vm = VirtualMachine(countdown(True).get(), functions=table(is_zeroo=lambda n: True))
    with pytest.raises(DiagnosticError, match="no packed function 'is_zero'") as caught:
        vm["f"](1)
    assert "did you mean 'is_zeroo'" in str(caught.value)


def test_time_evaluator_and_profile() -> None:
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    result = vm.time_evaluator("f", number=2, repeat=3)(4)
    assert len(result.results) == 3
    assert 0 < result.min <= result.median <= result.max
    records = {r.name: r.calls for r in vm.profile("f", 4).records}
    assert records == {"is_zero": 5, "minus_one": 4}


def test_kept_arguments_are_those_of_when_they_were_given() -> None:
    """As in TVM: a NumPy array that is filled with something else before the run changed what the run computes."""
    ib = ExecBuilder()
    with ib.function("f", 1):
        ib.emit_ret(ib.r(0))
    vm, x = VirtualMachine(ib.get()), np.zeros(2, "float32")
    vm.set_input("f", (x, [x]))
    vm.save_function("f", "saved", arg0=x)
    x[:] = 5
    vm.invoke_stateful("f")
    first, (second,) = vm.get_outputs("f")
    assert [t.numpy().tolist() for t in (first, second, vm["saved"]())] == [[0, 0]] * 3
    held = NDArray(x)
    vm.set_input("f", held)
    vm.invoke_stateful("f")
    assert vm.get_outputs("f") is held


@pytest.mark.rule("RELAX-VM-4")
def test_what_the_machine_itself_does_is_measured_too() -> None:
    """Scripts measure `invoke_stateful`, by the machine or by its module; both had no such function."""
    vm = VirtualMachine(countdown(True).get(), functions=table(**NUMBERS))
    vm.set_input("f", 4)
    for evaluator in (vm.time_evaluator, vm.module.time_evaluator):
        assert len(evaluator("invoke_stateful", number=1, repeat=2)("f").results) == 2
    assert vm.get_outputs("f") == vm["f"](4)
    with pytest.raises(DiagnosticError, match="no public function 'nope'"):
        vm.time_evaluator("nope")


STRIDED = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), both: R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor((), "bool"))):
    c = both[1]
    if c:
        y = R.exp(both[0])
    else:
        y = R.matmul(both[0], R.permute_dims(x))
    return y
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("flag", [True, False])
def test_tensors_over_strided_memory_are_arguments(mode: str, flag: bool) -> None:
    """Guards bytecode: its kernels refused what an entry copies, and named neither function nor argument."""
    base = np.arange(64, dtype="float32").reshape(8, 8) / 64
    views = [base[::2, ::2], base.T[:, 4:], np.broadcast_to(base[0, :4], (3, 4)), base[::-1, :4]]
    for view in views:
        x, given = NDArray(view), NDArray(np.bool_(flag))
        found = machine(STRIDED, mode)["main"](x, (x, given)).numpy()
        np.testing.assert_allclose(found, np.exp(view) if flag else view @ view.T, rtol=1e-5)
