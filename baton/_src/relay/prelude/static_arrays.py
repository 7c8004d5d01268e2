"""The Prelude's static tensor arrays: lists of tensors of one shape, wrapped in a type of that shape's own.

    type static_tensor_float32_2_3_t { tensor_nil_float32_2_3, tensor_constructor_float32_2_3(Tensor[(2, 3), float32]) }

What changes the shape gives the type of another: taking rows or joining along the first axis leaves its length open
(`any_3`), stacking adds an axis of unknown length (`any_2_3`), unstacking takes the first away (`3`). Functions on
tensors themselves and arrays of them are texts by name, so that those of a shape that others need are added once.
Source: facts relay-language §4; signatures of TVM v0.19's `StaticTensorArrayOps`.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.relay.prelude.tensor_arrays import arrays, tensor, unstack

Dims = tuple[int | None, ...]


def static_name(canonical: str, dtype: str, shape: Sequence[object]) -> str:
    """`tensor_t` is `static_tensor_<dtype>_<dims>_t`; everything else gets dtype and dims as a suffix."""
    dims = "_".join("any" if d is None else str(d) for d in shape) or "scalar"
    return f"static_tensor_{dtype}_{dims}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}_{dims}"


def static_texts(dtype: str, shape: Dims) -> dict[str, str]:
    """Types and functions of the static arrays of one dtype and shape, over a module that has the Prelude's lists: a
    text for the name (of the type or first function) that tells whether a module has it already."""
    stacked: Dims = (None, *shape)
    found = dict([_type(dtype, shape), _type(dtype, stacked), _join(dtype, stacked)])
    if shape:
        opened: Dims = (None, *shape[1:])
        found |= dict([_type(dtype, opened), _type(dtype, shape[1:]), _join(dtype, shape), _join(dtype, opened)])
        found |= dict([_take(dtype, shape), _unstacking(dtype, shape), _split(dtype, shape), _concat(dtype, shape)])
    return found | dict([_grow(dtype, shape), _basic(dtype, shape), _stack(dtype, shape)])


def _names(dtype: str, shape: Dims) -> tuple[str, str, str, str]:
    """Type, empty and full constructor, and suffix of functions."""
    t, nil, make = (static_name(c, dtype, shape) for c in ("tensor_t", "tensor_nil", "tensor_constructor"))
    return t, nil, make, static_name("", dtype, shape)[1:]


def _type(dtype: str, shape: Dims) -> tuple[str, str]:
    t, nil, make, _ = _names(dtype, shape)
    return t, f"type {t} {{ {nil}, {make}({tensor(shape, dtype)}) }}"


def _opened(shape: Dims) -> Dims:
    return (None, *shape[1:])


def _take(dtype: str, shape: Dims) -> tuple[str, str]:
    """Rows of a tensor."""
    t, _, make, suffix = _names(dtype, shape)
    result, _, wrap, _ = _names(dtype, _opened(shape))
    rows = 'take(%v, arange(%lo, %hi, 1, dtype="int32"), axis=0)'
    name = f"tensor_take_{suffix}"
    head = f"def @{name}(%t: {t}, %lo: int32, %hi: int32) -> {result}"
    return name, f"{head} {{ match? (%t) {{ {make}(%v) => {wrap}({rows}), }} }}"


def _join(dtype: str, shape: Dims) -> tuple[str, str]:
    """The concatenation of two tensors along the first axis."""
    t, _, make, suffix = _names(dtype, shape)
    result, _, wrap, _ = _names(dtype, _opened(shape))
    name = f"tensor_concatenate_{suffix}"
    return (
        name,
        f"""def @{name}(%a: {t}, %b: {t}) -> {result} {{
  match? ((%a, %b)) {{ ({make}(%v), {make}(%w)) => {wrap}(concatenate((%v, %w), axis=0)), }}
}}""",
    )


def _grow(dtype: str, shape: Dims) -> tuple[str, str]:
    """A tensor with an axis before its others."""
    t, _, make, suffix = _names(dtype, shape)
    result, _, wrap, _ = _names(dtype, (None, *shape))
    name = f"tensor_expand_dims_{suffix}"
    return (
        name,
        f"def @{name}(%t: {t}) -> {result} {{ match? (%t) {{ {make}(%v) => {wrap}(expand_dims(%v, axis=0)), }} }}",
    )


def _basic(dtype: str, shape: Dims) -> tuple[str, str]:
    """What keeps the shape: making, reading, writing, and the tensor within."""
    t, nil, make, suffix = _names(dtype, shape)
    data = f"def @tensor_get_data_{suffix}(%t: {t}) -> {tensor(shape, dtype)} {{ match? (%t) {{ {make}(%v) => %v, }} }}"
    return f"tensor_array_{suffix}", data + arrays(t, nil, suffix)


def _unstacking(dtype: str, shape: Dims) -> tuple[str, str]:
    """The rows of a plain tensor as an array."""
    row, _, make, _ = _names(dtype, shape[1:])
    name = static_name("tensor_array_unstack", dtype, shape)
    return name, unstack(name, shape, dtype, row, make)


def _split(dtype: str, shape: Dims) -> tuple[str, str]:
    """One tensor cut into pieces of given lengths, written to the first places of an array of pieces."""
    t, _, _, suffix = _names(dtype, shape)
    piece, _, _, _ = _names(dtype, _opened(shape))
    name = f"tensor_array_split_{suffix}"
    return (
        name,
        f"""
