"""Attributes of a call, from the texts of a node such as `relay.attrs.Conv2DAttrs`.

A text is a number, a word or a dtype in place, or the index of a node (lists, `Integer`s and `IndexExpr`s, `String`s).
Which one is a matter of TVM's declaration of the field: our own records say most of it (what they leave open, with
None or lists, TVM holds by reference), and the two tables below the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.driver.tvm_json.document import Fields
from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import Op
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.values.dtype import DataType

_BY_REFERENCE = {
    ("TakeAttrs", "batch_dims"),
    ("GatherAttrs", "axis"),
    ("GatherNDAttrs", "batch_dims"),
    ("StackAttrs", "axis"),
    ("RepeatAttrs", "repeats"),
    ("ReverseAttrs", "axis"),
    ("ReverseSequenceAttrs", "seq_axis"),
    ("ReverseSequenceAttrs", "batch_axis"),
    ("TopKAttrs", "k"),
    ("ScanopAttrs", "exclusive"),
    ("ScatterAttrs", "axis"),
    ("ScatterElementsAttrs", "axis"),
}
"""Single numbers that TVM holds as `Integer` or `Bool`, i.e. by reference."""
_IN_PLACE = {"a_min", "a_max"} | {
    (owner, "axis")
    for owner in ("ExpandDimsAttrs", "ConcatenateAttrs", "SplitAttrs", "QuantizeAttrs", "RequantizeAttrs")
}
"""Single numbers in place where our records leave open what they hold."""
_PLAIN = ("bool", "int", "float")
"""Kinds of fields that hold a number in place; all others may hold a list or nothing."""
_DTYPES = {"dtype", "out_dtype", "dtype_hint"}
_OF_TUNERS = {"auto_scheduler_rewritten_layout", "meta_schedule_original_shape", "start", "stop", "step"}
"""What TVM notes for its tuners, and operands that are noted among the attributes too: nothing we need."""
_WORDS = {"true": True, "false": False, "True": True, "False": False}


def attributes(noted: Any, op: Any) -> Any:
    """The attributes `noted` for a call of `op`: the record of an operator, else a plain mapping; None for none."""
    return _Reader(noted).read(op) if isinstance(noted, Fields) else noted


class _Reader:
    """Reads one node of attributes."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def read(self, op: Any) -> Any:
        if not isinstance(op, Op) or op.definition is None:
            return DictAttrs({name: self._open(name) for name in self.fields.raw})
        record: Any = op.definition.attrs
        values = {}
        for name in self.fields.raw:
            if record.accepts(name):
                values[name] = self._value(name, record.kinds.get(name, "Any"))
            elif name not in _OF_TUNERS and self._open(name):
                help = f"it has: {', '.join(record.names) or 'none'}"
                raise self.fields.fail(f"{op.name} has no attribute {name}", help)
        try:
            return (
                record(**values).in_relax() if op.name.startswith("relax.") else record(**record.said_in_relay(values))
            )
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise self.fields.fail(f"{op.name}: these attributes do not fit: {error}") from None

    def _value(self, name: str, annotation: str) -> Any:
        fields, owner = self.fields, self.fields.key.rpartition(".")[2]
        if name in _DTYPES:
            return fields.dtype(name)
        if (owner, name) in _BY_REFERENCE:
            return plain(fields.ref(name))
        if annotation == "str":
            return fields.text(name)
        if annotation not in _PLAIN and name not in _IN_PLACE and (owner, name) not in _IN_PLACE:
            return self._open(name)
        return _number(fields, name, annotation)

    def _open(self, name: str) -> Any:
        """By reference if the text is an index, else in place."""
        literal = self.fields.literal(name)
        if literal == "0":
            return None
        number = self.fields.document.leaf(literal)
        return plain(self.fields.document.made(number)) if number else _word(literal)


def _number(fields: Fields, name: str, annotation: str) -> Any:
    if annotation == "bool":
        literal = fields.literal(name)
        return _WORDS[literal] if literal in _WORDS else bool(fields.int(name))
    if annotation == "int":
        return fields.int(name)
    if annotation == "float":
        return fields.float(name)
    return _word(fields.literal(name))


def _word(literal: str) -> Any:
    """A number if it reads as one, else a dtype's name or any other word as it is."""
    for reads in (int, float):
        try:
            return reads(literal)
        except ValueError:
            continue
    return literal


def plain(value: Any) -> Any:
    """Numbers and words as Python has them; lists as tuples. Symbolic dims stay what they are."""
    if isinstance(value, (IntImm, FloatImm)):
        return bool(value.value) if value.dtype == DataType("bool") else value.value
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    return value
