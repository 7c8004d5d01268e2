"""FuseAttention: softmax(Q Kᵀ, scaled and masked) V becomes one kernel.

    lv = R.matmul(q, R.permute_dims(k, [0, 1, 3, 2]))
    lv1 = R.divide(lv, R.const(8, "float32"))                gv = R.call_tir(cls.attention, (x, y, z, bias), ...)
    lv2 = R.add(lv1, bias)                            ->
    lv3 = R.nn.softmax(lv2, axis=-1)
    gv = R.permute_dims(R.matmul(lv3, v), [0, 2, 1, 3])

Operators that only move queries, keys, values or the result (`permute_dims`; keys repeated for every head of a group by
`broadcast_to` and `reshape`) becomes part of how the kernel reads and writes. Between the products the scores may be
combined, by addition, subtraction, multiplication or division, with operands that broadcast to them. Lengths may be
symbolic; head sizes are constants. The scores, which nothing else may use, are never materialised
(`kernel_schedules/attention/attention`).
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from baton._src.analysis.bindings import all_bindings, used_vars
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import rewrite_functions
from baton._src.passes.relax.fusion.attention_kernel import ATTENTION, AttentionLayout, Step, Term
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.passes.relax.operators.kernel_of_call import Kernel, cache_key, make_kernel, variables
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Call, Constant, Function, SeqExpr, ShapeExpr, Tuple, Var, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

STEPS = {"relax.add": "add", "relax.subtract": "subtract", "relax.multiply": "multiply", "relax.divide": "divide"}
LARGEST_HEAD = 512


@dataclass(frozen=True)
class FuseAttention(Pass):
    """See the module."""

    opt_level = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        rewriter = _Fuser(module)
        return rewrite_functions(module, rewriter.function, rewriter.builder)


@dataclass(frozen=True)
class _Found:
    """The operands of one attention, and the order of their axes."""

    operands: tuple[Any, ...]
    batch: int
    query: tuple[Term, ...]
    key: tuple[Term, ...]
    value: tuple[Term, ...]
    steps: tuple[Step, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The logical axes of the last product."""
        return (*range(self.batch + 1), self.batch + 3)


