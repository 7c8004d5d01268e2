"""The table of nodes that TVM's `save_json` writes, and what is made of it.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Tuple", "attrs": {"fields": "2"}}, ...],
     "b64ndarrays": ["..."], "attrs": {"tvm_version": "0.19.0"}}

All fields are texts: a number, a dtype, a word, or the index of another node; which of these says the class of the
node, so each `Kind` names the fields that refer. Node 0 is the null reference. Nodes are made after those they refer
to, each once and without recursion. Source: documents that users have published; classes and fields as in TVM v0.19.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import Span
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray
from baton._src.values.tvm_format import Bytes, read_tensor

CODE = "json-node"
_PARTS: Mapping[str, type] = {"type_key": str, "attrs": dict, "data": list, "keys": list}
"""Of a node, with the kind of JSON that each is."""


class Fields:
    """One node while it is made: its fields by name, references as the objects they refer to."""

    def __init__(self, document: Document, number: int) -> None:
        self.document = document
        self.number = number
        node = document.nodes[number]
        self.key = str(node.get("type_key", ""))
        self.raw: Mapping[str, Any] = node.get("attrs") or {}
        self.node = node

    def fail(self, message: str, help: str | None = None) -> DiagnosticError:
        """The error of this node."""
        return fail(CODE, f"node {self.number} ({self.key}): {message}", help=help)

    def has(self, name: str) -> bool:
        return name in self.raw

    def literal(self, name: str) -> str:
        """The text of a field, which must be there."""
        if name not in self.raw:
            raise self.fail(f"the field {name} is missing", f"it has: {', '.join(self.raw) or 'none'}")
        return str(self.raw[name])

    def ref(self, name: str, wanted: type | None = None) -> Any:
        """What a field refers to, a `wanted` if that is said; None for the null reference and where it is left out."""
        if name not in self.raw:
            return None
        found = self.document.made(self.document.index(self.raw[name], self))
        return self._checked(name, found, wanted)

    def part(self, name: str, wanted: type) -> Any:
        """What a field refers to, which must be there."""
        found = self.ref(name, wanted)
        if found is None:
            raise self.fail(f"the field {name} is missing", f"it has: {', '.join(self.raw) or 'none'}")
        return found

    def items(self, name: str, wanted: type | None = None) -> tuple[Any, ...]:
        """A list that a field refers to, of `wanted` items; the empty one for the null reference."""
        found: tuple[Any, ...] = self.ref(name, tuple) or ()
        for item in found if wanted is not None else ():
            if self._checked(name, item, wanted) is None:
                raise self.fail(f"an item of {name} is missing")
        return found

    def _checked(self, name: str, found: Any, wanted: type | None) -> Any:
        if wanted is not None and found is not None and not isinstance(found, wanted):
            raise self.fail(f"the field {name} refers to a {type(found).__name__}, no {wanted.__name__}")
        return found

    def text(self, name: str) -> str:
        """A word: `runtime.String` by reference (TVM from 0.7 on), or in place."""
        literal = self.literal(name)
        found = self.document.made(number_of(literal))
        return found if isinstance(found, str) else literal

    def int(self, name: str) -> int:
        try:
            return int(self.literal(name))
        except ValueError:
            raise self.fail(f"{name} must be an integer, found {self.literal(name)!r}") from None

    def float(self, name: str) -> float:
        try:
            return float(self.literal(name))
        except ValueError:
            raise self.fail(f"{name} must be a number, found {self.literal(name)!r}") from None

    def dtype(self, name: str) -> DataType:
        return DataType(self.literal(name) or "void")

    def tensor(self, name: str) -> NDArray:
        """A tensor beside the nodes."""
        return self.document.tensor(self.int(name), self)

    @property
    def span(self) -> Span | None:
        found = self.ref("span")
        return found if isinstance(found, Span) else None


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of nodes: which fields refer to other nodes, and what is made of one."""

    refs: tuple[str, ...]
    make: Callable[[Fields], Any]


