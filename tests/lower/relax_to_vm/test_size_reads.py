"""Sizes that tensors hold are read late: the same results and errors as where they stand in the program."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baton._src.values.packed_func import FunctionTable
from tests.relax.machines import everywhere, fails_everywhere, machine, table

HEAD = """@R.function(pure=False)
def main(a: R.Tensor((1,), "int64"), b: R.Tensor((2,), "int64"), c: R.Tensor((), "int64")):
"""


class Program:
    """A random one, line by line: sizes computed and read, tensors of these sizes, casts, branches, other functions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.sizes: list[str] = []
        self.holders = [("a", 1), ("b", 2)]
        self.tensors: list[tuple[str, tuple[str, ...]]] = []
        self.count = 0
        for _ in range(self.random.randint(4, 12)):
            self.statement(self.lines, "    ")

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def statement(self, lines: list[str], indent: str, nested: bool = False) -> None:
        choose = self.random
        holder, length = choose.choice(self.holders)
        match choose.randrange(9):
            case 0:
                made = self.name("h")
                lines.append(f'{indent}{made} = R.add({holder}, R.const({choose.randint(0, 2)}, "int64"))')
                self.holders.append((made, length))
            case 1:
                made = self.name("h")
                lines.append(f"{indent}{made} = R.reshape({choose.choice(('c', 'c', 'a'))}, R.shape([1]))")
                self.holders.append((made, 1))
            case 2 | 3:
                self.read(lines, indent, holder, length)
            case 4 | 5 if self.sizes:
                made, dims = (
                    self.name("t"),
                    tuple(choose.choice((*self.sizes, "2")) for _ in range(choose.randint(1, 2))),
                )
                value = f'R.const({choose.randint(1, 5)}, "float32")'
                lines.append(f"{indent}{made} = R.broadcast_to({value}, R.shape([{', '.join(dims)}]))")
                self.tensors.append((made, dims))
            case 6 if self.tensors:
                (tensor, dims), made = choose.choice(self.tensors), self.name("t")
                lines.append(f"{indent}{made} = R.exp({tensor})")
                self.tensors.append((made, dims))
            case 7:
                made = self.name("h")
                info = f'R.Tensor(({length},), "int64")'
                lines.append(f'{indent}{made} = R.call_packed("test.seen", {holder}, sinfo_args={info})')
                self.holders.append((made, length))
            case 8 if not nested:
                self.branch(lines, indent)

    def read(self, lines: list[str], indent: str, holder: str, length: int) -> None:
        shape, sizes = self.name("s"), [self.name("n") for _ in range(length)]
        lines += [f"{indent}{size} = T.int64()" for size in sizes]
        lines.append(f"{indent}{shape} = R.tensor_to_shape({holder})")
        cast = f"R.match_cast({shape}, R.Shape([{', '.join(sizes)}]))"
        lines.append(f"{indent}{self.name('m')} = {cast}")
        if self.random.random() < 0.2:  # the shape itself is used, too
            lines.append(f'{indent}{self.name("p")} = R.call_packed("test.shape", {shape}, sinfo_args=R.Tuple())')
        self.sizes += sizes

    def branch(self, lines: list[str], indent: str) -> None:
        made, known = self.name("h"), (list(self.sizes), list(self.holders), list(self.tensors))
        lines.append(f'{indent}if R.less(c, R.const({self.random.randint(0, 4)}, "int64")):')
        for word in ("", "else:"):
            if word:
                lines.append(f"{indent}{word}")
            for _ in range(self.random.randint(0, 3)):
                self.statement(lines, indent + "    ", nested=True)
            lines.append(f'{indent}    {made} = R.add(a, R.const(1, "int64"))')
            self.sizes, self.holders, self.tensors = (list(part) for part in known)
        self.holders.append((made, 1))

    @property
    def text(self) -> str:
        results = [*(holder for holder, _ in self.holders), *(tensor for tensor, _ in self.tensors)]
        return HEAD + "\n".join(self.lines) + f"\n    return ({', '.join(results)},)\n"


def functions(seen: list[Any]) -> FunctionTable:
    """What packed functions see, in order."""

    def note(value: Any) -> Any:
        seen.append(value.numpy().tolist())
        return value

    def shape(value: Any) -> tuple[()]:
        seen.append(tuple(value))
        return ()

    return table(seen=note, shape=shape)


@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 400), marks=pytest.mark.fuzz)])
def test_random_programs(seeds: range) -> None:
    given = np.array([3], "int64"), np.array([1, 4], "int64"), np.array(2, "int64")
    for seed in seeds:
        seen: list[Any] = []
        everywhere(Program(seed).text, *given, functions=functions(seen))
        times = len(seen) // 3
        assert seen[:times] == seen[times : 2 * times] == seen[2 * times :], seed


READS = (
    HEAD
    + """\
    n = T.int64()
    k = T.int64()
    m = T.int64()
    sa = R.tensor_to_shape(a)
    ca = R.match_cast(sa, R.Shape([n]))
    b1 = R.add(b, R.const(1, "int64"))
    sb = R.tensor_to_shape(b1)
    cb = R.match_cast(sb, R.Shape([k, m]))
    x = R.broadcast_to(R.const(2.0, "float32"), R.shape([n, k]))
    y = R.match_cast(x, R.Tensor((m, 2), "float32"))
    return y
"""
)


def test_one_entry_computes_what_is_read_together() -> None:
    """Guards the number of steps: each read had ended a run of kernels, and was two instructions."""
    run = machine(READS, "compiled")
    kinds = [f.kind for f in run.executable.functions]
    assert kinds.count("native") == 2
    text = run.executable.as_text()
    assert text.count("read_sizes") == 2
    assert "tensor_to_shape" not in text


def test_sizes_that_are_read_late_are_checked() -> None:
    given = np.array([3], "int64"), np.array([1, 2], "int64"), np.array(0, "int64")
    assert everywhere(READS, *given).shape == (3, 2)
    fails_everywhere(READS, np.array([4], "int64"), *given[1:], says="expected 3")
    fails_everywhere(READS, np.array([-4], "int64"), *given[1:], says="-4")
    fails_everywhere(READS, np.array([3], "int64"), np.array([2, 2], "int64"), given[2], says="expected 2")
