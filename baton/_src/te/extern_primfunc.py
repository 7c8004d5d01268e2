"""`te.extern_primfunc`: a PrimFunc among computations, its buffers standing for tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.traverse import post_order, substitute
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.computation import extern
from baton._src.te.shown import kind_text
from baton._src.te.tensor import Tensor
from baton._src.tir.analysis.regions import point_regions
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BlockRealize, Stmt


def extern_primfunc(
    input_tensors: Sequence[Tensor],
    primfunc: PrimFunc,
    name: str | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """What `primfunc` writes, computed of `input_tensors`, which stand for the buffers it only reads, in their order.

    Shapes and dtypes have to be those of its buffers. `name` (the kernel's, unless given), `tag` and `attrs` are as for
    `te.extern`.
    Error `te-extern`: scalars among the parameters, buffers that are read and written, tensors that do not fit.
    """
    own = _own_copy(primfunc)
    called = str(primfunc.attrs.get("global_symbol", "extern_primfunc"))
    scalar = next((param for param in own.params if param not in own.buffer_map), None)
    if scalar is not None:
        raise _wrong(called, f"has the scalar parameter {scalar.name}", "make it a buffer of one element")
    buffers = [own.buffer_map[param] for param in own.params]
    read, written = ([region.buffer for region in regions] for regions in point_regions(own.body))
    inputs = [buffer for buffer in buffers if buffer in read and buffer not in written]
    outputs = [buffer for buffer in buffers if buffer in written]
    _check_fit(called, inputs, input_tensors)
    if not outputs:
        raise _wrong(called, "writes no buffer")
    return extern(
        [buffer.shape for buffer in outputs],
        list(input_tensors),
        lambda ins, outs: _without_root(own.body),
        in_buffers=inputs,
        out_buffers=outputs,
        name=called if name is None else name,
        tag=tag,
        attrs=attrs,
        dtype=[buffer.dtype for buffer in outputs],
    )


def _own_copy(primfunc: PrimFunc) -> PrimFunc:
    """The kernel over variables of its own: it may be used several times."""
    found: PrimFunc = substitute(primfunc, {n: n.copy() for n in post_order(primfunc) if isinstance(n, Var)})
    return found


def _without_root(body: Stmt) -> Stmt:
    """What is in the root block, where this holds nothing else."""
    if isinstance(body, BlockRealize) and not body.block.iter_vars and not body.block.alloc_buffers:
        return body.block.body
    return body


def _check_fit(name: str, buffers: Sequence[Buffer], tensors: Sequence[Tensor]) -> None:
    if len(buffers) != len(tensors):
        raise _wrong(name, f"reads {len(buffers)} buffers that it does not write, got {len(tensors)} tensors")
    for buffer, tensor in zip(buffers, tensors):
        pairs = list(zip(buffer.shape, tensor.shape))
        same = buffer.ndim == tensor.ndim and all(Analyzer().can_prove_equal(a, b) for a, b in pairs)
        if not same or buffer.dtype != tensor.dtype:
            raise _wrong(name, f"takes {kind_text(buffer)} for {buffer.name}, {tensor.name} is {kind_text(tensor)}")


def _wrong(name: str, message: str, help: str | None = None) -> DiagnosticError:
    return fail("te-extern", f"{name} {message}", help=help)
