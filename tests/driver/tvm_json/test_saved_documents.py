"""Documents as TVM's `save_json` writes them, made by hand: what they say is read, errors name the node."""

from __future__ import annotations

import base64
import json
import random
import struct
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, relay
from baton._src.support.diagnostics import DiagnosticError


class Table:
    """Builds a document: `add` gives the index of a new node, as the text that fields hold."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.tensors: list[str] = []

    def add(self, key: str, **fields: Any) -> str:
        self.nodes.append({"type_key": key, **({"attrs": {k: str(v) for k, v in fields.items()}} if fields else {})})
        return str(len(self.nodes) - 1)

    def special(self, key: str, **parts: Any) -> str:
        self.nodes.append({"type_key": key, **parts})
        return str(len(self.nodes) - 1)

    def array(self, *items: str) -> str:
        return self.special("Array", data=[int(i) for i in items])

    def string(self, text: str) -> str:
        return self.special("runtime.String", repr_str=text) if text else self.special("runtime.String")

    def ints(self, *numbers: int) -> str:
        return self.array(*[self.add("IntImm", dtype="int32", value=n, span=0) for n in numbers])

    def tensor_type(self, *dims: int) -> str:
        return self.add("relay.TensorType", dtype="float32", shape=self.ints(*dims), span=0)

    def var(self, name: str, *dims: int) -> str:
        vid = self.add("relay.Id", name_hint=self.string(name))
        type_ = self.tensor_type(*dims)
        return self.add("relay.Var", _checked_type_=0, span=0, type_annotation=type_, vid=vid, virtual_device_=0)

    def op(self, name: str) -> str:
        return self.special("Op", repr_str=name)

    def call(self, op: str, *args: str, attrs: str = "0") -> str:
        return self.add(
            "relay.Call", _checked_type_=0, args=self.array(*args), attrs=attrs, op=op, span=0, type_args=self.array()
        )

    def function(self, params: list[str], body: str, **fields: str) -> str:
        empty = {"attrs": self.add("DictAttrs", __dict__=self.special("Map")), "ret_type": "0"}
        given = {**empty, "type_params": self.array(), **fields}
        return self.add("relay.Function", _checked_type_=0, body=body, params=self.array(*params), span=0, **given)

    def constant(self, array: Any) -> str:
        header = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, 2, 32, 1)
        raw = header + struct.pack(f"<{array.ndim}q", *array.shape) + struct.pack("<q", array.nbytes) + array.tobytes()
        self.tensors.append(base64.b64encode(raw).decode())
        return self.add("relay.Constant", _checked_type_=0, data=len(self.tensors) - 1, span=0)

    def module(self, functions: dict[str, str], definitions: dict[str, str] | None = None) -> str:
        pairs = [i for name, f in functions.items() for i in (self.add("GlobalVar", name_hint=self.string(name)), f)]
        listed = self.special("Map", data=[int(i) for i in pairs])
        types = self.special("Map", data=[int(i) for pair in (definitions or {}).items() for i in pair])
        return self.add("IRModule", attrs=0, functions=listed, global_infos=0, source_map=0, type_definitions=types)

    def text(self, root: str) -> str:
        content = {"root": int(root), "nodes": self.nodes, "b64ndarrays": self.tensors}
        return json.dumps({**content, "attrs": {"tvm_version": "0.19.0"}})


def load(table: Table, root: str) -> Any:
    return baton.ir.load_json(table.text(root))


def conv_attrs(t: Table) -> str:
    """As TVM notes them: groups in place, channels and lists by reference, words as Strings."""
    return t.add(
        "relay.attrs.Conv2DAttrs",
        auto_scheduler_rewritten_layout=t.string(""),
        channels=t.add("IntImm", dtype="int32", value=4, span=0),
        data_layout=t.string("NCHW"),
        dilation=t.ints(1, 1),
        groups=1,
        kernel_layout=t.string("OIHW"),
        kernel_size=t.ints(3, 3),
        meta_schedule_original_shape=0,
        out_dtype="",
        out_layout=t.string(""),
        padding=t.ints(1, 1, 1, 1),
        strides=t.ints(2, 2),
    )


def test_a_model_with_a_constant_runs() -> None:
    t = Table()
    x, w = t.var("x", 1, 3, 8, 8), t.constant(np.ones((4, 3, 3, 3), "float32"))
    conv = t.call(t.op("nn.conv2d"), x, w, attrs=conv_attrs(t))
    soft = t.call(t.op("nn.softmax"), conv, attrs=t.add("relay.attrs.SoftmaxAttrs", axis=1))
    both = t.add("relay.Tuple", fields=t.array(conv, soft), span=0)
    second = t.add("relay.TupleGetItem", index=1, tuple_value=both, span=0)
    module = load(t, t.module({"main": t.function([x], second)}))
    want = relay.parse("""#[version = "0.0.5"]
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
          %1 = (%0, nn.softmax(%0, axis=1));
          %1.1
        }""")
    bound = relay.build_module.bind_params_by_name(want["main"], {"w": np.ones((4, 3, 3, 3), "float32")})
    baton.ir.assert_structural_equal(module, relay.transform.InferType()(baton.IRModule.from_expr(bound)))
    assert str(module["main"].ret_type) == "Tensor[(1, 4, 4, 4), float32]"


def test_numbers_in_place_are_no_references() -> None:
    """`groups=1`, `axis=3`, `a_min=0` stand in place: that nodes 1 and 3 exist means nothing; `k` and `axis` of take
    refer, and the null reference is None.
    """
    t = Table()
    x = t.var("x", 4, 4, 4, 4)
    soft = t.call(t.op("nn.softmax"), x, attrs=t.add("relay.attrs.SoftmaxAttrs", axis=3))
    clip = t.call(t.op("clip"), soft, attrs=t.add("relay.attrs.ClipAttrs", a_min=0, a_max="0.5"))
    total = t.add("relay.attrs.ReduceAttrs", axis=t.ints(1, 2), exclude=0, keepdims=1)
    added = t.call(t.op("sum"), clip, attrs=total)
    k = t.add("IntImm", dtype="int32", value=2, span=0)
    top = t.add("relay.attrs.TopKAttrs", axis=-1, dtype="int64", is_ascend=0, k=k, ret_type=t.string("values"))
    function = load(t, t.function([x], t.call(t.op("topk"), added, attrs=top)))
    calls = [function.body, *(function.body.args[0],), function.body.args[0].args[0]]
    assert (calls[0].attrs.k, calls[0].attrs.axis, str(calls[0].attrs.dtype)) == (2, -1, "int64")
    assert (tuple(calls[1].attrs.axis), bool(calls[1].attrs.keepdims)) == ((1, 2), True)
    assert (calls[2].attrs.a_min, calls[2].attrs.a_max) == (0, 0.5)
    assert calls[2].args[0].attrs.axis == 3


def test_data_types_matches_and_lets() -> None:
    t = Table()
    nat = t.add("GlobalTypeVar", kind=5, name_hint=t.string("Nat"), span=0)
    whole = t.add("TypeCall", args=t.array(), func=nat, span=0)
    zero = t.add("relay.Constructor", belong_to=nat, inputs=t.array(), name_hint=t.string("Z"), tag=0)
    successor = t.add("relay.Constructor", belong_to=nat, inputs=t.array(whole), name_hint=t.string("S"), tag=1)
    data = t.add("relay.TypeData", constructors=t.array(zero, successor), header=nat, span=0, type_vars=t.array())
    n = t.add("relay.Var", type_annotation=whole, vid=t.add("relay.Id", name_hint=t.string("n")), span=0)
    m = t.add("relay.Var", type_annotation=0, vid=t.add("relay.Id", name_hint=t.string("m")), span=0)
    below = t.add("relay.PatternConstructor", constructor=successor, patterns=t.array(t.add("relay.PatternVar", var=m)))
    clauses = t.array(
        t.add("relay.Clause", lhs=below, rhs=m), t.add("relay.Clause", lhs=t.add("relay.PatternWildcard"), rhs=n)
    )
    matched = t.add("relay.Match", clauses=clauses, complete=1, data=n, span=0)
    bound = t.add("relay.Var", type_annotation=0, vid=t.add("relay.Id", name_hint=t.string("r")), span=0)
    body = t.add("relay.Let", body=t.call(successor, bound), span=0, value=matched, var=bound)
    module = load(t, t.module({"main": t.function([n], body, ret_type=whole)}, {nat: data}))
    want = relay.parse("""#[version = "0.0.5"]
        type Nat { Z, S(Nat) }
        def @main(%n: Nat) -> Nat {
          let %r = match (%n) { S(%m) => %m, _ => %n };
          S(%r)
        }""")
    no_places = {"show_meta_data": False, "annotate": lambda _: ""}
    assert module.astext(**no_places) == relay.transform.InferType()(want).astext(**no_places)


def test_symbolic_dims_branches_references_and_spans() -> None:
    t = Table()
    dim = t.add("tir.Any", dtype="int32", span=0)
    type_ = t.add("relay.TensorType", dtype="float32", shape=t.array(dim), span=0)
    x = t.add("relay.Var", type_annotation=type_, vid=t.add("relay.Id", name_hint=t.string("x")), span=0)
    flag_type = t.add("relay.TensorType", dtype="bool", shape=t.array(), span=0)
    c = t.add("relay.Var", type_annotation=flag_type, vid=t.add("relay.Id", name_hint=t.string("c")), span=0)
    file = t.special("SourceName", repr_str="model.onnx")
    span = t.add("Span", column=3, end_column=9, end_line=7, line=7, source_name=file)
    cell = t.add("relay.RefCreate", span=span, value=x)
    read = t.add("relay.RefRead", ref=cell, span=0)
    choice = t.add("relay.If", cond=c, false_branch=x, span=0, true_branch=read)
    function = load(t, t.function([c, x], choice))
    assert str(function.body.true_branch.ref.span) == "model.onnx:7:3"
    assert isinstance(function.params[1].type_annotation.shape[0], baton.tir.Any)
    assert function.body.false_branch is function.params[1]


def test_relax() -> None:
    t = Table()

    def info(*dims: int) -> str:
        values = t.array(*[t.add("IntImm", dtype="int64", value=d, span=0) for d in dims])
        shape = t.add("relax.expr.ShapeExpr", _checked_type_=0, span=0, struct_info_=0, values=values)
        return t.add("relax.TensorStructInfo", dtype="float32", ndim=len(dims), shape=shape, span=0, vdevice=0)

    def var(kind: str, name: str) -> str:
        vid = t.add("relax.Id", name_hint=t.string(name))
        return t.add(f"relax.expr.{kind}", span=0, struct_info_=info(2, 3), vid=vid)

    x, y = var("Var", "x"), var("DataflowVar", "lv")
    out = var("Var", "gv")
    relu = t.add("relax.expr.Call", args=t.array(x), attrs=0, op=t.op("relax.nn.relu"), sinfo_args=t.array(), span=0)
    attrs = t.add("relax.attrs.SoftmaxAttrs", axis=-1)
    soft = t.add("relax.expr.Call", args=t.array(y), attrs=attrs, op=t.op("relax.nn.softmax"), sinfo_args=t.array())
    bindings = [t.add("relax.expr.VarBinding", var=v, value=e, span=0) for v, e in ((y, relu), (out, soft))]
    block = t.add("relax.expr.DataflowBlock", bindings=t.array(*bindings), span=0)
    seq = t.add("relax.expr.SeqExpr", blocks=t.array(block), body=out, span=0, struct_info_=0)
    named = t.special("Map", keys=["global_symbol"], data=[int(t.string("main"))])
    public = t.add("DictAttrs", __dict__=named)
    params, result = t.array(x), info(2, 3)
    function = t.add("relax.expr.Function", attrs=public, body=seq, is_pure=1, params=params, ret_struct_info=result)
    module = load(t, t.module({"main": function}))
    machine = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
    given = np.array([[1, -2, 3], [0, 0, 1]], "float32")
    raised = np.exp(np.maximum(given, 0))
    found = machine["main"](baton.nd.array(given)).numpy()
    np.testing.assert_allclose(found, raised / raised.sum(1, keepdims=True), rtol=1e-5)


def test_long_chains_take_no_stack() -> None:
    t = Table()
    x = t.var("x", 2)
    relu, body = t.op("nn.relu"), x
    for _ in range(20_000):
        body = t.call(relu, body)
    assert isinstance(load(t, t.function([x], body)), relay.Function)


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (lambda t: t.call(t.op("nn.conv2dd"), t.var("x", 2)), "did you mean nn.conv2d"),
        (lambda t: t.add("relay.Call", op=99, args=0, attrs=0), "(relay.Call): it refers to node '99', there are 2"),
        (lambda t: t.add("relay.TupleGetItem", tuple_value=t.var("x", 2)), "the field index is missing"),
        (lambda t: t.add("tir.Prefetch", buffer=0), "nodes of class tir.Prefetch are not read"),
        (lambda t: t.add("relay.Constant", data=3), "it holds tensor 3, there are 0"),
        (lambda t: t.add("relay.Tuple", fields=t.array("2")), "which contains it"),
        (
            lambda t: t.call(t.op("nn.relu"), t.var("x", 2), attrs=t.add("relay.attrs.X", axis=7)),
            "nn.relu has no attribute axis",
        ),
    ],
)
def test_what_is_wrong_is_said_by_its_node(breaks: Any, says: str) -> None:
    t = Table()
    root = breaks(t)
    with pytest.raises(DiagnosticError) as raised:
        load(t, root)
    assert says in str(raised.value)
    assert raised.value.code in ("json-node", "op-unknown")


def test_damaged_documents_give_diagnostics_only() -> None:
    """Damage is refused, or changes something that a reader may take (a name, a number); nothing else is raised."""
    t, refused, taken = Table(), 0, 0
    x, w = t.var("x", 1, 3, 8, 8), t.constant(np.ones((4, 3, 3, 3), "float32"))
    conv = t.call(t.op("nn.conv2d"), x, w, attrs=conv_attrs(t))
    whole, draw = t.text(t.module({"main": t.function([x], conv)})), random.Random(5)
    for _ in range(200):
        content = json.loads(whole)
        node = draw.choice(content["nodes"][1:])
        odd = draw.choice(["-1", "0", "1", "7", "x", "", "9" * 40, "²", None, [], "12", "float31"])
        match draw.choice(("attrs", "data", "type_key", "repr_str", "part")):
            case "part":
                node[draw.choice(("attrs", "data", "type_key", "keys"))] = draw.choice([odd, 5, True, {"a": 1}, ["1"]])
            case "attrs" if node.get("attrs"):
                node["attrs"][draw.choice(list(node["attrs"]))] = odd
            case "data" if node.get("data"):
                node["data"][0] = odd
            case "type_key":
                node["type_key"] = draw.choice(["Array", "Map", "relay.Var", "Op", "relay.attrs.X", "Y"])
            case "repr_str" if "repr_str" in node:
                node["repr_str"] = odd
        if content == json.loads(whole):
            continue
        try:
            baton.ir.load_json(json.dumps(content))
            taken += 1
        except DiagnosticError:
            refused += 1
    assert refused > taken > 0


@pytest.mark.parametrize("text", ["", "[]", '{"nodes": 3}', '{"root": 4, "nodes": [{}]}', '{"root": "x", "nodes": []}'])
def test_no_document_at_all(text: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        baton.ir.load_json(text)
    assert raised.value.code in ("json-node", "json-unknown")
