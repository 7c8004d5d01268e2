"""Random Relax programs whose functions take and give everything: nested tuples, shapes, numbers, functions.

    program = signatures(seed)
    Interpreter(program.module)["main"](*program.arguments())

The other generators' functions take tensors. Here each has parameters of types drawn at random, takes them apart, puts
them together anew, chooses between them and calls the functions before it; some results are of no use to anybody.
Types are written as tuples: ("tensor", shape, dtype), ("tuple", a, b), ("shape", dims), ("number", of), ("fn", a).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Function,
    If,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import Var as TirVar
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import array
from tests.relax.build import RELAX

Kind = tuple[Any, ...]
WIDE: Kind = ("tensor", ("n", 3), "float32")
LINE: Kind = ("tensor", ("m",), "float32")
SCALAR: Kind = ("tensor", (), "float32")
WHOLE: Kind = ("tensor", ("n", 3), "int32")
FLAG: Kind = ("tensor", (), "bool")
TENSORS = (WIDE, WIDE, LINE, SCALAR, WHOLE, FLAG)
SIZES = {"n": 2, "m": 4, "k": 5}


@dataclass
class Signed:
    """A module, and the types of what its `main` takes."""

    module: IRModule
    kinds: list[Kind]
    seed: int

    def arguments(self, shake: int = 0) -> list[Any]:
        """What `main` is called with; floats moved by a few roundings for each `shake`."""
        draws, others = np.random.default_rng(self.seed), np.random.default_rng(shake)
        return [_value(kind, draws, others if shake else None) for kind in self.kinds]


def _value(kind: Kind, draws: np.random.Generator, shaken: np.random.Generator | None) -> Any:
    match kind:
        case ("tensor", dims, dtype):
            shape = [SIZES.get(d, d) for d in dims]
            if dtype != "float32":
                return array(draws.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype))
            numbers = draws.uniform(-1, 1, shape)
            return array((numbers * (1 + (shaken.uniform(-4e-7, 4e-7) if shaken else 0))).astype(dtype))
        case ("shape", dims):
            return ShapeTuple(SIZES.get(d, d) for d in dims)
        case ("number", of):
            return SIZES[of]
        case _:
            return tuple(_value(field_, draws, shaken) for field_ in kind[1:])


@dataclass
class _Body:
    """The function being made: its size variables, and what is in scope."""

    r: random.Random
    builder: BlockBuilder
    functions: list[tuple[Any, list[Kind], Kind]]
    sizes: dict[str, TirVar] = field(default_factory=lambda: {name: TirVar(name, "int64") for name in SIZES})
    scope: list[tuple[Kind, Any]] = field(default_factory=list)

    # ---- types

    def kind(self, depth: int = 2, functions: bool = False) -> Kind:
        choice = self.r.randrange(10) if depth else self.r.randrange(7)
        if choice < 5:
            return self.r.choice(TENSORS)
        if choice == 5:
            return ("shape", tuple(self.r.choice(["n", "m", "k", 2]) for _ in range(self.r.randint(0, 3))))
        if choice == 6:
            return ("fn", self.r.choice(TENSORS)) if functions else ("number", self.r.choice(list(SIZES)))
        return ("tuple", *(self.kind(depth - 1, functions) for _ in range(self.r.choice((0, 1, 2, 2, 3)))))

    def dims(self, dims: Any) -> list[Any]:
        return [self.sizes.get(d, d) for d in dims]

    def info(self, kind: Kind) -> StructInfo:
        match kind:
            case ("tensor", dims, dtype):
                return TensorStructInfo(self.dims(dims), dtype)
            case ("shape", dims):
                return ShapeStructInfo(self.dims(dims))
            case ("number", of):
                return PrimStructInfo("int64", self.sizes[of])
            case ("fn", of):
                return FuncStructInfo([self.info(of)], self.info(of))
            case _:
                return TupleStructInfo([self.info(f) for f in kind[1:]])

    # ---- values

    def known(self, kind: Kind) -> list[Any]:
        return [v for k, v in self.scope if k == kind]

    def make(self, kind: Kind, depth: int = 2) -> Any:
        """A value of the type, bound to a variable or a leaf."""
        known = self.known(kind)
        if known and (depth <= 0 or self.r.random() < 0.5):
            return self.r.choice(known)
        if depth > 0 and self.r.random() < 0.2:
            return self.chosen(kind, depth - 1)
        match kind:
            case ("tensor", dims, dtype):
                return self.builder.emit(self.tensor(kind, dims, dtype, depth - 1))
            case ("shape", dims):
                return ShapeExpr(self.dims(dims))
            case ("number", of):
                return PrimValue(self.sizes[of])
            case ("fn", of):
                return self.function(of)
            case _:
                made = Tuple([self.make(f, depth - 1) for f in kind[1:]])
                return self.builder.emit(made) if self.r.random() < 0.7 else made

    def tensor(self, kind: Kind, dims: Any, dtype: str, depth: int) -> Any:
        functions = self.known(("fn", kind))
        if functions and self.r.random() < 0.5:
            return Call(self.r.choice(functions), [self.make(kind, depth)])
        if depth < 0:
            return RELAX["full"](self.dims(dims), const(self.r.randint(0, 1), dtype), dtype)
        if dtype == "bool":
            return RELAX["less"](self.make(SCALAR, depth), self.make(SCALAR, depth))
        if kind == SCALAR:
            return RELAX["tanh"](RELAX["sum"](self.make(self.r.choice((WIDE, LINE)), depth)))
        if kind == LINE and self.r.random() < 0.3:
            return RELAX["add"](self.make(LINE, depth), self.make(SCALAR, depth))
        name = self.r.choice(("add", "maximum", "subtract", "minimum"))
        return RELAX.find(name)(self.make(kind, depth), self.make(kind, depth))

    def function(self, of: Kind) -> Any:
        """A local function, which captures something."""
        param = Var("p", self.info(of))
        body = RELAX["logical_or" if of == FLAG else "maximum"](param, self.make(of, 0))
        return self.builder.emit(Function([param], body, self.info(of), True), "local")

    def chosen(self, kind: Kind, depth: int) -> Any:
        flag, info = self.make(FLAG, depth), self.info(kind)
        values = [self.make(kind, depth) for _ in range(2)]
        branches = []
        for value in values:
            bound = Var("b", info)
            branches.append(SeqExpr([BindingBlock([VarBinding(bound, value)])], bound))
        return self.builder.emit(If(flag, *branches))

    # ---- statements

    def statement(self) -> None:
        kind = self.r.randrange(4)
        tuples = [(k, v) for k, v in self.scope if k[0] == "tuple" and len(k) > 1]
        if kind == 0 and tuples:
            whole, value = self.r.choice(tuples)
            index = self.r.randrange(len(whole) - 1)
            self.scope.append((whole[1 + index], self.builder.emit(TupleGetItem(value, index))))
        elif kind == 1 and self.functions:
            callee, kinds, result = self.r.choice(self.functions)
            given = [self.make(k, 1) for k in kinds]
            self.scope.append((result, self.builder.emit(Call(callee, given))))
        elif kind == 2:
            made = self.kind(functions=True)
            value = (
                self.builder.match_cast(self.make(made), self.info(made)) if made[0] == "tensor" else self.make(made)
            )
            self.scope.append((made, value))
        else:
            made = self.kind(functions=True)
            self.scope.append((made, self.make(made)))


def signatures(seed: int) -> Signed:
    """The program of a seed."""
    r, builder = random.Random(seed), BlockBuilder()
    functions: list[tuple[Any, list[Kind], Kind]] = []
    count = r.randint(1, 3)
    for number in range(count):
        is_main = number == count - 1
        body = _Body(r, builder, functions)
        kinds = [body.kind(functions=not is_main) for _ in range(r.randint(1, 3))] + [WIDE, LINE, ("shape", ("k",))]
        r.shuffle(kinds)
        params = [Var(f"a{i}", body.info(kind)) for i, kind in enumerate(kinds)]
        body.scope = list(zip(kinds, params))
        name = "main" if is_main else f"part{number}"
        with builder.function(name, params, private=not is_main):
            for _ in range(r.randint(1, 6)):
                body.statement()
            result = body.kind(functions=not is_main)
            made = builder.emit_func_output(body.make(result, 3))
        functions.append((made, kinds, result))
    return Signed(builder.get(), kinds, seed)
