"""What all languages share (`tvm.ir`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.expr", "BaseExpr PrimExpr GlobalVar Op Range"),
        **renamed("ir.expr", RelayExpr="GraphExpr"),
        **names(
            "ir.types",
            "Type TypeKind PrimType PointerType TensorType TupleType TypeVar GlobalTypeVar IncompleteType TypeConstraint "
            "TypeRelation FuncType RelayRefType TypeCall TypeData Constructor",
        ),
        **names("ir.module", "IRModule"),
        **names("ir.attrs", "Attrs DictAttrs"),
        **names("ir.structural", "structural_equal structural_hash assert_structural_equal"),
        **names("support.spans", "Span"),
        **renamed("support.spans", SourceName="Source"),
        **names("relax.devices", "VDevice"),
        **names("ir.node", "Node"),
        **submodules("baton.ir", "instrument transform"),
        **names("driver.ir_text", "save_json load_json make_node"),
        **names("driver.operators", "register_op_attr register_intrin_lowering"),
    },
    before=wire,
)
