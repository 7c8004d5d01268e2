"""Relay, the functional graph language (`tvm.relay`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relay.nodes",
            "Expr Constant Var Tuple TupleGetItem Call Let If Function RefCreate RefRead RefWrite Pattern PatternWildcard "
            "PatternVar PatternConstructor PatternTuple Clause Match TempExpr var",
        ),
        **names(
            "ir.types",
            "Type TypeKind PrimType PointerType TensorType TupleType TypeVar GlobalTypeVar IncompleteType TypeConstraint "
            "TypeRelation FuncType RelayRefType TypeCall TypeData Constructor",
        ),
        **names("ir.expr", "GlobalVar Op"),
        **renamed("tir.expr", Any="AnyDim"),
        **renamed("ir.types", RefType="RelayRefType"),
        **renamed("ops.arguments", const="relay_constant"),
        **names("ops.tuple_wrapper", "TupleWrapper"),
        **names("driver.relay_types", "scalar_type ShapeVar bind"),
        **names("driver.relay_text", "parse parse_expr fromtext astext pretty_print load_param_dict save_param_dict"),
        **names("driver.relay_build", "build optimize build_config create_executor"),
        **names("relay.scope_builder", "ScopeBuilder"),
        **names("relay.functors", "ExprFunctor ExprVisitor ExprMutator TypeFunctor TypeVisitor TypeMutator"),
        **names("relay.prelude.loader", "Prelude"),
        **submodules(
            "baton.relay",
            "adt analysis backend build_module dataflow_pattern expr expr_functor frontend function image nn op prelude qnn "
            "scope_builder testing transform ty type_functor vision vm",
        ),
    },
    before=wire,
    more=relay_builders,
)
