"""From kernel calls to the machine: StaticPlanBlockMemory, LowerAllocTensor, LowerRuntimeBuiltin, ComputePrimValue,
VMShapeLower, and `default_build` as a whole. After every single pass the module builds and runs as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.passes.pipelines import PIPELINES, default_build, get_pipeline, register_pipeline
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.compute_prim_value import ComputePrimValue
from baton._src.passes.relax.machine.kill_after_last_use import KillAfterLastUse
from baton._src.passes.relax.machine.lower_alloc_tensor import LowerAllocTensor
from baton._src.passes.relax.machine.lower_runtime_builtin import LowerRuntimeBuiltin, VMBuiltinLower
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape
from baton._src.passes.relax.machine.static_plan_block_memory import StaticPlanBlockMemory
from baton._src.passes.relax.machine.vm_shape_lower import VMShapeLower
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Call, ExternFunc, Function, If, PrimValue, SeqExpr, ShapeExpr
from baton._src.relax.special_ops import special_op
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.instruments import PassInstrument
from baton._src.transform.passes import Sequential
from baton._src.values.shape import ShapeTuple
from baton.target import Target
from tests.passes.relax.programs import R, arrays, bindings, called, dim, program, same_values, tensor
from tests.relax.build import module as module_of

wire()

LOWERED = Sequential(
    [LegalizeOps(), RewriteDataflowReshape(), ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite()]
)

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n*4",), "float32"), s: R.Shape(["m"]),
        t: R.Tuple(R.Tensor(("n",), "float32"), R.Prim("int64")),
    ):
        n = T.int64()
        m = T.int64()
        a = R.exp(x)
        b = R.add(a, a)
        c = R.exp(b)
        d = R.reshape(c, R.shape([n * 4]))
        e = R.add(d, y)
        q = T.int64()
        f = R.match_cast(e, R.Tensor((q,), "float32"))
        g = R.reshape(f, R.shape([n, 2, q // n // 2]))
        if R.const(True):
            h = R.add(g, g)
        else:
            h = R.exp(g)
        return (h, R.shape([m * 2, n + q]))
"""


def values(module: IRModule, args: list[Any], pipeline: Any = None, mode: str = "bytecode") -> Any:
    """What `main` gives, built with `pipeline`."""
    return plain(VirtualMachine(relax_build(module, "llvm", pipeline=pipeline, exec_mode=mode))["main"](*args))


def plain(value: Any) -> Any:
    if isinstance(value, ShapeTuple):
        return np.array(value)
    return tuple(plain(v) for v in value) if isinstance(value, tuple) else value.numpy()


def sizes(module: IRModule) -> list[int]:
    """The bytes of the storages."""
    calls = [b.value for b in bindings(module) if isinstance(b.value, Call)]
    found = [c.args[0].values[0] for c in calls if c.op is special_op("memory.alloc_storage")]
    return [d.value if isinstance(d, IntImm) else -1 for d in found]


def chain(count: int, *shape: Any, **attrs: Any) -> IRModule:
    """`count` unary operators one after the other."""

    def build(b: Any, x: Any) -> Any:
        for _ in range(count - 1):
            x = b.emit(R.exp(x))
        return R.exp(x)

    return program([tensor("x", *shape)], build, **attrs)


def arguments() -> list[Any]:
    x, y, z = arrays((3, 4), (12,), (3,))
    return [x, y, ShapeTuple([5]), (z, 2)]


@pytest.mark.rule("RELAX-PIPE-2")
@pytest.mark.filterwarnings("ignore::baton._src.relax.check.report.StructInfoWarning")
def test_default_build_runs_its_passes_in_order_and_each_leaves_a_program_that_runs() -> None:
    """What each leaves reads back, too: blocks are merged, allocations say their scope."""
    order = Order()
    module = Sequential([Normalize(), LambdaLift()])(from_source(PROGRAM))
    args = arguments()
    expected = plain(Interpreter(module)["main"](*args))
    with PassContext(instruments=[order]):
        for number, step in enumerate(default_build()):
            module = step(module)
            assert_structural_equal(from_source(module.script(show_meta=True)), module)
            same_values(values(module, args, mode=("bytecode", "compiled")[number % 2]), expected)
    assert order.names == [
        *("LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"),
        *("StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue"),
        *("VMShapeLower", "AttachGlobalSymbol"),
    ]
    same_values(values(module, args, "default_build"), expected)


