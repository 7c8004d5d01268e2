"""Templates of autotvm describe their knobs as in TVM: parts of axes, orders of them, refusals; and logs in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import autotvm, te
from baton.autotvm.task import get_factors, get_pow2s

N = 16


def products(size: int) -> Any:
    a, b = (te.placeholder((size, size), name=name) for name in "ab")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    s = te.create_schedule(c.op)
    (y, x), (r,) = s[c].op.axis, s[c].op.reduce_axis
    cfg = autotvm.get_config()
    yo, yi = cfg.define_split("tile_y", cfg.axis(y), num_outputs=2)
    xo, xi = cfg.define_split("tile_x", cfg.axis(size), num_outputs=2)
    ro = cfg.axis(r)
    orders = [[yo, xo, ro, yi, xi], [yo, xo, yi, ro, xi]]
    cfg.define_reorder("order", [yo, xo, ro, yi, xi], policy="candidate", candidate=orders)
    yo, yi = cfg["tile_y"].apply(s, c, y)
    xo, xi = cfg["tile_x"].apply(s, c, x)
    cfg["order"].apply(s, c, [yo, xo, r, yi, xi])
    if cfg["tile_x"].size[-1] > 8:
        cfg.raise_error("more than 8 columns")
    return s, [a, b, c]


parts = autotvm.template("test/parts")(products)


def task() -> Any:
    return autotvm.task.create("test/parts", args=(N,), target="llvm")


def test_parts_of_axes_are_axes_of_their_own() -> None:
    """Every part was the axis itself: orders of parts put one axis in place of all."""
    made = task()
    assert [one.perm for one in made.config_space.space_map["order"]] == [[0, 1, 2, 3, 4], [0, 1, 3, 2, 4]]
    assert made.flop == 2 * N**3


def test_texts_of_spaces_are_those_of_scripts() -> None:
    space = autotvm.ConfigSpace()
    axes = [space.axis(8), space.axis(4)]
    space.define_split("tile", axes[0], num_outputs=2)
    space.define_reorder("order", axes, policy="all")
    space.define_annotate("marks", axes[1:], policy="try_vec")
    space.define_knob("unroll", ["no", 1])
    assert str(space) == (
        "ConfigSpace (len=32, range_length=32, space_map=\n"
        "   0 tile: Split(policy=factors, product=8, num_outputs=2) len=4\n"
        "   1 order: Reorder(policy=all) len=2\n"
        "   2 marks: Annotate(policy=try_vec) len=2\n"
        "   3 unroll: OtherOption([no, 1]) len=2\n)"
    )
    first = "[('tile', [-1, 1]), ('order', [0, 1]), ('marks', ['none']), ('unroll', no)],None,0"
    assert str(space.get(0)) == first


def test_every_order_computes_the_same() -> None:
    made = task()
    data = np.random.default_rng(0).random((N, N), np.float32)
    for index in range(0, len(made.config_space), 7):
        config = made.config_space.get(index)
        if config["tile_x"].size[-1] > 8:
            continue
        schedule, tensors = made.instantiate(config)
        result = tvm.nd.empty((N, N))
        tvm.build(schedule, tensors, target="llvm")(tvm.nd.array(data), tvm.nd.array(data), result)
        np.testing.assert_allclose(result.numpy(), data @ data, rtol=1e-4)


def test_templates_refuse_configurations() -> None:
    """Guards `cfg.raise_error`: a refused configuration is not measured, and the error says why."""
    made = task()
    wide = next(
        config for config in map(made.config_space.get, range(len(made.config_space))) if config["tile_x"].size[-1] == N
    )
    with pytest.raises(ValueError, match="more than 8 columns"):
        made.instantiate(wide)
    assert not wide.valid()


def test_orders_by_policy() -> None:
    space = autotvm.ConfigSpace()
    yo, yi = space.define_split("y", 8, num_outputs=2)
    xo, xi = space.define_split("x", 8, num_outputs=2)
    k = space.axis(4)
    space.define_reorder("some", [yo, yi, k], policy="interval_all", interval=(1, 3))
    assert [one.perm for one in space.space_map["some"]] == [[0, 1, 2], [0, 2, 1]]
    space.define_reorder("mixed", [yo, xo, k, yi, xi], policy="interleave", spatial=[[yo, yi], [xo, xi]], reduce=[[k]])
    assert [one.perm for one in space.space_map["mixed"]] == [[0, 1, 3, 4, 2]]
    with pytest.raises(tvm.TVMError, match="interval_all"):
        space.define_reorder("none", [yo, yi], policy="interleave_cuda")


def test_configurations_by_number() -> None:
    """Guards TVM's words for numbers of configurations, which were missing: points, knobs, walks and samples."""
    space = autotvm.ConfigSpace()
    space.define_split("y", 12)
    space.define_knob("fast", [False, True])
    assert (space.dims, space.range_length, len(space), [*space]) == ([6, 2], 12, 12, ["y", "fast"])
    for point in range(12):
        knob = space.point2knob(point)
        assert space.knob2point(knob) == point
        assert space.get(point)["y"] == space.space_map["y"][knob[0]]
        walked = space.point2knob(space.random_walk(point))
        assert sum(a != b for a, b in zip(knob, walked)) == 1
    assert sorted(space.sample_ints(12)) == [*range(12)]
    assert (space.get_next_index(3), space.get_next_index(3, -2), space.get_next_index(11)) == (4, 1, None)
    config = space.get(7)
    assert config.get_flatten_feature().tolist() == [-1, 2, 1]
    assert list(config.get_other_option().values()) == [True]
    with pytest.raises(IndexError, match="no configuration 12 of 12"):
        space.get(12)


