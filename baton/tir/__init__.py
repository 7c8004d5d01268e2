"""TIR, the kernel language (`tvm.tir`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "tir.expr",
            "Var SizeVar IntImm FloatImm StringImm Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE",
        ),
        **names(
            "tir.expr",
            "And Or Not Select Cast Ramp Broadcast Shuffle Let Call BufferLoad ProducerLoad IterVar CommReducer Reduce",
        ),
        **renamed("tir.expr", Any="AnyDim"),
        **names("ir.expr", "PrimExpr"),
        **names(
            "tir.stmt",
            "Stmt SeqStmt Evaluate BufferStore LetStmt AttrStmt AssertStmt For ForKind While IfThenElse Allocate",
        ),
        **names("tir.stmt", "DeclBuffer MatchBufferRegion Block BlockRealize"),
        **names("tir.buffer", "Buffer BufferRegion decl_buffer"),
        **names("tir.prim_func", "PrimFunc"),
        **names(
            "tir.operators",
            "div truncdiv truncmod floordiv floormod indexdiv indexmod ceildiv min max power all any cast const",
        ),
        **names(
            "tir.scalar_functions",
            "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh",
        ),
        **names(
            "tir.scalar_functions",
            "acosh atanh erf sigmoid floor ceil trunc round nearbyint abs isnan isinf isfinite pow fmod atan2",
        ),
        **names(
            "tir.scalar_functions",
            "hypot copysign nextafter ldexp popcount clz q_multiply_shift if_then_else likely undef ret",
        ),
        **names("tir.scalar_functions", "reinterpret address_of isnullptr large_uint_imm call_extern call_packed"),
        **names("tir.scalar_functions", "call_intrin call_pure_extern"),
        **names("tir.scalar_functions", "max_value min_value infinity"),
        **names("te.reduction", "comm_reducer sum"),
        **names("tir.schedule.schedule", "Schedule"),
        **names("tir.schedule.tensorize", "TensorIntrin"),
        **names("tir.index_map", "IndexMap"),
        **submodules("baton.tir", "analysis buffer expr function op schedule stmt stmt_functor transform"),
    },
    before=wire,
)
