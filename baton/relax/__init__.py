"""Relax, the graph language with symbolic shapes (`tvm.relax`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relax.nodes",
            "Expr Constant Var DataflowVar Tuple TupleGetItem ShapeExpr PrimValue StringImm DataTypeImm Call If",
        ),
        **names("relax.nodes", "Binding VarBinding MatchCast BindingBlock DataflowBlock SeqExpr Function ExternFunc"),
        **names(
            "relax.struct_info",
            "StructInfo ObjectStructInfo PrimStructInfo ShapeStructInfo TensorStructInfo TupleStructInfo",
        ),
        **names("relax.struct_info", "FuncStructInfo"),
        **names("ir.expr", "GlobalVar"),
        **names("relax.literals", "const"),
        **names("relax.call_builders", "call_tir call_tir_inplace call_tir_with_grad call_dps_packed call_pure_packed"),
        **names("relax.types", "ObjectType DynTensorType ShapeType PackedFuncType"),
        **names("ir.types", "Type TupleType FuncType"),
        **names("passes.relax.bindings.dataflow_block_rewrite", "DataflowBlockRewrite"),
        **names("relax.block_builder", "BlockBuilder"),
        **names("relax.functors", "ExprFunctor ExprVisitor ExprMutator"),
        **renamed("relax.functors", PyExprVisitor="ExprVisitor", PyExprMutator="ExprMutator"),
        **names("runtime.executable.exec_builder", "ExecBuilder"),
        **names("runtime.vm.virtual_machine", "VirtualMachine VMInstrumentReturnKind"),
        **names("driver.relay.to_relax", "from_relay"),
        **names("driver.tvm_names.relax.cpu_pipeline", "get_default_pipeline"),
        **names("driver.tvm_names.relax.expressions", "extern get_shape_of te_tensor"),
        **names("ir.global_info", "VDevice"),
        **names("support.spans", "Span"),
        **renamed("support.spans", SourceName="Source"),
        **renamed("runtime.executable.executable", VMExecutable="Executable"),
        **renamed("driver.relax.build", build="relax_build"),
        **names("runtime.executable.executable", "Executable"),
        **names("passes.pipelines", "get_pipeline register_pipeline"),
        **submodules(
            "baton.relax",
            "analysis backend binding_rewrite block_builder dpl exec_builder expr expr_functor frontend ir op pipeline struct_info testing transform",
        ),
        **submodules("baton.relax", "training ty utils vm_build"),
        "vm": "baton.runtime.relax_vm",
        **renamed("relax.nodes", Id="Var"),
    },
    before=wire,
)
