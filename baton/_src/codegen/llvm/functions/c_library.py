"""Calls of the C library's functions, lane by lane."""

from __future__ import annotations

from baton._src.codegen.llvm.text import FunctionText, element_of, lanes_of, with_lanes


def call_lanes(f: FunctionText, name: str, kind: str, operands: list[str], last: str = "") -> str:
    """The function `name` (`sin`; for float32 `sinf`) of operands of `kind`; `last` is the type of a lane of the last
    operand where it is another.
    """
    element, lanes = element_of(kind), lanes_of(kind)
    spelled = name + ("f" if element == "float" else "")
    elements = [element] * (len(operands) - 1) + [last or element]
    symbol = f.module.import_function(spelled, element, elements)
    if lanes == 1:
        return f.value(f"call {element} {symbol}({', '.join(map(' '.join, zip(elements, operands)))})")
    found = "poison"
    for lane in range(lanes):
        items = [f.value(f"extractelement {with_lanes(e, lanes)} {o}, i64 {lane}") for e, o in zip(elements, operands)]
        item = f.value(f"call {element} {symbol}({', '.join(map(' '.join, zip(elements, items)))})")
        found = f.value(f"insertelement {kind} {found}, {element} {item}, i64 {lane}")
    return found
