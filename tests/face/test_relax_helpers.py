"""Small names of `tvm.relax`: reports, te tensors, layers for trying out, saved functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax
from baton._src.ir.structural import assert_structural_equal
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton.relax.op import grad, inspect
from baton.relax.testing import nn
from baton.relax.testing.vm import check_saved_func
from tests.relax.build import Fn, Ob, Pr, Sh, Ts, Tu, load, n

TEXT = """
@R.function
def main(x: R.Tensor((256, 256), "float32")) -> R.Tensor((256, 256), "float32"):
    a = R.exp(x)
    b = R.log(a)
    c = R.sqrt(b)
    return c
"""


def test_memory_before_and_after_planning() -> None:
    """Three tensors of a quarter MiB; two of them need memory of their own besides the result."""
    lowered = tvm.transform.Sequential(
        [relax.transform.LegalizeOps(), relax.transform.ToNonDataflow(), relax.transform.CallTIRRewrite()]
    )(tvm.IRModule({"main": load(TEXT).with_attr("global_symbol", "main")}))
    text = relax.analysis.estimate_memory_usage(lowered)
    assert "- main:" in text
    assert "tensors by themselves: 3 allocations of 0.75 MiB" in text
    assert "not planned" in text
    planned = relax.analysis.estimate_memory_usage(relax.transform.StaticPlanBlockMemory()(lowered))
    assert "with planned memory: 3 allocations of 0.75 MiB" in planned


def test_expressions_that_are_not_negative() -> None:
    info = Tu(Ts((n, 4)), Sh([n + 1, n]), Pr("int64", n), Fn([Ts((n * 2,))], Ob))
    found = relax.analysis.collect_non_negative_expressions(info)
    assert found[0] is n
    assert len(found) == 2
    assert found[1] is info.fields[1].values[0]


def test_te_tensors_shapes_and_copies() -> None:
    x = relax.Var("x", Ts((n, 4), "float32"))
    tensor = relax.te_tensor(x, {n: tvm.tir.IntImm("int64", 7)})
    assert [d.value for d in tensor.shape] == [7, 4]
    assert relax.get_shape_of(x) is x.struct_info.shape
    assert relax.get_shape_of(relax.Var("y", Ts(ndim=2))).op.name == "relax.shape_of"
    with pytest.raises(tvm.TVMError, match="has no shape"):
        relax.get_shape_of(relax.Var("z", Ob))
    function = load(TEXT)
    copy = relax.utils.copy_with_new_vars(function)
    assert_structural_equal(copy, function)
    assert copy.params[0] is not function.params[0]


def test_layers_into_a_builder() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main"):
        model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3, bias=False), nn.LogSoftmax())
        data = nn.Placeholder((n, 6), name="data")
        builder.emit_func_output(model(data), params=[data, *model.parameters()])
    module = builder.get()
    assert [p.name_hint for p in module["main"].params] == ["data", "linear_weight", "linear_bias", "linear_weight"]
    values = nn.init_params(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    x = np.random.default_rng(1).random((2, 6)).astype("float32")
    found = check_saved_func(machine, "main", tvm.nd.array(x), *values).numpy()
    w, b, u = (v.numpy() for v in values)
    hidden = np.maximum(x @ w + b, 0) @ u
    np.testing.assert_allclose(found, hidden - np.log(np.exp(hidden).sum(-1, keepdims=True)), rtol=1e-4)
    with pytest.raises(tvm.TVMError, match="no function is being built"):
        nn.ReLU()(data)


def test_pipelines_as_functions_and_kinds_of_instruments() -> None:
    module = tvm.IRModule({"main": load(TEXT).with_attr("global_symbol", "main")})
    assert relax.pipeline.zero_pipeline()(module) is not module
    assert relax.VMInstrumentReturnKind.SKIP_RUN == 1


def test_the_default_pipeline_in_its_parts() -> None:
    """Guards scripts that put passes of their own between the parts: what all of them made is built as it is."""
    module, target = tvm.IRModule({"main": load(TEXT).with_attr("global_symbol", "main")}), tvm.target.Target("llvm")
    generic = relax.backend.cpu_generic
    steps = generic.library_dispatch_passes(target) + relax.pipeline.legalize_passes(target)
    steps += generic.dataflow_lower_passes(target) + generic.finalize_passes(target)
    lowered = tvm.transform.Sequential(steps)(module)
    tvm.ir.assert_structural_equal(lowered, relax.get_default_pipeline(target)(module))
    arguments = [tvm.nd.array(np.ones([int(d) for d in p.struct_info.shape], "float32")) for p in module["main"].params]
    found, wanted = (
        relax.VirtualMachine(relax.build(one, target, pipeline=pipeline), tvm.cpu())["main"](*arguments)
        for one, pipeline in ((lowered, None), (module, "default"))
    )
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)


def test_fields_of_tensors_by_name() -> None:
    """Guards the parameters' names of `relax.op.inspect`."""
    x = relax.Var("x", Ts((2, 3), "float32"))
    assert relax.op.inspect.tensor_stride_i(expr=x, axis=0).args[1].value == 0
    assert relax.op.inspect.tensor_ndim(expr=x).args == (x,)
    with pytest.raises(TypeError, match="axis"):
        relax.op.inspect.tensor_shape_i(x)


