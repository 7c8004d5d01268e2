"""The primitives of schedules as instruction kinds: their names in traces, and the roles of their arguments.

    sch.split(l1, factors=[None, 4])    ->    Split, inputs [l1, None, 4], attrs [True, False]

Inputs are handles and values that may be sampled; attrs are known when a schedule is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_SIGNATURES: Mapping[str, str] = {
    "get_block": "name func_name",
    "get_loops": "@block",
    "get_child_blocks": "@block_or_loop",
    "get_producers": "@block",
    "get_consumers": "@block",
    "get_output_blocks": "@scope_block",
    "sample_categorical": "candidates probs",
    "sample_perfect_tile": "@loop n max_innermost_factor",
    "sample_partitioned_tile": "@loop n partition_pos innerpart_factor",
    "sample_compute_location": "@block",
    "split": "@loop @+factors preserve_unit_iters disable_predication",
    "loop_partition": "@loop @+factors preserve_unit_iters",
    "fuse": "@*loops preserve_unit_iters",
    "merge": "@*loops",
    "reorder": "@*ordered_loops",
    "reorder_block_iter_var": "@block @new_order",
    "add_unit_loop": "@block_or_loop",
    "parallel": "@loop",
    "vectorize": "@loop",
    "unroll": "@loop",
    "bind": "@loop thread_axis",
    "cache_read": "@block read_buffer_index storage_scope @consumer_blocks",
    "cache_write": "@block write_buffer_index storage_scope @consumer_blocks",
    "cache_inplace": "@block read_buffer_index storage_scope",
    "cache_index": "@block storage_scope cse_thresh",
    "reindex": "@block buffer",
    "reindex_cache_read": "@block read_buffer_index storage_scope @index_map",
    "reindex_cache_write": "@block write_buffer_index storage_scope @index_map",
    "read_at": "@loop @block read_buffer_index storage_scope",
    "write_at": "@loop @block write_buffer_index storage_scope",
    "compute_at": "@block @loop preserve_unit_loops index",
    "reverse_compute_at": "@block @loop preserve_unit_loops index",
    "compute_inline": "@block",
    "reverse_compute_inline": "@block",
    "decompose_reduction": "@block @loop",
    "rfactor": "@loop factor_axis",
    "storage_align": "@block buffer_index axis factor offset",
    "set_scope": "@block buffer_index storage_scope",
    "unsafe_set_dtype": "@block buffer_index dtype",
    "blockize": "@target preserve_unit_iters",
    "tensorize": "@block_or_loop tensor_intrin preserve_unit_iters",
    "annotate": "@block_or_loop ann_key @ann_val",
    "unannotate": "@block_or_loop ann_key",
    "transform_layout": "@block buffer @index_map pad_value assume_injective_transform",
    "transform_block_layout": "@block index_map",
    "set_axis_separator": "@block buffer axis_separators",
    "decompose_padding": "@block @loop",
    "pad_einsum": "@block @padding",
    "rolling_buffer": "@block write_buffer_index",
    "annotate_buffer_access": "@block @buffer_index @buf_type @gen_new_ranges",
    "unsafe_hide_buffer_access": "@block @buf_type @buf_index_array",
    "enter_postproc": "",
    "schedule_by_rule": "",
}
"""The arguments of each primitive in the order of its declaration: `@` before inputs, `*` before what repeats, `+`
before what is given as a list whose items are inputs each."""

GIVING_LISTS = frozenset([
    "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "sample_perfect_tile",
    "sample_partitioned_tile", "split", "loop_partition", "cache_inplace", "cache_index",
])  # fmt: skip
"""Primitives that return a list, even of a single item."""
_OWN_NAMES: Mapping[str, str] = {"rfactor": "RFactor", "unsafe_set_dtype": "UnsafeSetDType"}
_ACCESSES = ("read", "write")
"""`buffer` is two attrs: its number, and how the block accesses it, as a number."""


@dataclass(frozen=True)
class InstructionKind:
    """A primitive: its name in traces, the method of `Schedule`, and its arguments (`_SIGNATURES`)."""

    name: str
    primitive: str
    words: tuple[str, ...]

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind of that name, `SamplePerfectTile`. Error `schedule`: there is none."""
        found = _BY_NAME.get(name)
        if found is None:
            raise fail("schedule", f"there is no kind of instruction {name!r}")
        return found

    @property
    def is_postproc(self) -> bool:
        """Whether it ends the choices of tuning; later steps are the same for all choices."""
        return self.primitive == "enter_postproc"

    @property
    def is_pure(self) -> bool:
        """Whether it leaves the program unchanged."""
        return self.primitive.startswith(("get_", "sample_"))

    def packed(self, arguments: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Inputs and attrs of arguments given by name."""
        inputs: list[Any] = []
        attrs: list[Any] = []
        for word in self.words:
            value = arguments[word.lstrip("@*+")]
            if word.startswith(("@*", "@+")):
                inputs += value
            elif word.startswith("@"):
                inputs.append(value)
            elif word == "buffer":
                attrs += (value[1], _ACCESSES.index(value[0]))
            else:
                attrs.append(value)
        return inputs, attrs

    def unpacked(self, inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
        """The inverse of `packed`. Error `schedule`: there are more of them or fewer."""
        found: dict[str, Any] = {}
        left, known = list(inputs), list(attrs)
        try:
            for word in self.words:
                name = word.lstrip("@*+")
                if word.startswith(("@*", "@+")):
                    found[name], left = left, []
                elif word.startswith("@"):
                    found[name] = left.pop(0)
                elif word == "buffer":
                    found[name] = _ACCESSES[int(known.pop(1))], known.pop(0)
                else:
                    found[name] = known.pop(0)
        except IndexError:
            left = [None]
        if left or known:
            given = f"{len(inputs)} inputs and {len(attrs)} attrs"
            raise fail("schedule", f"{self.name} is not made of {given}: it takes {', '.join(self.words) or 'none'}")
        return found

    def repeated(self) -> str | None:
        """The argument that repeats, without a name of its own, if there is one."""
        return next((word[2:] for word in self.words if word.startswith("@*")), None)


def _kind(primitive: str, signature: str) -> InstructionKind:
    name = _OWN_NAMES.get(primitive) or "".join(part.capitalize() for part in primitive.split("_"))
    return InstructionKind(name, primitive, tuple(signature.split()))


KINDS: Mapping[str, InstructionKind] = {p: _kind(p, signature) for p, signature in _SIGNATURES.items()}
"""The kind of each primitive."""

_BY_NAME: Mapping[str, InstructionKind] = {kind.name: kind for kind in KINDS.values()}
