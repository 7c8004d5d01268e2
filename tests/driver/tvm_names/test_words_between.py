"""Words of TVM's modules between compiling and running: buffers of tensors, devices, tasks, strategies, inputs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import arith, meta_schedule, relax, relay, te, tir
from baton.auto_scheduler import utils
from baton.contrib import cc, graph_executor
from baton.contrib.debugger import debug_executor
from baton.driver import build_module
from baton.relax.frontend import nn


def test_buffers_of_tensors() -> None:
    """Guards get_binds and schedule_to_module, which were missing."""
    n = te.var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((4,), name="b")
    own = tir.decl_buffer((4,), "float32", "own")
    binds, args = build_module.get_binds([a, b, n], binds={b: own})
    assert args == [binds[a], own, n]
    assert (binds[a].name, binds[a].buffer_type) == ("a", "auto_broadcast")
    assert build_module.get_binds([a], compact=True)[0][a].buffer_type == ""
    with pytest.raises(ValueError, match="not str"):
        build_module.get_binds(["a"])
    c = te.compute((4,), lambda i: b[i] + 1, name="c")
    module = build_module.schedule_to_module(te.create_schedule(c.op), [b, c], "plus_one")
    result = tvm.nd.empty((4,))
    tvm.build(module, target="llvm")(tvm.nd.array(np.arange(4, dtype="float32")), result)
    assert result.numpy().tolist() == [1, 2, 3, 4]


def test_devices_of_graphs() -> None:
    """Guards get_device, which was missing, and lists of devices, which `create` did not take."""
    assert graph_executor.get_device(None, tvm.cpu()) == ([tvm.cpu()], 0, [1, 0])
    with pytest.raises(ValueError, match="'cpu' is not a device"):
        graph_executor.get_device(None, "cpu")
    x = relay.var("x", shape=(2,))
    graph, library, _ = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")
    module = graph_executor.create(graph, library, [tvm.cpu(0)])
    module.run(x=np.ones(2, "float32"))
    assert module.get_output(0).numpy().tolist() == [2, 2]


def test_words_of_auto_scheduler() -> None:
    """Guards auto_scheduler.utils, which was missing."""
    assert utils.decode_workload_key('["matmul", 4, [1, 2]]') == ("matmul", [4, [1, 2]])
    assert utils.decode_workload_key("not a key") == ("not a key", None)
    assert utils.get_func_name(layers).startswith("layers")
    assert utils.to_str_round([1, 2.0, "x", {"a": np.float32(0.5)}], 2) == "[1, 2.00, x, {'a': '0.50'}]"
    assert utils.array_mean([tir.const(1, "int32"), 4]) == 2.5
    assert utils.list_to_tuple([1, [2, [3]]]) == (1, (2, (3,)))
    (tensor, number) = utils.deserialize_args(utils.serialize_args([te.placeholder((2, 3)), 4]))
    assert (utils.get_const_tuple(tensor.shape), number) == ((2, 3), 4)
    try:
        raise ValueError("long" * 1000)
    except ValueError:
        assert len(utils.make_traceback_info()) <= utils.MAX_TRACEBACK_INFO_LEN + len("\n...\n")


def layers() -> Any:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 4))
    return relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), w)


def test_counting_layers() -> None:
    """Guards relay.analysis.LayerCounter, which was missing: it counts over several expressions."""
    counter = relay.analysis.LayerCounter(["nn.dense"])
    assert counter.count() == 0
    counter.visit(layers())
    counter.visit(relay.var("y"))
    assert counter.count() == relay.analysis.count_layers(layers(), ["nn.dense"]) == 2


def test_specializations_of_strategies() -> None:
    """Guards what scripts that look for implementations ask strategies."""
    strategy = relay.op.OpStrategy()
    assert strategy.specializations == []
    strategy.add_implementation(lambda attrs, inputs, out_type: inputs, None, name="mine", plevel=11)
    (only,) = strategy.specializations
    assert isinstance(only, relay.op.OpSpecialization)
    assert only.condition is None
    assert [(one.name, one.plevel) for one in only.implementations] == [("mine", 11)]


def test_compiling_through_ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards `ccache_env` of contrib.cc: its settings reach the cache, and a missing cache is named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tvm.TVMError, match="ccache cannot be started"):
        cc.create_shared("out.so", ["a.o"], cc="c++", ccache_env={})
    program = tmp_path / "ccache"
    program.write_text('#!/bin/sh\necho "$CCACHE_DIR $*" > "$CCACHE_DIR"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    said = tmp_path / "said"
    cc.create_executable("out", ["a.o"], cc="c++", ccache_env={"CCACHE_DIR": str(said)})
    assert said.read_text().split() == [str(said), "c++", "-o", "out", "a.o"]


def test_common_subexpressions() -> None:
    """Guards arith.detect_common_subexpr, which was missing: equal values are one, calls and loads are not counted."""
    x, y, z = (tir.Var(name, "int32") for name in "xyz")
    twice = (x + y) * z
    found = arith.detect_common_subexpr(twice + twice + (y + x), 2)
    assert {str(part): times for part, times in found.items()} == {"x + y": 3, "(x + y) * z": 2}
    assert arith.detect_common_subexpr(twice + twice, 3) == {}
    cells = tir.decl_buffer((4,), "int32")
    assert arith.detect_common_subexpr((cells[x] + 1) * (cells[x] + 1), 2) == {}
    f = tir.Var("f", "float32")
    assert arith.detect_common_subexpr(tir.exp(f) + tir.exp(f), 2) == {}
    deep: Any = f
    for _ in range(3000):
        deep = deep * f
    assert len(arith.detect_common_subexpr(deep + deep, 2)) == 3000
    with pytest.raises(ValueError, match="1 or more"):
        arith.detect_common_subexpr(x + y, 0)


def test_counts_of_rewrites() -> None:
    """Guards that TVM's statistics are refused with a reason: there are no rewrites to count."""
    analyzer = arith.Analyzer()
    with pytest.raises(AttributeError, match="canonical forms"):
        analyzer.rewrite_simplify_stats  # noqa: B018  # the name is what is asked for
    with pytest.raises(NotImplementedError, match="nothing to reset"):
        analyzer.reset_rewrite_simplify_stats()


