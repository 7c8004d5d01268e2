"""Direct convolutions over blocked channels: against the operators' meaning, with every access checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, using
from baton._src.lower.kernel_schedules.convolution.blocked.channel_chunks import Chunks
from baton._src.lower.kernel_schedules.convolution.blocked.parts import read_conv
from baton._src.lower.kernel_schedules.convolution.blocked.shapes import parts_of_map, tile_shape
from baton._src.lower.kernel_schedules.convolution.blocked.strided_points import with_points_copied
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.ops.builders import RELAX as R
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.te.prim_func import PrimFunc
from baton._src.tir.evaluation.expressions import evaluate as number
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_value
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.lower.kernel_schedules.spills import SPILL, WIDE, spills_of_sums
from tests.passes.relax.evaluate import evaluate

OLD = Target("llvm -mcpu=x86-64")
THREADS = Target("llvm -num-cores=4")
WIDE_THREADS = Target("llvm -mcpu=znver4 -num-cores=4")


def convolution(data: Any, kernel: Any, **attrs: Any) -> tuple[Any, PrimFunc]:
    """(module, kernel) of relu(conv(x, w) + b + r), all operands parameters."""
    bb = BlockBuilder()
    x, w = Var("x", TensorStructInfo(list(data), "float32")), Var("w", TensorStructInfo(list(kernel), "float32"))
    call_ = bb.normalize(R.nn.conv2d(x, w, **attrs))
    shape = call_.struct_info.shape.values
    b = Var("b", TensorStructInfo([1, shape[1], 1, 1, shape[4]], "float32"))
    r = Var("r", TensorStructInfo(list(shape), "float32"))
    with bb.function("main", [x, w, b, r]):
        with bb.dataflow():
            y = bb.emit(R.add(bb.emit(call_), b))
            result = bb.emit_output(R.nn.relu(bb.emit(R.add(y, r))))
        bb.emit_func_output(result)
    module = bb.get()
    return module, only_kernel(module)


def check(data: Any, kernel: Any, target: Target = HOST, batch: int = 2, **attrs: Any) -> None:
    """Schedule, compile with checks, call, compare."""
    module, func = convolution(data, kernel, **attrs)
    decision = decide(func, target)
    assert decision.rule == "conv_blocked", decision.declined
    rng = np.random.default_rng(0)

    def array(info: Any) -> Any:
        shape = [batch if isinstance(d, TirVar) else d.value for d in info.shape.values]
        return rng.uniform(-1, 1, shape).astype("float32")

    arguments = [array(p.struct_info) for p in module["main"].params]
    expected = evaluate(module, "main", *arguments)
    found = np.full_like(expected, np.nan)
    assert call(build(decision.func, target, checked=True), decision.func, *arguments, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


BLOCKED = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o", "out_layout": "NCHW16c"}
GEOMETRIES = [
    (3, {"padding": 1}),
    (3, {"padding": 1, "strides": 2}),
    (3, {"padding": (0, 1, 2, 1), "strides": (1, 2)}),
    (3, {"padding": 2, "dilation": 2}),
    (3, {}),
    (1, {}),
    (1, {"strides": 2}),
    (1, {"padding": 1}),
    (5, {"padding": 4}),
]


@pytest.mark.parametrize(("window", "geometry"), GEOMETRIES)
def test_geometries(window: int, geometry: dict[str, Any]) -> None:
    """Strides, dilation and padding (more on one side than the window reaches, too), on rows of an odd length."""
    check((1, 2, 9, 17, 16), (3, 2, window, window, 16, 16), **BLOCKED, **geometry)


@pytest.mark.parametrize(("width", "blocks"), [(1, 4), (5, 2), (7, 1), (13, 2), (15, 3), (29, 2), (43, 4)])
def test_rows_and_blocks(width: int, blocks: int) -> None:
    """Tiles at the edges of a row and between, one and more blocks of output channels."""
    check((1, 1, 3, width, 16), (blocks, 1, 3, 3, 16, 16), **BLOCKED, padding=1)


@pytest.mark.parametrize(("inner", "outer", "target"), [(8, 16, OLD), (16, 8, THREADS), (8, 8, HOST), (32, 4, HOST)])
def test_blocks_of_other_sizes(inner: int, outer: int, target: Target) -> None:
    layouts = {"data_layout": f"NCHW{inner}c", "kernel_layout": f"OIHW{inner}i{outer}o", "out_layout": f"NCHW{outer}c"}
    check((1, 2, 6, 6, inner), (2, 2, 3, 3, inner, outer), target, padding=1, **layouts)


DEPTHWISE = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16o", "out_layout": "NCHW16c", "groups": 48}


@pytest.mark.parametrize(
    ("window", "target", "geometry"),
    [
        ((3, 3), HOST, {"padding": 1}),
        ((5, 5), HOST, {"padding": 2, "strides": 2}),
        ((7, 7), OLD, {"padding": 3}),
        ((3, 13), HOST, {"padding": (1, 6)}),
        ((3, 3), HOST, {"padding": (0, 5, 2, 1), "dilation": (1, 3), "strides": (2, 3)}),
        ((3, 1), HOST, {}),
        ((1, 1), HOST, {}),
    ],
)
def test_depthwise(window: tuple[int, int], target: Target, geometry: dict[str, Any]) -> None:
    """All taps of a row at once, in parts of a long row, and where points do not see them all."""
    check((2, 3, 9, 20, 16), (3, 1, *window, 16), target, **DEPTHWISE, **geometry)


@pytest.mark.parametrize(("blocks", "groups", "window"), [(4, 2, 3), (3, 3, 3), (6, 2, 1), (8, 2, 3)])
def test_groups_of_blocks(blocks: int, groups: int, window: int) -> None:
    """A tile has blocks of output channels of one group only: those that see the same input."""
    kernel = (blocks, blocks // groups, window, window, 16, 16)
    check((1, blocks, 6, 9, 16), kernel, padding=window // 2, groups=groups, **BLOCKED)


def test_more_outputs_than_inputs_in_groups() -> None:
    check((1, 2, 5, 7, 16), (8, 1, 3, 3, 16, 16), padding=1, groups=2, **BLOCKED)


@pytest.mark.parametrize(
    ("data", "kernel", "parts"),
    [
        ((1, 1, 8, 30, 16), (4, 1, 3, 3, 16, 16), 4),
        ((1, 2, 12, 7, 16), (2, 2, 3, 3, 16, 16), 3),
        ((TirVar("n", "int64"), 2, 20, 24, 16), (4, 2, 1, 1, 16, 16), 4),
        ((1, 1, 7, 30, 16), (4, 1, 3, 3, 16, 16), 1),
        ((4, 1, 8, 30, 16), (4, 1, 3, 3, 16, 16), 1),
        ((1, 8, 4, 4, 16), (16, 8, 3, 3, 16, 16), 1),
    ],
)
def test_each_thread_has_a_part_of_the_map(data: tuple[Any, ...], kernel: tuple[int, ...], parts: int) -> None:
    """By rows, pairs of rows and tiles of one row; not where rows do not divide, images or the weights are many. Tiles,
    and so their number, are those of 512-bit vectors; what the host's give is the same."""
    padding = kernel[2] // 2
    _, func = convolution(data, kernel, padding=padding, **BLOCKED)
    found = read_conv(func)
    assert not isinstance(found, Declined)
    _, points, lines = tile_shape(found[1], WIDE_THREADS)
    assert parts_of_map(found[1], points, lines, WIDE_THREADS) == parts
    check(data, kernel, THREADS, padding=padding, **BLOCKED)