class Order(PassInstrument):
    """Notes the passes that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.names.append(info.name)


@pytest.mark.rule("RELAX-PIPE-3")
def test_both_modes_agree() -> None:
    module, args = from_source(PROGRAM), arguments()
    compiled = values(module, args, "default_build", "compiled")
    same_values(values(module, args, "default_build", "bytecode"), compiled)


@pytest.mark.rule("RELAX-PIPE-3", rejects=True)
def test_other_modes_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="unknown exec_mode 'nope'"):
        relax_build(chain(1, 3), "llvm", exec_mode="nope")


def test_users_pipelines_have_names() -> None:
    @register_pipeline("test.mine")
    def mine() -> Any:
        return Sequential([LegalizeOps(), *default_build()])

    try:
        (x,) = arrays((3,))
        same_values(values(get_pipeline("test.mine")(chain(2, 3)), [x]), np.exp(np.exp(x)), 1e-4)
        with pytest.raises(DiagnosticError, match="already"):
            register_pipeline("test.mine")
    finally:
        del PIPELINES["test.mine"]


@pytest.mark.rule("RELAX-PASS-27")
def test_a_chain_needs_two_storages() -> None:
    """Four operators: three results in between take turns in two storages, the last is returned."""
    module = StaticPlanBlockMemory()(LOWERED(chain(4, 8)))
    assert sizes(module) == [32, 32]
    assert called(module).count("memory.alloc_tensor") == 3
    (x,) = arrays((8,))
    same_values(values(module, [x]), values(chain(4, 8), [x], "plain"))


@pytest.mark.rule("RELAX-PASS-27", rejects=True)
def test_what_is_returned_has_memory_of_its_own() -> None:
    module = StaticPlanBlockMemory()(LOWERED(chain(4, 8)))
    returned = bindings(module)[-1].value
    (home,) = [b.value for b in bindings(module) if b.var is returned]
    assert home.op is special_op("builtin.alloc_tensor")
    single = LOWERED(chain(1, 8))
    assert StaticPlanBlockMemory()(single) is single


@pytest.mark.rule("RELAX-PASS-27")
def test_symbolic_sizes_share_when_equal_and_have_bounds() -> None:
    n = dim()
    assert sizes(StaticPlanBlockMemory()(LOWERED(chain(4, n, 2)))) == [-1, -1]
    bounded = chain(4, n, 2, tir_var_upper_bound={"n": 16})
    module = StaticPlanBlockMemory()(LOWERED(bounded))
    assert sizes(module) == [128, 128]
    (x,) = arrays((5, 2))
    same_values(values(module, [x]), values(chain(4, dim(), 2), [x], "plain"))
    for wrong in ({"n": 0}, {"n": 2.5}, ["n"]):  # a list broke the pass
        with pytest.raises(DiagnosticError, match="tir_var_upper_bound") as error:
            StaticPlanBlockMemory()(LOWERED(chain(4, n, 2, tir_var_upper_bound=wrong)))
        assert error.value.code == "pass-bounds"


def test_a_size_that_falls_as_a_variable_grows_is_largest_where_that_is_least() -> None:
    """Of `16 - n` and `n % 4` the storages were as large as for n = 8: too small for others."""
    n = dim()

    def build(b: Any, x: Any) -> Any:
        falling = b.emit(R.exp(b.emit(R.ones(ShapeExpr([16 - n]), "float32"))))
        turning = b.emit(R.exp(b.emit(R.ones(ShapeExpr([n % 4]), "float32"))))
        return R.add(R.sum(falling), R.sum(turning))

    bounded = program([tensor("x", n)], build, tir_var_upper_bound={"n": 8})
    module = StaticPlanBlockMemory()(LOWERED(bounded))
    assert set(sizes(module)) >= {64}
    for size in range(9):
        (x,) = arrays((size,))
        same_values(values(module, [x]), np.e * np.float32(16 - size + size % 4))


def test_a_storage_grows_for_a_larger_tensor() -> None:
    """The 16-byte tensor is done when the 64-byte one is made; both fit one storage."""

    def build(b: Any, x: Any) -> Any:
        small = b.emit(R.exp(b.emit(R.exp(x))))
        wide = b.emit(R.broadcast_to(small, (4, 4)))
        return R.sum(b.emit(R.exp(wide)))

    module = StaticPlanBlockMemory()(LOWERED(program([tensor("x", 4)], build)))
    assert sizes(module) == [64, 64]
    (x,) = arrays((4,))
    same_values(values(module, [x]), np.exp(np.exp(np.exp(x))).sum() * 4, 1e-4)


def test_arguments_of_functions_nobody_looks_into_keep_their_memory() -> None:
    source = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.call_packed("test.machine.keep", a, sinfo_args=[R.Object])
        c = R.exp(x)
        d = R.exp(c)
        return d
"""
    module = StaticPlanBlockMemory()(LOWERED(from_source(source)))
    assert len(sizes(module)) == 1


