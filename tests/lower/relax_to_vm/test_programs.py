"""Relax programs, from text to native code and bytecode: both modes give what the program means."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.runtime.vm.builtins.functions import AssertionFailed
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray
from tests.lower.relax_to_vm.programs import MODES, machine

both_modes = pytest.mark.parametrize("mode", MODES)


def f32(*values: float) -> np.ndarray:
    return np.array(values, "float32")


CHAIN = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.subtract(R.exp(b), a)
            R.output(c)
        return c
"""


@both_modes
def test_one_executable_for_all_sizes(mode: str) -> None:
    vm = machine(CHAIN, mode)
    rng = np.random.default_rng(0)
    for n in (1, 7, 64, 0):
        x, w = rng.standard_normal((n, 4)).astype("float32"), rng.standard_normal((4, 8)).astype("float32")
        product = x @ w
        expected = np.exp(np.maximum(product, 0)) - product
        np.testing.assert_allclose(vm["main"](x, w).data, expected, rtol=1e-5, atol=1e-6)


def test_a_dataflow_function_is_one_native_entry() -> None:
    """No bytecode at all between the caller and the kernels."""
    vm = machine(CHAIN)
    assert vm.executable.entry("main").kind == "native"
    assert not vm.executable.instructions


@both_modes
def test_branches(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((3,), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor((3,), "float32"):
        y = R.add(x, x)
        if flag:
            z = R.multiply(y, x)
            r = R.add(z, y)
        else:
            r = R.negative(y)
        q = R.add(r, y)
        return q
""",
        mode,
    )
    x = f32(1, 2, 3)
    np.testing.assert_allclose(vm["main"](x, np.array(True)).data, 2 * x * x + 4 * x)
    np.testing.assert_allclose(vm["main"](x, np.array(False)).data, 0 * x)


COUNTDOWN = """
@I.ir_module
class M:
    @R.function
    def main(n: R.Tensor((), "int64"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = M
        stop = R.less_equal(n, R.const(0, "int64"))
        if stop:
            r = x
        else:
            m = R.subtract(n, R.const(1, "int64"))
            y = R.add(x, R.const(1.0, "float32"))
            r = cls.main(m, y)
        return r
"""


def test_recursion_in_tail_position_keeps_one_frame() -> None:
    vm = machine(COUNTDOWN.replace("        cls = M\n", "").replace("cls.main", "M.main"))
    found = vm["main"](np.array(3000), f32(0, 1))
    np.testing.assert_allclose(found.data, f32(3000, 3001))


@both_modes
@pytest.mark.rule("RELAX-VALUE-06")
@pytest.mark.rule("RELAX-VALUE-07")
def test_closures_capture_tensors_and_shape_variables(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return R.add(x, y)
        z = inner(x)
        return (inner, z)
""",
        mode,
    )
    closure, doubled = vm["main"](f32(1, 2))
    np.testing.assert_allclose(doubled.data, f32(2, 4))
    np.testing.assert_allclose(closure(f32(5, 5)).data, f32(6, 7))
    with pytest.raises(DiagnosticError, match="dimension 0 is"):
        closure(f32(1, 2, 3))


SIGNATURE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("m * n",), "float32"), y: R.Tensor(("m", "n"), "float32")) -> R.Tensor(("m", "n"), "float32"):
        m = T.int64()
        n = T.int64()
        z = R.reshape(x, R.shape([m, n]))
        return R.add(z, y)
"""


@both_modes
@pytest.mark.rule("RELAX-SIG-2")
@pytest.mark.rule("RELAX-SIG-2", rejects=True)
@pytest.mark.rule("RELAX-SIG-3", rejects=True)
def test_signatures_bind_then_check(mode: str) -> None:
    """m and n are read from y, then x is compared, then y; a wrong rank comes before any dimension."""
    vm = machine(SIGNATURE, mode)
    assert vm["main"](np.zeros(6, "float32"), np.ones((2, 3), "float32")).shape == (2, 3)
    with pytest.raises(DiagnosticError, match="argument x: dimension 0 is 7, expected 6"):
        vm["main"](np.zeros(7, "float32"), np.ones((2, 3), "float32"))
    with pytest.raises(DiagnosticError, match="argument y: expected a tensor of rank 2"):
        vm["main"](np.zeros(7, "float32"), np.ones(3, "float32"))
    with pytest.raises(DiagnosticError, match="argument x: expected a tensor of dtype float32, found dtype float64"):
        vm["main"](np.zeros(6), np.ones((2, 3), "float32"))


@both_modes
@pytest.mark.rule("RELAX-SIG-5")
@pytest.mark.rule("RELAX-SIG-5", rejects=True)
@pytest.mark.rule("RELAX-SIG-6")
@pytest.mark.rule("RELAX-SIG-6", rejects=True)
def test_signatures_look_through_tuples_and_compare_repeats(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n * 2",), "float32")), b: R.Tensor(("n",), "float32")):
        x = t[0]
        return R.add(x, b)
""",
        mode,
    )
    two, three, four = (np.zeros(k, "float32") for k in (2, 3, 4))
    assert vm["main"]((two, four), two).shape == (2,)
    with pytest.raises(DiagnosticError, match=r"argument t\[1\]: dimension 0 is 3, expected 4"):
        vm["main"]((two, three), two)
    with pytest.raises(DiagnosticError, match="argument b: dimension 0 is 3, expected 2"):
        vm["main"]((two, four), three)


