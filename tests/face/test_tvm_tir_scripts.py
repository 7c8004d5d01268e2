"""Kernels, their parts and what is asked of them, as scripts for TVM write it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import arith, te, tir
from baton.script import tir as T
from baton.tir.schedule import testing


@T.prim_func
def chain(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")) -> None:
    B = T.alloc_buffer((128, 128))
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func
def chain_under_i(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")) -> None:
    B = T.alloc_buffer((8, 8, 16, 16))
    for i in T.thread_binding(128, thread="blockIdx.x"):
        for a0, a1 in T.grid(1, 128):
            with T.block("B"):
                vi = T.axis.spatial(128, i + a0)
                vj = T.axis.spatial(128, a1)
                B[vi // 16, vj // 16, vi % 16, vj % 16] = A[vi, vj] * 2.0
        for j in range(128):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi // 16, vj // 16, vi % 16, vj % 16] + 1.0


def test_buffers_in_brackets() -> None:
    """Guards annotations as they were written once, in files where Python evaluates them."""
    assert T.Buffer[(4, 3), "float32"].shape[1] == 3
    assert T.Buffer[4, "int8"].dtype == "int8"
    assert T.Buffer[4].dtype == "float32"


def test_what_schedules_make_is_compared_and_traced() -> None:
    sch = tir.Schedule(chain, debug_mask="all")
    i, _ = sch.get_loops(sch.get_block("C", func_name="main"))
    sch.compute_at(sch.get_block("B"), i, preserve_unit_loops=True)
    sch.bind(i, "blockIdx.x")
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 16, j // 16, i % 16, j % 16))
    testing.assert_structural_equal_ignore_global_symbol(sch.mod["main"], chain_under_i)
    testing.verify_trace_roundtrip(sch, chain)
    lines = str(sch.trace).splitlines()
    assert lines[:2] == ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
    assert lines[2] == '  b0 = sch.get_block(name="C", func_name="main")'
    assert lines[5] == "  sch.compute_at(block=b3, loop=l1, preserve_unit_loops=True, index=-1)"
    with pytest.raises(tir.ScheduleError):
        sch.get_block("nobody")
    assert sch.cache_write("C", 0, "local").name == "C_local"


def test_schedules_of_modules_go_from_function_to_function() -> None:
    sch = tir.Schedule(tvm.IRModule({"f": chain, "g": chain}))
    sch.vectorize(sch.get_loops(sch.get_block("C", func_name="g"))[1])
    sch.work_on("f")
    sch.compute_inline("B")
    assert sch.func_working_on.name_hint == "f"
    assert "T.vectorized" in str(sch.mod["g"])
    assert "alloc_buffer" not in str(sch.mod["f"])


def test_buffers() -> None:
    n = te.var("n")
    a = tir.decl_buffer((n, 16), "float32", name="A")
    assert a.scope() == "global"
    assert str(a.vload([0, 4], "float32x4")) == "A[0, 4:8]"
    assert str(a.vstore([0, 4], 1.0)) == "A[0, 4] = T.float32(1)"
    assert str(a[0, 4:8]) == "A[0, 4:8]"
    assert str(a[0, 0:8:2]) == "A[0, 0:8:2]"
    assert [str(p) for p in a.offset_of([1, 2])] == ["18"]
    assert str(a.get_flattened_buffer().shape) == "(n * 16,)"
    assert str(a.access_ptr("rw")) == 'T.tvm_access_ptr(T.type_annotation("float32"), A, 0, n * 16, 3)'
    apart = tir.decl_buffer((4, 4), name="B", strides=[8, 1], elem_offset=16)  # gaps between rows are pointed over
    assert str(apart.access_ptr("r")) == 'T.tvm_access_ptr(T.type_annotation("float32"), B, 16, 32, 1)'
    assert str(apart.access_ptr("r", content_lanes=4)) == 'T.tvm_access_ptr(T.type_annotation("float32x4"), B, 4, 8, 1)'
    assert [str(p) for p in tir.decl_buffer((4, 4), strides=[8, 1], offset_factor=1).offset_of([1, 2])] == [
        "buffer_elem_offset + 10"
    ]
    assert tir.decl_buffer(4, offset_factor=8).elem_offset.name == "buffer_elem_offset"
    with pytest.raises(tvm.TVMError):
        a.vload([0, 0], "int32x4")


def test_scalars() -> None:
    pointer = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "shared"))
    assert (pointer.dtype, pointer.type_annotation.storage_scope) == ("handle", "shared")
    x, y = te.var("x"), te.var("y")
    with pytest.raises(ValueError, match="no truth value"):
        bool(x < y)
    with pytest.raises(RuntimeError, match="ambiguous"):
        _ = x / y
    axis = tir.IterVar((0, 10), "i", tir.IterVar.CommReduce)
    assert (axis.iter_type, int(axis.dom.extent)) == (te.reduce_axis((0, 10)).iter_type, 10)
    assert tir.Call("float32", "tir.exp", [1.0]).op is tir.exp(tir.const(1.0)).op
    assert str(tir.shift_left(x, 2) + tir.bitwise_and(x, y)) == "T.shift_left(x, 2) + T.bitwise_and(x, y)"
    body = tir.stmt_seq(tir.Evaluate(x), tir.SeqStmt([tir.Evaluate(y), tir.Evaluate(0)]))
    assert len(tir.stmt_list(body)) == 3
    assert len(body) == 2


def test_kernels_for_certain_parameters() -> None:
    @T.prim_func
    def grow(a: T.handle, b: T.handle, k: T.int32) -> None:
        n = T.int32()
        A = T.match_buffer(a, (n, 4), "int32")
        B = T.match_buffer(b, (n, 4), "int32")
        for i, j in T.grid(n, 4):
            with T.block("grow"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + k

    a, _, k = grow.params
    eight = grow.specialize({a: tir.decl_buffer((8, 4), "int32"), k: 3})
    assert [p.name for p in eight.params] == ["a", "b"]
    assert [int(d) for d in eight.buffer_map[eight.params[1]].shape] == [8, 4]
    assert "vj] + 3" in str(eight)
    with pytest.raises(ValueError, match="number of axes"):
        grow.specialize({a: tir.decl_buffer((8,), "int32")})
    with pytest.raises(ValueError, match="where"):
        grow.specialize({a: tir.decl_buffer((8, 5), "int32")})
    with pytest.raises(ValueError, match="not a parameter"):
        grow.specialize({te.var("z"): 1})


def test_what_stands_for_itself_is_written_as_scripts_write_it() -> None:
    text = """# from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((16,), "int32"), p: T.handle("float32", "global")):
    P = T.Buffer((4,), "float32", data=p)
    T.call_packed("f", A[0], 1)
    A[4:8] = T.Broadcast(0, 4)
    P[0] = T.float32(0)
    return A[0]"""
    func = tvm.script.from_source(text)
    assert str(func) == text
    ramp = tvm.script.from_source(text.replace("4:8", "T.Ramp(4, 1, 4)"))
    tvm.ir.assert_structural_equal(func, ramp)


def test_passes_for_some_functions() -> None:
    double = tvm.transform.module_pass(
        lambda mod, ctx: mod.with_functions({v: f.with_attr("seen", 1) for v, f in mod.functions.items()}), opt_level=0
    )
    module = tvm.transform.ApplyPassToFunction(double, "f.*")(tvm.IRModule({"f1": chain, "g": chain}))
    assert [v.name_hint for v, f in module.functions_items() if "seen" in f.attrs] == ["f1"]
    with pytest.raises(ValueError, match="matches"):
        tvm.transform.ApplyPassToFunction(double, "h", True)(module)
    prefix = tvm.transform.ApplyPassToFunction(double, "f")(tvm.IRModule({"f1": chain, "g": chain}))
    assert [v.name_hint for v, f in prefix.functions_items() if "seen" in f.attrs] == ["f1"], "as Python's re.match"


def test_passes_for_some_functions_remove_none() -> None:
    """Guards private functions, which a pass that sees no call of them takes away: they are public meanwhile."""
    public = tvm.transform.module_pass(
        lambda mod, ctx: mod.with_functions({v: f for v, f in mod.functions.items() if "global_symbol" in f.attrs}),
        opt_level=0,
    )
    none = tvm.transform.module_pass(lambda mod, ctx: mod.with_functions({}), opt_level=0)
    given = tvm.IRModule({"f1": chain.without_attr("global_symbol"), "g": chain})
    for step in (public, none):
        tvm.ir.assert_structural_equal(tvm.transform.ApplyPassToFunction(step, "f.*")(given), given)


def test_layouts() -> None:
    assert tir.layout("NCHW16c").factor_of("C") == 16
    assert tir.layout("NCHW16c").index_of("W") == 3
    change = tir.bijective_layout("NCHW", "NHWC16c")
    assert [int(d) for d in change.forward_shape((1, 40, 7, 7))] == [1, 7, 7, 3, 16]
    assert [int(d) for d in change.forward_index((0, 18, 6, 5))] == [0, 6, 5, 1, 2]
    assert [int(d) for d in change.backward_index((0, 6, 5, 1, 2))] == [0, 18, 6, 5]
    with pytest.raises(tvm.TVMError):
        tir.layout("N16c")


def test_texts_of_what_is_known_of_integers() -> None:
    """As TVM prints them: ends in brackets, pieces of indices with the names of their numbers."""
    x, analyzer = te.var("x"), arith.Analyzer()
    assert [str(analyzer.const_int_bound(e)) for e in (x % 8, x)] == [
        "ConstIntBound[0,7]",
        "ConstIntBound[neg_inf,pos_inf]",
    ]
    assert repr(analyzer.modular_set(x * 4 + 1)) == "ModularSet(coeff=4, base=1)"
    assert str(arith.IntervalSet(0, arith.pos_inf())) == "IntervalSet[0, pos_inf]"
    (index,) = arith.detect_iter_map([x // 4], {x: tvm.ir.Range(0, 16)}, check_level="surjective").indices
    piece = "IterSplit(IterMark(x, extent=16), lower_factor=4, extent=4, scale=1)"
    assert str(index) == repr(index) == f"IterSum([{piece}], 0)"
    assert str(index.args[0].source) == "IterMark(x, extent=16)"


def test_what_arithmetic_says() -> None:
    x, y, n = te.var("x"), te.var("y"), te.var("n")
    assert [str(c) for c in arith.detect_linear_equation(x * 4 + y * n + 7, [x, y])] == ["4", "n", "7"]
    assert arith.detect_linear_equation(x * y, [x, y]) == []
    assert [str(b) for b in arith.detect_clip_bound(tir.all(x < 5, x > 2), [x])] == ["3", "4"]
    assert arith.detect_clip_bound(tir.Or(x < 5, x > 2), [x]) == []
    assert str(arith.deduce_bound(x, x + 3 < 10, {}, {}).max_value) == "6"
    assert str(arith.deduce_bound(x, x + y < 10, {}, {y: arith.IntervalSet(0, 4)}).max_value) == "5"
    assert arith.deduce_bound(x, x * x < 10, {}, {}).is_nothing()
    range_of_y = arith.IntervalSet(1, 3)
    assert arith.deduce_bound(x, x * y <= 10, {y: range_of_y}, {y: range_of_y}).is_nothing()  # 10 // y is no bound
    analyzer = arith.Analyzer()
    analyzer.update(y, arith.ConstIntBound(2, 5))
    found = analyzer.int_set(x + y, {x: arith.IntervalSet(0, arith.pos_inf())})
    assert found.max_value is arith.pos_inf()
    assert int(analyzer.int_set(x + 1, {x: arith.IntervalSet(0, 3)}).max_value) == 4
    assert analyzer.can_prove(y < 6, arith.ProofStrength.SYMBOLIC_BOUND)
    assert not analyzer.can_prove(x < 6)  # what was asked above says nothing of x
    vector = arith.IntSet.vector(tir.Ramp(x, 2, 4))
    assert str(vector.max_value) == "x + 6"


def test_modules_and_values() -> None:
    module = tvm.IRModule({"main": chain})
    with pytest.raises(TypeError):
        tvm.IRModule({1: chain})
    with pytest.raises(TypeError):
        tvm.transform.PassContext(config=["tir.disable_vectorize"])
    with pytest.raises(ValueError, match="no function"):
        module.get_global_var("other")
    other = module.replace_global_vars({"main": "other"})
    assert [v.name_hint for v in other.get_global_vars()] == ["other"]
    with pytest.raises(ValueError, match="registered"):
        tvm.get_global_func("nobody registered this")
    values = tvm.nd.array(np.arange(6, dtype="int32"))
    assert values._create_view((2, 3)).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert values._create_view((2,), "int32", 8).numpy().tolist() == [2, 3]
    assert values._create_view((3,), "int16", relative_byte_offset=4).numpy().tolist() == [1, 0, 2]
    for view in (((7,),), ((4,), "int32", 12), ((1,), "int32", -4)):
        with pytest.raises(ValueError, match="larger than a tensor of shape"):
            values._create_view(*view)
    with pytest.raises(ValueError, match=r"cannot read there-is-no\.so"):
        tvm.runtime.load_module("there-is-no.so")
    assert tvm.nd.from_dlpack(values.to_dlpack()).numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert (str(tvm.nd.array(np.ones(2))), repr(tvm.cpu(0)), tvm.gpu(0).exist) == ("[1. 1.]", "cpu(0)", False)
    assert tvm.DataType("bfloat16").type_code == tvm.DataTypeCode.BFLOAT
    target, host = tvm.target.Target.canon_target_and_host("cuda", "llvm")
    assert (target.thread_warp_size, str(target.host), str(host)) == (32, "llvm -keys=cpu", "llvm -keys=cpu")


class TestSimplify(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.Simplify()

    def before(A: T.Buffer((1,), "int32")) -> None:
        if T.bool(True):
            A[0] = A[0] * 2 - A[0]

    @T.prim_func
    def expected(A: T.Buffer((1,), "int32")) -> None:
        A[0] = A[0]


class TestErrors(tvm.testing.CompareBeforeAfter):
    expected = ValueError

    def transform(self) -> Any:
        def fail(module: tvm.IRModule) -> tvm.IRModule:
            raise ValueError

        return fail

    def before(self) -> tvm.IRModule:
        return tvm.IRModule({"main": chain})


@T.prim_func
def on_threads(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")) -> None:
    tx = T.env_thread("threadIdx.x")
    bx = T.launch_thread("blockIdx.x", 8)
    with T.launch_thread(tx, 8):
        B[bx * 8 + tx] = A[bx * 8 + tx] + T.float32(1)
    T.evaluate(bx)


def test_launched_threads_are_written_as_such_and_run_one_after_the_other() -> None:
    text = str(on_threads)
    assert 'bx = T.launch_thread("blockIdx.x", 8)' in text
    assert 'with T.launch_thread("threadIdx.x", 8) as tx:' in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), on_threads)
    assert on_threads.body.attr_key == "thread_extent"
    assert on_threads.body.node.thread_tag == "blockIdx.x"
    out = tvm.nd.empty((64,))
    tvm.build(on_threads, target="llvm")(tvm.nd.array(np.ones(64, "float32")), out)
    assert out.numpy().tolist() == [2.0] * 64
    with pytest.raises(tvm.TVMError, match="how many"):
        tvm.script.from_source("@T.prim_func\ndef f():\n    x = T.launch_thread(3, 4)\n    T.evaluate(x)")


def test_operators_and_modules_are_found_where_tvm_has_them() -> None:
    listed = tvm.ir.Op.list_op_names()
    assert {"nn.conv2d", "relax.nn.conv2d", "tir.exp"} <= set(listed)
    counts = {name: tvm.ir.Op.get(name).num_inputs for name in ("nn.conv2d", "reshape", "relax.reshape", "tir.exp")}
    assert counts == {"nn.conv2d": 2, "reshape": 1, "relax.reshape": 2, "tir.exp": 1}
    assert "onvolution" in tvm.ir.Op.get("nn.conv2d").description
    assert tvm.ir.CallingConv.DEVICE_KERNEL_LAUNCH == 2
    assert arith.analyzer.Analyzer is arith.Analyzer
    assert arith.int_set.IntSet is arith.IntSet
    assert arith.pattern.detect_linear_equation is arith.detect_linear_equation
    assert arith.bound.deduce_bound is arith.deduce_bound


def test_what_passes_and_places_are_made_with() -> None:
    """TVM's order of arguments: levels before names, lines before columns."""
    info = tvm.transform.PassInfo(2, "Mine", None)
    assert (info.opt_level, info.name, info.required) == (2, "Mine", ())
    span = tvm.ir.Span(tvm.ir.SourceName("file"), 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4)
    with tvm.transform.PassContext(opt_level=3, trace=None):
        pass
    with pytest.raises(tvm.TVMError, match="not traced"):
        tvm.transform.PassContext(num_evals=3)
    assert tvm.ir.get_first_structural_mismatch(chain, chain) is None
    left, right = tvm.ir.get_first_structural_mismatch(chain, chain_under_i) or ("", "")
    assert left == right
    assert left.startswith("<root>.body")


def test_sizes_of_te_have_32_bits() -> None:
    """What te makes is what a script writes down with plain numbers."""
    a = te.placeholder((128, 128), name="A")
    b = te.compute((128, 128), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((128, 128), lambda i, j: b[i, j] + 1.0, name="C")
    testing.assert_structural_equal_ignore_global_symbol(te.create_prim_func([a, c]).without_attr("tir.noalias"), chain)
    assert "T.int64(128)" in te.create_prim_func([a, c], index_dtype_override="int64").script()


def test_definitions_of_its_own() -> None:
    """Guards that renewed functions share no variable with the old one, and mean the same."""
    func = chain
    renewed = tir.stmt_functor.renew_defs(func)
    seen: list[set[Any]] = [set(), set()]
    for found, each in zip(seen, (func, renewed)):
        tir.stmt_functor.post_order_visit(each, lambda n, found=found: found.add(n) if isinstance(n, tir.Var) else None)
    assert seen[0]
    assert not seen[0] & seen[1]
    tvm.ir.assert_structural_equal(renewed, func)