def test_allocations_left_get_their_own_storage() -> None:
    module = LowerAllocTensor()(LOWERED(chain(1, dim(), 2)))
    assert called(module) == ["memory.alloc_storage", "memory.alloc_tensor", "exp", "Var"]


@pytest.mark.rule("RELAX-PASS-28")
def test_storages_end_after_their_last_tensor() -> None:
    """A tensor keeps its storage alive: the storage's own name ends behind the last tensor made of it."""
    module = KillAfterLastUse()(StaticPlanBlockMemory()(LOWERED(chain(4, 8))))
    found = bindings(module)
    homes = [b.value.args[0] for b in found if _calls(b, "memory.alloc_tensor")]
    ended = [(n, b.value.args[0]) for n, b in enumerate(found) if _calls(b, "memory.kill_storage")]
    assert {s for _, s in ended} == set(homes)
    assert len(ended) == len(set(homes))
    for place, storage in ended:
        assert not any(_calls(b, "memory.alloc_tensor") and b.value.args[0] is storage for b in found[place:])
    assert sum(_calls(b, "memory.kill_tensor") for b in found) == 3


def _calls(binding: Any, name: str) -> bool:
    return isinstance(binding.value, Call) and binding.value.op is special_op(name)


def test_builtins_of_the_machine() -> None:
    assert VMBuiltinLower is LowerRuntimeBuiltin
    steps = [StaticPlanBlockMemory(), LowerAllocTensor(), KillAfterLastUse(), LowerRuntimeBuiltin()]
    module = Sequential(steps)(LOWERED(chain(3, 8)))
    names = set(called(module))
    assert {"vm.alloc_storage", "vm.alloc_tensor", "vm.kill_object"} <= names
    assert not any(name.startswith("memory.") for name in names)


def test_builtins_do_not_go_into_dataflow_blocks() -> None:
    with pytest.raises(DiagnosticError, match="ToNonDataflow"):
        LowerRuntimeBuiltin()(program([tensor("x", 2, 3)], lambda b, x: R.reshape(x, (6,))))


