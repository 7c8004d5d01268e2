"""A content hash of kernels: equal kernels have equal digests, in every process; unequal ones never do.

`structural_hash` is 64 bits and meant for tables that compare afterwards. A digest stands for the kernel itself in a
cache on disk, so it is a cryptographic hash of everything that determines the code: classes and values of all nodes,
variables by order of first occurrence. Names do not count (unless `names`), nor does `global_symbol`.

Parts that are equal are numbered once, whether they are one object or copies, so the digest depends on contents alone.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.node import Node, Role
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray

_BYTES = 20
_NOT_CONTENT = ("global_symbol",)


@dataclass(frozen=True, slots=True)
class KernelDigest:
    """`name` is the hash, in hexadecimal; `size` a rough measure of the compile time."""

    name: str
    size: int


def kernel_digest(function: PrimFunc, names: bool = False) -> KernelDigest | None:
    """The digest of `function`; None if it holds something whose content cannot be told (a Python object).

    With `names` variables and buffers count with their names: checked code mentions them in messages. Functions that
    are called count by name only.
    """
    writer = _Writer(names)
    try:
        last = writer.run(function)
    except _Opaque:
        return None
    state = blake2b(digest_size=_BYTES)
    for text in writer.numbers:
        state.update(text.encode())
        state.update(b"\0")
    state.update(last.encode())
    return KernelDigest(state.hexdigest(), len(writer.numbers))


class _Opaque(Exception):
    """A value that has no content to speak of."""


_fields_of: dict[type, tuple[str, ...]] = {}


def _fields(cls: type[Node]) -> tuple[str, ...]:
    found = _fields_of.get(cls)
    if found is None:
        named = {"name"} if cls.is_variable else set()
        found = _fields_of[cls] = tuple(s.name for s in cls.specs if s.role is not Role.NOTE and s.name not in named)
    return found


class _Writer:
    """Numbers parts bottom-up; a part is written as its class and the numbers (or values) of its fields."""

    def __init__(self, names: bool) -> None:
        self.names = names
        self.numbers: dict[str, int] = {}
        """By text of a part its number; in the order of numbers."""
        self.known: dict[Node, str] = {}
        self.variables = 0

    def run(self, function: PrimFunc) -> str:
        stack: list[tuple[Any, bool]] = [(function, False)]
        known = self.known
        while stack:
            item, ready = stack.pop()
            if not isinstance(item, Node):
                stack.extend((part, False) for part in reversed(_parts(item)))
            elif item in known:
                continue
            elif ready:
                known[item] = self._number(item)
            else:
                stack.append((item, True))
                if not isinstance(item, (GlobalVar, Op)):
                    for name in reversed(_fields(type(item))):
                        content = getattr(item, name)
                        if isinstance(content, (Node, tuple, list, dict, Attrs)):
                            stack.append((content, False))
        return known[function]

    def _number(self, item: Node) -> str:
        cls = type(item)
        if isinstance(item, GlobalVar):
            text = f"@{item.name_hint!r}"
        elif isinstance(item, Op):
            text = f"op {item.name!r}"
        else:
            fields = ",".join([self._text(getattr(item, name)) for name in _fields(cls)])
            text = f"{cls.__qualname__}({fields})"
            if cls.is_variable:
                self.variables += 1
                text = f"{self.variables}:{text}"
            if self.names:
                text += f"{getattr(item, 'name', '')!r}"
        return f"#{self.numbers.setdefault(text, len(self.numbers))}"

    def _text(self, content: Any) -> str:
        if isinstance(content, Node):
            return self.known[content]
        if isinstance(content, (tuple, list)):
            return f"[{','.join([self._text(c) for c in content])}]"
        if isinstance(content, dict):
            entries = [(self._text(k), self._text(v)) for k, v in content.items() if k not in _NOT_CONTENT]
            return f"{{{','.join(sorted(f'{k}:{v}' for k, v in entries))}}}"
        if isinstance(content, Attrs):
            fields = ",".join([f"{n}={self._text(getattr(content, n))}" for n in content.names])
            return f"{type(content).__qualname__}({fields})"
        return _value_text(content)


def _parts(container: Any) -> list[Any]:
    """The nodes and containers in a container; keys of a dict (parameters, in buffer maps) before its values."""
    if isinstance(container, dict):
        found = [p for k, v in container.items() if k not in _NOT_CONTENT for p in (k, v)]
    elif isinstance(container, Attrs):
        found = [getattr(container, n) for n in container.names]
    else:
        found = list(container)
    return [p for p in found if isinstance(p, (Node, tuple, list, dict, Attrs))]


def _value_text(content: Any) -> str:
    """Values by type and content, so that 1, 1.0 and True differ."""
    if content is None or isinstance(content, (bool, int, float, str, bytes)):
        return repr(content)
    if isinstance(content, Enum):
        return f"{type(content).__qualname__}.{content.name}"
    if isinstance(content, DataType):
        return str(content)
    if isinstance(content, np.generic):
        return f"{content.dtype}:{content.tobytes().hex()}"
    data = content.data if isinstance(content, NDArray) else content
    if isinstance(data, np.ndarray) and data.dtype != object:
        digest = blake2b(np.ascontiguousarray(data).view(np.uint8).data, digest_size=_BYTES).hexdigest()
        return f"{data.dtype}{data.shape}{digest}"
    raise _Opaque
