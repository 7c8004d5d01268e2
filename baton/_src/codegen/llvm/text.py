"""Writing LLVM IR as text: a module of one kernel, and functions being written in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

_PURE = frozenset(
    (
        *("getelementptr", "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "and", "or"),
        *("xor", "icmp", "fcmp", "select", "sext", "zext", "trunc", "insertelement", "extractelement"),
        *("shufflevector", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc", "bitcast", "ptrtoint"),
    )
)
"""Instructions whose result depends on their operands alone."""


class ModuleText:
    """The parts of one kernel's module, in the order they were needed."""

    def __init__(self, features: Collection[str] = ()) -> None:
        self.features = features
        """Of the processor it is for."""
        self.declarations: dict[str, str] = {}
        """LLVM intrinsics and other kernels, by name."""
        self.imports: dict[str, None] = {}
        """Functions of the process or the runtime, which the loader resolves."""
        self.definitions: dict[str, str] = {}
        """Finished functions by name (helpers such as exp are written once)."""
        self.constants: list[str] = []
        self._memory: dict[tuple[bytes, int], str] = {}
        self.messages: dict[str, str] = {}

    def declare(self, name: str, result: str, params: Iterable[str]) -> str:
        """Make `@name` callable; returns the name with its sigil."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(params)})"
        return f"@{name}"

    def import_function(self, name: str, result: str, params: Iterable[str]) -> str:
        """Like `declare`, for a function that comes from outside the object code."""
        self.imports[name] = None
        return self.declare(name, result, params)

    def string(self, content: str) -> str:
        """A pointer to a constant C string."""
        return self.memory(content.encode() + b"\0", 1)

    def memory(self, data: bytes, align: int) -> str:
        """A pointer to constant bytes."""
        name = self._memory.get((data, align))
        if name is None:
            spelled = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
            name = self._memory[data, align] = f"@.str.{len(self._memory)}"
            kind = f"private unnamed_addr constant [{len(data)} x i8]"
            self.constants.append(f'{name} = {kind} c"{spelled}", align {align}')
        return name

    def fault_cell(self) -> str:
        """What gives the address of the cell faults are noted in (see `runtime.native.faults`)."""
        return self.import_function("baton_fault_cell", "ptr", [])

    def render(self, attributes: str) -> str:
        """The whole module's text; every defined function gets `attributes`."""
        parts = [*self.constants, *self.declarations.values(), *self.definitions.values()]
        return "\n".join(parts) + f"\nattributes #0 = {{ {attributes} }}\n"


class FunctionText:
    """A function being written, instruction after instruction."""

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.block = "entry"
        """The label of the block being written (for phis)."""
        self._lines: list[str] = []
        self._allocas: list[str] = []
        self._count = 0
        self._known: dict[str, str] = {}
        """Pure instructions of this block, and of those it is only reached through, with their results: removing
        duplicates would otherwise be most of LLVM's work.
        """

    def value(self, instruction: str) -> str:
        """The name of an instruction's result; one that this block has computed already is not written again."""
        found = self._known.get(instruction)
        if found is not None:
            return found
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {instruction}")
        if instruction.partition(" ")[0] in _PURE:
            self._known[instruction] = name
        return name

    def line(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self._lines.append(f"  {instruction}")

    def new_label(self, hint: str) -> str:
        """A fresh label, not placed yet."""
        self._count += 1
        return f"{hint}.{self._count}"

    def place(self, label: str) -> None:
        """Start the block called `label`."""
        self.block = label
        self._known = {}
        self._lines.append(f"{label}:")

    def branch(self, label: str) -> None:
        """Leave the block for another."""
        self.line(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str) -> None:
        """Leave the block for one of two."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")

    @contextmanager
    def aside(self, condition: str, hint: str, behind: str) -> Iterator[None]:
        """Write a block that is entered if `condition` holds, and that leaves the function. The one called `behind`
        follows, where all that was known before is known still.
        """
        inside, good, known = self.new_label(hint), self.new_label(behind), self._known
        self.branch_if(condition, inside, good)
        self.place(inside)
        yield
        self.place(good)
        self._known = known

    def is_news(self, fact: str) -> bool:
        """Whether nobody has said `fact` yet on the way to here; from now on it is known."""
        is_news = fact not in self._known
        self._known[fact] = "true"
        return is_news

    def phi(self, kind: str, incoming: Iterable[tuple[str, str]]) -> str:
        """A phi of (value, block label) pairs."""
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in incoming)
        return self.value(f"phi {kind} {pairs}")

    def alloca(self, kind: str, count: int, align: int) -> str:
        """Stack memory that lives as long as the function runs."""
        self._count += 1
        name = f"%a{self._count}"
        self._allocas.append(f"  {name} = alloca [{count} x {kind}], align {align}")
        return name

    def intrinsic(self, name: str, result: str, *operands: tuple[str, str], flags: str = "") -> str:
        """Call an LLVM intrinsic with (type, value) operands."""
        self.module.declare(name, result, (kind for kind, _ in operands))
        text = ", ".join(f"{kind} {value}" for kind, value in operands)
        return self.value(f"call {flags}{result} @{name}({text})")

    def finish(self, header: str) -> str:
        """The function's text, under `header` (`define void @f(...)`)."""
        return "\n".join([f"{header} {{", "entry:", *self._allocas, *self._lines, "}"])


def mangle(kind: str) -> str:
    """The suffix LLVM gives overloaded intrinsics: `<16 x float>` -> `v16f32`."""
    if kind.startswith("<"):
        lanes, _, element = kind[1:-1].partition(" x ")
        return f"v{lanes}{mangle(element)}"
    return {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(kind, kind)


def lanes_of(kind: str) -> int:
    """How many lanes a type has."""
    return int(kind[1:].partition(" x ")[0]) if kind.startswith("<") else 1


def element_of(kind: str) -> str:
    """The type of one lane."""
    return kind[1:-1].partition(" x ")[2] if kind.startswith("<") else kind


def with_lanes(element: str, lanes: int) -> str:
    """`float`, 16 -> `<16 x float>`."""
    return element if lanes == 1 else f"<{lanes} x {element}>"
