"""Patterns shared by external compilers (`tvm.relax.backend.patterns`), each with its annotated parts by name.

    pattern, annotations = make_matmul_pattern(with_bias=True, activation="relax.nn.relu")
    FuseOpsByPattern([("mine.matmul_bias_relu", pattern, annotations)])

`attention_rewrite` turns attention that is written out into `R.nn.attention`.
"""

from __future__ import annotations

from typing import Any

from baton._src.relax.patterns.builders import is_const, is_op, is_tuple_get_item, wildcard
from baton._src.relax.patterns.nodes import DFPattern, GlobalVarPattern, TuplePattern
from baton._src.support.diagnostics import fail

Annotated = tuple[DFPattern, dict[str, DFPattern]]


def _finished(out: DFPattern, annotations: dict[str, DFPattern], with_bias: bool, activation: str | None) -> Annotated:
    """A pattern followed by an optional bias and activation."""
    if with_bias:
        annotations["bias"] = wildcard()
        out = is_op("relax.add")(out, annotations["bias"])
    return (out if activation is None else is_op(activation)(out)), annotations


def _of_two(op_name: str, first: str, second: str, transposed: bool = False) -> Annotated:
    """An operator of two operands, which is annotated as `root`; the second may be transposed."""
    annotations: dict[str, DFPattern] = {first: wildcard(), second: wildcard()}
    right = is_op("relax.permute_dims")(annotations[second]) if transposed else annotations[second]
    annotations["root"] = is_op(op_name)(annotations[first], right)
    return annotations["root"], annotations


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> Annotated:
    """An operator of two operands (`lhs`, `rhs`), followed by an optional `bias` and activation."""
    return _finished(*_of_two(op_name, "lhs", "rhs"), with_bias, activation)


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Annotated:
    """A convolution of `input` by `weight`, followed by an optional `bias` and activation."""
    return _finished(*_of_two("relax.nn.conv2d", "input", "weight"), with_bias, activation)


def make_matmul_pattern(
    with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False
) -> Annotated:
    """`lhs` times `rhs` (possibly transposed), followed by an optional `bias` and activation."""
    return _finished(*_of_two("relax.matmul", "lhs", "rhs", transposed_rhs), with_bias, activation)


def make_residual_block_pattern(
    node_output: DFPattern | Annotated, binary_op: str = "relax.add", activation: str | None = None
) -> Annotated:
    """The result of a pattern combined with `residual`, on either side, followed by an optional activation."""
    out, annotations = node_output if isinstance(node_output, tuple) else (node_output, {})
    residual = wildcard()
    combined: DFPattern = is_op(binary_op)(out, residual) | is_op(binary_op)(residual, out)
    return (combined if activation is None else is_op(activation)(combined)), {**annotations, "residual": residual}


def make_attention_pattern(with_bias: bool = False, var_len: bool = False) -> Annotated:
    """Attention of `query`, `key`, `value`, optionally with a `bias`, or over sequences of different lengths in one
    batch.
    """
    names, op_name = ["query", "key", "value"], "relax.nn.attention"
    if with_bias:
        names, op_name = [*names, "bias"], "relax.nn.attention_bias"
    elif var_len:
        names += ["seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"]
        op_name = "relax.nn.attention_var_len"
    annotations: dict[str, DFPattern] = {name: wildcard() for name in names}
    return is_op(op_name)(*annotations.values()), annotations


def make_stacked_attention_pattern(start_op: str, with_bias: bool = False, layout: str = "BS3NH") -> Annotated:
    """Attention whose operands `start_op` ("split" or "strided_slice") takes out of one tensor, `stacked_qkv`.

    `layout` "BS3NH": the parts are reshaped; "SBN3H": they are transposed, and so is the result.
    """
    annotations: dict[str, DFPattern] = {"stacked_qkv": wildcard()}
    parts = _formed(layout, _cut(start_op, annotations), annotations)
    if with_bias:
        annotations["bias"] = wildcard()
        parts.append(annotations["bias"])
    out = is_op("relax.nn.attention_bias" if with_bias else "relax.nn.attention")(*parts)
    return (is_op("relax.permute_dims")(out) if layout == "SBN3H" else out), annotations


def _cut(start_op: str, annotations: dict[str, DFPattern]) -> list[DFPattern]:
    """Queries, keys and values, taken out of `stacked_qkv` and annotated."""
    stacked = annotations["stacked_qkv"]
    if start_op == "split":
        annotations["split"] = is_op("relax.split")(stacked)
        return [is_tuple_get_item(annotations["split"], i) for i in range(3)]
    if start_op == "strided_slice":
        cuts = {
            f"strided_slice_{name}": is_op("relax.strided_slice")(stacked, varg_default_wildcard=True)
            for name in ("query", "key", "value")
        }
        annotations |= cuts
        return list(cuts.values())
    raise _unknown("start_op", start_op, ("split", "strided_slice"))


def _formed(layout: str, parts: list[DFPattern], annotations: dict[str, DFPattern]) -> list[DFPattern]:
    """The parts as attention takes them: reshaped or transposed, and annotated."""
    if layout == "BS3NH":
        shapes = {name: wildcard() for name in ("query_reshape_list", "key_reshape_list", "value_reshape_list")}
        annotations |= shapes
        return [is_op("relax.reshape")(part, shape) for part, shape in zip(parts, shapes.values(), strict=True)]
    if layout == "SBN3H":
        transposed: list[DFPattern] = [is_op("relax.permute_dims")(part) for part in parts]
        annotations |= dict(zip(("q_transpose", "k_transpose", "v_transpose"), transposed, strict=True))
        return transposed
    raise _unknown("layout", layout, ("BS3NH", "SBN3H"))


def _unknown(what: str, given: Any, known: tuple[str, ...]) -> Exception:
    return fail("api", f"there is no {what} {given!r}", help=f"one of {', '.join(known)}", kind=NotImplementedError)


def make_layer_norm_pattern() -> Annotated:
    """Layer normalisation with scale and shift."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern() -> Annotated:
    """A kernel `gv` called with `inp` and a weight; a check has to decide whether it is the right kernel."""
    function, data = GlobalVarPattern(), wildcard()
    out = is_op("relax.call_tir")(function, TuplePattern((data, wildcard())))
    return out, {"gv": function, "inp": data, "rms_norm": out}


def make_matmul_dequantize_pattern(transposed_rhs: bool = False) -> Annotated:
    """A product, dequantised by constants `scale` and `zp`."""
    out, annotations = _of_two("relax.matmul", "lhs", "rhs", transposed_rhs)
    annotations |= {"scale": is_const(), "zp": is_const()}
    return is_op("relax.dequantize")(out, annotations["scale"], annotations["zp"]), annotations


def make_matmul_multiply_pattern(transposed_rhs: bool = False) -> Annotated:
    """A product times the product of two scales of one element, cast."""
    out, annotations = _of_two("relax.matmul", "lhs", "rhs", transposed_rhs)
    annotations |= {"scaleA": wildcard(), "scaleB": wildcard()}
    scales = (annotations[name].has_shape((1,)) for name in ("scaleA", "scaleB"))
    scaled = is_op("relax.multiply")(out, is_op("relax.multiply")(*scales))
    return is_op("relax.astype")(scaled), annotations