@both_modes
@pytest.mark.rule("RELAX-MATCH-2")
@pytest.mark.rule("RELAX-MATCH-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2-2-1")
@pytest.mark.rule("RELAX-MATCH-2-2-2")
@pytest.mark.rule("RELAX-MATCH-2-2-2", rejects=True)
@pytest.mark.rule("RELAX-MATCH-2c", rejects=True)
def test_match_cast_binds_and_checks(mode: str) -> None:
    made = {"now": np.zeros((2, 4), "float32")}
    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main():
        o = R.call_packed("make", sinfo_args=R.Object)
        n = T.int64()
        t = R.match_cast(o, R.Tensor((n, n * 2), "float32"))
        s = R.shape([n, 7])
        u = R.add(t, t)
        return (s, u)
""",
        mode,
        make=lambda: made["now"],
    )
    shape, doubled = vm["main"]()
    assert isinstance(shape, ShapeTuple)
    assert shape == (2, 7)
    assert doubled.shape == (2, 4)
    for bad, text in (
        (np.zeros((2, 5), "float32"), r"dimension 1 is 5, expected 4 \(n \* 2 with n = 2\)"),
        (np.zeros((2, 4)), "expected a tensor of dtype float32, found dtype float64"),
        (np.zeros(2, "float32"), "expected a tensor of rank 2, found rank 1"),
        (ShapeTuple((2, 4)), "expected a tensor, found the shape"),
    ):
        made["now"] = bad
        with pytest.raises(DiagnosticError, match=text):
            vm["main"]()


@both_modes
@pytest.mark.rule("RELAX-SEM-01")
def test_constants_are_fresh_each_time(mode: str) -> None:
    """Writing into an evaluated constant does not change the program."""

    def spoil(tensor: NDArray) -> None:
        tensor[:] = 99.0

    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main() -> R.Tensor((2,), "float32"):
        c = R.const([1.0, 2.0], "float32")
        _ = R.call_packed("spoil", c, sinfo_args=R.Object)
        return c
""",
        mode,
        "plain",
        spoil=spoil,
    )
    for _ in range(2):
        assert vm["main"]().data.tolist() == [99.0, 99.0]


@both_modes
@pytest.mark.rule("RELAX-SEM-02")
@pytest.mark.rule("RELAX-MATCH-7")
def test_bindings_and_casts_alias(mode: str) -> None:
    def add_one(tensor: NDArray) -> None:
        tensor.data += 1

    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = x
        n = T.int64()
        z = R.match_cast(y, R.Tensor((n,), "float32"))
        _ = R.call_packed("add_one", z, sinfo_args=R.Object)
        return x
""",
        mode,
        add_one=add_one,
    )
    array = f32(1, 2)
    assert vm["main"](array).data.tolist() == [2.0, 3.0]
    assert array.tolist() == [2.0, 3.0]


@both_modes
@pytest.mark.rule("RELAX-SEM-09")
def test_reshape_gives_fresh_memory(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
        y = R.reshape(x, R.shape([3, 2]))
        return y
""",
        mode,
    )
    array = np.zeros((2, 3), "float32")
    vm["main"](array).data[...] = 5
    assert not array.any()


@both_modes
@pytest.mark.parametrize("pipeline", ["default", "plain"])
def test_results_that_are_views_share_nothing(mode: str, pipeline: str) -> None:
    """A tensor and its reshape, both returned: writing one leaves the other."""
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.add(x, x)
            b = R.reshape(a, R.shape([3, n]))
            c = R.reshape(b, R.shape([n * 3]))
            d = R.reshape(x, R.shape([n * 3]))
            R.output(a, b, c, d)
        return (b, a, c, d)
