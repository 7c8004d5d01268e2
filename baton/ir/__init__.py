"""The IR that all languages share (`tvm.ir`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "ir.types", "Type TypeKind PrimType PointerType TensorType TupleType TypeVar GlobalTypeVar IncompleteType"
        ),
        **names("ir.types", "TypeConstraint TypeRelation FuncType RelayRefType TypeCall TypeData Constructor"),
        **names("ir.expr", "BaseExpr PrimExpr GlobalVar Op"),
        **names("driver.tvm_names.ranges", "Range"),
        **names("driver.intrinsic_rules", "register_intrin_lowering"),
        **names("driver.tvm_names.relay.user_operators", "register_op_attr"),
        **renamed("ir.expr", RelayExpr="GraphExpr"),
        **names("ir.module", "IRModule"),
        **names("ir.attrs", "Attrs DictAttrs"),
        **names("ir.near_structural", "structural_equal assert_structural_equal get_first_structural_mismatch"),
        **names("ir.structural_hash", "structural_hash"),
        **names("support.spans", "Span"),
        **names("driver.tvm_names.relay.spans", "SequentialSpan"),
        **renamed("support.spans", SourceName="Source"),
        **names("ir.global_info", "GlobalInfo VDevice DummyGlobalInfo"),
        **names("ir.node", "Node"),
        **names("passes.relay.quantize.quantized_region", "TupleAffineType"),
        **renamed("passes.relay.quantize.quantized_region", TensorAffineType="AffineType"),
        **names("driver.tvm_names.node_json", "load_json save_json"),
        **names("driver.tvm_names.env_func", "EnvFunc"),
        **names("driver.tvm_names.objects", "Array BaseFunc CallingConv Map Object make_node"),
        **submodules(
            "baton.ir",
            "adt attrs base container diagnostics expr function instrument module op supply tensor_type transform type type_relation",
        ),
    },
    before=wire,
)
