"""`create_prim_func`: a graph of tensors becomes a PrimFunc, one block a computation.

A[n, 128] -> B = exp(A) -> C = sum(B, k)       create_prim_func([A, C])
becomes
for i, j: block B: B[i, j] = exp(A[i, j])      (B is allocated: it is no parameter)
for i, k: block C: init C[i] = 0; C[i] = C[i] + B[i, k]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from baton._src.support.diagnostics import fail
from baton._src.te.blocks import LAYOUT_FREE, Computed, Graph, sequence
from baton._src.te.tensor import Operation, PlaceholderOp, Tensor
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.index_dtype import with_index_dtype
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize
from baton._src.values.dtype import BOOL, HANDLE, DataType


def create_prim_func(
    ops: Sequence[Tensor | Var] | Tensor,
    index_dtype_override: str | None = None,
    *,
    name: str = "main",
    attrs: Mapping[str, object] | None = None,
) -> PrimFunc:
    """A PrimFunc with these tensors (inputs and outputs, in any order; or a single one) and scalar variables as params.

    Tensors that are computed but not listed are allocated inside. Attributes: `global_symbol` (`name`) and
    `tir.noalias`, and those given. Loops and sizes have `index_dtype_override` instead of the dtype of the sizes.
    """
    args = [ops] if isinstance(ops, Tensor) else ops
    function = prim_func_with_blocks(args, name, attrs)[0]
    return function if index_dtype_override is None else with_index_dtype(function, DataType(index_dtype_override))


def prim_func_with_blocks(
    args: Sequence[Tensor | Var],
    name: str = "main",
    attrs: Mapping[str, object] | None = None,
    joined: Collection[Operation] = (),
) -> tuple[PrimFunc, dict[Computed, list[str]]]:
    """`create_prim_func`, and the names of the blocks that each operation became: one for each of its results, or one
    for all if it is among `joined`."""
    graph = Graph(joined)
    params: list[Var] = []
    buffer_map: dict[Var, Buffer] = {}
    for arg in args:
        if isinstance(arg, Tensor):
            buffer = graph.declare(arg)
            handle = Var(f"var_{buffer.name}", HANDLE)
            params.append(handle)
            buffer_map[handle] = buffer
        elif isinstance(arg, Var):
            params.append(arg)
        else:
            raise fail("te-argument", f"create_prim_func takes tensors and variables, got {arg!r}")
    given = set(buffer_map.values())
    computed = computed_operations([a for a in args if isinstance(a, Tensor)])
    statements = [s for op in computed for s in graph.statements(op)]
    missing = [op.name for (op, _), b in graph.buffers.items() if isinstance(op, PlaceholderOp) and b not in given]
    if missing:
        raise fail(
            "te-argument",
            f"{', '.join(missing)} comes from outside and is not a parameter",
            help="list it among the tensors: create_prim_func([A, ..., result]), tvm.build(s, [A, ..., result])",
        )
    allocated = [b for b in dict.fromkeys(graph.buffers.values()) if b not in given and b not in graph.rows]
    root = Block((), (), (), "root", sequence(statements), alloc_buffers=allocated)
    found = {"global_symbol": name, "tir.noalias": True, **_layout_free(args, computed), **(attrs or {})}
    func = PrimFunc(params, BlockRealize((), IntImm(BOOL, 1), root), None, buffer_map, found)
    return func, graph.blocks


def _layout_free(args: Sequence[Tensor | Var], computed: Sequence[Computed]) -> dict[str, object]:
    """`layout_free_buffers`: the places of the parameters that computations' `layout_free_placeholders` name."""
    named = [tensor for op in computed for tensor in op.attrs.get(LAYOUT_FREE, ())]
    places = [place for place, arg in enumerate(args) if any(arg is tensor for tensor in named)]
    return {"layout_free_buffers": places} if places else {}


def input_tensors(op: PlaceholderOp | Computed) -> list[Tensor]:
    """The tensors an operation reads, each once, in order of first use."""
    return list(dict.fromkeys(op.input_tensors))


def computed_operations(tensors: Sequence[Tensor]) -> list[Computed]:
    """The operations behind the tensors, producers first."""
    found: dict[Computed, None] = {}
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(tensors)]
    while stack:
        op, done = stack.pop()
        if op in found or isinstance(op, PlaceholderOp):
            continue
        if done:
            found[op] = None
            continue
        stack.append((op, True))
        stack += [(t.op, False) for t in reversed(input_tensors(op)) if t.op not in found]
    return list(found)
