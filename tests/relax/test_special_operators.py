"""Special operators and shapes of operators: what they give, what they refuse, where they may stand."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.global_info import VDevice
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.call_builders import call_packed, call_pure_packed
from baton._src.relax.literals import const
from baton._src.relax.nodes import Call, ShapeExpr, Var
from baton._src.relax.special_builders import SPECIAL_BUILDERS
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.relax.build import RELAX, ROOTS, Ob, Ts, info, load, module, n, refuses
from tests.relax.machines import MODES, everywhere, f32, machine

KERNELS = """
@T.prim_func(private=True)
def bump(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            A[v] = A[v] + T.float32(1)

@T.prim_func(private=True)
def expo(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("b"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] * A[v]
"""


def code_of(text: str) -> str:
    with pytest.raises(DiagnosticError) as error:
        module(text)
    return error.value.code


@pytest.mark.rule("RELAX-OP-01")
def test_call_tir_has_the_info_given_and_is_pure() -> None:
    body = f"""{KERNELS}
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    with R.dataflow():
        y = R.call_tir(cls.expo, (x,), R.Tensor((n,), "float32"))
        R.output(y)
    return y
"""
    found = module(body)["main"]
    y = found.body.blocks[0].bindings[0].var.struct_info
    assert (y.shape.values[0], y.dtype) == (found.params[0].struct_info.shape.values[0], "float32")
    assert everywhere(body, f32(2, 3)).numpy().tolist() == [4, 9]


@pytest.mark.rule("RELAX-OP-04", rejects=True)
@pytest.mark.parametrize(
    ("indices", "outputs"),
    [
        ("[2]", 'R.Tensor((3,), "float32")'),
        ("[-2]", 'R.Tensor((3,), "float32")'),
        ("[-1]", 'R.Tensor((3,), "float32")'),
        ("[0, 0]", '[R.Tensor((3,), "float32"), R.Tensor((3,), "float32")]'),
        ("[0]", 'R.Tensor((4,), "float32")'),
        ("[0]", 'R.Tensor((3,), "int32")'),
    ],
)
def test_indices_of_call_tir_inplace(indices: str, outputs: str) -> None:
    """In range, not repeated, not all fresh; an output that takes an argument's place looks like it."""
    text = f"""{KERNELS}
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Object:
    z = R.call_tir_inplace(cls.bump, (x, y), out_sinfo={outputs}, inplace_indices={indices})
    return z
"""
    assert code_of(text) in ("RELAX-WF-26", "relax-struct-info")


@pytest.mark.rule("RELAX-OP-05", rejects=True)
@pytest.mark.rule("RELAX-OP-07", rejects=True)
@pytest.mark.rule("RELAX-OP-09", rejects=True)
@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ('y = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor(ndim=1, dtype="float32"))', ("relax-struct-info",)),
        (
            'y = R.call_inplace_packed("f", x, inplace_indices=[5], sinfo_args=R.Tensor((3,), "float32"))',
            ("RELAX-WF-26", "relax-struct-info"),
        ),
        ('y = R.invoke_closure(o, (x,), sinfo_args=R.Tensor((3,), "float32"))', ("relax-purity",)),
    ],
)
def test_packed_calls_that_are_refused(statement: str, codes: tuple[str, ...]) -> None:
    text = f"""
@R.function
def main(x: R.Tensor((3,), "float32"), o: R.Object) -> R.Object:
    with R.dataflow():
        {statement}
        R.output(y)
    return y
"""
    with pytest.raises(DiagnosticError) as error:
        load(text)
    assert error.value.code in codes


@pytest.mark.rule("RELAX-OP-08")
@pytest.mark.rule("RELAX-OP-15")
def test_infos_of_builtins() -> None:
    unit = info(SPECIAL_BUILDERS["call_builtin_with_ctx"]("vm.builtin.f", (Var("x", Ob),)))
    assert unit.fields == ()
    found = info(SPECIAL_BUILDERS["builtin.alloc_tensor"](ShapeExpr([n, 2]), "float32", 0))
    assert isinstance(found, TensorStructInfo)
    assert (found.shape.values[0], int(found.shape.values[1]), found.dtype) == (n, 2, "float32")


