"""Random well-formed Relax programs, with inputs to run them on (for hypothesis).

    @given(programs())
    def test(program): Interpreter(program.module, program.functions)["main"](*program.inputs(n=3))

They have symbolic shapes, dataflow blocks, branches, bounded recursion, local functions that capture, tuples, casts,
packed calls with effects, kernels, constants (`richer_statements` adds closures as values, several outputs, objects,
other shapes and dtypes). Every tensor of the pool is float32 of shape (n, 4); values stay small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.call_builders import call_packed, call_tir
from baton._src.relax.literals import const
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    DataflowBlock,
    Expr,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_builders import print_values, shape_of
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.tir.expr import Var as TirVar
from baton._src.values.packed_func import FunctionTable
from baton._src.values.tensor import NDArray, array
from tests.relax.build import RELAX, module
from tests.relax.random_programs.index_statements import INDICES
from tests.relax.random_programs.odd_statements import ODD, ODD_EFFECTS
from tests.relax.random_programs.richer_statements import RICHER, RICHER_EFFECTS
from tests.relax.random_programs.window_statements import WINDOWS

KERNEL = """
@T.prim_func(private=True)
def double(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, T.int64(4)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(0.5)

@T.prim_func(private=True)
def both(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, j in T.grid(n, T.int64(4)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - T.float32(0.25)
    for i, j in T.grid(n, T.int64(4)):
        with T.block("c"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj] * T.float32(0.25)

@T.prim_func(private=True)
def halve(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    for i, j in T.grid(n, T.int64(4)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * T.float32(0.5)

@T.prim_func(private=True)
def raise_by(a: T.handle, b: T.handle, k: T.int64, m: T.int64):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, T.int64(4)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(0.5) + T.Cast("float32", k) / T.Cast("float32", m + T.int64(8))

@R.function(private=True)
def even(i: R.Tensor((), "int64"), x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    if R.less_equal(i, R.const(0, "int64")):
        r = x
    else:
        j = R.subtract(i, R.const(1, "int64"))
        y = R.tanh(x)
        r = cls.odd(j, y)
    return r

@R.function(private=True)
def odd(i: R.Tensor((), "int64"), x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    if R.less_equal(i, R.const(0, "int64")):
        r = R.negative(x)
    else:
        j = R.subtract(i, R.const(1, "int64"))
        z = cls.even(j, x)
        r = R.add(z, x)
    return r

@R.function
def seed(x: R.Tensor) -> R.Tensor:
    return x
"""

ALL_ODD = (*ODD, *WINDOWS, *INDICES)


@dataclass(repr=False)
class Program:
    """A module with a public `main`, and what running it needs. Tests `note` its text; its `repr` is short."""

    module: IRModule
    pure: bool

    def __repr__(self) -> str:
        return "<program>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis prints: it would take a dataclass apart, node by node."""
        printer.text(repr(self))

    @property
    def functions(self) -> FunctionTable:
        """The packed functions it calls, with nobody reading the log."""
        return self.logging_functions([])

    def logging_functions(self, log: list[Any]) -> FunctionTable:
        """The packed functions it calls: `test.note` logs a tensor's contents, `test.inc` adds one in place."""
        table = FunctionTable()
        table.register("test.note", lambda x: log.append(np.array(x.data)))
        table.register("test.inc", _increase)
        table.register("test.same", lambda x: x)
        table.register("test.half", lambda x: array(x.numpy() * np.float32(0.5)))
        table.register("test.mean", _mean)
        table.register("test.inc_same", _increased)
        table.register("test.divide", lambda x, number: array(x.numpy() / np.float32(number)))
        table.register("test.some", lambda x: array(x.numpy()[: int(abs(x.numpy()[0, 0]) * 8) % (len(x.numpy()) + 1)]))
        return table

    def inputs(self, n: int = 3, seed: int = 0) -> list[Any]:
        """Arguments for `main`: two (n, 4) tensors, one (4,) tensor, a flag, a small counter."""
        rng = np.random.default_rng(seed)
        wide = [rng.uniform(-1, 1, (n, 4)).astype(np.float32) for _ in range(2)]
        return [*wide, rng.uniform(-1, 1, 4).astype(np.float32), np.bool_(seed % 2), np.int64(seed % 4)]


def _increase(x: NDArray) -> None:
    x.data[...] += 1


def _increased(x: NDArray) -> NDArray:
    _increase(x)
    return x


def _mean(x: NDArray, y: NDArray, out: NDArray) -> None:
    out.data[...] = (x.data + y.data) * np.float32(0.5)


@st.composite
def programs(
    draw: Callable[..., Any], max_statements: int = 8, effects: bool | None = None, odd: bool = False
) -> Program:
    """A program; `effects` forces or forbids impure statements, `odd` adds those of `ALL_ODD`."""
    impure = draw(st.booleans()) if effects is None else effects
    base = _base()
    builder = BlockBuilder(base)
    helpers: list[GlobalVar] = []
    for index in range(draw(st.integers(0, 2))):
        helpers.append(_function(draw, builder, helpers, f"helper{index}", False, max_statements // 2, odd))
    _function(draw, builder, helpers, "main", impure, max_statements, odd)
    return Program(_without_unused(builder.get()), not impure)


@cache
def _base() -> IRModule:
    """What every program starts from. Modules do not change, so all may share it."""
    return module(KERNEL)


def _without_unused(whole: IRModule) -> IRModule:
    """The functions that `main` needs."""
    functions = {v.name_hint: (v, f) for v, f in whole.functions.items()}
    needed, pending = {"main"}, ["main"]
    while pending:
        used = {n.name_hint for n in post_order(functions[pending.pop()][1]) if isinstance(n, GlobalVar)} - needed
        needed |= used
        pending += used
    return IRModule({v: f for v, f in whole.functions.items() if v.name_hint in needed})


def _function(
    draw: Callable[..., Any],
    builder: BlockBuilder,
    helpers: list[GlobalVar],
    name: str,
    impure: bool,
    size: int,
    odd: bool,
) -> GlobalVar:
    n = TirVar("n", "int64")
    wide, flat = TensorStructInfo((n, 4), "float32"), TensorStructInfo((4,), "float32")
    params = [Var("x", wide), Var("y", wide), Var("b", flat)]
    params += [Var("flag", TensorStructInfo((), "bool")), Var("count", TensorStructInfo((), "int64"))]
    with builder.function(name, params, pure=not impure, private=name != "main"):
        generator = _Statements(draw, builder, n, params, helpers, impure, odd)
        for _ in range(draw(st.integers(1, size))):
            generator.statement()
        return builder.emit_func_output(generator.result())


class _Statements:
    """Emits random statements into the current function; `pool` holds the (n, 4) tensors in scope."""

    def __init__(
        self,
        draw: Callable[..., Any],
        builder: BlockBuilder,
        n: TirVar,
        params: list[Var],
        helpers: list[GlobalVar],
        impure: bool,
        odd: bool,
    ) -> None:
        self.draw = draw
        self.builder = builder
        self.n = n
        self.params = params
        self.helpers = helpers
        self.impure = impure
        self.odd = odd
        self.wide: StructInfo = TensorStructInfo((n, 4), "float32")
        self.pool: list[Any] = list(params[:2])
        self.tuples: list[Any] = []

    def pick(self) -> Any:
        return self.draw(st.sampled_from(self.pool))

    def result(self) -> Any:
        """What the function returns: a tensor, or a tuple of some."""
        if self.draw(st.booleans()):
            return self.pick()
        return Tuple([self.pick(), Tuple([self.pick(), shape_of(self.pick())])])

    def statement(self) -> None:
        """One statement of a random kind."""
        kinds = [self._operator, self._operator, self._tuple, self._item, self._branch, self._dataflow, self._cast]
        kinds += [self._kernel, self._local, self._recursive, self._alias]
        kinds += [partial(rich, self) for rich in (*RICHER, *(ALL_ODD if self.odd else ()))]
        if self.helpers:
            kinds.append(self._helper)
        if self.impure:
            kinds += [self._effect, self._mutate, self._note, self._print]
            kinds += [partial(rich, self) for rich in (*RICHER_EFFECTS, *(ODD_EFFECTS if self.odd else ()))]
        self.draw(st.sampled_from(kinds))()

    def add(self, expr: Any) -> None:
        self.pool.append(self.builder.emit(expr))

    def operator(self, pool: list[Any]) -> Any:
        """A nested expression over tensors of the pool, of shape (n, 4)."""
        pick = self.draw(st.sampled_from(pool))
        other = self.draw(st.sampled_from([*pool, self.params[2], const(0.5)]))
        name = self.draw(st.sampled_from(["add", "subtract", "maximum", "tanh", "nn.relu", "negative"]))
        build = RELAX.find(name)
        expr = build(pick, other) if name in ("add", "subtract", "maximum") else build(pick)
        return RELAX["tanh"](expr) if self.draw(st.booleans()) else expr

    def _operator(self) -> None:
        self.add(self.operator(self.pool))

    def _alias(self) -> None:
        self.add(self.pick())

    def _tuple(self) -> None:
        self.tuples.append(self.builder.emit(Tuple([self.pick(), self.pick()])))

    def _item(self) -> None:
        if self.tuples:
            self.add(TupleGetItem(self.draw(st.sampled_from(self.tuples)), self.draw(st.integers(0, 1))))

    def _cast(self) -> None:
        """Forget the shape, and find it again under a new variable."""
        hidden = self.pick()
        k = TirVar("k", "int64")
        self.builder.match_cast(hidden, TensorStructInfo((k, 4), "float32"))
        self.pool.append(self.builder.match_cast(hidden, TensorStructInfo((self.n, 4), "float32")))

    def kernel(self, name: str) -> GlobalVar:
        """A global function of the module that every program starts from."""
        return _base().get_global_var(name)

    def _kernel(self) -> None:
        self.add(call_tir(self.kernel("double"), [self.pick()], self.wide))

    def _helper(self) -> None:
        helper = self.draw(st.sampled_from(self.helpers))
        args = [self.pick(), self.pick(), *self.params[2:]]
        found = self.builder.emit(Call(helper, args))
        if isinstance(found.struct_info, TupleStructInfo):
            self.add(TupleGetItem(found, 0))
        else:
            self.pool.append(found)

    def _effect(self) -> None:
        """Change a fresh tensor in place: a kernel's output, so that no input of the test is written."""
        fresh = self.builder.emit(RELAX["add"](self.pick(), const(0.0)))
        self.builder.emit(call_packed("test.inc", fresh))
        self.pool.append(fresh)

    def _mutate(self) -> None:
        """Change any tensor in scope: all its aliases change, and what was computed of it before does not."""
        self.builder.emit(call_packed("test.inc", self.pick()))

    def _note(self) -> None:
        self.builder.emit(call_packed("test.note", self.pick()))

    def _print(self) -> None:
        self.builder.emit(print_values(shape_of(self.pick()), format="shape {}"))

    def _dataflow(self) -> None:
        local = list(self.pool)
        with self.builder.dataflow():
            for _ in range(self.draw(st.integers(1, 3))):
                local.append(self.builder.emit(self.operator(local)))
            out = self.builder.emit_output(self.operator(local))
        self.pool.append(out)

    def _branch(self) -> None:
        cond = self.params[3]
        then, other = self._sequence(), self._sequence()
        self.add(If(cond, then, other))

    def _sequence(self) -> Expr:
        """A branch: some bindings, maybe in a dataflow block, and a value."""
        first = Var("t")
        block = BindingBlock([VarBinding(first, self.operator(self.pool))])
        if self.draw(st.booleans()):
            block = DataflowBlock(block.bindings)
        return SeqExpr([block], self.operator([*self.pool, first]))

    def _local(self) -> None:
        """A function that captures a tensor and the shape variable, and a call of it."""
        param = Var("p", self.wide)
        body = RELAX["add"](param, self.operator(self.pool))
        function = self.builder.emit(Function([param], body, self.wide, True), "local")
        self.add(Call(function, [self.pick()]))

    def _recursive(self) -> None:
        """`loop(i, acc)`: as many steps as the counter says."""
        info = TensorStructInfo((), "int64")
        i, acc = Var("i", info), Var("acc", self.wide)
        loop = Var("loop")
        done = RELAX["less_equal"](i, const(0, "int64"))
        step = Call(loop, [RELAX["subtract"](i, const(1, "int64")), RELAX["tanh"](acc)])
        if self.draw(st.booleans()):
            step = RELAX["add"](step, acc)  # not in tail position
        function = Function([i, acc], If(done, acc, step), self.wide, True)
        self.builder.emit_normalized(VarBinding(loop, function))
        self.add(Call(loop, [self.params[4], self.pick()]))