def test_specs_of_examples() -> None:
    """Guards MethodSpec.from_torch and as_inputs, which were missing."""

    def forward(x: Any, count: Any) -> Any:
        return x

    spec = nn.spec.MethodSpec.from_torch([np.ones((2, 3), "float16"), 4], forward)
    assert (repr(spec), spec.param_mode) == ("MethodSpec(x: Tensor([2, 3], 'float16'), count: int)", "plain")
    with pytest.raises(TypeError, match="takes 2 arguments"):
        nn.spec.MethodSpec.from_torch([1], forward)
    raw = {"x": nn.spec.Tuple("x", [nn.spec.Tensor(["n", 4], "float32"), nn.spec.Tensor(["n"], "int32")]), "count": int}
    ((first, second), count) = nn.spec.MethodSpec.from_raw(raw, forward).as_inputs()
    assert first.shape[0] is second.shape[0]
    assert (first.dtype, second.dtype, count.name, count.dtype) == ("float32", "int32", "count", "int64")


def test_types_of_relax_expressions() -> None:
    """Guards `checked_type` of Relax: it asked to run InferType, which is a pass of Relay."""
    x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64"), 4], "float32"))
    assert x.checked_type == relax.analysis.get_static_type(x.struct_info)
    assert (x.checked_type.ndim, x.checked_type.dtype) == (2, "float32")
    assert isinstance(relax.Tuple([x]).checked_type, tvm.ir.TupleType)
    with pytest.raises(ValueError, match="not known yet"):
        _ = relax.op.add(x, x).checked_type


def test_what_modules_can_do() -> None:
    """Guards get_property_mask and clear_imports, which were missing."""
    b = te.placeholder((4,), name="b")
    kernels = [
        tvm.build([b, te.compute((4,), lambda i: b[i] + 1)], target="llvm", name=name) for name in ("one", "two")
    ]
    first, second = kernels
    mask = tvm.runtime.module.ModulePropertyMask
    assert first.get_property_mask() == mask.RUNNABLE | mask.DSO_EXPORTABLE
    first.import_module(second)
    assert first.imported_modules == [second]
    first.clear_imports()
    assert first.imported_modules == []


def test_fields_of_executors_profiles_and_workloads() -> None:
    """Guards Executor.mod, Report.configuration and Workload.shash, which were missing."""
    x = relay.var("x", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    assert relay.create_executor("graph", mod=module, device=tvm.cpu(), target="llvm").mod is module
    library = relay.build(module, "llvm")
    debugger = debug_executor.create(library.get_graph_json(), library.get_lib(), tvm.cpu())
    debugger.set_input("x", np.ones(2, "float32"))
    assert debugger.profile().configuration == {}
    b = te.placeholder((4,), name="b")
    kernels = [te.create_prim_func([b, te.compute((4,), lambda i: b[i] + 1)]) for _ in range(2)]
    assert len({meta_schedule.database.Workload(kernel).shash for kernel in kernels}) == 1
