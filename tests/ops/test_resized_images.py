"""Kernels of resized images of all methods, modes, layouts and ratios, as the reference has them; accesses checked."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.image.resampling import METHODS, MODES, ROUNDINGS
from baton._src.ops.image.resize import RESIZES, Resize1DAttrs, Resize3DAttrs, ResizeAttrs
from baton._src.ops.samples import Arr, Sample, Shape
from tests.codegen.native_run import HOST, OLD, build, call
from tests.grids import every_pair
from tests.ops.sampled_calls import SampledCall, arrays_of

RECORDS: dict[int, Any] = {1: Resize1DAttrs, 2: ResizeAttrs, 3: Resize3DAttrs}
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC", "NCHW2c"), 3: ("NCDHW", "NDHWC")}
TIMES = (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17, 24)
LONGEST = 400
CROPS = "tf_crop_and_resize"
OFF = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-3, "uint8": 1}
"""By how much weighted sums may be off: those halfway between two integers are rounded to either."""


def extents(draw: random.Random) -> tuple[int, int]:
    """Before and after: enlarged or reduced by a whole factor, to about so many times, or to anything."""
    before = draw.choice([1, 2, 3, 5, 8, 14, 28, 40])
    times = draw.choice([n for n in TIMES if before * n <= LONGEST])
    kind = draw.choice(["up", "up", "up", "down", "about", "any"])
    if kind == "down":
        return before * times, before
    if kind == "about":
        return before, max(1, before * times + draw.choice([-2, -1, 1]))
    return before, before * times if kind == "up" else draw.randint(1, 70)


def resized(draw: random.Random, spatial: int, method: str, mode: str) -> Sample:
    """A call."""
    layout = draw.choice(LAYOUTS[spatial])
    sizes = [extents(draw) for _ in range(spatial)]
    while np.prod([max(size) for size in sizes]) > 1 << 15:
        sizes = [extents(draw) for _ in range(spatial)]
    blocks = (2,) if layout.endswith("c") else ()
    image = [before for before, _ in sizes]
    shape = (1, *image, 3, *blocks) if layout.endswith("C") else (1, 3, *image, *blocks)
    options: dict[str, Any] = {"layout": layout, "method": method, "coordinate_transformation_mode": mode}
    if method == "nearest_neighbor":
        options["rounding_method"] = draw.choice(ROUNDINGS)
    if method == "cubic":
        options |= {
            "cubic_alpha": draw.choice([-0.5, -0.75]),
            "cubic_exclude": int(draw.random() < 0.5 and mode != CROPS),
        }
    if mode == CROPS:
        ends = [draw.uniform(0.6, 1.3) for _ in range(spatial)]
        options["roi"] = (*(draw.uniform(-0.2, 0.4) for _ in range(spatial)), *ends)
        options["extrapolation_value"] = 7.0
    dtype = draw.choice(["float64", "float32", "float16", "uint8"])
    low, high = (0, 99) if dtype == "uint8" else (-1, 1)
    after = Shape(tuple(n for _, n in sizes))
    return Sample((Arr(shape, dtype, low, high), after), RECORDS[spatial](**options))


@pytest.mark.parametrize(("method", "mode", "target"), every_pair(METHODS, MODES, {"host": HOST, "sse": OLD}))
def test_as_the_reference(method: str, mode: str, target: Target) -> None:
    """Guards even steps and all that is not even: what is taken, from where, and that nothing outside is read."""
    draw = random.Random(f"{method} {mode} {target}")
    for _ in range(4):
        spatial = draw.choice([1, 2, 2, 2, 3])
        sample = resized(draw, spatial, method, mode)
        sampled = SampledCall(RESIZES[spatial - 1], sample, symbolic=False)
        info: Any = sampled.infer()
        func = schedule(sampled.prim_func(info)[0], target)
        out = np.zeros(tuple(sampled.number(d) for d in info.shape), info.dtype.numpy)
        assert call(build(func, target, checked=True), func, *arrays_of(sampled.values), out) is None, sample
        off = 0.0 if method == "nearest_neighbor" else OFF[str(out.dtype)]
        wanted = sampled.reference().astype("float64")
        np.testing.assert_allclose(out.astype("float64"), wanted, rtol=0, atol=off, err_msg=str(sample))


@pytest.mark.parametrize("kind", ["debug", "graph"])
def test_doubles_have_weights_of_doubles(kind: str) -> None:
    """Guards float64 against places and weights of float32, which kernels and the reference round differently: resized
    images were off by 1e-7."""
    x = relay.var("x", shape=(1, 1, 9), dtype="float64")
    resized = relay.image.resize1d(x, (15,), method="linear", coordinate_transformation_mode="align_corners")
    program = baton.IRModule.from_expr(relay.Function([x], resized))
    found = relay.create_executor(kind, program).evaluate()(np.arange(9, dtype="float64").reshape(1, 1, 9))
    np.testing.assert_allclose(found.numpy()[0, 0], np.linspace(0, 8, 15), rtol=1e-14)


@pytest.mark.parametrize("kind", ["debug", "graph"])
def test_where_no_rounding_is_said_places_are_rounded_down(kind: str) -> None:
    """Guards TVM's meaning of an empty `rounding_method`: with half-pixel centres, the usual ones, it was rounded."""
    x = relay.var("x", shape=(1, 1, 4))
    ends = relay.image.resize1d(x, (7,), method="nearest_neighbor", coordinate_transformation_mode="align_corners")
    halves = relay.image.resize1d(x, (8,), method="nearest_neighbor")
    volumes = relay.nn.upsampling3d(relay.reshape(x, (1, 1, 1, 1, 4)), 1, 1, 2)
    program = relay.Function([x], relay.Tuple([ends, halves, relay.reshape(volumes, (1, 1, 8))]))
    data = np.arange(4, dtype="float32").reshape(1, 1, 4)
    found = relay.create_executor(kind, baton.IRModule.from_expr(program)).evaluate()(data)
    down = [0, 0, 0, 1, 1, 2, 2, 3]
    assert [np.asarray(v.numpy()).ravel().tolist() for v in found] == [[0, 1, 1, 2, 2, 3, 3], down, down]
