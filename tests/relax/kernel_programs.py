"""Random Relax programs around random kernels: what passes make of kernels that no operator has.

    program = kernel_program(seed)
    Interpreter(program.module)["main"](*program.inputs())

Kernels take results of others, operators stand in between, so that fusion, memory and layouts meet them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.call_builders import call_tir
from baton._src.relax.literals import const
from baton._src.relax.nodes import Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX
from tests.tir.kernel_expressions import FLOATS, OPEN, Memory
from tests.tir.random_kernels import Kernel, Maker, filled, shaken

MOST_KERNELS = 3


@dataclass
class KernelProgram:
    """A module whose `main` takes tensors like `params`."""

    seed: int
    n: TirVar = field(default_factory=lambda: TirVar("n", "int64"))
    params: list[tuple[Memory, Var]] = field(default_factory=list)
    module: IRModule = field(default_factory=lambda: IRModule({}))

    def inputs(self, shake: int = 0) -> list[np.ndarray]:
        draws, n = np.random.default_rng(self.seed), OPEN[self.seed % len(OPEN)]
        return shaken([filled(m, n, draws) for m, _ in self.params], shake)

    def info(self, memory: Memory) -> TensorStructInfo:
        return TensorStructInfo([self.n if d == "n" else int(d) for d in memory.dims], memory.dtype)


def kernel_program(seed: int) -> KernelProgram:
    """The program of a seed."""
    r, program, builder = random.Random(seed), KernelProgram(seed), BlockBuilder()
    kernels = list(_kernels(r, seed))
    for kernel, taken in kernels:
        for memory in kernel.inputs[len(taken) :]:
            program.params.append((memory, Var(f"x{len(program.params)}", program.info(memory))))
    own = iter([v for _, v in program.params])
    values: list[Any] = []
    with builder.function("main", [v for _, v in program.params]):
        with builder.dataflow():
            for number, (kernel, taken) in enumerate(kernels):
                name = builder.add_func(kernel.func.without_attr("global_symbol"), f"kernel{number}")
                given = [*(values[i] for i in taken), *(next(own) for _ in kernel.inputs[len(taken) :])]
                infos = [program.info(m) for m in kernel.outputs]
                made = builder.emit(call_tir(name, given, infos[0] if len(infos) == 1 else TupleStructInfo(infos)))
                found = [made] if len(infos) == 1 else [builder.emit(TupleGetItem(made, i)) for i in range(len(infos))]
                values += [_changed(r, builder, m, v) for m, v in zip(kernel.outputs, found)]
            out = builder.emit_output(Tuple([v for v in values[:-1] if r.random() < 0.5] + values[-1:]))
        builder.emit_func_output(out)
    program.module = builder.get()
    return program


def _kernels(r: random.Random, seed: int) -> Iterator[tuple[Kernel, list[int]]]:
    """Kernels, and which of the results so far they take first."""
    results: list[Memory] = []
    for number in range(r.randint(1, MOST_KERNELS)):
        taken = r.sample(range(len(results)), min(len(results), r.randint(1, 2)))
        maker = Maker(seed * MOST_KERNELS + number)
        maker.index = "int64"
        kernel = maker.kernel(seed, [results[i] for i in taken])
        results += kernel.outputs
        yield kernel, taken


def _changed(r: random.Random, builder: BlockBuilder, memory: Memory, value: Any) -> Any:
    """Maybe by an operator or two that fusion likes."""
    for _ in range(r.choice((0, 1, 1, 2))):
        if memory.dtype == "bool":
            value = builder.emit(RELAX["logical_not"](value))
        elif memory.dtype in FLOATS:
            name = r.choice(("nn.relu", "negative", "tanh", "add", "multiply"))
            number = const(0.5, memory.dtype)
            value = builder.emit(RELAX.find(name)(*((value, number) if name in ("add", "multiply") else (value,))))
        else:
            name = r.choice(("add", "multiply", "maximum"))
            value = builder.emit(RELAX[name](value, const(r.randint(0, 5), memory.dtype)))
    return value
