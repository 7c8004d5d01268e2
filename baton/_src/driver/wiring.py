"""Bind the layers together: operator overloads, calls of global names, printers.

Builders and printers live in later layers than the nodes they serve; this is the one place where they meet. `wire()` is
called by the public face; calling it again does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, Range
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.types import Constructor, TensorType, Type
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.syntax import build_relax, build_relay, call_global
from baton._src.passes.pipelines import PIPELINES
from baton._src.passes.relax.bindings.inline_private_functions import inline_functions
from baton._src.passes.relax.interfaces.bind_params import BindParams, BindSymbolicVars
from baton._src.relax import nodes as relax
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import erase_struct_info
from baton._src.relax.check.own_info import own_info
from baton._src.relax.special_ops import SPECIAL_OPS
from baton._src.relax.struct_info import StructInfo
from baton._src.relax.tensor_fields import tensor_field
from baton._src.relax.text.infos import type_text
from baton._src.relax.text.metadata import Metadata
from baton._src.relax.text.printer import node_text as relax_text
from baton._src.relax.text.printer import script as relax_script
from baton._src.relax.types import StaticType
from baton._src.relay import nodes as relay
from baton._src.relay.analysis import free_vars
from baton._src.relay.info import type_dim
from baton._src.relay.op_columns import standard_column
from baton._src.relay.pattern_rewrite import match, partition, rewrite_with
from baton._src.relay.patterns import DFPattern
from baton._src.relay.text.printer import astext
from baton._src.te.tensor import Tensor
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import values_of
from baton._src.tir.intrinsics import INTRINSICS, intrinsic
from baton._src.tir.text.printer import node_text as tir_text
from baton._src.tir.text.scope import Scope
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@cache
def wire() -> None:
    """Bind operators to expressions, calls to `GlobalVar`, printers to nodes, and passes to each other."""
    build_te = later("baton._src.te.arithmetic", "build")
    owners: tuple[tuple[Any, Any], ...] = ((relay.Expr, build_relay), (relax.Expr, build_relax), (Tensor, build_te))
    for owner, build in owners:
        owner.build = staticmethod(build)
    # A plain function set on the class becomes a method: the callee is its first argument.
    GlobalVar.call = staticmethod(call_global)
    GraphExpr.static_type = staticmethod(erase_struct_info)
    Constructor.call = staticmethod(relay.Call)
    Op.lookup = staticmethod(operator_named)
    Op.listing = staticmethod(operator_names)
    Node.text = staticmethod(node_text)
    StructInfo.covers = staticmethod(is_base_of)
    relax.Expr.deduced_alone = staticmethod(own_info)
    relax.Expr.tensor_field = staticmethod(tensor_field)
    relax.Function.binding_params = staticmethod(lambda f, values: alone(f, lambda name: BindParams(name, values)))
    relax.Function.binding_symbols = staticmethod(lambda f, dims: alone(f, lambda name: BindSymbolicVars(dims, name)))
    relax.Function.inlining = staticmethod(inline_functions)
    IRModule.standard = staticmethod(later("baton._src.driver.relay.prelude", "import_from_std"))
    Metadata.of_tvm = staticmethod(later("baton._src.driver.tvm_names.node_json", "load_json"))
    IRModule.pickled = staticmethod(later("baton._src.driver.tvm_names.node_json", "pickled"))
    IRModule.relay_text = staticmethod(astext)
    IRModule.as_function = staticmethod(lambda expr: relay.Function(free_vars(expr), expr))
    Op.standard_column = staticmethod(standard_column)
    Op.registration = staticmethod(later("baton._src.driver.tvm_names.relay.user_operators", "Registration"))
    Op.attributes_key = staticmethod(later("baton._src.driver.tvm_names.op_attrs", "attributes_key"))
    Type.equal = staticmethod(structural_equal)
    Range.alike = staticmethod(structural_equal)
    TensorType.dim = staticmethod(type_dim)
    DFPattern.matching = staticmethod(match)
    DFPattern.rewriting = staticmethod(rewrite_with)
    DFPattern.partitioning = staticmethod(partition)
    Analyzer.intervals = staticmethod(values_of)
    PIPELINES["static_shape_tuning"] = later(
        "baton._src.driver.tvm_names.relax.pipelines", "static_shape_tuning_pipeline"
    )
    Scope.building = staticmethod(later("baton._src.script.ir_builder.tir_frames", "statements_for"))
    Pass.find = staticmethod(later("baton._src.driver.passes_by_name", "find_pass"))
    PassContext.unknown = staticmethod(later("baton._src.driver.passes_by_name", "name_unknown"))
    Pass.refuse = staticmethod(later("baton._src.driver.pass_languages", "refuse_foreign"))


def later(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is imported on the first call: most programs do not need it."""
    return lambda *args, **options: getattr(import_module(module), name)(*args, **options)


def alone(function: relax.Function, step: Callable[[str], Pass]) -> relax.Function:
    """What a pass, made for the function's name, makes of a function in a module by itself."""
    name = str(function.attrs.get("global_symbol", "main"))
    found: relax.Function = step(name)(IRModule({name: function}))[name]
    return found


def is_base_of(base: StructInfo, derived: StructInfo) -> bool:
    """Whether `base` is known to cover `derived`."""
    return struct_info_base_check(base, derived, Analyzer()) is BaseCheckResult.PASS


def operator_named(name: str) -> Op:
    """An operator of Relax (`relax.add`), an intrinsic of TIR (`tir.exp`), or an operator of Relay (`add`)."""
    if name.startswith("tir."):
        return intrinsic(name)
    if not name.startswith("relax."):
        return CATALOGUE.relay(name)
    special = SPECIAL_OPS.get(name.removeprefix("relax."))
    return CATALOGUE.relax(name) if special is None else special.op


def operator_names() -> list[str]:
    """The names that `operator_named` knows, in order."""
    special = (row.op.name for row in SPECIAL_OPS.values())
    return sorted({*CATALOGUE.relay_names(), *CATALOGUE.relax_names(), *special, *INTRINSICS})


_RELAY = (relay.Expr, relay.Pattern, relay.Clause, Type, Constructor)
_RELAX = (relax.Expr, relax.Binding, relax.BindingBlock, StructInfo)


def node_text(
    node: Any, show_meta: bool = False, header: bool = False, annotate: Any = None, show_all_struct_info: bool = True
) -> str:
    """The text of a node in its own language; with `show_meta` large constants too, with `header` its version or
    import lines, without `show_all_struct_info` no annotations that Relax infers."""
    if isinstance(node, GlobalVar):
        return f"@{node.name_hint}"
    if isinstance(node, Op):
        return node.name
    if isinstance(node, StaticType):
        return type_text(node)
    if isinstance(node, _RELAY) or (isinstance(node, IRModule) and is_relay(node)):
        return astext(node, show_meta, annotate, header)
    if isinstance(node, (*_RELAX, IRModule)):
        if not (header or show_meta or isinstance(node, (IRModule, relax.Function))):
            return relax_text(node)
        return relax_script(node, show_meta=show_meta, show_all_struct_info=show_all_struct_info)
    return tir_text(node)


def is_relay(module: IRModule) -> bool:
    """Whether the module has functions or types of Relay."""
    return bool(module.type_definitions) or any(isinstance(f, relay.Function) for f in module.functions.values())