def test_closures_are_made_by_the_machine() -> None:
    source = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        @R.function
        def add(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = R.add(x, y)
            return z
        r = add(x)
        return r
"""
    module = LambdaLift()(from_source(source))
    lowered = Sequential(default_build())(module)
    (x,) = arrays((4,))
    same_values(values(lowered, [x]), x + x)


def test_computed_scalars_are_computed_by_kernels() -> None:
    n = dim()
    call = Call(special_op("assert_op"), [PrimValue(n < 4)])
    module = program([tensor("x", n)], lambda b, x: [b.emit(call), R.exp(x)][1], dataflow=False, pure=False)
    steps = [LegalizeOps(), RemovePurityChecking(), CallTIRRewrite(), LowerAllocTensor(), LowerRuntimeBuiltin()]
    lowered = Sequential([*steps, ComputePrimValue(), VMShapeLower()])(module)
    assert any(v.name_hint == "compute_symbolic_expr" for v in lowered.functions)
    (x,) = arrays((3,))
    same_values(values(lowered, [x]), np.exp(x))
    with pytest.raises(AssertionError):
        values(lowered, arrays((4,)))


@pytest.mark.parametrize("pure", [True, False])
def test_computed_scalars_of_dataflow_blocks_have_no_effects(pure: bool) -> None:
    """In a function with effects the block got calls that may not stand in it."""
    n = dim()

    def build(b: Any, x: Any) -> Any:
        given = [ExternFunc("f"), x, PrimValue(n * 2)]
        return Call(special_op("call_pure_packed"), given, None, (x.struct_info,))

    assert well_formed(ComputePrimValue()(program([tensor("x", n)], build, pure=pure))) == []


@pytest.mark.parametrize("pure", [True, False])
def test_computed_scalars_leave_programs_well_formed(pure: bool) -> None:
    """Guards that a pure function gets calls without effects, and that kernels may be given scalars."""
    n = dim()

    def build(b: Any, x: Any) -> Any:
        return If(PrimValue(n < 4), SeqExpr([], R.exp(x)), SeqExpr([], R.sin(x)))

    lowered = ComputePrimValue()(program([tensor("x", n)], build, dataflow=False, pure=pure))
    assert well_formed(lowered) == []
    for size, function in ((3, np.exp), (4, np.sin)):
        (data,) = arrays((size,))
        same_values(values(lowered, [data]), function(data))


@pytest.mark.rule("RELAX-PASS-29")
def test_shapes_and_checks_move_to_the_heap() -> None:
    """No dim with a variable is left; wrong arguments fail as in the interpreter, and say where."""
    module = Sequential(default_build())(from_source(PROGRAM))
    assert [d.render() for d in well_formed(module)] == []
    leaves = [a for b in bindings(module) if isinstance(b.value, Call) for a in b.value.args]
    assert not any(isinstance(d, TirVar) for a in leaves if isinstance(a, ShapeExpr) for d in a.values)
    args = arguments()
    x, y = arrays((3, 4), (11,))
    for wrong, where in ((0, "argument x"), (1, "argument y"), (2, "argument s"), (3, "argument t")):
        bad: list[Any] = [x[0], y, x, (x, 2)]
        given = [bad[i] if i == wrong else a for i, a in enumerate(args)]
        with pytest.raises(DiagnosticError, match=where):
            values(module, given)
        with pytest.raises(DiagnosticError):
            Interpreter(from_source(PROGRAM))["main"](*given)


@pytest.mark.rule("RELAX-PASS-29")
def test_a_shape_that_has_a_name_is_made_under_it_by_kernels_for_the_host() -> None:
    """Guards TVM's words: no copy is bound, and kernels that compute sizes say so (nobody schedules them)."""

    def build(b: Any, x: Any) -> Any:
        return b.emit(ShapeExpr([x.struct_info.shape.values[0] * 2]))

    module = program([tensor("x", dim(), 4)], build, dataflow=False)
    lowered = VMShapeLower()(module)
    calls = [b for b in bindings(lowered) if isinstance(b.value, Call) and isinstance(b.value.op, ExternFunc)]
    (made,) = (b for b in calls if b.value.op.global_symbol == "vm.builtin.make_shape")
    assert made.var is bindings(module)[0].var
    kernel = lowered["shape_func"]
    assert dict(kernel.attrs) == {"tir.is_host_func": 1}
    assert decide(kernel, Target("llvm")).func is kernel
    machine = relax.VirtualMachine(relax_build(lowered), baton.cpu())
    assert tuple(machine["main"](np.zeros((3, 4), "float32"))) == (6,)


@pytest.mark.rule("RELAX-PASS-29")
def test_annotations_mention_bound_variables_only() -> None:
    """Casts stay where their checks move to the heap: what follows names the variables that they bind."""
    found = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32"), t: R.Tuple(R.Object, R.Tensor(dtype="float32"))) -> R.Object:
        m, k, q = T.int64(), T.int64(), T.int64()
        R.match_cast(x, R.Tensor((m, k), "float32"))
        pair = R.match_cast(t, R.Tuple(R.Shape([m + k]), R.Tensor((q,), "float32")))
        y = R.zeros((m * 2, q), "float32")
        return (pair, R.concat((y, y)))
"""
    )
    lowered = Sequential(default_build())(found)
    assert [d.render() for d in well_formed(lowered)] == []
    x, last = arrays((2, 3), (4,))
    for module in (found, lowered):
        (_, tensor), result = values(module, [x, (ShapeTuple([5]), last)])
        assert (tensor.tolist(), result.shape) == (last.tolist(), (8, 4))
        with pytest.raises(DiagnosticError, match="expected 5"):
            values(module, [x, (ShapeTuple([4]), last)])


def test_without_context_the_checks_stay() -> None:
    steps = [s if s.name != "VMShapeLower" else VMShapeLower(emit_err_ctx=False) for s in default_build()]
    module = Sequential(steps)(from_source(PROGRAM))
    assert "argument x" not in repr(module["main"])
    with pytest.raises(DiagnosticError):
        values(module, [arrays((4,))[0], *arguments()[1:]])


@pytest.mark.rule("RELAX-PASS-29", rejects=True)
def test_inner_functions_must_be_lifted_first() -> None:
    inner = Function([], tensor("x", 2))
    module = program([tensor("x", 2)], lambda b, x: [b.emit(inner.with_fields(body=x)), x][1], dataflow=False)
    with pytest.raises(DiagnosticError, match="LambdaLift"):
        VMShapeLower()(module)


@pytest.mark.rule("RELAX-PASS-29")
@pytest.mark.rule("RELAX-PASS-30")
def test_casts_from_another_category_stay_casts() -> None:
    """An object that is a closure or a scalar from here on: the lowered program is well-formed, builds, and checks."""
    found = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def closure(x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n * 2,), "float32"):
            return R.concat((x, y))
        return inner

    @R.function
    def main(x: R.Tensor(("n",), "float32"), p: R.Object, f: R.Object) -> R.Object:
        n = T.int64()
        q = R.match_cast(p, R.Prim(value=n + 1))
        R.match_cast(x, R.Tensor((n,), "float32"))
        g = R.match_cast(f, R.Callable((R.Tensor((n,), "float32"),), R.Object, True))
        return (q, g(x))
"""
    )
    lowered = Sequential(default_build())(LambdaLift()(found))
    assert [d.render() for d in well_formed(lowered)] == []
    for module in (found, lowered):
        machine = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
        x = np.ones(3, "float32")
        closure = machine["closure"](x)
        q, joined = machine["main"](x, 4, closure)
        assert (int(q), joined.shape) == (4, (6,))
        with pytest.raises(DiagnosticError, match="value-mismatch"):
            machine["main"](x, 5, closure)
        with pytest.raises(DiagnosticError, match="value-mismatch"):
            machine["main"](x, 4, 4)


