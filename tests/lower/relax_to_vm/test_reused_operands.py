"""Results are written over dead operands where each element is read before it is overwritten, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import module_texts
from baton._src.driver.relax.build import relax_build
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.overwriting import overwritable
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.te.reduction import max as te_max
from baton._src.te.reduction import sum as te_sum
from baton._src.tir.builders.scalar_functions import exp, if_then_else
from baton._src.tir.expr import Select
from baton._src.tir.expr import Var as TirVar
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, dim, program, tensor, weights

N, M = 6, 5


def pointwise() -> Any:
    x, y = placeholder((N, M), name="x"), placeholder((N, M), name="y")
    return [x, y, compute((N, M), lambda i, j: x[i, j] * y[i, j] + x[i, j])]


def broadcast() -> Any:
    x, y, z = placeholder((N, M), name="x"), placeholder((M,), name="y"), placeholder((N, 1), name="z")
    return [x, y, z, compute((N, M), lambda i, j: x[i, j] * y[j] + z[i, 0])]


def neighbour() -> Any:
    x, y = placeholder((N, M), name="x"), placeholder((N, M), name="y")
    return [x, y, compute((N, M), lambda i, j: x[i, (j + 1) % M] + y[i, j])]


def both_places() -> Any:
    x = placeholder((N, M), name="x")
    return [x, compute((N, M), lambda i, j: x[i, j] + if_then_else(j > 0, x[i, j - 1], 0.0))]


def turned() -> Any:
    x, y = placeholder((N, N), name="x"), placeholder((N, N), name="y")
    return [x, y, compute((N, N), lambda i, j: x[j, i] + y[i, j])]


def row_maximum() -> Any:
    x, k = placeholder((N, M), name="x"), reduce_axis((0, M), name="k")
    top = compute((N,), lambda i: te_max(x[i, k], k))
    return [x, compute((N, M), lambda i, j: exp(x[i, j] - top[i]))]


def kept_axis() -> Any:
    x, k = placeholder((N, M), name="x"), reduce_axis((0, M), name="k")
    top = compute((N, 1), lambda i, o: te_sum(x[i, k], k))
    return [x, compute((N, M), lambda i, j: x[i, j] / top[i, 0])]


def column_sum() -> Any:
    x, k = placeholder((N, M), name="x"), reduce_axis((0, N), name="k")
    total = compute((M,), lambda j: te_sum(x[k, j], k))
    return [x, compute((N, M), lambda i, j: x[i, j] / total[j])]


def sum_for_each() -> Any:
    """The sum of a row, computed for each of its elements anew: the first would already be overwritten."""
    x, k = placeholder((N, M), name="x"), reduce_axis((0, M), name="k")
    total = compute((N, M), lambda i, j: te_sum(x[i, k] * (j + 1), k))
    return [x, compute((N, M), lambda i, j: x[i, j] / total[i, j])]


def first_row() -> Any:
    """A cheap stage is inlined into its reader, which then reads row 0 while it writes the others."""
    x = placeholder((N, M), name="x")
    row = compute((1, M), lambda o, j: x[0, j] * 2.0)
    return [x, compute((N, M), lambda i, j: x[i, j] - row[0, j])]


def row_of_one() -> Any:
    """The same row, named by an axis that has no other: a slice of one row."""
    x = placeholder((N, M), name="x")
    row = compute((1, M), lambda i, j: x[i, j] * 2.0)
    return [x, compute((N, M), lambda i, j: x[i, j] - row[0, j])]


def mirrored_stage() -> Any:
    x = placeholder((N, M), name="x")
    doubled = compute((N, M), lambda i, j: x[i, j] * 2.0)
    return [x, compute((N, M), lambda i, j: doubled[i, j] + doubled[N - 1 - i, j])]


def product_with_residual() -> Any:
    x, w = placeholder((N, M), name="x"), placeholder((M, M), name="w")
    r, k = placeholder((N, M), name="r"), reduce_axis((0, M), name="k")
    product = compute((N, M), lambda i, j: te_sum(x[i, k] * w[k, j], k))
    return [x, w, r, compute((N, M), lambda i, j: product[i, j] + r[i, j])]


def reduction_last() -> Any:
    x, k = placeholder((N,), name="x"), reduce_axis((0, N), name="k")
    return [x, compute((N,), lambda i: te_sum(x[i] * (k + 1), k))]


def narrower() -> Any:
    x = placeholder((N, M), "int32", name="x")
    return [x, compute((N, M), lambda i, j: x[i, j].astype("float32"))]


def two_results() -> Any:
    """The second result is computed from the operand after the first was written."""
    x = placeholder((N, M), name="x")
    return [x, compute((N, M), lambda i, j: x[i, j] + 1.0), compute((N, M), lambda i, j: x[i, j] + 2.0)]


def symbolic() -> Any:
    n, m = TirVar("n", "int64"), TirVar("m", "int64")
    x, y, z = placeholder((n, m), name="x"), placeholder((m, n), name="y"), placeholder((m,), name="z")
    return [x, y, z, compute((n, m), lambda i, j: Select(x[i, j] > 0.0, x[i, j], z[j] + y[j, i]))]


KERNELS: list[tuple[Callable[[], Any], tuple[tuple[int, int], ...]]] = [
    (pointwise, ((0, 2), (1, 2))),
    (broadcast, ((0, 3),)),
    (neighbour, ((1, 2),)),
    (both_places, ()),
    (turned, ((1, 2),)),
    (row_maximum, ((0, 1),)),
    (kept_axis, ((0, 1),)),
    (column_sum, ()),
    (sum_for_each, ()),
    (first_row, ()),
    (row_of_one, ()),
    (mirrored_stage, ()),
    (product_with_residual, ((2, 3),)),
    (reduction_last, ()),
    (narrower, ()),
    (two_results, ((0, 2),)),
    (symbolic, ((0, 3),)),
]


@pytest.mark.parametrize(("make", "pairs"), KERNELS, ids=[k[0].__name__ for k in KERNELS])
def test_what_may_be_overwritten(make: Callable[[], Any], pairs: tuple[tuple[int, int], ...]) -> None:
    """Guards the proof: what reads elsewhere than it writes is never chosen."""
    assert overwritable(create_prim_func(make())) == pairs


def test_only_what_is_shared_loses_its_promise() -> None:
    """Guards the code: the pair is not `noalias`, in the outlined loop either; other parameters are."""
    x, y = placeholder((512, 512), name="x"), placeholder((512,), name="y")
    func = create_prim_func([x, y, compute((512, 512), lambda i, j: exp(x[i, j]) * y[j])])
    target = Target.host()

    def heads(function: Any) -> list[str]:
        text = module_texts({"f": schedule(function, target)}, target)[0]["f"]
        return [line for line in text.splitlines() if line.startswith("define") and "noalias" in line]

    assert all(head.count("noalias") == 3 for head in heads(func))
    shared = heads(func.with_attr("tir.overwrites", ((0, 2),)))
    assert shared
    assert all(head.count("noalias") == 1 for head in shared)


def built(module: Any) -> Executable:
    """Every operator a kernel of its own."""
    return relax_build(module, pipeline=LegalizeOps())


def in_place(executable: Executable) -> int:
    """Kernels of `main` that write where they read."""
    found = 0
    for step in executable.natives["main"].steps:
        places = [(t.space, str(t.at)) for t in step.tensors if t.space in ("arena", "output")]
        found += len(set(places)) < len(places)
    return found


def test_a_chain_needs_no_arena() -> None:
    """Guards the outputs' memory: what the last kernel would overwrite lives there from the start."""

    def build(b: Any, x: Any) -> Any:
        for step in range(4):
            x = b.emit(R.add(R.tanh(x) if step == 3 else R.exp(R.negative(R.abs(x))), weights(4, 4, seed=step)))
        return R.multiply(x, x)

    executable = built(program([tensor("x", 4, 4)], build))
    assert executable.natives["main"].arena_bytes == 0
    # All but the first, which reads the parameter.
    assert in_place(executable) == len(executable.natives["main"].steps) - 1


