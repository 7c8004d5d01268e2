"""Built-in tensor intrinsics: dot products of bytes, under TVM's names for x86 and ARM.

C[i] = C[i] + A[0] * B[i, 0] + .. + A[3] * B[i, 3]        i < 16 (x86) or i < 4 (ARM), C in words of 32 bits

Each uses the best code for the target: names select the tile and the dtypes, not the instruction. So sums are exact
where the instruction after which `dot_16x4_avx512` is named saturates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.scalar_functions import call, reinterpret
from baton._src.tir.expr import IterVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.tree import refreshed
from baton._src.values.dtype import BOOL, HANDLE

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"
ARM_DOT_4x4_i8_NEON_INTRIN = "dot_4x4_i8i8s32_neon"
ARM_DOT_4x4_i8_SDOT_INTRIN = "dot_4x4_i8i8s32_sdot"
ARM_DOT_4x4_u8_UDOT_INTRIN = "dot_4x4_u8u8u32_udot"
ARM_DOT_4x4_u8_HDOT_INTRIN = "dot_4x4_u8u8i32_hdot"

_BYTES = 4
"""How many products are summed to one word."""


@dataclass(frozen=True)
class DotProduct:
    """A tile of `rows` dot products, by the dtypes of A, B and C."""

    rows: int
    left: str
    right: str
    total: str

    def buffers(self) -> tuple[Buffer, Buffer, Buffer]:
        """The parameters A[4], B[rows, 4], C[rows]."""
        shapes = (("A", (_BYTES,), self.left), ("B", (self.rows, _BYTES), self.right), ("C", (self.rows,), self.total))
        a, b, c = (decl_buffer(shape, dtype, name, offset_factor=1) for name, shape, dtype in shapes)
        return a, b, c

    def description(self) -> PrimFunc:
        """What the tile computes, as loops."""
        a, b, c = buffers = self.buffers()
        i, k = tir.Var("vi", "int32"), tir.Var("vk", "int32")
        product = ops.multiply(*(ops.cast(self.total, tir.BufferLoad(x, at)) for x, at in ((a, (k,)), (b, (i, k)))))
        store = st.BufferStore(c, ops.add(tir.BufferLoad(c, (i,)), product), (i,))
        axes = [
            IterVar(Range(tir.IntImm("int32", 0), tir.IntImm("int32", n)), v, kind)
            for v, n, kind in ((i, self.rows, "spatial"), (k, _BYTES, "reduce"))
        ]
        loops = (tir.Var("i", "int32"), tir.Var("k", "int32"))
        nest: st.Stmt = st.BlockRealize(loops, _TRUE, refreshed(st.Block(axes, (), (), "update", store)))
        for var, extent in reversed(list(zip(loops, (self.rows, _BYTES)))):
            nest = st.For(var, 0, extent, st.ForKind.SERIAL, nest)
        return _function(buffers, nest)

    def implementation(self) -> PrimFunc:
        """The tile at once: words of four bytes where there is an instruction for them, else vectors of products."""
        a, b, c = buffers = self.buffers()
        lanes = self.rows
        sums = c.vload(0, f"{self.total}x{lanes}")
        matrix = b.vload([0, 0], f"{self.right}x{lanes * _BYTES}")
        if (self.left, self.right, self.total) == ("uint8", "int8", "int32"):
            word = tir.Broadcast(reinterpret("int32", a.vload(0, f"{self.left}x{_BYTES}")), lanes)
            value = call("dot_u8s8", sums, word, reinterpret(f"int32x{lanes}", matrix))
        else:
            value = self._by_columns(a, matrix, sums)
        return _function(buffers, c.vstore(0, value))

    def _by_columns(self, a: Buffer, matrix: PrimExpr, sums: PrimExpr) -> PrimExpr:
        for k in range(_BYTES):
            column = tir.Shuffle((matrix,), tuple(range(k, self.rows * _BYTES, _BYTES)))
            factor = tir.Broadcast(ops.cast(self.total, tir.BufferLoad(a, (tir.IntImm("int32", k),))), self.rows)
            sums = ops.add(sums, ops.multiply(factor, ops.cast(f"{self.total}x{self.rows}", column)))
        return sums


_TRUE = tir.IntImm(BOOL, 1)


def _function(buffers: tuple[Buffer, ...], body: st.Stmt) -> PrimFunc:
    params = [tir.Var(buffer.name.lower(), HANDLE) for buffer in buffers]
    reads = [st.full_region(buffer) for buffer in buffers]
    root = st.Block((), reads, reads[-1:], "root", body)
    return PrimFunc(params, st.BlockRealize((), _TRUE, root), None, dict(zip(params, buffers)))


DOT_PRODUCTS: Mapping[str, DotProduct] = {
    VNNI_DOT_16x4_INTRIN: DotProduct(16, "uint8", "int8", "int32"),
    AVX512_DOT_16x4_INTRIN: DotProduct(16, "uint8", "int8", "int32"),
    ARM_DOT_4x4_i8_NEON_INTRIN: DotProduct(4, "int8", "int8", "int32"),
    ARM_DOT_4x4_i8_SDOT_INTRIN: DotProduct(4, "int8", "int8", "int32"),
    ARM_DOT_4x4_u8_UDOT_INTRIN: DotProduct(4, "uint8", "uint8", "uint32"),
    ARM_DOT_4x4_u8_HDOT_INTRIN: DotProduct(4, "uint8", "uint8", "int32"),
}
"""The tiles by name."""


@cache
def dot_product(name: str) -> tuple[PrimFunc, PrimFunc] | None:
    """Description and implementation of the intrinsic of this name; None if there is none."""
    found = DOT_PRODUCTS.get(name)
    return None if found is None else (found.description(), found.implementation())
