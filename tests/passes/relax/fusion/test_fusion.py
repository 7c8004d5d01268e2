"""AnnotateTIROpPattern, FuseOps, FuseTIR and its inlining: what is grouped, merged, and kept in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.fusion.annotate_tir_op_pattern import AnnotateTIROpPattern, tir_pattern
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.fusion.inline_scalar_arguments import InlineScalarArguments
from baton._src.passes.relax.machine.call_tir_rewrite import CallTIRRewrite
from baton._src.passes.relax.machine.remove_purity_checking import RemovePurityChecking
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.passes.shared.fusion_groups import FusionNode, fusion_groups
from baton._src.passes.shared.kernel_stages import kernel_stages, root_block
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.te.reduction import sum as te_sum
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import (
    R,
    arrays,
    bindings,
    called,
    check,
    const,
    dim,
    kernels,
    program,
    tensor,
    weights,
)
from tests.relax.build import module
from tests.relax.machines import fails_everywhere

FUSE = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), InlineScalarArguments(), FuseTIR(inline=True)])
E, B, INJ, C, OUT, X = (
    Fusion.ELEMWISE,
    Fusion.BROADCAST,
    Fusion.INJECTIVE,
    Fusion.COMM_REDUCE,
    Fusion.OUT_EWISE_FUSABLE,
    Fusion.OPAQUE,
)


def chain(*patterns: Fusion) -> list[FusionNode]:
    """Operators in a row, each the only user of the one before."""
    nodes = [FusionNode(p) for p in patterns]
    for number in range(1, len(nodes)):
        nodes[number - 1].users.append((number, nodes[number].pattern))
    nodes[-1].escapes = True
    return nodes


@pytest.mark.parametrize(
    ("patterns", "groups"),
    [
        ((E, B, E), [2, 2, 2]),
        ((OUT, E, E), [2, 2, 2]),
        ((E, C), [1, 1]),
        ((C, E), [0, 1]),
        ((E, OUT), [0, 1]),
        ((OUT, OUT, E), [0, 2, 2]),
        ((INJ, E, INJ), [2, 2, 2]),
        ((E, X, E), [0, 1, 2]),
        ((OUT, INJ), [0, 1]),
        ((OUT, E, INJ), [1, 1, 2]),
    ],
)
def test_groups_of_chains(patterns: tuple[Fusion, ...], groups: list[int]) -> None:
    """One anchor a group; opaque operators alone; injective ones do not follow an anchor."""
    assert fusion_groups(chain(*patterns)) == groups


def test_a_residual_joins_where_all_paths_are_elementwise() -> None:
    """conv -> (relu, add(conv, relu)): the two paths meet in the add."""
    nodes = [FusionNode(OUT), FusionNode(E), FusionNode(E, escapes=True)]
    nodes[0].users = [(1, E), (2, E)]
    nodes[1].users = [(2, E)]
    assert fusion_groups(nodes) == [2, 2, 2]
    nodes[1].pattern = X
    nodes[0].users = [(1, X), (2, E)]
    assert fusion_groups(nodes) == [0, 1, 2]


def test_a_value_used_outside_ends_its_group() -> None:
    nodes = chain(E, E, E)
    nodes[1].escapes = True
    assert fusion_groups(nodes) == [1, 1, 2]


def test_groups_have_a_largest_size() -> None:
    assert len(set(fusion_groups(chain(*[E] * 10), max_depth=4))) > 2
    assert len(set(fusion_groups(chain(*[E] * 3000), max_depth=10**6))) == 1


def test_patterns_of_hand_written_kernels() -> None:
    """Read off the blocks, as the table in the module says."""
    a, v = placeholder((4, 8), name="A"), placeholder((8,), name="V")
    k, r = reduce_axis((0, 8)), reduce_axis((0, 8))
    w = placeholder((8, 3), name="W")
    cases = {
        Fusion.ELEMWISE: (a, compute((4, 8), lambda i, j: a[i, j] + 1.0)),
        Fusion.BROADCAST: (v, compute((4, 8), lambda i, j: v[j] + 1.0)),
        Fusion.INJECTIVE: (a, compute((8, 4), lambda i, j: a[j, i])),
        Fusion.COMM_REDUCE: (a, compute((4,), lambda i: te_sum(a[i, k], axis=k))),
    }
    for expected, tensors in cases.items():
        assert tir_pattern(create_prim_func(tensors)) is expected
    product = compute((4, 3), lambda i, j: te_sum(a[i, r] * w[r, j], axis=r))
    assert tir_pattern(create_prim_func((a, w, product))) is Fusion.OUT_EWISE_FUSABLE
    module = IRModule({"k": create_prim_func((a, cases[Fusion.ELEMWISE][1]))})
    assert AnnotateTIROpPattern()(module)["k"].attrs["op_pattern"] == 0


@pytest.mark.rule("RELAX-PASS-17")
def test_elementwise_chains_become_one_kernel_without_memory_between() -> None:
    n = dim()
    before = program([tensor("x", n, 4), tensor("y", n, 4)], lambda b, x, y: R.exp(R.add(R.multiply(x, y), y)))
    after = check(FUSE, before, *arrays((3, 4), (3, 4)))
    assert called(after) == kernels(after) == ["fused_multiply_add_exp"]
    root = root_block(after["fused_multiply_add_exp"])
    assert root is not None
    assert root.alloc_buffers == ()
    assert len(kernel_stages(after["fused_multiply_add_exp"])) == 1


@pytest.mark.rule("RELAX-PASS-17")
def test_a_matmul_takes_its_epilogue_and_equal_groups_are_shared() -> None:
    """Two layers of the same shapes: one kernel; weights are arguments, scalars literals."""

    def build(b: Any, x: Any) -> Any:
        for layer in range(2):
            x = R.nn.relu(R.multiply(R.add(R.matmul(x, weights(4, 4, seed=layer)), weights(4, seed=9)), const(0.5)))
        return x

    before = program([tensor("x", 3, 4)], build)
    after = check(FUSE, before, *arrays((3, 4)))
    assert called(after) == ["fused_matmul_add_multiply_relu"] * 2
    assert kernels(after) == ["fused_matmul_add_multiply_relu"]
    assert len(bindings(after)[0].value.args[1].fields) == 3
    lifted = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), FuseTIR()])
    assert len(bindings(check(lifted, before, *arrays((3, 4))))[0].value.args[1].fields) == 4
    assert len(kernel_stages(after["fused_matmul_add_multiply_relu"])) == 2


@pytest.mark.rule("RELAX-PASS-17", rejects=True)
def test_opaque_kernels_are_not_fused() -> None:
    before = program([tensor("x", 8)], lambda b, x: R.exp(R.cumsum(R.exp(x), axis=0)))
    legal = LegalizeOps(fusion_classes=True)(before)
    assert legal["cumsum"].attrs["op_pattern"] == Fusion.OPAQUE
    assert called(check(FUSE, before, *arrays((8,)))) == ["exp", "cumsum", "exp"]


def test_several_users_inside_and_outside_of_a_group() -> None:
    """exp is used twice inside; the first sum leaves the block, so it keeps its own kernel."""

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        return R.add(R.multiply(e, e), e)

    after = check(FUSE, program([tensor("x", 5)], build), *arrays((5,)))
    assert called(after) == ["fused_exp_multiply_add"]


def test_work_is_not_repeated() -> None:
    """exp in front of a reduction over another axis is computed once an element."""

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        return R.divide(e, R.sum(e, axis=[1], keepdims=True))

    after = check(FUSE, program([tensor("x", 3, 5)], build), *arrays((3, 5)))
    stages = [kernel_stages(after[name]) for name in kernels(after)]
    assert sum(len(found) for found in stages) == 3


def test_shapes_nobody_shows_are_passed_through_groups() -> None:
    """x: (n * 2,): n reaches the fused kernel as an integer."""
    n = dim()
    before = program([tensor("x", n * 2)], lambda b, x: R.exp(R.add(x, x)))
    after = FUSE(before)
    (binding,) = bindings(after)
    assert [v is n for v in binding.value.args[2].values] == [True]


def test_depth_and_level_are_settings() -> None:
    chain_of_exps = program([tensor("x", 3)], lambda b, x: R.exp(R.exp(R.exp(R.exp(x)))))
    before = LegalizeOps(fusion_classes=True)(chain_of_exps)
    with PassContext(config={"relax.FuseOps.max_depth": 2}):
        assert len(called(FuseOps()(before))) == 2
    assert FuseOps(fuse_opt_level=0)(before) is before


def test_fused_programs_of_many_operators_stay_linear() -> None:
    """300 operators in groups: results equal, one kernel for repeated groups."""

    def build(b: Any, x: Any) -> Any:
        for _ in range(60):
            x = R.matmul(R.nn.relu(R.add(R.multiply(x, const(0.1)), const([0.1, 0.2, 0.3, 0.4]))), const(np.eye(4)))
        return x

    after = check(FUSE, program([tensor("x", 2, 4)], build), *arrays((2, 4)))
    assert len(kernels(after)) <= 4


def test_a_group_is_named_by_all_that_it_calls() -> None:
    """Guards long names, which scripts look up as TVM writes them: no part is cut off."""
    names = ["exp", "tanh", "cos", "sigmoid", "sin", "negative", "sqrt", "floor", "ceil", "round", "tan", "atan", "erf"]

    def build(b: Any, x: Any) -> Any:
        for name in names:
            x = b.emit(R.find(name)(x))
        return x

    fused = FuseOps()(AnnotateTIROpPattern()(LegalizeOps()(program([tensor("x", 3, 4)], build))))
    assert [v.name_hint for v in fused.functions if v.name_hint.startswith("fused")] == ["_".join(["fused", *names])]


def test_kernels_that_compare_sizes_are_left_alone() -> None:
    """A fused kernel read the first elements of a tensor that is too long, where the kernel itself refuses it."""
    text = """
