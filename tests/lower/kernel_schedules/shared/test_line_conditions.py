"""Windows at borders: what holds for a whole line is asked once, and only the first and last vector have a mask."""

from __future__ import annotations

import re

import numpy as np
import pytest

from baton import relax
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.lower.kernel_schedules.only_kernel import only_kernel

NO_MASKS = Target("llvm -mcpu=haswell")


def pool(kind: str, shape: tuple[int, ...], layout: str, **geometry: object) -> PrimFunc:
    """The unscheduled kernel of a pooling operator over windows of 3 with stride 2 and a border of 1."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    make = getattr(relax.op.nn, f"{kind}_pool{len(shape) - 2}d")
    window = (3,) * (len(shape) - 2)
    with builder.function("main", [x]):
        with builder.dataflow():
            call = make(x, window, (2,) * len(window), (1,) * len(window), layout=layout, **geometry)
            found = builder.emit_output(call)
        builder.emit_func_output(found)
    return only_kernel(builder.get())


@pytest.mark.parametrize("target", [HOST, NO_MASKS, Target("llvm -mcpu=x86-64")], ids=["host", "avx2", "sse"])
@pytest.mark.parametrize(("shape", "layout"), [((1, 3, 37, 53), "NCHW"), ((2, 2, 5, 8, 19), "NCDHW")])
def test_windows_with_strides_over_borders(target: Target, shape: tuple[int, ...], layout: str) -> None:
    """Guards values at all borders; accesses are checked."""
    x = random_array(shape, "float32", 3)
    axes = tuple(range(2, len(shape)))
    pads = [(0, 0), (0, 0), *((1, 1) for _ in axes)]
    steps = (slice(None), slice(None), *(slice(None, None, 2) for _ in axes))
    for kind, fill, of in (("max", -np.inf, np.max), ("avg", 0.0, np.sum)):
        bordered = np.pad(x, pads, constant_values=fill)
        views = np.lib.stride_tricks.sliding_window_view(bordered, (3,) * len(axes), axes)[steps]
        wanted = of(views, axis=tuple(range(len(shape), views.ndim)))
        geometry = {"count_include_pad": True} if kind == "avg" else {}
        scheduled = decide(pool(kind, shape, layout, **geometry), target).func
        out = np.zeros(wanted.shape, "float32")
        assert call(build(scheduled, target, checked=True), scheduled, x, out) is None
        np.testing.assert_allclose(out, wanted / (3 ** len(axes) if kind == "avg" else 1), rtol=1e-5, atol=1e-6)


def test_only_the_first_vector_is_gathered() -> None:
    """Guards the time: each tap of each vector was gathered one by one, as its mask depended on the line."""
    scheduled = decide(pool("max", (1, 64, 112, 112), "NCHW"), NO_MASKS).func
    texts, _ = module_texts({"f": scheduled}, NO_MASKS)
    assert len(re.findall(r"= call .*masked\.gather", texts["f"])) == 3
