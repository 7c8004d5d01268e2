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
        **names("tir.stmt", "AllocateConst DeclBuffer MatchBufferRegion Block BlockRealize"),
        **names("tir.buffer", "Buffer BufferRegion decl_buffer"),
        **names(
            "driver.tvm_names.tir.absent_kinds", "BufferRealize DataProducer Prefetch ProducerRealize ProducerStore"
        ),
        **names("tir.prim_func", "PrimFunc"),
        **names("tir.operators", "cast"),
        **names("driver.tir.build", "build"),  # newer TVM's word for tvm.build
        **names(
            "tir.builders.scalar_functions",
            "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh",
        ),
        **names("tir.builders.scalar_functions", "acosh atanh erf sigmoid fmod atan2"),
        **names(
            "tir.builders.scalar_functions",
            "hypot copysign nextafter ldexp popcount clz q_multiply_shift undef ignore_loop_partition",
        ),
        **names("tir.builders.scalar_functions", "large_uint_imm"),
        **names("tir.builders.extern_calls", "type_annotation"),
        **names("tir.builders.system_calls", "call_packed_lowered call_cpacked_lowered call_cpacked call_tir trace"),
        **names(
            "tir.builders.system_calls", "tvm_check_return tvm_stack_alloca tvm_stack_make_shape tvm_stack_make_array"
        ),
        **names("tir.builders.system_calls", "tvm_tuple tvm_struct_get tvm_struct_set tvm_throw_last_error vscale"),
        **names(
            "tir.builders.system_calls", "TVMBackendAllocWorkspace TVMBackendFreeWorkspace start_profile_intrinsic"
        ),
        **names(
            "tir.builders.system_calls",
            "end_profile_intrinsic vectorlow vectorhigh vectorcombine shift_left shift_right",
        ),
        **names("tir.builders.system_calls", "q_multiply_shift_per_axis"),
        **names("te.reduction", "comm_reducer sum min max"),
        **names("driver.tvm_names.tir.scalar_words", "add subtract multiply"),
        **names("tir.stmt", "stmt_seq stmt_list"),
        **names("support.diagnostics", "ScheduleError"),
        **names("driver.tvm_names.tir.scalar_kinds", "CallEffectKind"),
        **names("driver.tvm_names.tir.layouts", "Layout BijectiveLayout layout bijective_layout"),
        **names("tir.schedule.schedule", "Schedule"),
        **names("tir.schedule.state", "BlockDependenceInfo"),
        **names("tir.schedule.conditions.block_scope", "BlockScope Dependency DepKind"),
        **names("tir.schedule.srefs", "StmtSRef"),
        **names("tir.schedule.state", "ScheduleState"),
        **names("tir.schedule.transformations.tensorize", "TensorIntrin"),
        **names("tir.index_map", "IndexMap"),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "abs address_of all any assume bitwise_and bitwise_not bitwise_or bitwise_xor call_extern call_intrin",
        ),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "call_llvm_intrin call_llvm_pure_intrin call_packed call_pure_extern ceil ceildiv const div floor floordiv floormod",
        ),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "if_then_else indexdiv indexmod infinity isfinite isinf isnan isnullptr likely lookup_param max_value",
        ),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "min_value nearbyint pow power reinterpret ret round trunc truncdiv truncmod tvm_access_ptr",
        ),
        **submodules(
            "baton.tir",
            "analysis block_dependence_info block_scope buffer data_layout expr function generic ir_builder op schedule stmt stmt_functor tensor_intrin "
            "transform",
        ),
    },
    before=wire,
)
