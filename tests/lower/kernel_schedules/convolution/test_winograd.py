"""Winograd's algorithm: its numbers, and its kernels against convolution in float64 with every access checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.winograd.choice import Candidate, candidate, chosen, sizes_for
from baton._src.lower.kernel_schedules.convolution.winograd.numbers import TRANSFORMS, Transform
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Sizes, Winograd
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_value
from tests.lower.kernel_schedules.convolution.test_conv_blocked import BLOCKED, convolution
from tests.lower.kernel_schedules.spills import spills_of

OLD = Target("llvm -mcpu=x86-64")
MIDDLE = Target("llvm -mcpu=x86-64-v3 -num-cores=4")
"""AVX2 and sixteen registers, whatever this machine has beyond."""
THREADS = Target("llvm -num-cores=4")
SIZES_OF_TILES = {"four": TRANSFORMS[0], "two": TRANSFORMS[1]}
BOTH = pytest.mark.parametrize("transform", SIZES_OF_TILES.values(), ids=SIZES_OF_TILES)


@BOTH
def test_numbers(transform: Transform) -> None:
    """Guards A, B and G: one row of a filter of three taps, in float64."""
    rng = np.random.default_rng(0)
    d, g = rng.standard_normal(transform.points), rng.standard_normal(3)
    expected = [d[i : i + 3] @ g for i in range(transform.results)]
    found = transform.sums.matrix() @ ((np.array(transform.filter) @ g) * (transform.data.matrix() @ d))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@BOTH
def test_accuracy(transform: Transform) -> None:
    """Sums over 256 channels in float32 stay within 1e-5 of the largest result (asked for: 1e-4)."""
    assert _error((1, 16, 14, 14, 16), 1, transform, HOST, padding=1) < 1e-5


SHAPES = [(4, 4), (5, 7), (1, 1), (9, 14)]


@pytest.mark.parametrize(("shape", "transform"), every_value(SHAPES, SIZES_OF_TILES))
def test_maps(shape: tuple[int, int], transform: Transform) -> None:
    """Maps that tiles do not divide, several images, bias, residual and ReLU."""
    assert _error((2, 2, *shape, 16), 3, transform, HOST, padding=1) < 1e-5


@pytest.mark.parametrize(("padding", "transform"), every_value([0, (0, 1, 2, 1), (3, 0, 0, 3)], SIZES_OF_TILES))
def test_padding(padding: Any, transform: Transform) -> None:
    """No border, more than the window reaches, other ones on each side."""
    assert _error((1, 2, 8, 11, 16), 2, transform, HOST, padding=padding) < 1e-5


CUTS = [
    (TRANSFORMS[0], Sizes(1, 1, 1, 1, "tiles")),
    (TRANSFORMS[0], Sizes(3, 2, 2, 2, "")),
    (TRANSFORMS[0], Sizes(5, 3, 4, 1, "channels")),
    (TRANSFORMS[1], Sizes(5, 3, 4, 1, "tiles")),
    (TRANSFORMS[1], Sizes(7, 7, 1, 4, "channels")),
    (TRANSFORMS[1], Sizes(40, 6, 2, 1, "")),
]


@pytest.mark.parametrize(("transform", "sizes"), CUTS)
def test_cuts(transform: Transform, sizes: Sizes) -> None:
    """Blocks of tiles that overlap at the end, register tiles that overlap, chunks of channels, shared by threads."""
    assert _error((1, 2, 10, 13, 16), 4, transform, THREADS, sizes, padding=1) < 1e-5


@pytest.mark.parametrize("target", [OLD, MIDDLE, THREADS], ids=["sse", "avx2", "threads"])
def test_blocks_of_eight(target: Target) -> None:
    layouts = {"data_layout": "NCHW8c", "kernel_layout": "OIHW8i8o", "out_layout": "NCHW8c"}
    assert _error((1, 4, 9, 9, 8), 4, TRANSFORMS[0], target, layouts=layouts, padding=1) < 1e-5


@BOTH
def test_two_registers_a_block(transform: Transform) -> None:
    """Blocks of sixteen with AVX2, sizes as chosen for it: nothing wider is used."""
    assert _error((1, 2, 9, 14, 16), 3, transform, MIDDLE, padding=1) < 1e-5
    _, func = convolution((1, 2, 9, 14, 16), (3, 2, 3, 3, 16, 16), **BLOCKED, padding=1)
    found = candidate(func)
    assert isinstance(found, Candidate)
    plan = Winograd(found.conv, transform, sizes_for(found.conv, transform, MIDDLE))
    texts, _ = module_texts({"f": found.scheduled(plan, MIDDLE)}, MIDDLE)
    code = assembly(texts["f"], Machine.of(MIDDLE))
    assert re.search(r"vfmadd\w+ps.*%ymm", code)
    assert "%zmm" not in code


@pytest.mark.parametrize(("transform", "target"), every_value(SIZES_OF_TILES, {"one": HOST, "threads": THREADS}))
def test_symbolic_batch(transform: Transform, target: Target) -> None:
    """The number of tiles is known when the kernel runs."""
    assert _error((TirVar("n", "int64"), 2, 8, 8, 16), 2, transform, target, known={"n": 3}, padding=1) < 1e-5


OPEN_MAPS = [(1, 1), (13, 14), (5, 61)]


@pytest.mark.parametrize(("shape", "transform"), every_value(OPEN_MAPS, SIZES_OF_TILES))
def test_open_maps(shape: tuple[int, int], transform: Transform) -> None:
    """Maps whose extents only a run tells, of fewer tiles than a register tile has and of more than a block."""
    data = (2, 2, TirVar("h", "int64"), TirVar("w", "int64"), 16)
    known = dict(zip("hw", shape))
    assert _error(data, 2, transform, HOST, Sizes(20, 6, 2, 1, ""), known=known, padding=1) < 1e-5


@pytest.mark.parametrize("shared", ["tiles", "channels"])
def test_open_maps_are_shared(shared: str) -> None:
    """The same by threads; more border than the window reaches."""
    data = (TirVar("n", "int64"), 2, TirVar("h", "int64"), TirVar("w", "int64"), 16)
    known, sizes = {"n": 2, "h": 9, "w": 10}, Sizes(7, 3, 2, 1, shared)
    assert _error(data, 4, TRANSFORMS[0], THREADS, sizes, known=known, padding=(0, 1, 3, 2)) < 1e-5


def _number(dim: Any, known: Mapping[str, int]) -> int:
    variables = [n for n in post_order(dim) if isinstance(n, TirVar)]
    return int(evaluate(dim, {v: known[v.name] for v in variables}))


def _error(
    data: Any,
    blocks: int,
    transform: Transform,
    target: Target,
    sizes: Sizes | None = None,
    layouts: dict[str, Any] = BLOCKED,
    known: Mapping[str, int] | None = None,
    **geometry: Any,
) -> float:
    """The largest difference from relu(conv + bias + residual) in float64, relative to the largest result."""
    outer, block = data[1], data[4]
    module, func = convolution(data, (blocks, outer, 3, 3, block, block), **layouts, **geometry)
    found = candidate(func)
    assert isinstance(found, Candidate), found.reason
    plan = Winograd(found.conv, transform, sizes or sizes_for(found.conv, transform, target))
    kernel = found.scheduled(plan, target)
    rng = np.random.default_rng(0)
    infos = [p.struct_info.shape.values for p in module["main"].params]
    arrays = [rng.uniform(-1, 1, [_number(d, known or {}) for d in dims]).astype("float32") for dims in infos]
    expected = _reference(arrays, geometry["padding"])
    out = np.full(expected.shape, np.nan, "float32")
    weights = np.empty(plan.weight_shape(), "float32")
    plan.write_weights(weights, arrays[1])
    given = [*arrays[:1], weights, *arrays[2:], out]
    assert call(build(kernel, target, checked=True), kernel, *given) is None
    return float(np.abs(out - expected).max() / np.abs(expected).max())


def _reference(arrays: list[np.ndarray], padding: Any) -> np.ndarray:
    x, w, b, r = (a.astype("float64") for a in arrays)
    top, left, bottom, right = (padding,) * 4 if isinstance(padding, int) else padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = x.shape[2] - 2, x.shape[3] - 2
    total = b + r
    for i in range(3):
        for j in range(3):
            part = x[:, :, i : i + height, j : j + width]
            total = total + np.einsum("nchwi,pcio->nphwo", part, w[:, :, i, j])
    return np.maximum(total, 0)


# ------------------------------------------------------------------------------------------------------ choice

WIDE = Target("llvm -mcpu=znver4 -num-cores=2")


def test_threads_have_chunks_of_few_channels() -> None:
    """Guards that two blocks of output channels on a map of few tiles are two chunks for two threads."""
    _, func = convolution((1, 8, 14, 14, 16), (2, 8, 3, 3, 16, 16), **BLOCKED, padding=1)
    found = candidate(func)
    assert isinstance(found, Candidate)
    sizes = sizes_for(found.conv, TRANSFORMS[0], WIDE)
    assert (sizes.shared, Winograd(found.conv, TRANSFORMS[0], sizes).chunks) == ("channels", 2)


@pytest.mark.parametrize(("channels", "size", "results"), [(64, 56, 4), (128, 28, 4), (256, 14, 4), (512, 7, 0)])
def test_choice(channels: int, size: int, results: int) -> None:
    """Where ResNet-50's maps are large enough the larger transform; at 7 x 7 its weights cost more than it saves."""
    _, func = convolution(
        (1, channels // 16, size, size, 16), (channels // 16, channels // 16, 3, 3, 16, 16), **BLOCKED, padding=1
    )
    found = candidate(func)
    assert isinstance(found, Candidate)
    plan = chosen(found, WIDE)
    assert (0 if isinstance(plan, Declined) else plan.transform.results) == results


@pytest.mark.parametrize("other", [{"strides": 2}, {"dilation": 2}])
def test_other_windows_are_declined(other: dict[str, int]) -> None:
    _, func = convolution((1, 2, 12, 12, 16), (2, 2, 3, 3, 16, 16), **BLOCKED, padding=1, **other)
    assert isinstance(candidate(func), Declined)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=["four", "two"])
@pytest.mark.parametrize("size", [14, 56])
def test_no_vector_goes_to_the_stack(size: int, transform: Transform) -> None:
    """Guards the register tiles and the straight-line transforms."""
    _, func = convolution((1, 4, size, size, 16), (4, 4, 3, 3, 16, 16), **BLOCKED, padding=1)
    found = candidate(func)
    assert isinstance(found, Candidate)
    plan = Winograd(found.conv, transform, sizes_for(found.conv, transform, WIDE))
    assert spills_of(found.scheduled(plan, WIDE)) == []
