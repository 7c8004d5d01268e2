"""LegalizeOps: kernels are made, shared, given shape variables they cannot see; what is unknown stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.elementwise.activations import ACTIVATIONS
from baton._src.passes.relax.operators.kernel_of_call import cache_key
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.nodes import Call, Function, If, SeqExpr, Tuple, TupleGetItem
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, dim, kernels, program, tensor


@pytest.mark.rule("RELAX-PASS-16")
def test_operators_become_kernel_calls_with_equal_results() -> None:
    n = dim()
    before = program([tensor("x", n, 4), tensor("y", 4)], lambda b, x, y: R.exp(R.add(x, y)))
    after = check(LegalizeOps(), before, *arrays((3, 4), (4,)))
    assert called(after) == ["add", "exp"]
    assert "global_symbol" not in after["add"].attrs
    assert "op_pattern" not in after["add"].attrs
    assert LegalizeOps(fusion_classes=True)(before)["add"].attrs["op_pattern"] == 1


def test_equal_kernels_are_made_once_whatever_their_shape_variables() -> None:
    """(n, 4) + (n, 4) twice, and (m, 4) + (m, 4): one kernel; (n, 5) is another."""
    n, m = dim("n"), dim("m")

    def build(b: Any, x: Any, y: Any, z: Any) -> Any:
        return b.emit(R.add(R.add(x, x), x)), R.add(y, y), R.add(z, z)

    before = program([tensor("x", n, 4), tensor("y", m, 4), tensor("z", n, 5)], build)
    after = check(LegalizeOps(), before, *arrays((2, 4), (3, 4), (2, 5)))
    assert called(after)[:4] == ["add", "add", "add", "add1"]
    assert kernels(after) == ["add", "add1"]


def test_shape_variables_that_no_parameter_shows_are_passed() -> None:
    """x: (n * 2,) reshaped to (n, 2): the output shows n; in full((n,)) it does, too; (n * 3,) does not."""
    n = dim()
    before = program([tensor("x", n * 2)], lambda b, x: R.exp(x))
    after = LegalizeOps()(before)
    (binding,) = bindings(after)
    assert len(binding.value.args) == 3
    (passed,) = binding.value.args[2].values
    assert passed is n
    assert len(after["exp"].params) == 3


def test_kernels_of_computed_dims_are_found_again() -> None:
    """Equal expressions have one key, whatever their variables; those that differ in which variables recur do not."""

    def key(first: Any, second: Any) -> Any:
        info = TensorInfo((first, second), DataType("float32"))
        return cache_key(ACTIVATIONS[0], [info], None, info)

    n, m, k = dim("n"), dim("m"), dim("k")
    assert key(n * 2 + m, n // 3) is not None
    assert key(n * 2 + m, n // 3) == key(k * 2 + n, k // 3)
    others = [(n * 2 + m, m // 3), (n * 2 + n, n // 3), (n * 2 - m, n // 3), (n * 3 + m, n // 3), (n, m), (n, 3)]
    assert len({key(n * 2 + m, n // 3), *(key(*dims) for dims in others)}) == len(others) + 1
    assert key(if_then_else(n > 1, n, m), n) is None


def test_kernels_of_zeros_of_either_sign_are_apart() -> None:
    """0.0 and -0.0 are equal: a border of one was that of the other, and a bound, too."""

    def build(b: Any, x: Any) -> Any:
        pads = [b.emit(R.nn.pad(x, [1, 1], pad_value=value)) for value in (0.0, -0.0)]
        bounds = [b.emit(R.clip(x, value, 1.0)) for value in (0.0, -0.0)]
        return R.concat(Tuple([*pads, *bounds]), axis=0)

    after = LegalizeOps()(program([tensor("x", 2)], build))
    (x,) = arrays((2,))
    found = np.signbit(evaluate(after, "main", -np.abs(x)))
    assert [bool(found[n]) for n in (0, 4, 8, 10)] == [False, True, False, True]


@pytest.mark.rule("RELAX-PASS-16", rejects=True)
def test_unknown_rank_stays_an_operator() -> None:
    x = tensor("x", 1)
    unknown = type(x)("u", TensorStructInfo(None, "float32"))
    before = program([unknown], lambda b, u: R.exp(u))
    assert LegalizeOps()(before) is before


def test_composite_operators_are_decomposed_first() -> None:
    """batch_norm becomes arithmetic, whose parts are legalised in turn."""
    vectors = [const([1.0, 2.0]), const([0.5, 0.5]), const([0.1, 0.2]), const([1.0, 1.5])]
    before = program([tensor("x", 3, 2)], lambda b, x: TupleGetItem(b.emit(R.nn.batch_norm(x, *vectors, axis=1)), 0))
    after = check(LegalizeOps(), before, *arrays((3, 2)))
    names = called(after)
    assert "nn.batch_norm" not in names
    assert {"multiply", "add"} <= {n.split("_")[0] for n in names}


def test_tuples_of_operands_are_opened() -> None:
    """concat of a literal tuple, and of a variable that holds one."""
    before = program([tensor("x", 2, 3), tensor("y", 4, 3)], lambda b, x, y: R.concat((x, y), axis=0))
    after = check(LegalizeOps(), before, *arrays((2, 3), (4, 3)))
    assert len(bindings(after)[-1].value.args[1].fields) == 2


@pytest.mark.rule("RELAX-PASS-16")
def test_users_may_override() -> None:
    """A function by operator name is asked first."""

    def double(builder: Any, call: Call) -> Any:
        return R.multiply(call.args[0], const(2.0))

    before = program([tensor("x", 3)], lambda b, x: R.add(x, x))
    after = check(LegalizeOps(customize_legalize_map={"relax.add": double}), before, *arrays((3,)))
    assert called(after) == ["multiply"]
    assert called(LegalizeOps(skip=("relax.add",))(before)) == ["add"]


def test_the_setting_switches_it_off() -> None:
    before = program([tensor("x", 3)], lambda b, x: R.add(x, x))
    with PassContext(config={"relax.transform.apply_legalize_ops": False}):
        assert LegalizeOps()(before) is before


def test_branches_and_inner_functions_are_legalised() -> None:
    """Control flow keeps its form."""

    x, c = tensor("x", 3), tensor("c", dtype="bool")
    before = program([x, c], lambda b, x, c: If(c, SeqExpr([], R.exp(x)), SeqExpr([], R.add(x, x))), dataflow=False)
    after = check(LegalizeOps(), before, *arrays((3,)), True)
    assert sorted(kernels(after)) == ["add", "exp"]
    assert all(isinstance(f, (Function, PrimFunc)) for f in after.functions.values())


def test_kernels_name_what_they_read_after_the_call() -> None:
    """As in TVM: by the variables of the first call that needs the kernel, by letters where it has none."""
    module = LegalizeOps()(
        from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            both = R.add(x, y)
            again = R.add(both, x)
            joined = R.concat((again, both))
            scaled = R.multiply(joined, R.const(2.0, "float32"))
            R.output(scaled)
        return scaled
""")
    )
    names = {
        name: [buffer.name for buffer in module[name].buffer_map.values()] for name in ("add", "concat", "multiply")
    }
    assert names == {
        "add": ["x", "y", "T_add"],
        "concat": ["again", "both", "T_concat"],
        "multiply": ["joined", "B", "T_multiply"],
    }
