"""Extrema and sums of windows axis by axis: borders, strides, NaN, open and empty sizes, integers; accesses checked."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relax
from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Allocate, BufferStore
from baton._src.values.tensor import AnyArray
from tests.codegen.native_run import HOST, build, call, random_array
from tests.lower.kernel_schedules.only_kernel import only_kernel

TARGETS = [HOST, Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")]


def separated(func: PrimFunc) -> int:
    """How many buffers between the axes of windows are filled."""
    stores = [n for n in post_order(func.body) if isinstance(n, BufferStore)]
    return len({n.buffer.data for n in stores if "_across" in n.buffer.name})


def pool(shape: tuple[int, ...], layout: str, **geometry: object) -> PrimFunc:
    """The unscheduled kernel of nn.max_pool2d or, by the rank of the layout, 3d."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    make = relax.op.nn.max_pool3d if "D" in layout else relax.op.nn.max_pool2d
    with builder.function("main", [x]):
        with builder.dataflow():
            found = builder.emit_output(make(x, layout=layout, **geometry))
        builder.emit_func_output(found)
    return only_kernel(builder.get())


def ran(func: PrimFunc, target: Target, x: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """The scheduled kernel's result for `x`, with accesses checked."""
    scheduled = decide(func, target).func
    out = np.zeros(shape, x.dtype)
    assert call(build(scheduled, target, checked=True), scheduled, x, out) is None
    return out


def windows_of(x: AnyArray, window: tuple[int, ...], stride: int) -> AnyArray:
    """The maxima over windows of the last axes, written with NumPy."""
    axes = tuple(range(x.ndim - len(window), x.ndim))
    views = np.lib.stride_tricks.sliding_window_view(x, window, axes)
    steps = tuple(slice(None, None, stride if axis in axes else 1) for axis in range(x.ndim))
    return np.asarray(views[steps].max(axis=tuple(range(x.ndim, views.ndim))))


@pytest.mark.parametrize("target", TARGETS, ids=["one", "threads", "sse"])
@pytest.mark.parametrize("stride", [1, 2])
def test_bordered_windows_with_nan(target: Target, stride: int) -> None:
    """Guards borders, strides, and that a NaN reaches each of its windows and no other."""
    x = random_array((2, 3, 21, 19), "float32", 1)
    x[0, 0, 0, 0] = x[0, 1, 20, 9] = x[1, 2, 7, 18] = np.nan
    x[1, 0] = -np.inf
    func = pool(x.shape, "NCHW", pool_size=(5, 5), strides=(stride, stride), padding=(2, 2))
    assert separated(decide(func, target).func) == 1
    border = np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], constant_values=-np.inf)
    wanted = windows_of(border, (5, 5), stride)
    np.testing.assert_array_equal(ran(func, target, x, wanted.shape), wanted)


@pytest.mark.parametrize("target", TARGETS, ids=["one", "threads", "sse"])
def test_ceil_mode_reads_beyond_the_border(target: Target) -> None:
    """Guards windows that hang over the end, and unlike borders."""
    x = random_array((1, 2, 12, 17), "float32", 1)
    func = pool(x.shape, "NCHW", pool_size=(7, 5), strides=(3, 2), padding=(3, 0, 1, 2), ceil_mode=True)
    assert separated(decide(func, target).func) == 1
    border = np.pad(x, [(0, 0), (0, 0), (3, 3), (0, 3)], constant_values=-np.inf)
    wanted = windows_of(border[..., :16, :], (7, 5), 1)[:, :, ::3, ::2]
    np.testing.assert_array_equal(ran(func, target, x, wanted.shape), wanted)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW4c"])
def test_channels_last(layout: str) -> None:
    """Guards that the axis of a window is found before the channels of the vector."""
    x = random_array((2, 9, 8, 20) if layout == "NHWC" else (2, 5, 9, 8, 4), "float32", 1)
    func = pool(x.shape, layout, pool_size=(3, 3), padding=(1, 1))
    assert separated(decide(func, HOST).func) == 1
    border = np.pad(np.moveaxis(x, -1, -3), [(0, 0)] * (x.ndim - 2) + [(1, 1)] * 2, constant_values=-np.inf)
    wanted = np.moveaxis(windows_of(border, (3, 3), 1), -3, -1)
    np.testing.assert_array_equal(ran(func, HOST, x, wanted.shape), wanted)


def test_volumes_take_a_stage_for_each_axis() -> None:
    """Guards windows of three axes: two buffers between them."""
    x = random_array((2, 3, 7, 8, 9), "float32", 1)
    func = pool(x.shape, "NCDHW", pool_size=(3, 3, 3))
    assert separated(decide(func, HOST).func) == 2
    wanted = windows_of(x, (3, 3, 3), 1)
    np.testing.assert_array_equal(ran(func, HOST, x, wanted.shape), wanted)