def test_functions_bind_by_themselves() -> None:
    function = load("""
@R.function
def main(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((2, 3), "float32")) -> R.Tensor(("n", 3), "float32"):
    y = R.matmul(x, w)
    return y
""")
    bound = function.bind_params({"w": np.ones((2, 3), "float32")}).bind_symbolic_vars({"n": 4})
    assert [p.name_hint for p in bound.params] == ["x"]
    assert bound.ret_struct_info == Ts((4, 3), "float32")
    assert bound.with_attrs({"a": 1, "b": 2}).without_attrs(["a", "global_symbol"]).attrs == {"b": 2}
    with pytest.raises(tvm.TVMError, match="no shape variable 'k'"):
        function.bind_symbolic_vars({"k": 1})


def test_functions_are_inlined_by_variable_or_name() -> None:
    """`relax.Function.inline_functions`, which was missing: calls within what is inlined are inlined, too."""
    module = load("""
@I.ir_module
class Module:
    @R.function
    def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.add(x, x)
        return y
    @R.function
    def fourfold(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        y = cls.twice(cls.twice(x))
        return y
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.exp(cls.fourfold(x))
        return y
    @R.function
    def loop(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = cls.loop(x)
        return y
""")
    found = module["main"].inline_functions(
        {"twice": module["twice"], module.get_global_var("fourfold"): module["fourfold"]}
    )
    values = [b.value for block in found.body.blocks for b in block.bindings]
    assert [v.op.name for v in values if isinstance(v, relax.Call)] == ["relax.add", "relax.add", "relax.exp"]
    assert relax.analysis.well_formed(tvm.IRModule({"main": found}))
    only = module["main"].inline_functions({"fourfold": module["fourfold"]})
    assert "twice(" in only.script()
    assert "fourfold(" not in only.script()
    assert module["twice"].inline_functions({"main": module["main"]}) is module["twice"]
    with pytest.raises(tvm.TVMError, match="cannot be inlined: loop"):
        module["loop"].inline_functions({"loop": module["loop"]})


def test_what_reads_the_header_of_a_tensor_is_a_module() -> None:
    x = relax.Var("x", Ts((n, 4), "float32"))
    assert inspect.tensor_shape_i(x, 1).op.name == "relax.inspect.tensor_shape_i"
    assert grad.no_grad(x).op.name == "relax.grad.no_grad"


@pytest.mark.parametrize("path", ["op.ccl", "distributed", "backend.cuda", "transform.SplitCallTIRByPattern"])
def test_what_is_left_out_says_why(path: str) -> None:
    place = relax
    *outer, last = path.split(".")
    for part in outer:
        place = getattr(place, part)
    with pytest.raises(AttributeError, match="baton leaves it out; "):
        getattr(place, last)


