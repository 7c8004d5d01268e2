"""ConvertLayout: convert chosen operators to another layout, with transforms only at the borders.

    ConvertLayout({"nn.conv2d": ["NHWC", "default"]})          ConvertLayout({"nn.conv2d": ["NCHW8c"]})

For each operator the layout of its data is given (and of its kernel; "default" for the matching one). A blocked layout
makes a convolution `nn.contrib_conv2d_NCHWc`, if its channels are multiples of the block; few input channels become one
block. Pooling, resizing, elementwise operators (`layout_changes`) and operators that refer to axes by number
(`axis_changes`) propagate the layout.

Rules that users registered come first: `register_convert_op_layout(name, rule)`, where `rule(attrs, args, types,
desired)` returns the call with other layout attributes, or None.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ops.catalogue import CATALOGUE, unknown_op
from baton._src.ops.layout_names import parse_layout
from baton._src.ops.layouts import Anchor
from baton._src.passes.relay.building import Build, is_generalized, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layouts.axis_changes import follow_axes
from baton._src.passes.relay.layouts.layout_changes import TransposedExpr, fits, follow, in_layout
from baton._src.passes.relay.operators.canonicalize_ops import CanonicalizeOps
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.temporaries import Realized, rewrite_with_temporaries
from baton._src.relay.expressions import parts
from baton._src.relay.expressions import replace as replace_expressions
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.options import check_options
from baton._src.transform.passes import Pass

MAX_BLOCK = 16
"""Largest number of input channels that become one block although it is not a multiple of the block."""
_DATA = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
_KERNEL = {3: "OIW", 4: "OIHW", 5: "OIDHW"}
_KERNEL_OF = {"NHWC": "HWIO", "NCHW": "OIHW", "NWC": "WIO", "NCW": "OIW", "NDHWC": "DHWIO", "NCDHW": "OIDHW"}
_BLOCKED = re.compile(r"^([A-Z]+)(\d+)c$")

LayoutRule = Callable[[Call, list[Any]], Any]
"""The replacement of a call (with the arguments that the program wrote): a call with other layouts, or None."""


class _Entered(threading.local):
    """The configurations this thread has entered."""

    def __init__(self) -> None:
        self.stack: list[LayoutConfig] = []


_entered = _Entered()


class LayoutConfig:
    """Which convolutions ConvertLayout leaves alone: those numbered `skip_layers`, in the order of the program.

    with LayoutConfig(skip_layers=[0]): ...         # the first nn.conv2d keeps its layout
    """

    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_layers = tuple(skip_layers or ())
        self.skip_counter = 0

    def check_skip(self) -> bool:
        """Whether the next layer keeps its layout."""
        self.skip_counter += 1
        return self.skip_counter - 1 in self.skip_layers

    def __enter__(self) -> Self:
        self.skip_counter = 0
        _entered.stack.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _entered.stack.pop()


@dataclass(frozen=True)
class ConvertLayout(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (
        InferType(),
        CanonicalizeOps(),
    )
    desired_layouts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        wanted = {}
        for name, layouts in self.desired_layouts.items():
            if name not in CATALOGUE:
                raise unknown_op(name, CATALOGUE.relay_names())
            if isinstance(layouts, str):
                raise fail("api", f"the layouts of {name} are a list, not {layouts!r}", help=f"write [{layouts!r}]")
            wanted[name] = tuple(layouts)
            if not wanted[name]:
                raise fail("api", f"there is no layout for {name}", help="write ['NHWC'], or leave the operator out")
            for layout in wanted[name]:
                if layout != "default":
                    parse_layout(layout)
        object.__setattr__(self, "desired_layouts", wanted)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return convert(function, self._rule)

    def _rule(self, call: Call, types: list[Any]) -> Any:
        wanted = self.desired_layouts.get(call.op.name)
        if wanted is None:
            return None
        if call.op.name == "nn.conv2d" and _entered.stack and _entered.stack[-1].check_skip():
            return None
        user = call.op.get_attr("FTVMConvertOpLayout")
        if user is not None:
            return user(call.attrs, call.args, types, list(wanted))
        if not isinstance(call.op.definition.layout, Anchor):  # TVM leaves such operators alone, without a word
            warnings.warn(f"ConvertLayout: {call.op.name} has no layout to convert; it stays as it is", stacklevel=2)
            return None
        return in_wanted_layout(call, wanted)


def convert(function: Function, rule: LayoutRule) -> Any:
    """`function` with the calls for which `rule` returns a replacement converted to its layouts."""
    build = Build()

    def converted(call: Call, args: list[Any], realized: Realized) -> Any:
        if not isinstance(call.op, Op) or call.op.definition is None:
            return None
        if any(is_generalized(value) for value in (call, *call.args)):
            return None
        chosen = rule(call, [a.checked_type for a in call.args])
        if chosen is not None and chosen is not call:
            return _adopted(build, call, chosen, args, realized)
        following = _following_anchor(build, call, args, realized) or follow_axes(build, call, args, realized)
        return following or follow(build, call, args)

    return rewrite_with_temporaries(function, converted, tuples=True)


def in_wanted_layout(call: Call, wanted: Sequence[str]) -> Call | None:
    """The call with the desired layouts in its attributes and its arguments unchanged; None if they do not apply."""
    facet = call.op.definition.layout
    if not isinstance(facet, Anchor):
        help = "only operators with layout attributes of their own are converted"
        raise fail("relay-layout", f"{call.op.name} has no layout to convert", span=call.span, help=help)
    data, kernel, out = layouts_of(call)
    target = wanted[0]
    blocked = _BLOCKED.match(target)
    if blocked is not None and facet.kernel is not None and sorted(blocked[1]) == sorted(data) == sorted(out):
        return _blocked_convolution(call, data, kernel or "", blocked[1], int(blocked[2]))
    if blocked is not None:
        shape = shape_of(call.args[0])
        fitting = facet.blocks and sorted(blocked[1]) == sorted(data) and out == data
        if not fitting or shape is None or not fits(shape, target, data):
            return None
    elif sorted(target) != sorted(data) and target.isalpha() and data.isalpha():
        help = f"its axes are those of {data}, in another order or with a block: {data}8c"
        raise fail("relay-layout", f"{call.op.name} cannot work in the layout {target}", span=call.span, help=help)
    elif sorted(target) != sorted(data) or out != data:
        return None
    changes: dict[str, Any] = {facet.data: target}
    if facet.kernel is not None:
        chosen = wanted[1] if len(wanted) > 1 else "default"
        changes[facet.kernel] = _default_kernel(call, target, data, kernel or "") if chosen == "default" else chosen
    if facet.out is not None and getattr(call.attrs, facet.out):
        changes[facet.out] = target
    return call.with_fields(attrs=replace(call.attrs, **changes))


def _default_kernel(call: Call, target: str, data: str, kernel: str) -> str:
    """The kernel layout that TVM has for data in the layout `target`; `data` and `kernel` are the present ones."""
    if target == "NCHW" and call.op.name.endswith("conv2d_transpose"):
        return "IOHW"
    if target == "NHWC" and call.op.name in ("nn.conv2d", "qnn.conv2d") and data.isalpha() and kernel.isalpha():
        inputs = call.args[0].checked_type.shape[data.index("C")]
        outputs = call.args[1].checked_type.shape[kernel.index("O")]
        if getattr(inputs, "value", None) == getattr(outputs, "value", None) == call.attrs.groups:
            return "HWOI"  # depthwise
    return _KERNEL_OF.get(target, kernel)


def _blocked_convolution(call: Call, data: str, kernel: str, order: str, block: int) -> Call | None:
    """A convolution of blocks of channels, as `nn.contrib_conv2d_NCHWc`."""
    shape, weight = shape_of(call.args[0]), shape_of(call.args[1])
    if call.op.name != "nn.conv2d" or call.attrs.groups != 1 or shape is None or weight is None:
        return None
    if any(not name.isalpha() for name in (data, kernel)):
        return None
    inputs, outputs = shape[data.index("C")], weight[kernel.index("O")]
    inner = block if inputs % block == 0 else inputs
    if outputs % block or inner > MAX_BLOCK:
        return None
    layouts = {
        "data_layout": f"{order}{inner}c",
        "kernel_layout": f"OIHW{inner}i{block}o",
        "out_layout": f"{order}{block}c",
    }
    attributes = replace(call.attrs, **layouts)
    return Call(CATALOGUE.relay("nn.contrib_conv2d_NCHWc"), call.args, attributes, span=call.span)


def layouts_of(call: Call) -> tuple[str, str | None, str]:
    """The layouts of data, kernel (if there is one) and result."""
    facet = call.op.definition.layout
    rank = len(call.args[0].checked_type.shape)
    data = getattr(call.attrs, facet.data) or _DATA[rank]
    kernel = (getattr(call.attrs, facet.kernel) or _KERNEL[rank]) if facet.kernel is not None else None
    return data, kernel, (getattr(call.attrs, facet.out) if facet.out else "") or data


def _adopted(build: Build, call: Call, chosen: Any, args: list[Any], realized: Realized) -> Any:
    """`chosen` with its arguments converted to its layouts, and its result as a temporary in its layout.

    A kernel that is not the call's own is taken to be in the layout that `chosen` says. `chosen` may be any expression
    of the same type over the call's arguments; then it is used unchanged.
    """
    facet: Any = getattr(getattr(getattr(chosen, "op", None), "definition", None), "layout", None)
    known = isinstance(chosen, Call) and isinstance(facet, Anchor) and chosen.args[:1] == call.args[:1]
    if not known or not isinstance(call.op.definition.layout, Anchor):
        used = set(post_order(chosen, below=lambda node: () if node in call.args else parts(node)))
        return replace_expressions(chosen, {a: realized(a) for a in call.args if a in used})
    data, kernel, out = layouts_of(call)
    new_data = getattr(chosen.attrs, facet.data) or data
    new_out = (getattr(chosen.attrs, facet.out) if facet.out else "") or new_data
    moved = [in_layout(build, args[0], new_data, data)]
    if kernel is not None and facet.kernel is not None and chosen.args[1] is call.args[1]:
        moved.append(in_layout(build, args[1], getattr(chosen.attrs, facet.kernel) or kernel, kernel))
    operands = {a: realized(a) for a in call.args}
    moved += [replace_expressions(a, operands) for a in chosen.args[len(moved) :]]
    value = build.call(Call(chosen.op, moved, chosen.attrs, span=call.span))
    if new_out == out:
        return value
    return TransposedExpr(value, new_out, out, build).with_fields(checked_type_=call.checked_type_)


def _following_anchor(build: Build, call: Call, args: list[Any], realized: Realized) -> Any:
    """A pooling or resizing operator in the layout that its operand already has; None for all others."""
    facet = call.op.definition.layout
    if not isinstance(facet, Anchor) or facet.kernel is not None or not isinstance(args[0], TransposedExpr):
        return None
    data, _, out = layouts_of(call)
    if args[0].was != data or out != data or not (facet.blocks or args[0].now.isalpha()):
        return None
    if facet.only and args[0].now not in facet.only:
        return None
    attributes = replace(call.attrs, **{facet.data: args[0].now, **({facet.out: ""} if facet.out else {})})
    value = build.call(Call(call.op, (args[0].value, *map(realized, call.args[1:])), attributes, span=call.span))
    return TransposedExpr(value, args[0].now, data, build).with_fields(checked_type_=call.checked_type_)