def test_living_operands_are_kept() -> None:
    """Guards lifetimes: an operand that is read again, or given out, is not overwritten; two outputs lie apart."""

    def build(b: Any, x: Any) -> Any:
        a = b.emit(R.exp(x))
        c = b.emit(R.add(a, a))
        d = b.emit(R.multiply(c, a))
        return R.concat([b.emit(R.subtract(d, c)), b.emit(R.tanh(d)), b.emit(R.add(d, d))], axis=0)

    module = program([tensor("x", 3, 4)], build)
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    found = VirtualMachine(built(module))["main"](x).numpy()
    np.testing.assert_allclose(found, evaluate(module, "main", x), rtol=1e-5)


@pytest.mark.parametrize("joined", [True, False], ids=["joined", "cut"])
def test_parts_stay_out_of_the_memory_of_results(joined: bool) -> None:
    """Guards what others are parts of, read by a kernel whose result is an output: an output has an address, and no
    places inside (the part's place was taken for the number of a word, and the process ended).
    """

    def build(b: Any, x: Any) -> Any:
        first, second = b.emit(R.tanh(x)), b.emit(R.exp(x))
        if joined:
            whole = b.emit(R.concat([first, second], axis=1))
            return R.nn.relu(b.emit(R.reshape(whole, (2, 4))))
        parts = b.emit(R.split(first, 2, axis=1))
        halves = b.emit(R.concat([b.emit(R.cumsum(p, axis=1)) for p in parts], axis=0))
        return R.add(b.emit(R.add(first, R.reshape(halves, (1, 4)))), first)

    module = program([tensor("x", 1, 4)], build)
    x = np.random.default_rng(0).standard_normal((1, 4)).astype("float32")
    for executable in (built(module), relax_build(module)):
        found = VirtualMachine(executable)["main"](x).numpy()
        np.testing.assert_allclose(found, evaluate(module, "main", x), rtol=1e-5)


