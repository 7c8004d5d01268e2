"""extremes: the least and the greatest element of a vector, both found as it is read once, by all threads.

    min, max = extremes(x)        of no elements: inf, -inf; NaN if any element is

Parts of the vector have extremes of their own first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import NoAttrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, load, local, loop, store
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, each
from baton._src.ops.vector_loops import lane_loop
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.stmt import For, ForKind, Stmt
from baton._src.values.tensor import AnyArray

PART = 1 << 14
"""Elements of a part, which are worth a thread."""
LANES, GROUP = 16, 64
"""Elements of a vector, and of a group of them, whose extremes do not wait for one another."""
MEETS = (k.minimum, k.maximum)


def infer(call: OpCall[NoAttrs]) -> Info:
    """Two scalars."""
    check_ranks(call, 1)
    check_floats(call, 0)
    x = call.tensor(0)
    return TupleInfo((TensorInfo((), x.dtype, vdevice=x.vdevice),) * 2)


def compute(inputs: Sequence[k.Tensor], a: NoAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """Whole parts in parallel, what is left over, then what all of them found."""
    (x,) = inputs
    parts, kept = k.index(x.shape[0]) // k.index(PART), [k.sum_dtype(x.dtype)] * 2

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        last, part, of_parts = k.index(x.shape[0]) // k.index(GROUP), Var("part", "int64"), outs[2:]
        found = _in_groups(ins[0], part * k.index(PART // GROUP), k.index(PART // GROUP), of_parts, part)
        whole = For(part, k.index(0), parts, ForKind.PARALLEL, found, annotations={"grain": 1})
        begin = parts * k.index(PART // GROUP)
        left_over = _in_groups(ins[0], begin, last - begin, of_parts, parts)

        def element(n: k.Scalar) -> Stmt:
            value = k.cast(kept[0], load(ins[0], last * k.index(GROUP) + n))
            return both(*(_met(of_part, (parts,), value, which) for which, of_part in enumerate(of_parts)))

        def meet(p: k.Scalar) -> Stmt:
            pairs = enumerate(zip(outs[:2], of_parts))
            return both(*(_met(y, (), k.cast(y.dtype, load(of_part, p)), n) for n, (y, of_part) in pairs))

        clear = (store(y, (), _nothing(y, which)) for which, y in enumerate(outs[:2]))
        single = loop(k.index(x.shape[0]) - last * k.index(GROUP), element, "n")
        return both(whole, left_over, single, *clear, loop(parts + k.index(1), meet, "p"))

    shapes = [(), (), (parts + k.index(1),), (parts + k.index(1),)]
    return externs(shapes, [x], body, "extremes", [x.dtype, x.dtype, *kept])[:2]


def _nothing(buffer: Buffer, which: int) -> k.Scalar:
    return k.const((np.inf, -np.inf)[which], buffer.dtype)


def _met(buffer: Buffer, at: k.Indices, value: k.Scalar, which: int) -> Stmt:
    return store(buffer, at, MEETS[which](load(buffer, *at), value))


def _in_groups(x: Buffer, first: k.Scalar, count: k.Scalar, found: Sequence[Buffer], place: k.Scalar) -> Stmt:
    """The extremes of whole groups, at a place of `found`: group meets group, then half meets half."""
    kept = found[0].dtype

    def with_both(low: Buffer, high: Buffer) -> Stmt:
        def lanes(number: int, body: Callable[[k.Scalar, Buffer, int], Stmt]) -> Stmt:
            return lane_loop(number, lambda u: both(body(u, low, 0), body(u, high, 1)))

        def group(n: k.Scalar) -> Stmt:
            def vector(start: int) -> Stmt:
                def element(u: k.Scalar, buffer: Buffer, which: int) -> Stmt:
                    at = k.index(start) + u
                    return _met(buffer, (at,), k.cast(kept, load(x, (first + n) * k.index(GROUP) + at)), which)

                return lanes(LANES, element)

            return both(*map(vector, range(0, GROUP, LANES)))

        def halves(number: int) -> Stmt:
            return lanes(number, lambda u, buffer, n: _met(buffer, (u,), load(buffer, u + k.index(number)), n))

        clear = lanes(GROUP, lambda u, buffer, n: store(buffer, (u,), _nothing(buffer, n)))
        folds = (halves(GROUP >> n) for n in range(1, GROUP.bit_length()))
        ends = (store(out, (place,), load(own, k.index(0))) for out, own in zip(found, (low, high)))
        return both(clear, loop(count, group, "group"), *folds, *ends)

    return local("low", (GROUP,), kept, lambda low: local("high", (GROUP,), kept, lambda high: with_both(low, high)))


def reference(inputs: Sequence[AnyArray], a: NoAttrs) -> tuple[AnyArray, ...]:
    """NumPy's."""
    (x,) = inputs
    return tuple(np.asarray(f(x, initial=start), x.dtype) for f, start in ((np.min, np.inf), (np.max, -np.inf)))


EXTREMES = OpDef(
    "extremes",
    NoAttrs,
    inputs=(Input("x", "a vector"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("it serves to quantise, which has none"),
    fusion=Fusion.OPAQUE,
    samples=lambda: each((Arr((3,)),), (Arr(("n",)),), (Arr((70001,)),), (Arr((200,), "float16"),)),
    summary="The least and the greatest element of a vector.",
)
