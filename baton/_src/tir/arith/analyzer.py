"""`Analyzer`: analysis of integer expressions: simplification, equality, bounds, remainders, proofs.

    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 8))
    analyzer.simplify((n * 8 + i) // 8)      # n
    analyzer.equal(n + n, n * 2)             # True; False if they certainly differ, None if undecided
    with analyzer.constrained(n > 4):
        analyzer.prove(n >= 5)               # True

int32 and int64 expressions are assumed not to overflow. Nothing is assumed about a variable's sign unless it is a
`SizeVar`, bound to a range, marked, or constrained. Answers are sound: "unknown" is None or False, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from baton._src.ir.expr import Range
from baton._src.ir.structural import structural_equal
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.arith import conditions, division, joins, modular
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.answers import NEG_INF, POS_INF, ConstIntBound, Extension, ModularSet, ProofStrength
from baton._src.tir.arith.assumptions import assume
from baton._src.tir.arith.atoms import DoesNotFit
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.opaque import is_index
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.proofs import is_nonnegative
from baton._src.tir.expr import IntImm, IterVar, Var
from baton._src.values.dtype import INT64


class Analyzer:
    """Knows facts about variables and answers questions under them."""

    def __init__(self) -> None:
        self._ctx = Context()
        self._extensions = Extension.NoExtensions

    @staticmethod
    def over(domains: Mapping[Var, Any]) -> Analyzer:
        """An analyzer that knows the ranges (or values) of these variables."""
        made = Analyzer()
        for var, domain in domains.items():
            made.bind(var, domain)
        return made

    @property
    def context(self) -> Context:
        """Atoms and facts, for the other files of this folder."""
        return self._ctx

    # ------------------------------------------------------------------------------------------ questions

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """An equal expression in canonical form; the same object where nothing changes. (One step is enough here.)"""
        del steps
        given = operators.convert(expr)
        if isinstance(given, (IntImm, tir.FloatImm, tir.AnyDim, tir.StringImm)) or given.dtype.kind == "void":
            return given
        try:
            found = self._ctx.atoms.emit(canonical(self._ctx, given), given.dtype)
        except DoesNotFit:
            return given
        return given if found is given or structural_equal(found, given) else found

    def canonical_simplify(self, expr: Any) -> Any:
        """`simplify` under TVM's other name."""
        return self.simplify(expr)

    def rewrite_simplify(self, expr: Any) -> Any:
        """`simplify` under TVM's other name."""
        return self.simplify(expr)

    def equal(self, a: Any, b: Any) -> bool | None:
        """True if `a` and `b` are certainly equal, False if they certainly differ, None if undecided."""
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        if isinstance(a, tir.AnyDim) or isinstance(b, tir.AnyDim):
            return None
        if a is b:
            return True
        dtype = next((side.dtype for side in (a, b) if not isinstance(side, int) and is_index(side.dtype)), INT64)
        gap = joins.recombine(self._ctx, p.subtract(self._poly(a), self._poly(b)), dtype)
        number = p.as_constant(gap)
        if number is None:
            number = p.as_constant(conditions.is_zero(self._ctx, gap, dtype))
            if number is None:
                number = 1 if not self._without_remainders(gap) else None
            return None if number is None else bool(number)
        return number == 0

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether `lhs` and `rhs` are certainly equal."""
        return self.equal(lhs, rhs) is True

    def prove(self, condition: Any) -> bool:
        """Whether the condition certainly holds."""
        given = operators.convert(condition)
        return p.as_constant(canonical(self._ctx, given)) == 1

    def can_prove(self, expr: Any, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """`prove` under TVM's name; every proof is tried with all means."""
        del strength
        return self.prove(expr)

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """Whether `expr >= lower_bound` certainly holds."""
        return self.prove(operators.greater_equal(expr, lower_bound))

    def can_prove_less(self, expr: Any, upper_bound: int) -> bool:
        """Whether `expr < upper_bound` certainly holds."""
        return self.prove(operators.less(expr, upper_bound))

    intervals: ClassVar[Callable[[Analyzer, Any, Any], Any]]
    """Makes the set of values of an expression; bound by `driver.wiring`."""

    def int_set(self, expr: Any, dom_map: Any = None) -> Any:
        """The values of `expr` while variables take those of their sets (by `dom_map`; a `Range` serves too)."""
        return Analyzer.intervals(self, operators.convert(expr), dom_map or {})

    def const_int_bound_is_bound(self, var: Var) -> bool:
        """Whether constant bounds of the variable are known."""
        return self.atom(var) in self._ctx.facts.bounds

    @property
    def enabled_extensions(self) -> Extension:
        """TVM's optional rewrites, as they were set; they change nothing here."""
        return self._extensions

    @enabled_extensions.setter
    def enabled_extensions(self, flags: int | Extension) -> None:
        self._extensions = Extension(flags)

    @property
    def rewrite_simplify_stats(self) -> Any:
        """TVM's counts of rewrites. Error `api`: expressions are simplified by canonical forms, without rewrites."""
        raise fail("api", "nothing counts rewrites: expressions are simplified by canonical forms", kind=AttributeError)

    def reset_rewrite_simplify_stats(self) -> None:
        """TVM's counts of rewrites begin anew. Error `api`: there are none."""
        raise fail("api", "nothing counts rewrites, so there is nothing to reset", kind=NotImplementedError)

    def is_nonnegative(self, expr: Any) -> bool:
        """Whether `expr >= 0` certainly holds."""
        return is_nonnegative(self._ctx, self._poly(expr))

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """Constant bounds of an integer expression."""
        low, high = bound(self._ctx, self._poly(expr))
        return ConstIntBound(
            NEG_INF if math.isinf(low) else max(int(low), NEG_INF),
            POS_INF if math.isinf(high) else min(int(high), POS_INF),
        )

    def modular_set(self, expr: Any) -> ModularSet:
        """The expression modulo something, as far as known."""
        return ModularSet(*modular.modular_set(self._ctx, self._poly(expr)))

    def _poly(self, expr: Any) -> Poly:
        return p.constant(expr) if isinstance(expr, int) else canonical(self._ctx, operators.convert(expr))

    def _without_remainders(self, poly: Poly) -> Poly:
        """Every x % c written as x - c * (x // c): two forms of one value cancel."""
        for _ in range(8):
            for monomial in list(poly):
                index = next((i for i in monomial if self._ctx.atoms[i].kind == "mod"), None)
                if index is None:
                    continue
                numerator, divisor = self._ctx.atoms[index].args
                if p.as_constant(divisor) == 0:
                    continue
                quotient = division.floor_div(self._ctx, numerator, divisor)
                value = p.subtract(numerator, p.multiply(divisor, quotient))
                rest = p.without(monomial, (index,))
                assert rest is not None
                factor = {rest: poly[monomial]}
                poly = p.add({m: c for m, c in poly.items() if m != monomial}, p.multiply(factor, value))
                break
            else:
                return poly
        return poly

    # ---------------------------------------------------------------------------------------------- facts

    def update(self, var: Var, info: ConstIntBound | ModularSet, override: bool = False) -> None:
        """Add constant bounds of a variable, or its remainder modulo something."""
        index = self.atom(var)
        if isinstance(info, ModularSet):
            self._ctx.facts.modular[index] = (info.coeff, info.base)
        else:
            if override:
                self._ctx.facts.bounds.pop(index, None)
            low = -math.inf if info.min_value <= NEG_INF else info.min_value
            high = math.inf if info.max_value >= POS_INF else info.max_value
            self._ctx.facts.narrow(index, low, high)
        self._ctx.forget()

    def bind(self, var: Var | IterVar, expr: Any, allow_override: bool = True) -> None:
        """Note that `var` ranges over a `Range` (taken not to be empty) or equals an expression."""
        given = var.var if isinstance(var, IterVar) else var
        self.unbind(given)
        index, facts = self.atom(given), self._ctx.facts
        if isinstance(expr, Range):
            self._bind_range(index, self._poly(expr.min), self._poly(expr.extent))
        else:
            facts.definitions[index] = self._poly(expr)
        self._ctx.forget()

    def unbind(self, var: Var) -> None:
        """Drop what is known of a variable: it is another one from here on."""
        index, facts = self.atom(var), self._ctx.facts
        of_variables = (facts.bounds, facts.lower, facts.upper, facts.definitions, facts.modular)
        if any(index in known for known in of_variables):
            for known in of_variables:
                known.pop(index, None)
            self._ctx.forget()

    def _bind_range(self, index: int, begin: Poly, extent: Poly) -> None:
        facts = self._ctx.facts
        if p.as_constant(extent) == 1:
            facts.definitions[index] = begin
            return
        last = p.shift(p.add(begin, extent), -1)
        facts.narrow(index, bound(self._ctx, begin)[0], bound(self._ctx, last)[1])
        facts.lower[index] = (begin,) if self._is_lasting_limit(begin) else ()
        facts.upper[index] = (last,) if self._is_lasting_limit(last) else ()

    def _is_lasting_limit(self, limit: Poly) -> bool:
        """Whether a limit says more than its bounds and holds as long as the loop runs: memory may be written in it."""
        return p.as_constant(limit) is None and not self._ctx.atoms.has_data(limit)

    def mark_nonnegative(self, *variables: Var) -> None:
        """Assume that variables are >= 0 (shape variables)."""
        for var in variables:
            self._ctx.facts.narrow(self.atom(var), 0, math.inf)
        self._ctx.forget()

    def atom(self, var: Var) -> int:
        """The number of a variable among the atoms."""
        return self._ctx.atoms.intern(("var", var), "var", (), var.dtype, lambda: var)

    def let_data_wrap(self) -> None:
        """From here on integers read from memory may have any value: arithmetic on them wraps (see `wrapping`)."""
        self._ctx.atoms.wraps = True

    def mark_data(self, var: Var, value: Any) -> None:
        """Note that a variable, met for the first time, is `value`, which may have such an integer in it."""
        if self._ctx.atoms.has_data(self._poly(value)):
            self._ctx.atoms.data_variables.add(self.atom(var))

    def assume(self, condition: Any) -> None:
        """Assume that `condition` holds from here on."""
        assume(self._ctx, canonical(self._ctx, operators.convert(condition)))
        self._ctx.forget()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope at whose end facts added inside are dropped."""
        outer = self._ctx.facts
        self._ctx.facts = outer.copy()
        try:
            yield
        finally:
            self._ctx.facts = outer
            self._ctx.forget()

    @contextmanager
    def constrained(self, condition: Any) -> Iterator[None]:
        """Within the `with` block, `condition` is assumed to hold."""
        with self.scope():
            self.assume(condition)
            yield

    def constraint_scope(self, constraint: Any) -> Any:
        """`constrained` under TVM's name."""
        return self.constrained(constraint)
