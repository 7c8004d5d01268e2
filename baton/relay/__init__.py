"""Relay, the functional graph language (`tvm.relay`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relay.nodes",
            "Expr Constant Var Tuple TupleGetItem Call Let If Function RefCreate RefRead RefWrite Pattern",
        ),
        **names("relay.nodes", "PatternWildcard PatternVar PatternConstructor PatternTuple Clause Match TempExpr var"),
        **names(
            "ir.types", "Type TypeKind PrimType PointerType TensorType TupleType TypeVar GlobalTypeVar IncompleteType"
        ),
        **names("ir.types", "TypeConstraint TypeRelation FuncType RelayRefType TypeCall TypeData Constructor"),
        **names("driver.tvm_names.texts", "parse parse_expr fromtext astext"),
        **names("ir.expr", "GlobalVar Op"),
        **names("driver.tvm_names.ranges", "Range"),
        **renamed("tir.expr", Any="AnyDim"),
        **renamed("ir.types", RefType="RelayRefType"),
        **names("driver.tvm_names.relay.words", "const"),
        **names("ops.tuple_wrapper", "TupleWrapper"),
        **names("driver.relay.build", "build optimize build_config"),
        **names("relay.expr_functor", "ExprFunctor ExprVisitor ExprMutator"),
        **names("relay.type_functor", "TypeFunctor TypeVisitor TypeMutator"),
        **names("relay.scope_builder", "ScopeBuilder"),
        **names("driver.relay.prelude", "Prelude"),
        **names("relay.pattern_rewrite", "DFPatternCallback"),
        **names("driver.relay.executors", "create_executor"),
        **names("runtime.param_dict", "load_param_dict save_param_dict"),
        **submodules(
            "baton.relay",
            "adt analysis backend build_module dataflow_pattern expr expr_functor frontend function image nn op",
        ),
        **names("driver.tvm_names.relay.words", "bind debug device_copy pretty_print scalar_type ShapeVar"),
        **names("support.spans", "Span"),
        **names("driver.tvm_names.relay.spans", "SequentialSpan SpanCheck type_has_any"),
        **renamed("support.spans", SourceName="Source"),
        **names("transform.decorators", "module_pass"),
        **renamed("driver.tvm_names.user_passes", function_pass="relay_function_pass"),
        **submodules("baton.relay", "annotation base data_dep_optimization loops param_dict parser"),
        **submodules("baton.relay", "prelude qnn quantize scope_builder testing transform ty type_functor vision vm"),
        **names(
            "driver.tvm_names.relay.with_fields",
            "ConstantWithFields TupleWithFields VarWithFields CallWithFields LetWithFields IfWithFields",
        ),
        **names(
            "driver.tvm_names.relay.with_fields",
            "TupleGetItemWithFields RefCreateWithFields RefReadWithFields RefWriteWithFields",
        ),
        **names("driver.tvm_names.relay.with_fields", "FunctionWithFields"),
        **renamed("relay.nodes", Id="Var"),
    },
    before=wire,
    more=relay_builders,
)