@autotvm.template("test/filtered")
def filtered(size: int) -> Any:
    schedule, tensors = products(size)
    cfg = autotvm.get_config()
    cfg.multi_filter(lambda entity: entity["tile_y"].size[-1] * entity["tile_x"].size[-1] == 16)
    return schedule, tensors


@pytest.mark.parametrize("tuner", ["RandomTuner", "GridSearchTuner", "GATuner", "XGBTuner"])
def test_filters_of_several_knobs(tuner: str) -> None:
    """Guards cfg.multi_filter, which was missing: what it leaves out is not counted, drawn or measured."""
    space = autotvm.task.create("test/filtered", args=(N,), target="llvm").config_space
    assert (space.range_length, len(space)) == (50, 10)
    assert space.subrange_length(0, 50) == 10
    made = autotvm.task.create("test/filtered", args=(N,), target="llvm")
    proposed = getattr(autotvm.tuner, tuner)(made).next_batch(100)
    sizes = [config["tile_y"].size[-1] * config["tile_x"].size[-1] for config in proposed]
    assert sizes == [16] * 10
    assert space.is_index_valid(space.random_walk(proposed[0].index))


def test_configurations_where_nothing_was_tuned() -> None:
    """Guards fallback_split and fallback_with_reference_log, which were missing, by TVM's own examples."""
    config = autotvm.task.space.FallbackConfigEntity()
    for name, extent, expected in (("a", 128, [4, 8, 4]), ("b", 49, [7, 7, 1])):
        config.define_split(name, extent, num_outputs=3)
        config.fallback_split(name, [-1, 8, 4])
        assert config[name].size == expected
        config.define_split(name, extent, num_outputs=3)  # the template's own definition changes nothing
        assert config[name].size == expected
    made = task()
    near, far = (made.config_space.get(number) for number in (13, 0))
    result = autotvm.MeasureResult((1.0,), autotvm.MeasureErrorNo.NO_ERROR, 1.0, 0.0)
    log = [(autotvm.MeasureInput(made.target, made, one), result) for one in (far, near)]
    like = autotvm.task.space.FallbackConfigEntity()
    axes = [*like.define_split("tile_y", 32), *like.define_split("tile_x", 24)]
    like.define_reorder("order", axes, "all")
    like.fallback_with_reference_log(log)
    assert (like["tile_y"].size[-1], like["tile_x"].size[-1]) == (near["tile_y"].size[-1], near["tile_x"].size[-1])
    assert like["order"] == near["order"]


def test_what_tasks_tell() -> None:
    """Guards what scripts print of tasks and ask of their spaces."""
    made = task()
    assert str(made) == "Task(func_name=test/parts, args=(16,), kwargs={}, workload=('test/parts', 16))"
    assert (made.kwargs, made.target_host, made.func) == ({}, None, products)
    knob = made.config_space.space_map["tile_y"]
    assert knob.entities[0] == knob[0] == made.config_space["tile_y"]


def test_numbers_that_divide() -> None:
    assert get_factors(12) == [1, 2, 3, 4, 6, 12]
    assert get_pow2s(12) == [1, 2, 4, 8]


def test_logs_in_parts(tmp_path: Path) -> None:
    """Guards split_workload, load_from_buffer, and histories from open files."""
    log, made = tmp_path / "all.log", task()
    other = autotvm.task.create("test/parts", args=(8,), target="llvm")
    result = autotvm.MeasureResult((1.0,), autotvm.MeasureErrorNo.NO_ERROR, 1.0, 0.0)
    lines = [
        autotvm.record.encode(autotvm.MeasureInput(one.target, one, one.config_space.get(index)), result)
        for one, index in ((made, 0), (other, 1), (made, 0), (made, 2))
    ]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    autotvm.record.split_workload(log)
    assert [len(Path(f"{log}.{n:03d}.wkl").read_text(encoding="utf-8").splitlines()) for n in (0, 1)] == [2, 1]
    autotvm.record.split_workload(log, clean=False)
    assert len(Path(f"{log}.000.wkl").read_text(encoding="utf-8").splitlines()) == 3
    with log.open(encoding="utf-8") as stream:
        assert len(list(autotvm.record.load_from_buffer(stream))) == 4
    with log.open(encoding="utf-8") as stream, autotvm.apply_history_best(stream), tvm.target.Target("llvm"):
        assert len(parts(N)[1]) == 3