class Document:
    """A whole document. `kinds` says what its classes of nodes become; unknown ones are errors that list themselves."""

    def __init__(self, content: Mapping[str, Any], kinds: Mapping[str, Kind]) -> None:
        nodes, tensors = content.get("nodes"), content.get("b64ndarrays", [])
        if not isinstance(nodes, list) or not all(isinstance(n, dict) for n in nodes) or not isinstance(tensors, list):
            raise fail(CODE, "the document has no list of nodes", help="is it the text that tvm.ir.save_json gave?")
        for number, node in enumerate(nodes):
            for part, kind in _PARTS.items():
                if not isinstance(node.get(part), (kind, type(None))):
                    raise fail(CODE, f"node {number}: its {part} must be a {kind.__name__}, found {node[part]!r:.60}")
        self.nodes: list[dict[str, Any]] = nodes
        self.kinds = kinds
        self._tensors: list[Any] = tensors
        self._loaded: dict[int, NDArray] = {}
        self._values: dict[int, Any] = {0: None}
        self.variables: dict[str, Any] = {}
        """Relay's variables by the node that is their identity."""
        root = content.get("root")
        if not isinstance(root, int) or not 0 < root < len(nodes):
            raise fail(CODE, f"the root is node {root!r} of {len(nodes)}", help="is the document complete?")
        self.root = root

    def read(self) -> Any:
        """The object of the root node."""
        self._refuse_unknown()
        pending, open_nodes = [self.root], set()
        while pending:
            number = pending[-1]
            if number in self._values:
                pending.pop()
            elif number in open_nodes:
                fields = Fields(self, number)
                self._values[number] = self._make(fields)
                open_nodes.discard(number)
                pending.pop()
            else:
                open_nodes.add(number)
                wanted = [n for n in self.references(number) if n not in self._values]
                looped = next((n for n in wanted if n in open_nodes), None)
                if looped is not None:
                    raise Fields(self, number).fail(f"it refers to node {looped}, which contains it")
                pending += reversed(wanted)
        return self._values[self.root]

    def _make(self, fields: Fields) -> Any:
        """What becomes of a node whose references are made."""
        kind = self.kinds.get(fields.key)
        if kind is None:  # only its operator says what the attributes of a call mean: they wait as they are
            return fields
        try:
            return kind.make(fields)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise fields.fail(f"its fields do not fit: {error}", f"it has: {dict(fields.raw)}"[:300]) from error

    def _refuse_unknown(self) -> None:
        keys = dict.fromkeys(str(n.get("type_key", "")) for n in self.nodes)
        unknown = [k for k in keys if k and k not in self.kinds and not is_attributes(k)]
        if unknown:
            number = next(i for i, n in enumerate(self.nodes) if n.get("type_key") == unknown[0])
            raise fail(
                CODE,
                f"node {number}: nodes of class {', '.join(unknown[:8])} are not read",
                help="what is read: functions and modules of Relay, Relax and TIR; or take the text of the module: "
                "mod.astext(), mod.script()",
            )

    def references(self, number: int) -> list[int]:
        """The nodes that node `number` refers to."""
        fields = Fields(self, number)
        kind = self.kinds.get(fields.key)
        if kind is None:  # attributes of a call: what they refer to are numbers, words and lists of them
            return [n for n in map(self.leaf, fields.raw.values()) if n]
        found = [self.index(fields.raw[name], fields) for name in kind.refs if name in fields.raw]
        found += [self.index(n, fields) for n in fields.node.get("data") or ()]
        return found

    def leaf(self, raw: Any) -> int:
        """The number in a field of attributes if it may refer to data (a list, a number, a word); else 0."""
        number = number_of(str(raw))
        known = 0 < number < len(self.nodes) and str(self.nodes[number].get("type_key", "")) in DATA
        return number if known else 0

    def index(self, raw: Any, fields: Fields) -> int:
        """The index that a field holds."""
        number = number_of(str(raw))
        if not 0 <= number < len(self.nodes):
            raise fields.fail(f"it refers to node {raw!r}, there are {len(self.nodes)}", "is the document complete?")
        return number

    def made(self, number: int) -> Any:
        """What became of a node that was made before."""
        return self._values.get(number)

    def tensor(self, number: int, fields: Fields) -> NDArray:
        """Tensor `number` of those beside the nodes."""
        if number not in self._loaded:
            if not 0 <= number < len(self._tensors):
                raise fields.fail(f"it holds tensor {number}, there are {len(self._tensors)}")
            try:
                raw = base64.b64decode(self._tensors[number], validate=True)
            except (binascii.Error, ValueError, TypeError) as error:
                raise fields.fail(f"tensor {number} is damaged: {error}") from None
            self._loaded[number] = read_tensor(Bytes(raw))
        return self._loaded[number]


_NUMBERS = ("IntImm", "FloatImm", "runtime.BoxInt", "runtime.BoxFloat", "runtime.BoxBool")
_NAMES = ("runtime.String", "tir.StringImm", "tir.Var", "tir.SizeVar", "tir.Any", "relay.Id", "relax.Id")
DATA = frozenset((*_NUMBERS, *_NAMES, "Array", "Map", "VirtualDevice", "VDevice"))
"""Classes of nodes that attributes of calls refer to: none of them leads back to a program."""


def number_of(text: str) -> int:
    """The index written in a text; -1 if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1


def is_attributes(key: str) -> bool:
    """Whether a class of nodes is that of an operator's attributes: `relay.attrs.Conv2DAttrs`."""
    return ".attrs." in key


def sequence(fields: Fields) -> tuple[Any, ...]:
    """An Array."""
    data: Sequence[Any] = fields.node.get("data") or ()
    return tuple(fields.document.made(int(n)) for n in data)


def mapping(fields: Fields) -> dict[Any, Any]:
    """A Map: keys are words beside the values, or nodes that alternate with them."""
    found = sequence(fields)
    keys = fields.node.get("keys")
    if keys is not None:
        return dict(zip(map(str, keys), found, strict=True))
    return dict(zip(found[::2], found[1::2], strict=True))
