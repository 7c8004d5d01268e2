"""Kernels (TIR) in documents as TVM's `save_json` writes them: a writer of TVM's classes, and what is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, tir
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T
from tests.driver.tvm_json.test_saved_documents import Table, load

IN_PLACE = {"kind", "dtype", "data_alignment", "offset_factor"}
FIELDS = {
    "PrimFunc": "params body buffer_map",
    "Block": "iter_vars reads writes name_hint body init alloc_buffers match_buffers annotations",
    "BlockRealize": "iter_values predicate block",
    "For": "loop_var min extent kind body thread_binding annotations",
    "Buffer": "data dtype shape strides elem_offset name data_alignment offset_factor axis_separators",
    "BufferRegion": "buffer region",
    "MatchBufferRegion": "buffer source",
    "BufferStore": "buffer value indices predicate",
    "BufferLoad": "dtype buffer indices predicate",
    "SeqStmt": "seq",
    "IfThenElse": "condition then_case else_case",
    "While": "condition body",
    "LetStmt": "var value body",
    "AttrStmt": "node attr_key value body",
    "AssertStmt": "condition message body",
    "Allocate": "buffer_var dtype extents condition body annotations",
    "DeclBuffer": "buffer body",
    "Evaluate": "value",
    "Let": "var value body",
    "Select": "condition true_value false_value",
    "Ramp": "base stride",
    "Broadcast": "value",
    "Cast": "dtype value",
    "Call": "dtype op args",
    "Not": "a",
}
TYPES = {name: number for number, name in enumerate(["spatial", "thread", "reduce", "scan", "opaque"])}


class Writer:
    """Writes nodes of TIR into a table, each once."""

    def __init__(self) -> None:
        self.table = Table()
        self.known: dict[Any, str] = {}

    def write(self, value: Any) -> str:
        t = self.table
        if value is None:
            return "0"
        if isinstance(value, (tuple, list)):
            return t.array(*[self.write(item) for item in value])
        if isinstance(value, str):
            return t.string(value)
        if isinstance(value, int):
            return t.add("IntImm", dtype="bool" if isinstance(value, bool) else "int32", value=int(value), span=0)
        if isinstance(value, dict):
            if all(isinstance(key, str) for key in value):
                return t.special("Map", keys=list(value), data=[int(self.write(item)) for item in value.values()])
            return t.special("Map", data=[int(self.write(n)) for pair in value.items() for n in pair])
        if value not in self.known:
            self.known[value] = self.node(value)
        return self.known[value]

    def node(self, node: Any) -> str:
        t, name = self.table, type(node).__name__
        if isinstance(node, (tir.IntImm, tir.FloatImm)):
            return t.add(name, dtype=node.dtype, value=node.value, span=0)
        if isinstance(node, tir.StringImm):
            return t.add("tir.StringImm", dtype="handle", value=t.string(node.value), span=0)
        if isinstance(node, tvm.ir.Op):
            return t.op(node.name)
        if isinstance(node, tir.Var):
            return t.add("tir.Var", dtype=node.dtype, name=t.string(node.name), span=0, type_annotation=self.type(node))
        if isinstance(node, tvm.ir.Range):
            return t.add("Range", min=self.write(node.min), extent=self.write(node.extent), span=0)
        if isinstance(node, tir.IterVar):
            parts = {"dom": self.write(node.dom), "var": self.write(node.var), "thread_tag": t.string(node.thread_tag)}
            return t.add("tir.IterVar", iter_type=TYPES[node.iter_type], span=0, **parts)
        fields = FIELDS.get(name, "a b").split()
        parts = {f: self.field(getattr(node, f), f) for f in fields}
        if name in ("Ramp", "Broadcast"):
            parts["lanes"] = self.write(node.lanes)
        if name == "Buffer":
            parts["buffer_type"] = "1"
        if name == "PrimFunc":
            parts["ret_type"] = t.add("TupleType", fields=t.array(), span=0)
            parts["attrs"] = t.add("DictAttrs", __dict__=self.write(dict(node.attrs)))
        return t.add(f"tir.{name}", span=0, **parts)

    def field(self, content: Any, name: str) -> str:
        return str(int(content) if name == "kind" else content) if name in IN_PLACE else self.write(content)

    def type(self, var: Any) -> str:
        if var.pointee is None:
            return self.table.add("PrimType", dtype=var.dtype)
        inner = self.table.add("PrimType", dtype=var.pointee)
        return self.table.add("PointerType", element_type=inner, storage_scope=self.table.string(var.scope))


@T.prim_func
def blocks(a: T.handle, C: T.Buffer((8,), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "blocks", "tir.noalias": T.bool(True)})
    A = T.match_buffer(a, (8, n), "float32")
    B = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, n):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.block_attr({"layout": [1, 2]})
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.exp(A[vi, vk])
    for i in T.parallel(8, annotations={"pragma_unroll": 1}):
        with T.block("out"):
            vi = T.axis.spatial(8, i)
            T.where(i < 7)
            C[vi] = T.if_then_else(B[vi] > T.float32(2), B[vi], T.float32(-1))


@T.prim_func
def statements(A: T.Buffer((8,), "int32"), p: T.handle("int32")):
    P = T.decl_buffer((8,), "int32", data=p)
    scratch = T.allocate([4], "int32", "global")
    S = T.decl_buffer((4,), "int32", data=scratch)
    S[0] = 0
    while S[0] < 4:
        S[0] = S[0] + 1
    with T.LetStmt(A[0] % 3) as first:
        A[1] = T.Select(first == 1 and A[1] != 2, T.Cast("int32", T.float32(2.5)), P[0])
    assert A[0] >= 0, "positive"
    A[T.Ramp(0, 1, 4)] = T.Broadcast(7, 4)
    if not A[0] > 1:
        T.evaluate(T.call_extern("int32", "abs", A[0]))
    else:
        A[2] = T.truncdiv(A[2], 2)


@pytest.mark.parametrize("kernel", [blocks, statements], ids=["blocks", "statements"])
def test_a_kernel_comes_back(kernel: Any) -> None:
    writer = Writer()
    root = writer.write(kernel)
    tvm.ir.assert_structural_equal(load(writer.table, root), kernel)


def test_a_lowered_module_runs() -> None:
    """Guards modules of Relax with their kernels, as TVM's pipelines leave them."""

    @I.ir_module
    class Lowered:
        @T.prim_func(private=True)
        def twice(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (n,), "float32")
            Y = T.match_buffer(y, (n,), "float32")
            for i in range(n):
                with T.block("Y"):
                    v = T.axis.spatial(n, i)
                    Y[v] = X[v] * T.float32(2)

        @R.function
        def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            cls = Lowered
            return R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((3,), "float32"))

    writer = Writer()
    t, kernel = writer.table, Lowered["twice"]
    three = t.add("relax.expr.ShapeExpr", span=0, struct_info_=0, values=t.ints(3))
    info = t.add("relax.TensorStructInfo", dtype="float32", ndim=1, shape=three, span=0, vdevice=0)
    x = t.add("relax.expr.Var", span=0, struct_info_=info, vid=t.add("relax.Id", name_hint=t.string("x")))
    name = t.add("GlobalVar", name_hint=t.string("twice"))
    args = t.array(name, t.add("relax.expr.Tuple", fields=t.array(x), span=0, struct_info_=0))
    call = t.add("relax.expr.Call", args=args, attrs=0, op=t.op("relax.call_tir"), sinfo_args=t.array(info), span=0)
    body = t.add("relax.expr.SeqExpr", blocks=t.array(), body=call, span=0)
    symbol = t.add("DictAttrs", __dict__=writer.write({"global_symbol": "main"}))
    main = t.add("relax.expr.Function", attrs=symbol, body=body, is_pure=1, params=t.array(x), ret_struct_info=info)
    pairs = [name, writer.write(kernel), t.add("GlobalVar", name_hint=t.string("main")), main]
    root = t.add("IRModule", attrs=0, functions=t.special("Map", data=[int(n) for n in pairs]), global_infos=0)
    module = relax.transform.Normalize()(load(t, root))
    tvm.ir.assert_structural_equal(module["twice"], kernel)
    vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    assert vm["main"](tvm.nd.array(np.ones(3, "float32"))).numpy().tolist() == [2.0] * 3
