"""What both languages share: data, dims, types, operators, global names, modules."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_json.attributes import plain
from baton._src.driver.tvm_json.document import Fields, Kind, mapping, sequence
from baton._src.driver.wiring import operator_named
from baton._src.ir import types
from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.support.spans import Source, Span
from baton._src.tir import expr as tir

T = types.Type


def _word(fields: Fields) -> str:
    return str(fields.node.get("repr_str", ""))


def _int_imm(fields: Fields) -> Any:
    return tir.IntImm(fields.dtype("dtype"), fields.int("value"))


def _arithmetic(make: Any) -> Kind:
    return Kind(("a", "b"), lambda f: make(f.part("a", PrimExpr), f.part("b", PrimExpr)))


def _variable(fields: Fields) -> Any:
    """A scalar, or a pointer, whose type says to what."""
    kind = fields.ref("type_annotation")
    return tir.Var(fields.text("name"), kind if isinstance(kind, types.PointerType) else fields.dtype("dtype"))


def _span(fields: Fields) -> Span:
    numbers = [max(fields.int(n), 1) for n in ("line", "end_line", "column", "end_column")]
    return Span(Source(str(fields.ref("source_name") or "<saved>")), *numbers)


def _type_var(fields: Fields) -> Any:
    return types.TypeVar(fields.text("name_hint"), types.TypeKind(fields.int("kind")))


def _tensor_type(fields: Fields) -> Any:
    return types.TensorType(fields.items("shape", PrimExpr), fields.dtype("dtype"))


def _func_type(fields: Fields) -> Any:
    if fields.items("type_constraints"):
        raise fields.fail("constraints of function types are not read", "save the module before its types are inferred")
    return types.FuncType(
        fields.items("arg_types", T), fields.part("ret_type", T), fields.items("type_params", types.TypeVar)
    )


def _constructor(fields: Fields) -> Any:
    header, name = fields.part("belong_to", types.GlobalTypeVar), fields.text("name_hint")
    return types.Constructor(name, fields.items("inputs", T), header, tag=fields.int("tag"))


def _module(fields: Fields) -> IRModule:
    attributes = plain(fields.ref("attrs", dict)) or {}
    functions, definitions = fields.part("functions", dict), fields.ref("type_definitions", dict) or {}
    if not all(isinstance(k, GlobalVar) and hasattr(f, "params") for k, f in functions.items()):
        raise fields.fail("its functions are not keyed by global names")
    if not all(isinstance(d, types.TypeData) for d in definitions.values()):
        raise fields.fail("its type definitions are malformed")
    return IRModule(functions, definitions, attributes, fields.ref("global_infos", dict))


def _refs(*names: str) -> tuple[str, ...]:
    return (*names, "span")


SHARED: dict[str, Kind] = {
    "Array": Kind((), sequence),
    "Map": Kind((), mapping),
    "runtime.String": Kind((), _word),
    "SourceName": Kind((), _word),
    "Span": Kind(("source_name",), _span),
    "SequentialSpan": Kind((), lambda f: None),
    "IntImm": Kind((), _int_imm),
    "FloatImm": Kind((), lambda f: tir.FloatImm(f.dtype("dtype"), f.float("value"))),
    "tir.StringImm": Kind(("value",), lambda f: f.text("value")),
    "runtime.BoxInt": Kind((), lambda f: int(_word(f))),
    "runtime.BoxFloat": Kind((), lambda f: float(_word(f))),
    "runtime.BoxBool": Kind((), lambda f: _word(f) in ("1", "true", "True")),
    "tir.Any": Kind((), lambda f: tir.AnyDim()),
    "tir.Var": Kind(("name", "type_annotation"), _variable),
    "tir.SizeVar": Kind(("name",), lambda f: tir.SizeVar(f.text("name"), f.dtype("dtype"))),
    "tir.Add": _arithmetic(tir.Add),
    "tir.Sub": _arithmetic(tir.Sub),
    "tir.Mul": _arithmetic(tir.Mul),
    "tir.FloorDiv": _arithmetic(tir.FloorDiv),
    "tir.FloorMod": _arithmetic(tir.FloorMod),
    "tir.Min": _arithmetic(tir.Min),
    "tir.Max": _arithmetic(tir.Max),
    "PointerType": Kind(
        ("element_type", "storage_scope"),
        lambda f: types.PointerType(f.part("element_type", T), f.text("storage_scope")),
    ),
    "PrimType": Kind((), lambda f: types.PrimType(f.dtype("dtype"))),
    "relay.TensorType": Kind(_refs("shape"), _tensor_type),
    "TupleType": Kind(_refs("fields"), lambda f: types.TupleType(f.items("fields", T))),
    "FuncType": Kind(_refs("arg_types", "ret_type", "type_params", "type_constraints"), _func_type),
    "TypeVar": Kind(_refs("name_hint"), _type_var),
    "GlobalTypeVar": Kind(_refs("name_hint"), lambda f: types.GlobalTypeVar(f.text("name_hint"))),
    "TypeCall": Kind(_refs("func", "args"), lambda f: types.TypeCall(f.part("func", T), f.items("args", T))),
    "IncompleteType": Kind(_refs(), lambda f: types.IncompleteType(types.TypeKind(f.int("kind")))),
    "relay.RefType": Kind(_refs("value"), lambda f: types.RelayRefType(f.part("value", T))),
    "relay.Constructor": Kind(_refs("name_hint", "inputs", "belong_to"), _constructor),
    "relay.TypeData": Kind(
        _refs("header", "type_vars", "constructors"),
        lambda f: types.TypeData(
            f.part("header", types.GlobalTypeVar),
            f.items("type_vars", types.TypeVar),
            f.items("constructors", types.Constructor),
        ),
    ),
    "Op": Kind((), lambda f: operator_named(_word(f))),
    "GlobalVar": Kind(_refs("name_hint"), lambda f: GlobalVar(f.text("name_hint"))),
    "DictAttrs": Kind(("__dict__",), lambda f: DictAttrs(plain(f.ref("__dict__", dict)) or {})),
    "VirtualDevice": Kind((), lambda f: None),
    "IRModule": Kind(("functions", "type_definitions", "attrs", "global_infos"), _module),
}
"""Notes that are worked out anew (`_checked_type_`, `virtual_device_`, `source_map`, name tables) are not followed."""
for _older in ("GlobalVar", "TypeVar", "GlobalTypeVar", "TupleType", "FuncType", "TypeCall", "Op"):
    SHARED[f"relay.{_older}"] = SHARED[_older]