@pytest.mark.rule("RELAX-OP-17")
@pytest.mark.rule("RELAX-OP-17", rejects=True)
def test_devices() -> None:
    """`to_vdevice` sets the device; operands on two devices are an error that names both."""
    first, second = VDevice("llvm", 0, "global"), VDevice("llvm", 1, "global")
    x = Var("x", Ts((3,), "float32", vdevice=first))
    moved = info(SPECIAL_BUILDERS["to_vdevice"](x, second))
    assert moved.vdevice is second
    y = Var("y", Ts((3,), "float32", vdevice=second))
    refuses(RELAX["add"](x, y), "op-device")
    assert info(RELAX["add"](x, x)).vdevice is first


@pytest.mark.rule("RELAX-OPSHAPE-01")
@pytest.mark.rule("RELAX-OPSHAPE-01", rejects=True)
@pytest.mark.rule("RELAX-OPSHAPE-07")
@pytest.mark.rule("RELAX-OPSHAPE-07", rejects=True)
def test_operands_of_operators() -> None:
    x = Var("x", Ts((3,), "float32"))
    exp = RELAX["exp"](x)
    assert info(exp).dtype == "float32"
    assert "2" in refuses(Call(exp.op, [x, x]))
    refuses(Call(exp.op, [ShapeExpr([3])]), "op-argument")
    assert "int32" in refuses(Call(exp.op, [Var("i", Ts((3,), "int32"))]), "op-dtype")


@pytest.mark.rule("RELAX-OPSHAPE-12", rejects=True)
def test_split_wants_equal_sections() -> None:
    whole = Var("x", Ts((6,), "float32"))
    assert len(info(RELAX["split"](whole, 3)).fields) == 3
    refuses(RELAX["split"](whole, 4), "op-shape")


@pytest.mark.rule("RELAX-SCRIPT-10")
@pytest.mark.rule("RELAX-SCRIPT-13", rejects=True)
def test_returns_and_buffers_in_scripts() -> None:
    found: Any = load("@R.function\ndef main(x: R.Tensor((3,))) -> R.Object:\n    y = R.add(x, x)\n    return y\n")
    assert found.body.body.name_hint == "y"
    text = """
@T.prim_func(private=True)
def k(A: T.Buffer((T.int64(3),), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[v]
"""
    with pytest.raises(DiagnosticError, match="B") as error:
        module(text)
    assert error.value.diagnostics[0].span is not None


def test_one_result_in_a_list_is_no_tuple() -> None:
    """As in TVM; a tuple of one is written `R.Tuple(...)`, and reads back as one."""
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    a = R.call_dps_packed("f", (x,), out_sinfo=[R.Tensor((4,), "float32")])
    b = R.call_dps_packed("f", (x,), out_sinfo=R.Tuple(R.Tensor((4,), "float32")))
    return (a, b)
"""
    function = from_source(text)
    first, second = function.ret_struct_info.fields
    assert isinstance(first, TensorStructInfo)
    assert isinstance(second, TupleStructInfo)
    assert_structural_equal(from_source(function.script()), function)


@pytest.mark.rule("RELAX-OP-12")
def test_conditions_over_sizes_are_asserted() -> None:
    """`R.assert_op(n > 2, n)`: a scalar expression is a prim value, as in TVM."""
    program = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    R.assert_op(n > 2, n, format="n is {}")
    return x
"""
    assert everywhere(program, array(f32(1, 2, 3))).shape == (3,)
    for mode in MODES:
        with pytest.raises(AssertionError, match="n is 2"):
            machine(program, mode)["main"](array(f32(1, 2)))


def test_kinds_of_annotations_by_themselves_are_struct_info_arguments() -> None:
    """Scripts took them; the same builders called from Python refused them."""
    R = ROOTS["R"]
    for builder in (call_packed, call_pure_packed):
        call = builder("f", const(1), sinfo_args=(R.Tensor, R.Shape))
        assert_structural_equal(call.sinfo_args, (Ts(), ShapeStructInfo()))
    assert_structural_equal(call_packed("f", sinfo_args=R.Object).sinfo_args, (Ob,))
    with pytest.raises(DiagnosticError, match="must be struct infos"):
        call_packed("f", sinfo_args=int)