IN_BOTH_ARMS = """
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1)):
    k = T.int64()
    if c:
        a = R.match_cast(x, R.Tensor((k,), "float32"))
        r = R.add(a, R.ones((k,), "float32"))
    else:
        b = R.match_cast(y, R.Tensor((k,), "float32"))
        r = R.multiply(b, R.ones((k,), "float32"))
    return r
"""


@pytest.mark.parametrize("chosen", [True, False])
def test_each_arm_of_a_branch_binds_its_sizes(chosen: bool) -> None:
    """The second arm compared with a slot that only the first one fills."""
    x, y = arrays((3,), (5,))
    found = values(module_of(IN_BOTH_ARMS), [np.array(chosen), x, y], Sequential(default_build()))
    same_values(found, x + 1 if chosen else y)


def test_sizes_computed_after_they_were_lowered_are_told() -> None:
    """Run as bytecode, such a program failed inside of the machine, which had no heap to read sizes from."""
    lowered = Sequential([VMShapeLower(), LegalizeOps()])(program([tensor("x", dim(), 4)], lambda b, x: R.exp(x)))
    with pytest.raises(DiagnosticError, match="the size n is read"):
        relax_build(lowered, "llvm", exec_mode="bytecode")
    (x,) = arrays((3, 4))
    same_values(VirtualMachine(relax_build(lowered, "llvm"))["main"](baton.nd.array(x)).numpy(), np.exp(x))