OLD_THREADS = Target("llvm -mcpu=haswell -num-cores=2")


@pytest.mark.parametrize(
    ("data", "kernel", "count", "geometry"),
    [
        ((1, 64, 11, 9, 8), (16, 64, 1, 1, 8, 8), 4, {}),
        ((3, 64, 17, 13, 8), (16, 64, 1, 1, 8, 8), 4, {"strides": 2}),
        ((TirVar("n", "int64"), 12, 7, 14, 8), (16, 12, 3, 3, 8, 8), 6, {"padding": 1}),
        ((1, 32, 17, 14, 8), (32, 16, 3, 3, 8, 8), 8, {"padding": 1, "strides": 2, "groups": 2}),
        ((1, 8, 7, 14, 8), (16, 8, 1, 1, 8, 8), 1, {}),
        ((1, 64, 7, 14, 8), (2, 64, 1, 1, 8, 8), 1, {}),
        ((1, 64, 1, 9, 8), (16, 64, 1, 1, 8, 8), 1, {}),
    ],
)
def test_chunks_of_channels(data: Any, kernel: tuple[int, ...], count: int, geometry: dict[str, Any]) -> None:
    """Sums that wait for the next chunk, over one row and several; not where weights fit in a cache, or threads and
    tiles are too few."""
    _, func = convolution(data, kernel, **_eights(), **geometry)
    found = read_conv(func)
    assert not isinstance(found, Declined)
    conv = found[1]
    shape = tile_shape(conv, OLD_THREADS)
    images = conv.anchored.stage.spatial[0].size or 1
    chunks = Chunks.of(conv, shape, images * (conv.blocks.size or 1) // shape[0], OLD_THREADS)
    assert (chunks.count if chunks else 1) == count
    check(data, kernel, OLD_THREADS if HOST.vector_bits >= 256 else HOST, batch=3, **_eights(), **geometry)


def test_tuning_may_choose_chunks() -> None:
    """Any target, and few tiles or threads."""
    with using(Choices({"channel_chunks": 2})) as choices:
        check((2, 32, 5, 7, 16), (2, 32, 1, 1, 16, 16), **BLOCKED)
    assert choices.offered["channel_chunks"].default == 1


@pytest.mark.parametrize(
    ("data", "kernel", "geometry"),
    [
        ((2, 3, 9, 11, 8), (32, 3, 1, 1, 8, 8), {"strides": 2}),
        ((TirVar("n", "int64"), 2, 6, 7, 8), (32, 2, 1, 1, 8, 8), {"strides": (1, 3)}),
        ((1, 4, 5, 6, 8), (32, 2, 1, 1, 8, 8), {"strides": 2, "groups": 2}),
    ],
)
def test_points_of_strides_are_copied(data: Any, kernel: tuple[int, ...], geometry: dict[str, Any]) -> None:
    """They become one row, which the sums then read; groups, images and maps of unknown size, too."""
    _, func = convolution(data, kernel, **_eights(), **geometry)
    found = read_conv(func)
    assert not isinstance(found, Declined)
    _, conv = with_points_copied(*found, OLD_THREADS)
    assert found[1].rows is not None
    assert conv.rows is None
    assert with_points_copied(*found, WIDE_THREADS)[1] is found[1]
    check(data, kernel, OLD_THREADS if HOST.vector_bits >= 256 else HOST, batch=5, **_eights(), **geometry)


def test_images_pass_by_weights_that_no_cache_holds() -> None:
    """The other order of loops, over a known number of images and an unknown one."""
    for images in (3, TirVar("n", "int64")):
        check((images, 8, 4, 4, 16), (16, 8, 3, 3, 16, 16), batch=3, padding=1, **BLOCKED)


@pytest.mark.parametrize("width", [14, 28, 56])
def test_depthwise_sums_stay_in_registers(width: int) -> None:
    """Guards that neighbouring taps share loads without a vector going to the stack."""
    _, func = convolution((1, 3, width, width, 16), (3, 1, 7, 7, 16), **DEPTHWISE, padding=3)
    texts, _ = module_texts({"f": decide(func, WIDE).func}, WIDE)
    assert SPILL.findall(assembly(texts["f"], Machine.of(WIDE))) == []


@pytest.mark.parametrize(("window", "stride"), [(7, 2), (3, 1), (1, 1)])
def test_plain_input(window: int, stride: int) -> None:
    """The first layer of a network: few channels, not in blocks."""
    layouts = {"data_layout": "NCHW", "kernel_layout": "OHWI16o", "out_layout": "NCHW16c"}
    check((1, 3, 15, 18), (2, window, window, 3, 16), **layouts, padding=window // 2, strides=stride)


@pytest.mark.parametrize(("window", "target"), [(1, THREADS), (3, HOST)])
def test_symbolic_batch(window: int, target: Target) -> None:
    kernel = (2, 2, window, window, 16, 16)
    check((TirVar("n", "int64"), 2, 8, 8, 16), kernel, target, batch=3, **BLOCKED, padding=window // 2)


MAPS = [(1, 1), (2, 3), (4, 1), (5, 6), (9, 17), (1, 40)]
OPEN = [
    (3, {"padding": 1}),
    (3, {"padding": (0, 1, 2, 1), "strides": (1, 2)}),
    (3, {"padding": 2, "dilation": 2}),
    (1, {}),
    (2, {"strides": 2, "padding": (0, 0, 1, 1)}),
    (5, {"padding": 4, "strides": 2}),
]


def check_open(
    data: tuple[Any, ...], kernel: Any, target: Target, maps: Sequence[tuple[int, ...]], **attrs: Any
) -> None:
    """One kernel for the maps of `data` whose names are in it, each compared with every access checked."""
    module, func = convolution(data, kernel, **attrs)
    decision = decide(func, target)
    assert decision.rule == "conv_blocked", decision.declined
    library = build(decision.func, target, checked=True)
    names = [d for d in data if isinstance(d, TirVar)]
    rng = np.random.default_rng(0)
    for sizes in maps:
        known = dict(zip(names, sizes))
        shapes = [[number(d, known) for d in p.struct_info.shape.values] for p in module["main"].params]
        arguments = [rng.uniform(-1, 1, shape).astype("float32") for shape in shapes]
        expected = evaluate(module, "main", *arguments)
        found = np.full_like(expected, np.nan)
        assert call(library, decision.func, *arguments, found) is None
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def var(name: str) -> TirVar:
    return TirVar(name, "int64")


@pytest.mark.parametrize(("window", "geometry"), OPEN)
def test_open_maps(window: int, geometry: dict[str, Any]) -> None:
    """Heights and widths that only a run tells: shorter and longer than tiles, borders at both ends and none."""
    target = THREADS if window < 3 else HOST
    maps = [m for m in MAPS if min(m) + 1 >= window or geometry.get("padding")]
    check_open((2, 2, var("h"), var("w"), 16), (2, 2, window, window, 16, 16), target, maps, **BLOCKED, **geometry)


def test_open_points_of_strides() -> None:
    target = OLD_THREADS if HOST.vector_bits >= 256 else HOST
    data = (1, 2, var("h"), var("w"), 8)
    check_open(data, (32, 2, 1, 1, 8, 8), target, MAPS, strides=2, **_eights())


@pytest.mark.parametrize(("window", "stride"), [(3, 1), (3, 2), (5, 1)])
def test_open_depthwise_maps(window: int, stride: int) -> None:
    """Depthwise ones copy bands of lines: maps of less than a band, and of several."""
    layouts = {**BLOCKED, "kernel_layout": "OIHW16o"}
    attrs = {"groups": 32, "padding": window // 2, "strides": stride}
    maps = [*MAPS, (16 * stride, 5), (37 * stride, 3)]
    check_open((2, 2, var("h"), var("w"), 16), (2, 1, window, window, 16), HOST, maps, **layouts, **attrs)


def test_open_plain_input() -> None:
    """The first layer of a network, its image of any size."""
    layouts = {"data_layout": "NCHW", "kernel_layout": "OHWI16o", "out_layout": "NCHW16c"}
    check_open((1, 3, var("h"), var("w")), (2, 7, 7, 3, 16), HOST, MAPS, **layouts, padding=3, strides=2)


def test_one_open_extent() -> None:
    """Only rows, or only columns, are of unknown number."""
    for data in ((1, 2, 8, var("w"), 16), (1, 2, var("h"), 8, 16)):
        check_open(data, (2, 2, 3, 3, 16, 16), HOST, [(1,), (2,), (9,)], **BLOCKED, padding=1)


@pytest.mark.skipif(HOST.vector_bits < 512, reason="reads AVX-512 assembly")
@pytest.mark.parametrize("width", [7, 28])
def test_sums_stay_in_registers(width: int) -> None:
    """No vector goes to the stack while multiply-adds run: a spill there costs a third of the speed."""
    _, func = convolution((1, 4, width, width, 16), (4, 4, 3, 3, 16, 16), **BLOCKED, padding=1)
    texts, _ = module_texts({"f": decide(func, HOST).func}, HOST)
    lines = assembly(texts["f"], Machine.of(HOST)).splitlines()
    bodies, body = [], []
    for line in lines:
        if line.startswith(".LBB"):
            body = []
        body.append(line)
        if line.strip().startswith("j") and any("vfmadd231ps" in x for x in body):
            bodies.append(body)
            body = []
    assert bodies
    spilled = [x for b in bodies for x in b if "zmm" in x and "(%rsp)" in x]
    assert not spilled, spilled[:3]


def test_sums_stay_in_sixteen_registers() -> None:
    """Two rows of seven points, a vector of weights and an input are all that 16 registers hold."""
    _, func = convolution((1, 4, 7, 7, 8), (3, 4, 3, 3, 8, 8), **_eights(), padding=1)
    found = read_conv(func)
    assert not isinstance(found, Declined)
    assert tile_shape(found[1], OLD_THREADS) == (1, 7, 2)
    assert spills_of_sums(func, OLD_THREADS) == []


NARROW = {
    "whole": {"padding": 1},
    "strides": {"padding": 1, "strides": 2},
    "dilation": {"padding": 2, "dilation": 2},
    "inner": {},
}


@pytest.mark.parametrize(("height", "geometry"), every_value([1, 2, 4, 7], NARROW))
def test_pairs_of_rows(height: int, geometry: dict[str, Any]) -> None:
    """Narrow maps have two rows a tile: the taps that only one row sees, and a single last row."""
    check((1, 1, height + 2, 7, 8), (2, 1, 3, 3, 8, 8), **_eights(), **geometry)


def _eights() -> dict[str, Any]:
    return {"data_layout": "NCHW8c", "kernel_layout": "OIHW8i8o", "out_layout": "NCHW8c"}


@pytest.mark.parametrize("channels", [4, 16])
def test_volumes_are_not_taken_for_blocks(channels: int) -> None:
    """(n, d, h, w, c) looks like (n, blocks, h, w, lanes), but rows of the depth's border are no blocks to read."""
    bb = BlockBuilder()
    x = Var("x", TensorStructInfo([1, 3, 4, 5, 8], "float32"))
    w = Var("w", TensorStructInfo([3, 3, 3, 8, channels], "float32"))
    with bb.function("main", [x, w]):
        with bb.dataflow():
            conv = R.nn.conv3d(x, w, padding=1, data_layout="NDHWC", kernel_layout="DHWIO")
            result = bb.emit_output(conv)
        bb.emit_func_output(result)
    module = bb.get()
    rng = np.random.default_rng(1)
    arguments = [rng.uniform(-1, 1, s).astype("float32") for s in ((1, 3, 4, 5, 8), (3, 3, 3, 8, channels))]
    func = only_kernel(module)
    decision = decide(func, HOST)
    expected = evaluate(module, "main", *arguments)
    found = np.full_like(expected, np.nan)
    assert decision.rule != "conv_blocked"
    assert call(build(decision.func, HOST, checked=True), decision.func, *arguments, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
