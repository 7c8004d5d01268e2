"""Load strided vectors (every second to eighth element) as whole vectors and pick the elements by shuffles.

A gather costs about as much as one load per lane; this costs `stride` loads and as many shuffles. Nothing outside the
span of the wanted elements is accessed.
"""

from __future__ import annotations

from baton._src.codegen.llvm.text import FunctionText, mangle, with_lanes

LARGEST_STRIDE, LARGEST_MASKED_STRIDE = 8, 4
"""A mask is spread over so many vectors."""


def strided_load(f: FunctionText, address: str, element: str, lanes: int, stride: int, align: int) -> str:
    """Elements 0, stride, 2 stride, ... from `address`: overlapping vectors that end with the last one wanted."""
    span = (lanes - 1) * stride + 1
    starts = [min(i * lanes, span - lanes) for i in range(stride)]
    wide = with_lanes(element, lanes)
    found = "poison"
    done: dict[int, str] = {}
    for start in dict.fromkeys(starts):
        here = f.value(f"getelementptr inbounds {element}, ptr {address}, i64 {start}")
        done[start] = f.value(f"load {wide}, ptr {here}, align {align}")
    taken = 0
    for start, vector in done.items():
        picks = [f"i32 {lane}" if lane < taken else "i32 poison" for lane in range(lanes)]
        last = taken
        while last < lanes and start <= last * stride < start + lanes:
            picks[last] = f"i32 {lanes + last * stride - start}"
            last += 1
        found = f.value(f"shufflevector {wide} {found}, {wide} {vector}, <{lanes} x i32> <{', '.join(picks)}>")
        taken = last
    return found


def masked_strided_load(
    f: FunctionText, address: str, element: str, lanes: int, stride: int, align: int, mask: str
) -> str:
    """The same for some lanes: the mask is spread over the elements between, which are not read."""
    count = lanes * stride
    spread = ", ".join(f"i32 {i // stride}" if i % stride == 0 else f"i32 {lanes}" for i in range(count))
    bits = f"<{lanes} x i1>"
    wide_mask = f.value(f"shufflevector {bits} {mask}, {bits} zeroinitializer, <{count} x i32> <{spread}>")
    wide = with_lanes(element, count)
    whole = f.intrinsic(
        f"llvm.masked.load.{mangle(wide)}.p0",
        wide,
        ("ptr", address),
        ("i32", str(align)),
        (f"<{count} x i1>", wide_mask),
        (wide, "zeroinitializer"),
    )
    picks = ", ".join(f"i32 {i * stride}" for i in range(lanes))
    return f.value(f"shufflevector {wide} {whole}, {wide} poison, <{lanes} x i32> <{picks}>")