def operator(x: Any, y: Any, rng: np.random.Generator, rows: int, columns: int, seed: int) -> Any:
    """An operator over matrices of one shape; some read rows, columns or neighbours."""
    row = weights(columns, seed=seed)
    axis = int(rng.integers(2))
    makers: list[Callable[[], Any]] = [
        lambda: R.add(x, y),
        lambda: R.multiply(R.tanh(x), y),
        lambda: R.maximum(x, row),
        lambda: R.multiply(x, R.mean(y, [1], keepdims=True)),
        lambda: R.subtract(x, R.max(y, [0], keepdims=True)),
        lambda: R.subtract(R.flip(x, axis=axis), y),
        lambda: R.concat([R.strided_slice(x, [1], [1], [columns]), R.mean(y, [1], keepdims=True)], 1),
        lambda: R.nn.softmax(x, axis=axis),
        lambda: R.nn.layer_norm(x, row, weights(columns, seed=seed + 50), axes=[-1]),
        lambda: R.add(R.matmul(x, weights(columns, columns, seed=seed)), y),
        lambda: R.add(R.permute_dims(R.reshape(x, (columns, rows))), y),
    ]
    return makers[int(rng.integers(len(makers)))]()


def grown(b: Any, first: list[Any], rng: np.random.Generator, rows: int, columns: int, steps: int) -> Any:
    """A program of random operators, most of whose operands were computed just before."""
    values = list(first)
    for step in range(steps):
        x, y = (values[-1 - min(int(rng.geometric(0.6)) - 1, len(values) - 1)] for _ in range(2))
        values.append(b.emit(operator(x, x if rng.integers(5) == 0 else y, rng, rows, columns, step)))
    return values[-1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fused", [False, True])
def test_random_programs(seed: int, fused: bool) -> None:
    """Guards all of it: kernels in place, not in place, fused or alone, give what the interpreter gives."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([4, 33])), int(rng.choice([1, 17, 40]))
    module = program(
        [tensor("x", rows, columns), tensor("y", rows, columns)],
        lambda b, x, y: grown(b, [x, y], rng, rows, columns, 12),
    )
    given = [rng.standard_normal((rows, columns)).astype("float32") for _ in range(2)]
    executable = relax_build(module) if fused else built(module)
    found = VirtualMachine(executable)["main"](*given).numpy()
    wanted = evaluate(module, "main", *given)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * (1 + np.abs(wanted).max()))
    assert fused or in_place(executable)


def test_any_number_of_rows() -> None:
    """Guards symbolic sizes, and the threads that large ones are shared between."""
    rng = np.random.default_rng(3)
    n = dim()

    def build(b: Any, x: Any, y: Any) -> Any:
        a = b.emit(R.exp(R.negative(R.abs(x))))
        c = b.emit(R.add(a, R.nn.softmax(y)))
        d = b.emit(R.multiply(c, R.mean(c, [1], keepdims=True)))
        return R.add(b.emit(R.nn.layer_norm(d, weights(64), weights(64, seed=1), axes=[-1])), R.flip(x, axis=0))

    module = program([tensor("x", n, 64), tensor("y", n, 64)], build)
    executable = built(module)
    assert in_place(executable) >= 3
    run = VirtualMachine(executable)["main"]
    for rows in (1, 3, 1500):
        given = [rng.standard_normal((rows, 64)).astype("float32") for _ in range(2)]
        np.testing.assert_allclose(run(*given).numpy(), evaluate(module, "main", *given), rtol=1e-3, atol=1e-3)


RULES: list[tuple[str, tuple[int, ...], Callable[[Any], Any]]] = [
    ("product", (37, 45), lambda x: R.matmul(x, weights(45, 45))),
    ("narrow product", (50, 17), lambda x: R.matmul(x, weights(17, 17))),
    ("few rows", (3, 70), lambda x: R.matmul(x, weights(70, 70))),
    ("product of batches", (2, 21, 21), lambda x: R.matmul(x, R.exp(x))),
    ("convolution", (1, 7, 13, 11), lambda x: R.nn.conv2d(x, weights(7, 7, 3, 3), padding=1)),
    ("blocks", (1, 32, 9, 9), lambda x: R.nn.conv2d(x, weights(32, 32, 3, 3), padding=1)),
    ("1x1", (1, 24, 9, 9), lambda x: R.nn.conv2d(x, weights(24, 24, 1, 1))),
    ("depthwise", (1, 16, 14, 14), lambda x: R.nn.conv2d(x, weights(16, 1, 3, 3), padding=1, groups=16)),
    ("groups", (1, 12, 10, 35), lambda x: R.nn.conv2d(x, weights(12, 4, 3, 3), padding=1, groups=3)),
    ("lines", (1, 8, 61), lambda x: R.nn.conv1d(x, weights(8, 8, 5), padding=2)),
]


@pytest.mark.parametrize(("shape", "make"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_sums_behind_products_and_convolutions(shape: tuple[int, ...], make: Callable[[Any], Any]) -> None:
    """Guards every rule with an epilogue, its tails too: the residual is read where the sum is stored, once."""

    def build(b: Any, x: Any) -> Any:
        for _ in range(2):
            residual = b.emit(R.tanh(R.cumsum(x, axis=len(shape) - 1)))  # a sum along an axis is fused with nothing
            made = b.emit(make(b.emit(R.flip(residual, axis=0))))
            x = b.emit(R.nn.relu(b.emit(R.add(made, residual))))
        return R.flip(x, axis=0)

    module = program([tensor("x", *shape)], build)
    executable = relax_build(module)
    assert in_place(executable) >= 1
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    wanted = evaluate(module, "main", x)
    found = VirtualMachine(executable)["main"](x).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * (1 + np.abs(wanted).max()))