class _Fuser(LookingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.builder = BlockBuilder(module)
        self.uses: dict[Var, int] = {}
        self.made: dict[Any, tuple[GlobalVar, Kernel, list[TirVar]]] = {}
        self.found: dict[Var, _Found] = {}
        self.moved: set[Var] = set()
        """Variables that a permute_dims reads."""

    def enter_function(self, function: Function) -> None:
        super().enter_function(function)
        for binding in all_bindings(function):
            if isinstance(binding, VarBinding) and _is(binding.value, "relax.permute_dims"):
                self.moved.add(binding.value.args[0])
            for var in used_vars(binding):
                self.uses[var] = self.uses.get(var, 0) + 1
        for node in post_order(function):
            if isinstance(node, SeqExpr):
                for var in post_order(node.body):
                    if isinstance(var, Var):
                        self.uses[var] = self.uses.get(var, 0) + 1

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if _is(value, "relax.matmul"):
            found = self._attention(value)
            if found is None:
                return value
            if binding.var in self.moved and self.uses.get(binding.var) == 1:
                self.found[binding.var] = found  # the kernel is made where its result is moved
                return value
            return self._kernel(value, found, found.order)
        if _is(value, "relax.permute_dims") and value.args[0] in self.found and value.args[0] in self.lasting:
            inner = self.found[value.args[0]]
            rank = len(inner.order)
            axes = [int(a) for a in value.attrs.axes] if value.attrs.axes is not None else range(rank)[::-1]
            return self._kernel(value, inner, tuple(inner.order[a % rank] for a in axes))
        return value

    # --------------------------------------------------------------------------------------------- recognising

    def _attention(self, product: Call) -> _Found | None:
        """The parts of an attention whose last operator is `product`."""
        softmax = self._inner(product.args[0])
        rank = len(_dims(product) or ())
        if not _is(softmax, "relax.nn.softmax") or rank < 3 or softmax.attrs.axis not in (-1, rank - 1):
            return None
        dims = _dims(softmax)
        steps: list[Step] = []
        others: list[Any] = []
        value = softmax.args[0]
        while True:
            call = self._inner(value)
            if call is None or _dims(call) is None or not _all_same(_dims(call), dims):
                return None
            if _is(call, "relax.matmul"):
                break
            step = self._step(call, others)
            if step is None:
                return None
            steps.append(step[0])
            value = step[1]
        return self._found(call, product, tuple(reversed(steps)), others)

    def _inner(self, value: Any) -> Any:
        """The call that defines a variable with no other uses."""
        if not isinstance(value, Var) or self.uses.get(value) != 1:
            return None
        call = self.lasting.get(value)
        return call if isinstance(call, Call) else None

    def _step(self, call: Call, others: list[Any]) -> tuple[Step, Any] | None:
        """(the step, the scores before it); a further operand is added to `others`."""
        name = STEPS.get(getattr(call.op, "name", ""))
        if name is None:
            return None
        first = self._leads_to_product(call.args[0])
        scores, other = call.args if first else call.args[::-1]
        if not first and not self._leads_to_product(scores):
            return None
        if isinstance(other, Constant) and other.data.ndim == 0:
            number = float(other.data.data)
            if name == "divide" and first and math.frexp(number)[0] in (0.5, -0.5):
                return ("multiply", 1.0 / number, True), scores  # a power of two: exact, and ten times as fast
            return (name, number, first), scores
        if _dims(other) is None or str(other.struct_info.dtype) != str(scores.struct_info.dtype):
            return None
        others.append(other)
        return (name, (len(others) - 1,), first), scores

    def _leads_to_product(self, value: Any) -> bool:
        """Whether a chain of steps ends in a product. Linear: each value is visited from its only user."""
        while True:
            call = self._inner(value)
            if call is None or _is(call, "relax.matmul"):
                return call is not None
            if getattr(call.op, "name", "") not in STEPS:
                return False
            operands = [a for a in call.args if self._inner(a) is not None]
            if len(operands) != 1:
                return False
            value = operands[0]

    def _found(self, scores: Call, product: Call, steps: tuple[Step, ...], others: list[Any]) -> _Found | None:
        q, keys, v = scores.args[0], scores.args[1], product.args[1]
        dims = [d for x in (q, keys, v) if (d := _dims(x)) is not None]
        rank = len(_dims(product) or ())
        if len(dims) < 3 or any(len(d) != rank for d in dims) or not _plain(scores, product, q, keys, v):
            return None
        batch = rank - 2
        if not all(_all_same(d[:batch], dims[0][:batch]) for d in dims[1:]):
            return None
        head, column = dims[0][-1], dims[2][-1]
        if not all(isinstance(s, IntImm) and 0 < s.value <= LARGEST_HEAD for s in (head, column)):
            return None
        row, key, inner, last = range(batch, batch + 4)
        q, query_terms = self._source(q, [(a, 1) for a in (*range(batch), row, inner)])
        keys, key_terms = self._source(keys, [(a, 1) for a in (*range(batch), inner, key)])
        v, value_terms = self._source(v, [(a, 1) for a in (*range(batch), key, last)])
        return _Found((q, keys, v, *others), batch, query_terms, key_terms, value_terms, steps)

    def _source(self, value: Any, terms: list[Term]) -> tuple[Any, tuple[Term, ...]]:
        """The origin of a factor, looking through operators that only move its elements."""
        while True:
            call = self.lasting.get(value) if isinstance(value, Var) else None
            if isinstance(call, Var):
                value = call
            elif _is(call, "relax.permute_dims"):
                rank = len(terms)
                axes = [int(a) % rank for a in call.attrs.axes] if call.attrs.axes is not None else range(rank)[::-1]
                moved: list[Term] = [(-1, 1)] * rank
                for place, axis in enumerate(axes):
                    moved[axis] = terms[place]
                terms, value = moved, call.args[0]
            else:
                repeated = self._repeated(call, terms)
                if repeated is None:
                    return value, tuple(terms)
                value, terms = repeated

    def _repeated(self, call: Any, terms: list[Term]) -> tuple[Any, list[Term]] | None:
        """(b, h, 1, n, d) broadcast to (b, h, g, n, d) and seen as (b, h * g, n, d): index h * g is divided by g."""
        if not _is(call, "relax.reshape"):
            return None
        wide = self.lasting.get(call.args[0]) if isinstance(call.args[0], Var) else None
        if not _is(wide, "relax.broadcast_to"):
            return None
        dims, spread, narrow = _dims(call), _dims(wide), _dims(wide.args[0])
        if dims is None or spread is None or narrow is None or not len(spread) == len(narrow) == len(dims) + 1:
            return None
        places = [
            n for n in range(len(dims)) if _all_same((*dims[:n], *dims[n + 1 :]), (*spread[:n], *spread[n + 2 :]))
        ]
        for place in places:
            heads, times = spread[place], spread[place + 1]
            merged = dims[place]
            known = all(isinstance(s, IntImm) for s in (heads, times, merged))
            if not known or merged.value != heads.value * times.value or terms[place][1] != 1:
                continue
            kept = (*narrow[: place + 1], *narrow[place + 2 :])
            if _is_one(narrow[place + 1]) and _all_same(kept, (*spread[: place + 1], *spread[place + 2 :])):
                axis = terms[place][0]
                found = [*terms[:place], (axis, times.value), (-1, 1), *terms[place + 1 :]]
                return self._without_ones(wide.args[0], found)
        return None

    def _without_ones(self, value: Any, terms: list[Term]) -> tuple[Any, list[Term]]:
        """What was reshaped to have one more dim of 1, if that is how it came."""
        call = self.lasting.get(value) if isinstance(value, Var) else None
        dims = _dims(value)
        if dims is None or not (_is(call, "relax.reshape") or _is(call, "relax.expand_dims")):
            return value, terms
        before = _dims(call.args[0])
        for place, dim in enumerate(dims):
            if before is not None and _is_one(dim) and terms[place][0] < 0:
                rest = (*dims[:place], *dims[place + 1 :])
                if len(rest) == len(before) and _all_same(rest, before):
                    return call.args[0], [*terms[:place], *terms[place + 1 :]]
        return value, terms

    # ------------------------------------------------------------------------------------------------ building

    def _kernel(self, call: Call, found: _Found, result: tuple[int, ...]) -> Any:
        """The call of the kernel that replaces `call`; `call` itself if an operand is out of scope."""
        if not all(self.is_visible(x) for x in found.operands):
            return call
        layout = AttentionLayout(found.batch, found.query, found.key, found.value, result, found.steps)
        args = [to_info(x.struct_info) for x in found.operands]
        out = to_info(call.struct_info)
        key = cache_key(ATTENTION, args, layout, out)
        known = None if key is None else self.made.get(key)
        if known is None:
            kernel = make_kernel(ATTENTION, args, layout, out)
            var = self.builder.add_func(kernel.function, "attention")
            self.context.functions[var] = self.builder.context.functions[var]
            tir_vars: Any = kernel.tir_vars
            if key is not None:
                self.made[key] = (var, kernel, variables(args, out))
        else:
            var, kernel, theirs = known
            ours: dict[Any, Any] = dict(zip(theirs, variables(args, out)))
            tir_vars = tuple(ours[v] for v in kernel.tir_vars)
        fields: list[Any] = [var, Tuple(list(found.operands))]
        if tir_vars:
            fields.append(ShapeExpr(tir_vars))
        return self.normalized(Call(special_op("call_tir"), fields, None, (call.struct_info,), call.span))


def _is(value: Any, name: str) -> TypeGuard[Call]:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == name


def _dims(value: Any) -> tuple[Any, ...] | None:
    info = getattr(value, "struct_info_", None)
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return shape.values if isinstance(shape, ShapeExpr) else None


def _all_same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, IntImm) or isinstance(b, IntImm):
        return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value
    return a is b or structural_equal(a, b)


def _is_one(dim: Any) -> bool:
    return isinstance(dim, IntImm) and dim.value == 1


def _plain(scores: Call, product: Call, *operands: Any) -> bool:
    """Whether all operands have the same floating dtype."""
    dtypes = {str(x.struct_info.dtype) for x in (*operands, scores, product)}
    return len(dtypes) == 1 and operands[0].struct_info.dtype.is_float
