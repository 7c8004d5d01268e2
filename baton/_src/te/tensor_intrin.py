"""`te.decl_tensor_intrin`: code for the tiles of a computation, which `s[C].tensorize(axis, intrin)` puts in place.

    a, b = placeholder((n,), name="a"), placeholder((m, n), name="b")
    k = reduce_axis((0, n), name="k")
    c = compute((m,), lambda i: sum(a[k] * b[i, k], axis=k), name="c")
    decl_tensor_intrin(c.op, lambda ins, outs: (whole, reset, update), binds={a: A, b: B, c: C})

`whole` computes a tile from nothing; `reset` and `update` do it in steps, where loops around the tile reduce too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.prim_func import create_prim_func
from baton._src.te.tensor import ComputeOp, Tensor
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.transformations import tensorize
from baton._src.tir.stmt import BlockRealize, Evaluate, Stmt
from baton._src.values.dtype import HANDLE

Code = Stmt | PrimExpr
"""A statement, or a call that is one."""


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """What a tile computes (`op`), the buffers its code speaks of (`inputs`, then results), and the code."""

    name: str
    op: ComputeOp
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: Stmt
    reduce_init: Stmt | None = None
    reduce_update: Stmt | None = None

    def __call__(self, *inputs: object, **options: object) -> NoReturn:
        """Calls among computations: loops are replaced by intrinsics afterwards, by `tensorize`."""
        raise _refuse(
            self.name, "is not an element of te.compute", "write the loops, and s[C].tensorize(axis, intrinsic)"
        )

    def whole(self) -> tensorize.TensorIntrin:
        """For tiles that are computed at once."""
        return tensorize.TensorIntrin(self._description(), self._implementation(self.body, self.buffers))

    def steps(self) -> tuple[tensorize.TensorIntrin, tensorize.TensorIntrin]:
        """For tiles of reductions that loops outside go on with: how they begin, and one step."""
        if self.reduce_init is None or self.reduce_update is None:
            raise _refuse(
                self.name,
                "computes whole reductions only, and loops outside of the tile reduce, too",
                "give (body, reset, update), or include the axis of those loops in the tile",
            )
        described = self._description()
        assert isinstance(described.body, BlockRealize)
        start, update = tensorize.parts(described.body.block.body)
        assert start is not None
        results = described.params[len(self.inputs) :]
        first = PrimFunc(results, start, None, {p: described.buffer_map[p] for p in results})
        return (
            tensorize.TensorIntrin(first, self._implementation(self.reduce_init, self.buffers[len(self.inputs) :])),
            tensorize.TensorIntrin(
                described.with_fields(body=update), self._implementation(self.reduce_update, self.buffers)
            ),
        )

    def _description(self) -> PrimFunc:
        return create_prim_func([*self.inputs, *(self.op.output(place) for place in range(self.op.num_outputs))])

    def _implementation(self, body: Stmt, buffers: Sequence[Buffer]) -> PrimFunc:
        params = [Var(f"var_{buffer.name}", HANDLE) for buffer in buffers]
        return PrimFunc(params, body, None, dict(zip(params, buffers)))


def decl_tensor_intrin(
    op: object,
    fcompute: Callable[[list[Buffer], list[Buffer]], Code | Sequence[Code]],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[object] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """An intrinsic for tiles that compute what `op` does: `fcompute(input buffers, output buffers)` gives the code.

    The code is a statement or call, or (body, reset, update). Buffers are those of `binds`, or made with
    `default_buffer_params` (`tir.decl_buffer`'s): those that leave strides and offset open fit wherever a tile lies.
    Error `te-intrin`: `op` is not computed of tensors from outside, or the code is none.
    """
    if not isinstance(op, ComputeOp) or any(isinstance(t.op, ComputeOp) for t in op.input_tensors):
        raise _refuse(name, "is described by one te.compute of placeholders: pass c.op")
    if scalar_params:
        raise _refuse(name, "takes scalars, which a tile cannot pass", "read them from a tensor of one element")
    inputs = tuple(op.input_tensors)
    given = {(tensor.op, tensor.value_index): buffer for tensor, buffer in (binds or {}).items()}
    outputs = (op.output(place) for place in range(op.num_outputs))
    buffers = tuple(
        given.get((t.op, t.value_index)) or decl_buffer(t.shape, t.dtype, t.name, **(default_buffer_params or {}))
        for t in (*inputs, *outputs)
    )
    made = fcompute(list(buffers[: len(inputs)]), list(buffers[len(inputs) :]))
    code = [Evaluate(part) if isinstance(part, PrimExpr) else part for part in _listed(made)]
    if not 1 <= len(code) <= 3 or not isinstance(code[0], Stmt):
        raise _refuse(name, "has no code: the function gives a statement, or (body, reset, update)")
    return TensorIntrin(name, op, inputs, buffers, *code)


def _listed(made: Code | Sequence[Code]) -> list[Code]:
    return [made] if isinstance(made, (Stmt, PrimExpr)) else list(made)


def _refuse(name: str, message: str, help: str | None = None) -> DiagnosticError:
    return fail("te-intrin", f"intrinsic {name} {message}", help=help)