@T.prim_func(private=True)
def add(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A, B, C = T.match_buffer(a, (n,)), T.match_buffer(b, (n,)), T.match_buffer(c, (n,))
    for i in range(n):
        with T.block("add"):
            v = T.axis.spatial(n, i)
            C[v] = A[v] + B[v]

@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("{m}",), "float32")):
    n, m = T.int64(), T.int64()
    with R.dataflow():
        a = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n,), "float32"))
        b = R.call_tir(cls.add, (a, a), out_sinfo=R.Tensor((n,), "float32"))
        R.output(b)
    return b
"""
    steps = Sequential([AnnotateTIROpPattern(), FuseOps(), FuseTIR()])
    same = text.format(m="n").replace("n, m = T.int64(), T.int64()", "n = T.int64()")
    after = check(steps, module(same), *arrays((3,), (3,)))
    assert called(after) == ["fused_add_add"]
    after = steps(module(text.format(m="m")))
    fails_everywhere(after, *arrays((3,), (4,)), code="value-mismatch")


def test_calls_of_fused_kernels_have_effects() -> None:
    """Guards a program that a script lowers by hand and builds: the fused kernel's name had the signature of the pure
    function that it was, so its call went where unused bindings go, and what it should have written was undefined."""
    text = """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    with R.dataflow():
        y = R.nn.relu(R.exp(x))
        R.output(y)
    return y
"""
    lowering = [ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite()]
    steps = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), FuseTIR(), *lowering, DeadCodeElimination()])
    after = check(steps, module(text), *arrays((2, 3)))
    assert "fused_exp_relu" in called(after)