""",
        mode,
        pipeline,
    )
    x = np.arange(6, dtype="float32").reshape(2, 3)
    found = vm["main"](x)
    for index, shape in enumerate(((3, 2), (2, 3), (6,), (6,))):
        factor = 1 if index == 3 else 2
        np.testing.assert_array_equal(found[index].data, (x * factor).reshape(shape))
    found[1].data[...] = -1
    assert all((found[i].data >= 0).all() for i in (0, 2, 3))
    found[3].data[...] = -2
    assert (x >= 0).all()


@both_modes
def test_reshapes_inside_cost_no_kernel(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.matmul(x, R.permute_dims(x))
            b = R.reshape(a, R.shape([2, 8]))
            c = R.nn.softmax(b)
            d = R.reshape(c, R.shape([4, 4]))
            e = R.sum(R.matmul(d, a), axis=[1])
            R.output(e)
        return e
""",
        mode,
    )
    x = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")
    a = x @ x.T
    wide = a.reshape(2, 8)
    soft = np.exp(wide - wide.max(1, keepdims=True))
    soft = (soft / soft.sum(1, keepdims=True)).reshape(4, 4)
    np.testing.assert_allclose(vm["main"](x).data, (soft @ a).sum(1), rtol=1e-4, atol=1e-5)


@both_modes
def test_operators_of_unknown_rank_compile_at_run_time(mode: str) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(dtype="float32"), y: R.Tensor(dtype="float32")):
        a = R.add(x, y)
        return R.nn.softmax(a)
""",
        mode,
    )
    for shape in ((2, 3), (3,), (1, 2, 3)):
        x = np.random.default_rng(2).standard_normal(shape).astype("float32")
        wide = x + np.ones(3, "float32")
        expected = np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)
        np.testing.assert_allclose(vm["main"](x, np.ones(3, "float32")).data, expected, rtol=1e-5)


@both_modes
@pytest.mark.rule("RELAX-DERIVE-07")
def test_annotations_that_say_more_are_checked(mode: str) -> None:
    """A packed function's result, annotated: the annotation is believed only after a look."""
    made = {"now": f32(1, 2)}
    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y: R.Tensor((2,), "float32") = R.call_packed("make", sinfo_args=R.Tensor(dtype="float32"))
        return R.add(x, y)
""",
        mode,
        make=lambda: made["now"],
    )
    assert vm["main"](f32(1, 1)).data.tolist() == [2, 3]
    made["now"] = f32(1, 2, 3)
    with pytest.raises(DiagnosticError, match="annotation of y: dimension 0 is 3, expected 2"):
        vm["main"](f32(1, 1))


@both_modes
def test_false_claims_of_packed_functions_never_reach_a_kernel(mode: str) -> None:
    """`sinfo_args` is taken at its word, yet a kernel checks what it is given."""
    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y = R.call_packed("make", sinfo_args=R.Tensor((2,), "float32"))
        return R.add(x, y)
""",
        mode,
        make=lambda: f32(1),
    )
    with pytest.raises(DiagnosticError, match="dimension 0 is 1, expected 2"):
        vm["main"](f32(1, 1))


@both_modes
def test_print_and_assert(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    vm = machine(
        """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((), "bool")):
        _ = R.print(x, R.str("a"), format="{} {}!")
        _1 = R.assert_op(x, x, format="it is {}")
        return x
""",
        mode,
    )
    vm["main"](np.array(True))
    assert capsys.readouterr().out == "True a!\n"
    with pytest.raises(AssertionFailed, match="it is False"):
        vm["main"](np.array(False))


@both_modes
def test_destination_passing_and_kernels_by_hand(mode: str) -> None:
    """call_tir of a hand-written kernel, call_dps_packed, and a direct call that writes its argument."""

    def fill(source: NDArray, target: NDArray) -> None:
        target.data[...] = source.data * 10

    vm = machine(
        """
@I.ir_module
class M:
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor(("m",), "float32"), out: R.Tensor(("m",), "float32")):
        m = T.int64()
        cls = M
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((m,), "float32"))
        z = R.call_dps_packed("fill", (y,), out_sinfo=R.Tensor((m,), "float32"))
        _ = cls.double(z, out)
        return z
""".replace("        cls = M\n", "").replace("cls.", "M."),
        mode,
        fill=fill,
    )
    out = np.zeros(3, "float32")
    found = vm["main"](f32(1, 2, 3), out)
    assert found.data.tolist() == [20, 40, 60]
    assert out.tolist() == [40, 80, 120]


@pytest.mark.rule("RELAX-VM-1")
def test_text_of_an_if() -> None:
    vm = machine(COUNTDOWN.replace("        cls = M\n", "").replace("cls.main", "M.main"), "bytecode")
    text = vm.executable.as_text()
    assert "If " in text
    assert "Goto" in text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["add", "main.native1"])
def test_packed_functions_with_names_of_kernels(mode: str, name: str) -> None:
    """Guards that a packed function is called, not the private kernel or native entry that has its name."""
    text = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")):
        y = R.add(x, x)
        z = R.call_packed("NAME", y, sinfo_args=R.Tensor((3,), "float32"))
        return R.multiply(z, z)
"""
    called = {name.replace(".", "__"): lambda y: NDArray(y.data * 10)}
    found = machine(text.replace("NAME", name), mode, **called)["main"](np.ones(3, "float32"))
    assert found.numpy().tolist() == [400, 400, 400]