@pytest.mark.parametrize(
    "geometry",
    [
        {"pool_size": (2, 2), "strides": (2, 2)},
        {"pool_size": (3, 3), "strides": (2, 2)},
        {"pool_size": (5, 5), "dilation": (2, 2)},
        {"pool_size": (9, 1)},
    ],
)
def test_few_or_spread_points_stay_together(geometry: dict[str, object]) -> None:
    """Guards the other side of the choice: few shared points, or taps apart from each other."""
    assert separated(decide(pool((1, 4, 20, 20), "NCHW", **geometry), HOST).func) == 0


def minima(height: PrimExpr | int, width: PrimExpr | int, used: bool) -> PrimFunc:
    """Minima over 4 x 6 at (i, 2 j), times j where `used`: then windows do not see the same of a column."""
    x = placeholder((height + 3, width * 2 + 4), "int32", "x")
    u, v = reduce_axis((0, 4), "u"), reduce_axis((0, 6), "v")

    def element(i: Var, j: Var) -> PrimExpr:
        value = x[i + u.var, j * 2 + v.var]
        smallest: PrimExpr = reduction.min(value * j if used else value, (u, v))
        return smallest

    return create_prim_func([x, compute((height, width), element, "y")])


@pytest.mark.parametrize("width", [0, 1, 13])
def test_open_sizes(width: int) -> None:
    """Guards minima, integers, and widths that a run tells, none among them: nothing is read then."""
    func = minima(Var("h", "int64"), Var("w", "int64"), False)
    assert separated(decide(func, HOST).func) == 1
    x = np.random.default_rng(1).integers(-99, 99, (9, width * 2 + 4)).astype("int32")
    wanted = -windows_of(-x, (4, 6), 1)[:, ::2] if width else np.zeros((6, 0), "int32")
    np.testing.assert_array_equal(ran(func, HOST, x, (6, width)), wanted)


def test_axes_used_otherwise_stay() -> None:
    """Guards values that depend on the place of the window itself."""
    assert separated(decide(minima(6, 5, True), HOST).func) == 0


@pytest.mark.parametrize(("size", "axes"), [(20, 2), (200, 1)])
def test_planes_before_lines(size: int, axes: int) -> None:
    """Guards that the extrema of a whole plane are stored before they are loaded, where they stay in the nearest cache:
    vectors that overlap stores just made wait for them.
    """
    func = decide(pool((1, 2, size, size), "NCHW", pool_size=(5, 5), padding=(2, 2)), HOST).func
    ((_, *extents),) = [  # of so many rows of a block
        n.extents for n in post_order(func.body) if isinstance(n, Allocate) and "_across" in n.buffer_var.name
    ]
    assert len(extents) == axes


@pytest.mark.parametrize("target", TARGETS, ids=["one", "threads", "sse"])
@pytest.mark.parametrize(
    ("window", "stride", "parted"), [((5, 5), 1, 1), ((9, 6), 2, 1), ((3, 3), 1, 1), ((2, 2), 1, 0), ((3, 3, 3), 1, 2)]
)
def test_sums(window: tuple[int, ...], stride: int, parted: int, target: Target) -> None:
    """Guards average pools (7x7 over 64x28x28 took 123 us, 35 axis by axis; 3x3 over 512x7x7 20, 12), and that the
    smallest windows stay whole.
    """
    x = random_array((2, 3, *(9, 11, 13)[-len(window) :]), "float32", 1)
    axes = tuple(range(2, x.ndim))
    taps = [reduce_axis((0, size), f"r{n}") for n, size in enumerate(window)]
    sizes = [(size - taken) // stride + 1 for size, taken in zip(x.shape[2:], window)]
    a = placeholder(x.shape, "float32", "a")

    def summed(*at: Var) -> PrimExpr:
        seen = [i * stride + tap for i, tap in zip(at[2:], taps, strict=True)]
        return reduction.sum(a[(*at[:2], *seen)], taps)

    func = create_prim_func([a, compute((2, 3, *sizes), summed, "y")])
    assert separated(decide(func, target).func) == parted
    views = np.lib.stride_tricks.sliding_window_view(x, window, axes)
    wanted = views[(..., *(slice(None, None, stride),) * len(axes), *(slice(None),) * len(axes))]
    wanted = wanted.sum(axis=tuple(range(x.ndim, views.ndim)))
    np.testing.assert_allclose(ran(func, target, x, wanted.shape), wanted, rtol=1e-5, atol=1e-5)


def test_sums_from_a_number_on_stay_whole() -> None:
    """Guards that what a sum begins with is added once."""
    a = placeholder((20, 20), "float32", "a")
    r, s = reduce_axis((0, 6), "r"), reduce_axis((0, 6), "s")
    func = create_prim_func([a, compute((15, 15), lambda i, j: reduction.sum(a[i + r, j + s], [r, s], init=3.0), "y")])
    x = random_array((20, 20), "float32", 1)
    wanted = np.lib.stride_tricks.sliding_window_view(x, (6, 6)).sum(axis=(2, 3)) + 3
    np.testing.assert_allclose(ran(func, HOST, x, wanted.shape), wanted, rtol=1e-5, atol=1e-5)
