"""TVM's functions that copy a node of Relay with some fields changed: `CallWithFields(call, args=[...])`.

None keeps a field; a node of which nothing changes is given back itself. What inference said of the old node is not
said of a changed one. `virtual_device` is accepted: there is one device.
"""

from __future__ import annotations

from typing import Any, TypeVar

from baton._src.driver.wiring import wire
from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import variable_name
from baton._src.ir.node import Node
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.support.diagnostics import fail

N = TypeVar("N", bound=Node)


def _changed(node: N, kind: type[N], **fields: Any) -> N:
    """`node` with the fields that are not None."""
    wire()
    if not isinstance(node, kind):
        message = f"{kind.__name__}WithFields takes a {kind.__name__}, not a {type(node).__name__}"
        raise fail("api", message, kind=TypeError)
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items() if v is not None}
    known = {name: getattr(node, name) for name in given}
    if all(_same(known[name], content) for name, content in given.items()):
        return node
    return node.with_fields(**given, checked_type_=None, struct_info_=None)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(a is b for a, b in zip(old, new))
    return old is new


def ConstantWithFields(constant: Constant, data: Any = None, virtual_device: Any = None, span: Any = None) -> Constant:
    """A constant with other contents."""
    return _changed(constant, Constant, data=data, span=span)


def TupleWithFields(tup: Tuple, fields: Any = None, virtual_device: Any = None, span: Any = None) -> Tuple:
    """A tuple of other fields."""
    return _changed(tup, Tuple, fields=fields, span=span)


def VarWithFields(
    variable: Var, vid: Any = None, type_annotation: Any = None, virtual_device: Any = None, span: Any = None
) -> Var:
    """A variable (another one, if anything changes) of another name (`vid`) or type."""
    name = None if vid is None or variable_name(vid) == variable.name_hint else variable_name(vid)
    return _changed(variable, Var, name_hint=name, type_annotation=type_annotation, span=span)


def CallWithFields(
    call: Call,
    op: Any = None,
    args: Any = None,
    attrs: Any = None,
    type_args: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> Call:
    """A call of something else, or on other arguments."""
    return _changed(call, Call, op=op, args=args, attrs=attrs, written_type_args=type_args, span=span)


def LetWithFields(
    let: Let, variable: Any = None, value: Any = None, body: Any = None, virtual_device: Any = None, span: Any = None
) -> Let:
    """A let of other parts."""
    return _changed(let, Let, var=variable, value=value, body=body, span=span)


def IfWithFields(
    if_expr: If,
    cond: Any = None,
    true_branch: Any = None,
    false_branch: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> If:
    """An if of other parts."""
    return _changed(if_expr, If, cond=cond, true_branch=true_branch, false_branch=false_branch, span=span)


def TupleGetItemWithFields(
    tuple_get_item: TupleGetItem,
    tuple_value: Any = None,
    index: int | None = None,
    virtual_device: Any = None,
    span: Any = None,
) -> TupleGetItem:
    """Another item, or the item of another tuple."""
    return _changed(tuple_get_item, TupleGetItem, tuple_value=tuple_value, index=index, span=span)


def FunctionWithFields(
    function: Function,
    params: Any = None,
    body: Any = None,
    ret_type: Any = None,
    ty_params: Any = None,
    attrs: Any = None,
    virtual_device: Any = None,
    span: Any = None,
) -> Function:
    """A function of other parts; `ret_type` is the type of the result as written down."""
    said = None if attrs is None else DictAttrs(attrs.items())
    parts = {"params": params, "body": body, "ret_annotation": ret_type, "type_params": ty_params, "attrs": said}
    return _changed(function, Function, span=span, **parts)


def RefCreateWithFields(
    ref_create: RefCreate, value: Any = None, virtual_device: Any = None, span: Any = None
) -> RefCreate:
    """A reference to something else."""
    return _changed(ref_create, RefCreate, value=value, span=span)


def RefReadWithFields(ref_read: RefRead, ref: Any = None, virtual_device: Any = None, span: Any = None) -> RefRead:
    """The content of another reference."""
    return _changed(ref_read, RefRead, ref=ref, span=span)


def RefWriteWithFields(
    ref_write: RefWrite, ref: Any = None, value: Any = None, virtual_device: Any = None, span: Any = None
) -> RefWrite:
    """A write of another value, or to another reference."""
    return _changed(ref_write, RefWrite, ref=ref, value=value, span=span)