def @tensor_array_split_from_{suffix}(%ta: List[{piece}], %v: {t}, %at: int32, %i: int32, %n: Tensor[(?,), int32])
    -> List[{piece}] {{
  if (%i == take(shape_of(%n), 0, axis=0)) {{ %ta }} else {{
    let %end = %at + take(%n, %i, axis=0);
    @tensor_array_split_from_{suffix}(
        @update(%ta, %i, @tensor_take_{suffix}(%v, %at, %end)), %v, %end, %i + 1, %n)
  }}
}}
def @{name}(%ta: List[{piece}], %v: {t}, %n: Tensor[(?,), int32]) -> List[{piece}] {{
  @tensor_array_split_from_{suffix}(%ta, %v, 0, 0, %n)
}}""",
    )


def _concat(dtype: str, shape: Dims) -> tuple[str, str]:
    """An array of pieces as one tensor."""
    piece, nil, _, opened = _names(dtype, _opened(shape))
    name = static_name("tensor_array_concat", dtype, shape)
    return (
        name,
        f"""
def @{name}(%ta: List[{piece}]) -> {piece} {{
  match (%ta) {{
    Nil => {nil},
    Cons(%first, Nil) => %first,
    Cons(%first, %rest) => @tensor_concatenate_{opened}(%first, @{name}(%rest)),
  }}
}}""",
    )


def _stack(dtype: str, shape: Dims) -> tuple[str, str]:
    """An array stacked, and some of its elements stacked."""
    t, _, _, suffix = _names(dtype, shape)
    result, _, _, stacked = _names(dtype, (None, *shape))
    name = f"tensor_array_stack_{suffix}"
    return (
        name,
        f"""
def @{name}(%ta: List[{t}]) -> {result} {{
  let %grown = @map(@tensor_expand_dims_{suffix}, %ta);
  @foldl(@tensor_concatenate_{stacked}, @hd(%grown), @tl(%grown))
}}
def @tensor_array_gathered_{suffix}(%ta: List[{t}], %i: int32, %indices: Tensor[(?,), int32]) -> List[{t}] {{
  if (%i == take(shape_of(%indices), 0, axis=0)) {{ Nil }} else {{
    Cons(@nth(%ta, take(%indices, %i, axis=0)), @tensor_array_gathered_{suffix}(%ta, %i + 1, %indices))
  }}
}}
def @tensor_array_gather_{suffix}(%ta: List[{t}], %indices: Tensor[(?,), int32]) -> {result} {{
  @{name}(@tensor_array_gathered_{suffix}(%ta, 0, %indices))
}}""",
    )