def test_ones_on_a_diagonal_like_a_matrix() -> None:
    """Of known sizes or not: eye_like was no operator, but an eye of the sizes, and refused what had none."""
    for info in (Ts((n, 3), "float32"), Ts(None, "float32", ndim=2), Ts(None, "float32")):
        builder = relax.BlockBuilder()
        x = relax.Var("x", info)
        with builder.function("main", [x]):
            call = relax.op.eye_like(x, k=1)
            builder.emit_func_output(builder.emit(call))
        assert call.op is tvm.ir.Op.get("relax.eye_like")
        machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
        np.testing.assert_array_equal(machine["main"](np.zeros((2, 3), "float32")).numpy(), np.eye(2, 3, 1))
    with pytest.raises(tvm.TVMError, match="takes a matrix"):
        relax.BlockBuilder().normalize(relax.op.eye_like(relax.Var("y", Ts((2, 3, 4)))))


@pytest.fixture
def without_leftovers() -> Iterator[None]:
    """What a test registered for an operator is forgotten."""
    yield
    PROCESS_FUNCTIONS.remove("relax.op_grad.relax.sign")


@pytest.mark.usefixtures("without_leftovers")
def test_gradients_that_users_register() -> None:
    """`register_gradient` gives an operator that has none its derivative; tuples are unpacked by what is known."""
    seen = []

    @relax.op.register_gradient("relax.sign")
    def slope(orig_var: Any, orig_call: Any, output_grad: Any, ctx: Any) -> list[Any]:
        seen.append((orig_var.name_hint, orig_call.op.name))
        return [relax.op.multiply(output_grad, relax.const(3.0, "float32"))]

    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.sum(builder.emit(relax.op.sign(x), "y")))
        builder.emit_func_output(out)
    adjoint = relax.transform.Gradient("main")(builder.get())
    machine = relax.VirtualMachine(relax.build(adjoint, "llvm"), tvm.cpu())
    _, (gradient,) = machine["main_adjoint"](tvm.nd.array(np.ones(3, "float32")))
    assert gradient.numpy().tolist() == [3, 3, 3]
    assert seen == [("y", "relax.sign")]
    pair = relax.Var("pair", relax.TupleStructInfo([x.struct_info, x.struct_info]))
    first, second = pair
    assert (first.index, second.index, pair[-1].index) == (0, 1, 1)
    with pytest.raises(IndexError):
        pair[2]


def test_analyses_as_tvm_calls_them() -> None:
    n = tvm.tir.Var("n", "int64")
    exact, loose = relax.TensorStructInfo((n, 4)), relax.TensorStructInfo(ndim=2, dtype="float32")
    analysis = relax.analysis
    assert analysis.struct_info_base_check(loose, derived=exact) == analysis.BaseCheckResult.PASS
    assert analysis.struct_info_lca(lhs=exact, rhs=loose) == loose
    assert analysis.get_static_type(sinfo=exact) == relax.DynTensorType(2, "float32")
    assert list(analysis.tir_vars_in_struct_info(sinfo=exact)) == [n]
    function = relax.Var("f", relax.FuncStructInfo([loose], loose))
    call = relax.Call(function, [relax.Var("x", exact)])
    assert analysis.derive_call_ret_struct_info(function.struct_info, call, relax.BlockBuilder()) == loose


