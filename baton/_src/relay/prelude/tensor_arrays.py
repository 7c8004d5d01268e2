"""The Prelude's tensor arrays: lists of tensors whose rank the type system checks (`static_arrays`: whose shape).

    dynamic_text("float32")          type tensor_float32_t { tensor_nil_float32, tensor0_float32(...), ... }, functions

They are written as Relay text, one dtype at a time, because there is one of each for every dtype. Arrays are the
Prelude's lists, so reading and writing are `@nth` and `@update`. Source: facts relay-language §4.
"""

from __future__ import annotations

from collections.abc import Sequence

DTYPES = ("float32", "float16", "float64", "int32", "uint8", "int8", "int16", "uint16", "int64")
RANKS = range(7)


def dynamic_name(canonical: str, dtype: str) -> str:
    """`tensor_t` is `tensor_<dtype>_t`; everything else gets the dtype as a suffix."""
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


def tensor(shape: Sequence[object], dtype: str) -> str:
    """The text of a tensor type; None is `?`."""
    dims = ", ".join("?" if d is None else str(d) for d in shape)
    return f"Tensor[({dims}{',' if len(shape) == 1 else ''}), {dtype}]"


def dynamic_text(dtype: str) -> str:
    """The type and functions of dynamic tensor arrays of one dtype, over a module that has the Prelude's lists."""
    n = {c: dynamic_name(c, dtype) for c in ("tensor_t", "tensor_nil", *(f"tensor{r}" for r in RANKS))}
    constructors = ", ".join(f"{n[f'tensor{r}']}({tensor([None] * r, dtype)})" for r in RANKS)
    t = n["tensor_t"]
    parts = [f"type {t} {{ {n['tensor_nil']}, {constructors} }}"]
    take = "".join(
        f'{n[f"tensor{r}"]}(%v) => {n[f"tensor{r}"]}(take(%v, arange(%lo, %hi, 1, dtype="int32"), axis=0)), '
        for r in RANKS[1:]
    )
    grow = "".join(f"{n[f'tensor{r}']}(%v) => {n[f'tensor{r + 1}']}(expand_dims(%v, axis=0)), " for r in RANKS[:-1])
    join = "".join(
        f"({n[f'tensor{r}']}(%v), {n[f'tensor{r}']}(%w)) => {n[f'tensor{r}']}(concatenate((%v, %w), axis=0)), "
        for r in RANKS[1:]
    )
    parts += [
        f"def @tensor_take_{dtype}(%t: {t}, %lo: int32, %hi: int32) -> {t} {{ match? (%t) {{ {take} }} }}",
        f"def @tensor_expand_dims_{dtype}(%t: {t}) -> {t} {{ match? (%t) {{ {grow} }} }}",
        f"def @tensor_concatenate_{dtype}(%a: {t}, %b: {t}) -> {t} {{ match? ((%a, %b)) {{ {join} }} }}",
        arrays(t, n["tensor_nil"], dtype),
        *(unstack(f"tensor_array_unstack_tensor{r}_{dtype}", [None] * r, dtype, t, n[f"tensor{r - 1}"])
          for r in RANKS[1:]),
        _combining(t, t, n["tensor_nil"], f"tensor_expand_dims_{dtype}", f"tensor_concatenate_{dtype}", dtype),
        _splitting(t, f"tensor_take_{dtype}", dtype, t),
    ]  # fmt: skip
    return "\n".join(parts)


def arrays(t: str, nil: str, suffix: str) -> str:
    """Making, reading and writing arrays, and writing many places at once."""
    return f"""
def @tensor_array_{suffix}(%n: int32) -> List[{t}] {{
  if (%n == 0) {{ Nil }} else {{ Cons({nil}, @tensor_array_{suffix}(%n - 1)) }}
}}
def @tensor_array_read_{suffix}(%ta: List[{t}], %i: int32) -> {t} {{ @nth(%ta, %i) }}
def @tensor_array_write_{suffix}(%ta: List[{t}], %i: int32, %v: {t}) -> List[{t}] {{ @update(%ta, %i, %v) }}
def @tensor_array_scatter_from_{suffix}(%ta: List[{t}], %i: int32, %indices: Tensor[(?,), int32], %vs: List[{t}])
    -> List[{t}] {{
  match (%vs) {{
    Nil => %ta,
    Cons(%v, %rest) => @tensor_array_scatter_from_{suffix}(
        @update(%ta, take(%indices, %i, axis=0), %v), %i + 1, %indices, %rest),
  }}
}}
def @tensor_array_scatter_{suffix}(%ta: List[{t}], %indices: Tensor[(?,), int32], %vs: List[{t}]) -> List[{t}] {{
  @tensor_array_scatter_from_{suffix}(%ta, 0, %indices, %vs)
}}"""


def unstack(name: str, shape: Sequence[object], dtype: str, t: str, make: str) -> str:
    """The rows of a tensor as an array."""
    type_ = tensor(shape, dtype)
    return f"""
def @{name}_from(%i: int32, %n: int32, %x: {type_}) -> List[{t}] {{
  if (%i == %n) {{ Nil }} else {{ Cons({make}(take(%x, %i, axis=0)), @{name}_from(%i + 1, %n, %x)) }}
}}
def @{name}(%x: {type_}) -> List[{t}] {{ @{name}_from(0, take(shape_of(%x), 0, axis=0), %x) }}"""


def _combining(t: str, result: str, nil: str, grow: str, join: str, suffix: str) -> str:
    """Functions that make one tensor of an array: concatenated, or stacked."""
    return f"""
def @tensor_array_concat_{suffix}(%ta: List[{t}]) -> {result} {{
  match (%ta) {{
    Nil => {nil},
    Cons(%first, Nil) => %first,
    Cons(%first, %rest) => @{join}(%first, @tensor_array_concat_{suffix}(%rest)),
  }}
}}
def @tensor_array_stack_{suffix}(%ta: List[{t}]) -> {result} {{ @tensor_array_concat_{suffix}(@map(@{grow}, %ta)) }}
def @tensor_array_gathered_{suffix}(%ta: List[{t}], %i: int32, %indices: Tensor[(?,), int32]) -> List[{t}] {{
  if (%i == take(shape_of(%indices), 0, axis=0)) {{ Nil }} else {{
    Cons(@nth(%ta, take(%indices, %i, axis=0)), @tensor_array_gathered_{suffix}(%ta, %i + 1, %indices))
  }}
}}
def @tensor_array_gather_{suffix}(%ta: List[{t}], %indices: Tensor[(?,), int32]) -> {result} {{
  @tensor_array_stack_{suffix}(@tensor_array_gathered_{suffix}(%ta, 0, %indices))
}}"""


def _splitting(t: str, take: str, suffix: str, value: str) -> str:
    """One tensor cut into pieces of given lengths, written to the first places of an array."""
    return f"""
def @tensor_array_split_from_{suffix}(%ta: List[{t}], %v: {value}, %at: int32, %i: int32, %n: Tensor[(?,), int32])
    -> List[{t}] {{
  if (%i == take(shape_of(%n), 0, axis=0)) {{ %ta }} else {{
    let %end = %at + take(%n, %i, axis=0);
    @tensor_array_split_from_{suffix}(@update(%ta, %i, @{take}(%v, %at, %end)), %v, %end, %i + 1, %n)
  }}
}}
def @tensor_array_split_{suffix}(%ta: List[{t}], %v: {value}, %n: Tensor[(?,), int32]) -> List[{t}] {{
  @tensor_array_split_from_{suffix}(%ta, %v, 0, 0, %n)
}}"""
