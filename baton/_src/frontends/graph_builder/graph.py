"""`GraphBuilder`: how converters write a program without knowing whether it becomes Relax or Relay.

A call names a neutral operator of the catalogue and its attributes; its result type comes from the operator's own
`infer` (`inference`); calls on constants alone are computed at once (`folding`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.folding import folded
from baton._src.frontends.graph_builder.inference import inferred
from baton._src.frontends.graph_builder.language import Arm, Language, State
from baton._src.frontends.graph_builder.operands import (
    Operand,
    Scalars,
    as_int,
    dims_of,
    sources_of,
    tensor_of,
    tensors_in,
)
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ir.traverse import post_order
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import AnyDim, Var
from baton._src.values.dtype import FLOAT32, FLOAT64, INT64, DataType
from baton._src.values.tensor import AnyArray


class GraphBuilder:
    """Writes calls, and keeps the info of every value."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.prover = Analyzer()
        self.made: list[Value] = []
        """Values whose expression was created in the innermost open branch; it is not visible outside."""
        self.origins: dict[Var, frozenset[str]] = {}
        """The model inputs whose values determine each size known only at run time."""
        self.counted: list[Value] = []
        """Values whose elements were named in the innermost open branch; the names are not valid outside."""
        self.named_sizes = 0
        """How many results had sizes that only a run tells, and which got names for them."""
        self.hint = ""
        """The node being converted, for names of bindings and messages."""

    def input(self, name: str, info: TensorInfo, shown: str | None = None) -> Value:
        """A parameter of the program; `shown` is its name in the program, if that is not `name`."""
        self.prover.mark_nonnegative(*(d for d in info.shape or () if isinstance(d, Var)))
        return Value(info, expr=self.language.input(shown or name, info), sources=frozenset({name}))

    def constant(self, array: Any, dtype: object = None) -> Value:
        """A constant; nothing is emitted until it is used."""
        found = np.asarray(array) if dtype is None else np.asarray(array, DataType(dtype).numpy)
        return Value(TensorInfo(found.shape, DataType(found.dtype)), array=found)

    def scalar(self, number: float, like: Value) -> Value:
        """A rank-0 constant of the dtype of `like`. `DiagnosticError` (`import-dtype`) if it does not hold it."""
        try:
            return self.constant(number, like.dtype)
        except OverflowError as error:
            raise fail("import-dtype", f"{number} is no number of dtype {like.dtype}, which it meets here") from error

    def dims(self, contents: Any, dtype: object = INT64) -> Value:
        """A small integer tensor of known, possibly symbolic elements."""
        found = np.asarray(contents, dtype=object)
        simple = [self.prover.simplify(d) if isinstance(d, PrimExpr) else d for d in found.reshape(-1)]
        numbers = [as_int(d) for d in simple]
        if all(isinstance(n, int) for n in numbers):
            return self.constant(np.array(numbers, DataType(dtype).numpy).reshape(found.shape))
        contents = np.empty(len(numbers), dtype=object)
        contents[:] = numbers
        sources = self._origins(numbers)
        return Value(TensorInfo(found.shape, DataType(dtype)), dims=contents.reshape(found.shape), sources=sources)

    def expr(self, value: Value) -> Any:
        """The expression of a value, created now if it was a constant or a shape so far."""
        if value.expr is None:
            value.expr = self._materialise(value)
            self.made.append(value)
        return value.expr

    def _origins(self, dims: Iterable[Dim]) -> frozenset[str]:
        """The inputs whose values determine these sizes."""
        found: frozenset[str] = frozenset()
        for dim in dims if self.origins else ():
            if isinstance(dim, PrimExpr):
                found = found.union(*(self.origins.get(v, ()) for v in post_order(dim)))
        return found

    def numbers(self, value: Value) -> AnyArray | None:
        """The elements of a small integer tensor as ints and symbolic sizes, read at run time if necessary.

        None if their number is unknown, or they are no integers. Unlike `Value.contents` these may be negative, whereas
        symbolic sizes are assumed not to be: positions that count from an end must be normalised first.
        """
        contents = value.contents()
        if contents is not None or value.counted is not None:
            return value.counted if contents is None else contents
        if value.joined is not None:
            parts = [self.numbers(part) for part in value.joined]
            known = [part for part in parts if part is not None]
            value.counted = np.concatenate(known) if len(known) == len(parts) else None
            self.counted.append(value)
            return value.counted
        count = value.shape[0] if value.shape else 1
        if value.rank not in (0, 1) or not isinstance(count, int) or not value.dtype.is_int:
            return None
        names = self.language.numbers(self.expr(self.cast(self.reshape(value, (count,)), INT64)), count)
        self.named_sizes += 1
        self.origins.update(dict.fromkeys(names, value.sources))
        value.counted = np.empty(count, dtype=object)
        value.counted[:] = names
        self.counted.append(value)
        return value.counted

    def branch(
        self, condition: Value, then: Callable[[], list[Value]], otherwise: Callable[[], list[Value]]
    ) -> list[Value]:
        """The outputs of one of two subgraphs, chosen at run time."""
        found = self.language.branch(self.expr(condition), [self._typed_arm(then), self._typed_arm(otherwise)])
        return self._named(found, condition.sources)

    def loop(
        self,
        start: list[Value],
        infos: list[TensorInfo],
        step: Callable[[list[Value]], list[Value]],
        results: Sequence[TensorInfo | None] = (),
    ) -> list[Value]:
        """`while state[0]: state = step(state)`; `infos` fit the state of every iteration, and `results` the last one,
        where they are given.
        """

        def write(inner: State) -> list[Any]:
            state = [Value(i, expr=e, sources=sources) for e, i in inner]
            return self._arm(lambda: step(state))()

        sources = sources_of(start)
        found = self.language.loop([self.expr(v) for v in start], infos, write)
        last = [
            (expr, info) if result is None else (self.language.match(expr, result, self.hint), result)
            for expr, info, result in zip(found, infos, results or [None] * len(infos), strict=True)
        ]
        return self._named(last, sources)

    def named(self, value: Value) -> Value:
        """`value`, with names for its sizes if they are unknown."""
        if value.shape is not None or value.rank < 0:
            return value
        return self._named([(self.expr(value), value.info)], value.sources)[0]

    def _named(self, results: Iterable[tuple[Any, TensorInfo]], sources: frozenset[str]) -> list[Value]:
        """Results of known rank, with names for their unknown sizes."""
        values = []
        for result, plain in results:
            expr, info = self.language.named(result, plain)
            self.named_sizes += info is not plain
            if sources and info is not plain:
                self.origins.update((d, sources) for d in info.shape or () if isinstance(d, Var))
            values.append(Value(info, expr=expr, sources=sources))
        return values

    def knows_sizes(self, info: TensorInfo) -> bool:
        """Whether all sizes of the tensor are numbers or computed from those that have names here."""
        return info.shape is not None and self.language.in_scope(info.shape)

    def rehearse(self, infos: list[TensorInfo], run: Callable[[list[Value]], list[Value]]) -> list[Value]:
        """The results of `run` on values with these infos; only the infos of the results are meaningful."""
        outputs: list[Value] = []

        def write(exprs: list[Any]) -> None:
            state = [self._of_info(e, i) for i, e in zip(infos, exprs, strict=True)]
            self._arm(lambda: self._keep(outputs, run(state)))()

        self.language.rehearse(infos, write)
        return outputs

    def _of_info(self, expr: Any, info: TensorInfo) -> Value:
        """A value, with names for those of its sizes that are open while others are known."""
        if any(isinstance(d, AnyDim) for d in info.shape or ()):
            expr, info = self.language.named(expr, info)
        return Value(info, expr=expr)

    @staticmethod
    def _keep(outputs: list[Value], found: list[Value]) -> list[Value]:
        outputs.extend(found)
        return []

    def _typed_arm(self, run: Callable[[], list[Value]]) -> Arm:
        infos: list[TensorInfo] = []

        def noting() -> list[Value]:
            found = run()
            infos.extend(v.info for v in found)
            return found

        write = self._arm(noting)
        return lambda: list(zip(write(), infos, strict=True))

    def _arm(self, run: Callable[[], list[Value]]) -> Callable[[], list[Any]]:
        def write() -> list[Any]:
            outer, self.made, named, self.counted = self.made, [], self.counted, []
            try:
                return [self.expr(v) for v in run()]
            finally:
                for value in self.made:
                    value.expr = None
                for value in self.counted:
                    value.counted = None
                self.made, self.counted = outer, named

        return write

    def _materialise(self, value: Value) -> Any:
        if value.array is not None:
            return self.language.constant(value.array)
        if value.dims is None:
            raise fail("import-sequence", f"{self.hint}: a sequence is used where a tensor is needed")
        flat = Value(
            TensorInfo((value.dims.size,), INT64), expr=self.language.shape_tensor(list(value.dims.reshape(-1)))
        )
        if value.dims.ndim != 1:
            flat = self.reshape(flat, value.dims.shape)
        return self.expr(self.cast(flat, value.dtype))

    def call(self, op: str, *operands: Operand, **attributes: Any) -> Value:
        """A call with one result."""
        rewrite = self.language.rewrite(op)
        if rewrite is not None:
            return rewrite(self, *operands, **attributes)
        return self.call_many(op, *operands, **attributes)[0]

    def call_many(self, op: str, *operands: Operand, **attributes: Any) -> tuple[Value, ...]:
        """A call; one value a result. `op` is a neutral name of the catalogue.

        `attributes` may also contain operands that are host scalars (the bounds of a clip, the corners of a slice).
        """
        definition = CATALOGUE.get(op)
        given = list(operands)
        while given and given[-1] is None:
            given.pop()
        for operand in definition.inputs[len(given) :]:
            if operand.name in attributes and "relax" in operand.languages:
                given.append(Scalars(operand.name, attributes.pop(operand.name)))
        attrs = definition.attrs(**attributes)
        given, infos, out = inferred(self, definition, given, attrs)
        fields = out.fields if isinstance(out, TupleInfo) else (out,)
        known = folded(definition, given, attrs, fields)
        if known is not None:
            return tuple(self.constant(array) for array in known)
        args = [self._argument(o) for o in given]
        exprs = self.language.call(definition, args, attrs, len(fields) if isinstance(out, TupleInfo) else 0, self.hint)
        sources = sources_of(tensors_in(given)) | self._origins(d for i in (*infos, *fields) for d in dims_of(i))
        return tuple(self._named(zip(exprs, map(tensor_of, fields), strict=True), sources))

    def packed(self, name: str, *operands: Value | int | str, results: Sequence[TensorInfo]) -> tuple[Value, ...]:
        """A call of the VM's function `name`, for which there is no operator; `results` are the infos of its
        results.
        """
        args = [self.expr(o) if isinstance(o, Value) else o for o in operands]
        exprs = self.language.packed(name, args, results)
        sources = sources_of([o for o in operands if isinstance(o, Value)])
        return tuple(self._named(zip(exprs, results, strict=True), sources))

    def demand(self, condition: Value, told: str) -> None:
        """Make the program raise an error with the message `told` unless `condition` (one truth value) holds."""
        self.language.demand(self.expr(self.reshape(condition, ()) if condition.rank else condition), told)

    def of_shape(self, value: Value, dims: tuple[Dim, ...]) -> Value:
        """`value` with the given dims, which should be its own; those not provably equal are checked at run time."""
        own = value.shape if value.shape is not None and len(value.shape) == len(dims) else [None] * len(dims)
        same = [a is not None and self.prover.equal(a, b) for a, b in zip(own, dims)]
        doubtful = [axis for axis, certain in enumerate(same) if not certain]
        if not doubtful:
            return value
        info = TensorInfo(dims, value.dtype)
        expr = self.language.match(self.expr(value), info, self.hint, doubtful)
        return Value(info, expr=expr, sources=value.sources)

    def _argument(self, operand: Operand) -> Any:
        if isinstance(operand, Value):
            return self.expr(operand)
        if isinstance(operand, Scalars):
            return operand
        assert operand is not None
        if operand and isinstance(operand[0], Value):
            return tuple(self.expr(o) for o in operand)
        return ShapeInfo(tuple(as_int(d) for d in operand))

    # What nearly every converter needs.

    def cast(self, value: Value, dtype: object) -> Value:
        kind = DataType(dtype)
        if value.dtype == kind:
            return value
        sizes = value.dims if value.whole is None else value.whole
        if sizes is not None and kind.is_int:
            return Value(TensorInfo(value.shape, kind), dims=sizes)
        found = self.call("astype", value, dtype=kind)
        if sizes is not None and kind in (FLOAT32, FLOAT64):
            found.whole = sizes
        if value.joined is not None and kind.is_int and kind.bits >= 32:
            found.joined = value.joined
        return found

    def reshape(self, value: Value, dims: Sequence[Dim]) -> Value:
        """`value` in the shape `dims`, which may be symbolic and hold one -1."""
        wanted = tuple(as_int(d) for d in dims)
        if value.shape is not None and wanted == value.shape:
            return value
        if _is_empty(wanted) and value.shape is not None and _is_empty(value.shape):
            return self.constant(np.zeros(wanted, value.dtype.numpy))  # a 0 is, to Relay, the size that was there
        known = [d for d in wanted if isinstance(d, int)]
        if value.dims is not None and len(known) == len(wanted) <= 1 and math.prod(known) in (-1, value.dims.size):
            return self.dims(value.dims.reshape(known), value.dtype)
        return self.call("reshape", self._counted(value, wanted), wanted)

    def _counted(self, value: Value, wanted: tuple[Dim, ...]) -> Value:
        """`value`, checked at run time to have as many elements as the new shape; flattened where that is not
        provable.
        """
        if value.shape is None or value.array is not None:
            return value
        definition = CATALOGUE.get("reshape")
        infos = (value.info, ShapeInfo(wanted))
        out = definition.infer(OpCall(definition, infos, definition.attrs(), self.prover, (None, None)))
        if not isinstance(out, TensorInfo) or out.shape is None:
            return value
        count = math.prod(out.shape)
        if self.prover.equal(math.prod(value.shape), count) is not None:
            return value
        return self.of_shape(self.call("reshape", value, (-1,)), (count,))

    def transpose(self, value: Value, axes: Sequence[int]) -> Value:
        if list(axes) == list(range(len(axes))):
            return value
        return self.call("permute_dims", value, axes=tuple(axes))

    def broadcast_to(self, value: Value, dims: Sequence[Dim]) -> Value:
        return self.call("broadcast_to", value, tuple(as_int(d) for d in dims))


def _is_empty(sizes: Sequence[Dim]) -> bool:
    """Whether all sizes are known, and one is 0."""
    known = [d for d in sizes if isinstance(d, int)]
    return len(known) == len(sizes) and 0 in known and -1 not in known


def count_of(sizes: Sequence[Dim]) -> int:
    """The number of elements; -1 if it is unknown, which a reshape can infer unless other axes are empty."""
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else -1