def test_checkpoints_of_segments() -> None:
    """Each segment stands between a start and an end of its own; several results end one by one."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        out = nn.emit_checkpoint_sequential([relax.op.exp, relax.op.sin, relax.op.cos], 2, x)
        left, right = nn.emit_checkpoint(lambda v: (relax.op.tanh(v), relax.op.abs(v)), out)
        builder.emit_func_output(builder.emit(relax.op.add(left, right)))
    found = [b.value.op.name.rpartition(".")[2] for b in builder.get()["main"].body.blocks[0].bindings]
    segments = [["start_checkpoint", f, "end_checkpoint"] for f in ("exp", "sin", "cos")]
    last = ["start_checkpoint", "tanh", "end_checkpoint", "abs", "end_checkpoint", "add"]
    assert found == [*segments[0], *segments[1], *segments[2], *last]


def test_arguments_of_call_tir_for_a_te_function() -> None:
    """What `call_tir` needs: kernel, tensors, results; shape variables that no tensor has as a dim come apart."""
    m = tvm.tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((m, 2), "float32"))
    kernel, args, infos, symbols = relax.utils.gen_call_tir_inputs(tvm.topi.add, x, x, primfunc_attrs={"mine": 1})
    assert isinstance(kernel, tvm.tir.PrimFunc)
    assert int(kernel.attrs["mine"]) == 1
    assert args == [x, x]
    assert symbols is None
    assert_structural_equal(infos[0], x.struct_info)


def test_metadata_stands_apart() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.const(np.arange(3, dtype="float32"))))
    program, metadata = relax.utils.metadata_partitioner(builder.get().script(show_meta=True))
    assert metadata.startswith('{"relax.expr.Constant"')
    assert "load_json" not in program
    assert "def main" in program
    with pytest.raises(ValueError, match="not found"):
        relax.utils.metadata_partitioner(program)


def test_a_functor_has_a_case_for_each_class() -> None:
    """What a functor does not define is an error that names it."""

    class Depth(relax.ExprFunctor):
        def visit_var_(self, expr: Any) -> int:
            return 0

        def visit_call_(self, expr: Any) -> int:
            return 1 + max(self.visit_expr(a) for a in expr.args)

    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    assert Depth().visit_expr(relax.op.add(relax.op.exp(x), x)) == 2
    with pytest.raises(NotImplementedError, match="Depth does not define visit_tuple_"):
        Depth().visit_expr(relax.Tuple([x]))


def test_classes_of_attributes() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
    attrs = relax.op.op_attrs
    assert isinstance(relax.op.sum(x).attrs, attrs.StatisticalAttrs)
    assert isinstance(relax.op.matmul(x, x).attrs, attrs.MatmulAttrs)
    assert not isinstance(relax.op.matmul(x, x).attrs, attrs.AstypeAttrs)


def test_a_variable_is_its_own_identity() -> None:
    x, y = relax.Var("x"), relax.Var("x")
    assert isinstance(x.vid, relax.Id)
    assert x.vid.name_hint == "x"
    assert x.vid.same_as(x.vid)
    assert not x.vid.same_as(y.vid)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("free_symbolic_vars", tvm.IRModule({}), "expected Function, got IRModule"),
        ("computable_at_compile_time", tvm.IRModule({}), "expected Function, got IRModule"),
        ("tir_vars_in_struct_info", relax.Var("x", relax.TensorStructInfo((2,))), "expected StructInfo, got Var"),
        ("detect_recursion", None, "expected IRModule, got NoneType"),
        ("well_formed", 3, "expected IRModule or Function, got int"),
    ],
)
def test_analyses_refuse_what_they_are_not_about(name: str, given: Any, expected: str) -> None:
    """Guards against answers about nothing: the shape variables of a module were those of its kernels' loops."""
    with pytest.raises(TypeError, match=expected):
        getattr(relax.analysis, name)(given)


def test_modules_are_checked_between_passes() -> None:
    """`relax.ir.instrument.WellFormedInstrument`: what a pass broke is said with its name."""
    module = tvm.IRModule({"main": load(TEXT).with_attr("global_symbol", "main")})

    @relax.transform.function_pass(opt_level=0, name="Lose")
    def lose(function: Any, module: Any, context: Any) -> Any:
        (x,) = function.params
        return relax.Function([], x, x.struct_info, attrs=function.attrs)

    with tvm.transform.PassContext(instruments=[relax.ir.instrument.WellFormedInstrument()]):
        relax.transform.FoldConstant()(module)
        with pytest.raises(AssertionError, match=r"not well-formed after the pass Lose[\s\S]*WF-2"):
            lose(module)


def test_packed_functions_for_trying_out_machines() -> None:
    """Importing `relax.testing.vm` registers `test.vm...`, as TVM's does; programs built by hand call them."""
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=2):
        builder.emit_call("test.vm.mul", args=[builder.r(0), builder.r(1)], dst=builder.r(2))
        builder.emit_ret(builder.r(2))
    machine = relax.VirtualMachine(builder.get(), tvm.cpu())
    x = tvm.nd.array(np.array([2, 3], "float32"))
    assert machine["main"](x, x).numpy().tolist() == [4, 9]
    out = tvm.nd.array(np.zeros((1, 4), "float32"))
    tvm.get_global_func("test.vm.tile")(tvm.nd.array(np.array([[1, 2]], "float32")), out)
    assert out.numpy().tolist() == [[1, 2, 1, 2]]
    assert bool(tvm.get_global_func("test.vm.equal_zero")(out).numpy()) is False
