"""Print calls as TVMScript: `R.add(x, y)`, `R.call_tir(cls.k, (x,), out_sinfo=...)`, `f(x)`, `cls.f(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from baton._src.ir.expr import Op
from baton._src.relax.nodes import Call, ExternFunc
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.relax.text.leaves import declared_info
from baton._src.relax.text.values import attr_arguments, quoted
from baton._src.support.python_text import tuple_text


class Parts(Protocol):
    """The interface of the printer that printing a call uses."""

    def atom(self, expr: Any) -> str: ...
    def info(self, info: StructInfo) -> str: ...
    def value(self, value: Any) -> str: ...


def call_text(call: Call, callee: str, args: list[str], parts: Parts) -> str:
    """A call whose callee and arguments are printed already."""
    if isinstance(call.op, Op):
        name = str(call.op.name)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(call, args, parts)
        return _plain(f"R.{name.removeprefix('relax.')}", call, args, parts)
    if isinstance(call.op, ExternFunc) and declared_info(call.op) is None:
        return _plain("R.call_packed", call, [quoted(call.op.global_symbol), *args], parts)
    return _plain(callee, call, args, parts)


def _plain(callee: str, call: Call, args: list[str], parts: Parts) -> str:
    attrs = _attributes(call, parts)
    said = [f"sinfo_args={_infos(call, parts)}"] if call.sinfo_args else []
    return f"{callee}({', '.join([*args, *attrs, *said])})"


def _attributes(call: Call, parts: Parts) -> list[str]:
    attrs = call.attrs
    if attrs is None:
        return []
    if isinstance(attrs, dict):
        return [f"{name}={parts.value(value)}" for name, value in attrs.items()]
    return attr_arguments(attrs, parts.value)


def _infos(call: Call, parts: Parts) -> str:
    return tuple_text([parts.info(i) for i in call.sinfo_args])


def _out_sinfo(call: Call, parts: Parts) -> list[str]:
    if len(call.sinfo_args) != 1:
        return [f"sinfo_args={_infos(call, parts)}"] if call.sinfo_args else []
    said = call.sinfo_args[0]
    if isinstance(said, TupleStructInfo) and len(said.fields) != 1:  # a list of one is no tuple
        return [f"out_sinfo=[{', '.join(parts.info(f) for f in said.fields)}]"]
    return [f"out_sinfo={parts.info(said)}"]


def _call_tir(call: Call, args: list[str], parts: Parts) -> str:
    name = str(call.op.name).removeprefix("relax.")
    ints = [f"tir_vars={args[2]}"] if len(args) > 2 else []
    found = [*args[:2], *_out_sinfo(call, parts), *_attributes(call, parts), *ints]
    return f"R.{name}({', '.join(found)})"


def _call_dps_packed(call: Call, args: list[str], parts: Parts) -> str:
    return f"R.call_dps_packed({', '.join([_packed(call, args), args[1], *_out_sinfo(call, parts)])})"


def _packed(call: Call, args: list[str]) -> str:
    callee = call.args[0]
    by_name = isinstance(callee, ExternFunc) and declared_info(callee) is None
    return quoted(callee.global_symbol) if by_name else args[0]


def _packed_call(call: Call, args: list[str], parts: Parts) -> str:
    name = str(call.op.name).removeprefix("relax.")
    return _plain(f"R.{name}", call, [_packed(call, args), *args[1:]], parts)


def _print(call: Call, args: list[str], parts: Parts) -> str:
    return f"R.print({', '.join([*args[1:], f'format={args[0]}'])})"


def _assert(call: Call, args: list[str], parts: Parts) -> str:
    rest = [f"format={args[1]}"] if len(args) > 1 else []
    return f"R.assert_op({', '.join([args[0], *args[2:], *rest])})"


def _hint_on_device(call: Call, args: list[str], parts: Parts) -> str:
    attrs: Any = call.attrs
    scope = "" if attrs.memory_scope == "global" else f", memory_scope={quoted(attrs.memory_scope)}"
    return f"R.hint_on_device({args[0]}, R.device(dev_type={attrs.dev_type}, dev_id={attrs.dev_id}){scope})"


_SPECIAL: dict[str, Callable[[Call, list[str], Parts], str]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    "relax.call_tir_with_grad": _call_tir,
    "relax.call_dps_packed": _call_dps_packed,
    "relax.call_pure_packed": _packed_call,
    "relax.call_inplace_packed": _packed_call,
    "relax.call_builtin_with_ctx": _packed_call,
    "relax.hint_on_device": _hint_on_device,
    "relax.print": _print,
    "relax.assert_op": _assert,
}
