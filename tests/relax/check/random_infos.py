"""Random StructInfos, and random near copies of one: independent pairs are hardly ever related.

A near copy forgets some parts, writes some dims another way (`2 * n` for `n + n`) and replaces some parts wholly.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from baton._src.ir.global_info import VDevice
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    default_derive,
    empty_derive,
)
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import Fn, Ob, Pr, Sh, Ts, Tu, k, m, n
from tests.relax.check.naive_relations import plain, polynomial

DEVICES = [VDevice("llvm", 0, "global"), VDevice("llvm", 1, "global")]


def _derive(call: Any, context: Any) -> StructInfo:
    """A derive_func of somebody else."""
    return Ob


DERIVE_FUNCS = [empty_derive, default_derive, _derive]


class RandomInfos:
    """Draws StructInfos nested up to a depth."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def info(self, depth: int = 2) -> StructInfo:
        """Any StructInfo."""
        pick = self.random
        if depth and self.often(0.2):
            return Tu(*[self.info(depth - 1) for _ in range(pick.randint(0, 2))])
        if depth and self.often(0.35):
            params = [self.info(depth - 1) for _ in range(pick.choice([0, 1, 1, 1, 2]))]
            return self._opaque() if self.often(0.15) else Fn(params, self.info(depth - 1), self.often(0.6))
        kind = pick.choice(["object", "prim", "prim", "shape", "shape", "tensor", "tensor", "tensor"])
        if kind == "object":
            return Ob
        if kind == "prim":
            return Pr("int64", self._dim()) if self.often(0.5) else Pr(pick.choice(["int64", "int32", "float32"]))
        rank = pick.choice([-1, 0, 1, 1, 1, 2, 2])
        dims = [self._dim() for _ in range(rank)] if rank >= 0 and self.often(0.65) else None
        if kind == "shape":
            return Sh(dims, rank)
        return Ts(dims, pick.choice(["void", "float32", "float32", "int64"]), rank, pick.choice([None, None, *DEVICES]))

    def near(self, info: StructInfo, depth: int = 2) -> StructInfo:
        """A StructInfo much like this one."""
        if self.often(0.18):
            return self.info(depth)
        match info:
            case TupleStructInfo(fields=fields):
                return Tu(*[self.near(f, depth - 1) for f in fields])
            case FuncStructInfo(params=None):
                return self._opaque()
            case FuncStructInfo(params=params):
                purity = info.purity != self.often(0.2)
                return Fn([self.near(p, depth - 1) for p in params or ()], self.near(info.ret, depth - 1), purity)
            case PrimStructInfo(value=value):
                return Pr(info.dtype, None if value is None or self.often(0.2) else self._rewritten(value))
            case ShapeStructInfo(values=values, ndim=ndim):
                return self._sized(Sh, values, ndim)
            case TensorStructInfo(shape=shape, ndim=ndim):
                dtype = "void" if self.often(0.15) else info.dtype
                device = None if self.often(0.15) else info.vdevice
                dims = None if shape is None else shape.values
                return self._sized(lambda values, ndim: Ts(values, dtype, ndim, device), dims, ndim)
            case _:
                return info

    def _opaque(self) -> StructInfo:
        return Fn(None, Ob, self.often(0.5), self.random.choice(DERIVE_FUNCS))

    def _sized(self, build: Callable[[Any, int], StructInfo], values: tuple[Any, ...] | None, ndim: int) -> StructInfo:
        """A shape or tensor that has forgotten its rank, or its dims, or nothing."""
        if self.often(0.1):
            return build(None, -1)
        if values is None or self.often(0.2):
            return build(None, ndim)
        return build([self._rewritten(v) for v in values], ndim)

    def _dim(self) -> Any:
        found = self._leaf()
        while self.often(0.35):
            other = self._leaf()
            found = self.random.choice([found + other, other + found, found * other, found + other - other])
        return plain(found)

    def _leaf(self) -> Any:
        number = IntImm("int64", self.random.randint(0, 3))
        return number if self.often(0.35) else self.random.choice([n, n, m, m, k])

    def _rewritten(self, dim: Any) -> Any:
        """The same polynomial, its terms and factors in any order."""
        variables = {v.name: v for v in (n, m, k)}
        terms = [(list(names), factor) for names, factor in polynomial(dim).items() if factor]
        self.random.shuffle(terms)
        total: Any = IntImm("int64", 0)
        for names, factor in terms:
            self.random.shuffle(names)
            term: Any = IntImm("int64", factor)
            for name in names:
                variable: TirVar = variables[name]
                term = term * variable if self.often(0.5) else variable * term
            total = term if isinstance(total, IntImm) and total.value == 0 else total + term
        return plain(total)
