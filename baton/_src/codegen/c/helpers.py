"""The functions that C lacks, as C: integers divided as in TIR, extremes with NaN, conversions, narrow floats.

    helper_text("floordiv_i32")     the text of baton_floordiv_i32, and the helpers and headers that it needs

A name ends with the types it is for. A file gets the helpers that its kernels use, and no others.
"""

from __future__ import annotations

import re
from functools import cache

_WHOLE = {f"{sign}{bits}": (sign, bits) for sign in "iu" for bits in (8, 16, 32, 64)}
_REALS = {"f32": ("float", "f"), "f64": ("double", "")}

_INTEGERS = {
    "div": """$T baton_$N($T a, $T b) {
  if (b == 0) return 0;
$S  if (b == -1) return ($T)(0u - ($U)a);
  return ($T)(a / b);
}""",
    "mod": """$T baton_$N($T a, $T b) {
  if (b == 0) return 0;
$S  if (b == -1) return 0;
  return ($T)(a % b);
}""",
    "floordiv": """$T baton_$N($T a, $T b) {
  if (b == 0) return 0;
  if (b == -1) return ($T)(0u - ($U)a);
  return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}""",
    "floormod": """$T baton_$N($T a, $T b) {
  if (b == 0 || b == -1) return 0;
  $T rest = ($T)(a % b);
  return ($T)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}""",
    "min": "$T baton_$N($T a, $T b) { return a < b ? a : b; }",
    "max": "$T baton_$N($T a, $T b) { return a > b ? a : b; }",
    "abs": "$T baton_$N($T a) { return a < 0 ? ($T)(0u - ($U)a) : a; }",
    "shl": "$T baton_$N($T a, $T b) { return ($W)b < $B ? ($T)(($U)a << b) : 0; }",
    "shr": "$T baton_$N($T a, $T b) { return ($T)(a >> (($W)b < $B ? b : $L)); }",
    "ushr": "$T baton_$N($T a, $T b) { return b < $B ? ($T)(a >> b) : 0; }",
    "pow": """$T baton_$N($T base, $T exponent) {
  uint64_t result = 1, power = (uint64_t)base;
$S  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
  for ($T rest = exponent; rest != 0; rest = ($T)(rest >> 1)) {
    if (rest & 1) result *= power;
    power *= power;
  }
  return ($T)result;
}""",
    "popcount": """$T baton_$N($T a) {
  $W rest = ($W)a;
  $T count = 0;
  for (; rest != 0; rest = ($W)(rest & (rest - 1))) ++count;
  return count;
}""",
    "clz": """int32_t baton_$N($T a) {
  $W rest = ($W)a;
  int32_t count = $B;
  for (; rest != 0; rest = ($W)(rest >> 1)) --count;
  return count;
}""",
}
"""$T: the type, $W: unsigned, $U: that in which it wraps around, $B: its bits, $L: one less, $S: if it is signed."""

_FLOATS = {
    "min": "$T baton_$N($T a, $T b) { return (a < b || a != a) ? a : b; }",
    "max": "$T baton_$N($T a, $T b) { return (a > b || a != a) ? a : b; }",
    "floormod": """$T baton_$N($T a, $T b) {
  $T rest = fmod$F(a, b);
  if (rest == 0) return copysign$F(0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}""",
    "sigmoid": "$T baton_$N($T x) { return 1 / (1 + exp$F(-x)); }",
    "exp_flushed": """$T baton_$N($T x) {
  $T power = exp$F(x);
  return power < $M ? 0 : power;
}""",
    "to_i32": """int32_t baton_$N($T x) {
  if (x != x) return 0;
  if (x >= ($T)2147483648.0) return INT32_MAX;
  return x < -($T)2147483648.0 ? INT32_MIN : (int32_t)x;
}""",
    "to_i64": """int64_t baton_$N($T x) {
  if (x != x) return 0;
  if (x >= ($T)9223372036854775808.0) return INT64_MAX;
  return x < -($T)9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}""",
    "to_u64": """uint64_t baton_$N($T x) {
  if (x >= ($T)18446744073709551616.0) return UINT64_MAX;
  return x >= ($T)9223372036854775808.0 ? (uint64_t)x : (uint64_t)baton_to_i64_$X(x);
}""",
}
"""$F: what ends the names of the C library's functions, $M: the least normal number, $X: the type's suffix."""

_SINGLES = {
    "bits_of_float": """uint32_t baton_bits_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}""",
    "float_of_bits": """float baton_float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}""",
    "f16_to_f32": """float baton_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return baton_float_of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x400u) return baton_float_of_bits(sign | ((rest << 13) + 0x38000000u));
  return (sign ? -1.0f : 1.0f) * (float)rest * 5.9604644775390625e-08f;
}""",
    "f32_to_f16": """uint16_t baton_f32_to_f16(float x) {
  uint32_t bits = baton_bits_of_float(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (rest >= 0x38800000u) return (uint16_t)(sign | ((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13));
  return (uint16_t)(sign | (baton_bits_of_float(baton_float_of_bits(rest) + 0.5f) - 0x3f000000u));
}""",
    "bf16_to_f32": "float baton_bf16_to_f32(uint16_t x) { return baton_float_of_bits((uint32_t)x << 16); }",
    "f32_to_bf16": """uint16_t baton_f32_to_bf16(float x) {
  uint32_t bits = baton_bits_of_float(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}""",
    "rounded_to_odd": """float baton_rounded_to_odd(double x) {
  float y = (float)x;
  if ((double)y == x || x != x) return y;
  uint32_t bits = baton_bits_of_float(y);
  if (fabs((double)y) > fabs(x)) --bits;
  return baton_float_of_bits(bits | 1u);
}""",
    "small_size": """float baton_small_size(int32_t code, int32_t mantissa, int32_t bias) {
  int32_t exponent = code >> mantissa, part = code & ((1 << mantissa) - 1);
  if (exponent == 0) return ldexpf((float)part, 1 - bias - mantissa);
  return ldexpf((float)(part | 1 << mantissa), exponent - bias - mantissa);
}""",
    "from_small": """float baton_from_small(uint8_t code, const int16_t* format) {
  int32_t size = code & (format[5] - 1);
  if (format[4] >= 0 && (code == format[4] || size > format[2])) return size == format[3] && format[3] != format[4]
      ? (code & format[5] ? -INFINITY : INFINITY) : NAN;
  float found = baton_small_size(size, format[0], format[1]);
  return code & format[5] ? -found : found;
}""",
    "to_small": """uint8_t baton_to_small(float x, const int16_t* format) {
  int32_t sign = signbit(x) ? format[5] : 0, low = 0, high = format[2] + 1;
  float size = fabsf(x);
  if (x != x) return (uint8_t)(format[4] < 0 ? 0 : format[4] == format[5] ? format[4] : format[4] | sign);
  while (high - low > 1) {
    int32_t middle = (low + high) / 2;
    if (baton_small_size(middle, format[0], format[1]) <= size) low = middle; else high = middle;
  }
  float below = size - baton_small_size(low, format[0], format[1]);
  float above = baton_small_size(low + 1, format[0], format[1]) - size;
  if (above < below || (above == below && (low & 1))) ++low;
  if (low > format[2]) return (uint8_t)(format[3] == format[5] ? format[3] : format[3] | sign);
  return (uint8_t)(low == 0 && format[6] == 0 ? 0 : low | sign);
}""",
    "power_to_f32": """float baton_power_to_f32(uint8_t code) {
  return code == 255 ? NAN : baton_float_of_bits(code == 0 ? 1u << 22 : (uint32_t)code << 23);
}""",
    "f32_to_power": """uint8_t baton_f32_to_power(float x) {
  return x > 0 ? (uint8_t)((baton_bits_of_float(x) + (1u << 22)) >> 23) : 255;
}""",
    "q_multiply_shift": """int32_t baton_q_multiply_shift(int32_t x, int32_t y, int32_t q, int32_t s) {
  int32_t shift = q + s;
  return (int32_t)(((int64_t)x * y + ((int64_t)1 << (shift - 1))) >> shift);
}""",
    "dot_u8s8": """int32_t baton_dot_u8s8(int32_t total, int32_t a, int32_t b) {
  for (int32_t place = 0; place < 32; place += 8) {
    int32_t left = (int32_t)((uint32_t)a >> place & 255u), right = (int8_t)(uint8_t)((uint32_t)b >> place);
    total = (int32_t)((uint32_t)total + (uint32_t)(left * right));
  }
  return total;
}""",
    "dot_bf16": """float baton_dot_bf16(float total, int32_t a, int32_t b) {
  total += baton_float_of_bits((uint32_t)a << 16) * baton_float_of_bits((uint32_t)b << 16);
  return total + baton_float_of_bits((uint32_t)a & 0xffff0000u) * baton_float_of_bits((uint32_t)b & 0xffff0000u);
}""",
    "times": """int64_t baton_times(int64_t a, int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > INT64_MAX / b ? INT64_MAX : a * b;
}""",
    "workspace": """void* baton_workspace(int64_t bytes) {
  return (uint64_t)bytes > SIZE_MAX / 2 ? NULL : BATON_MALLOC(bytes > 0 ? (size_t)bytes : 1);
}""",
    "fault": """int32_t baton_fault(const char* pattern, int64_t a, int64_t b, int64_t c) {
  int64_t numbers[3];
  char text[512], digits[20];
  size_t length = 0;
  numbers[0] = a, numbers[1] = b, numbers[2] = c;
  if (__TVMAPISetLastError == NULL) return -1;
  for (; *pattern != 0 && length + 24 < sizeof text; ++pattern) {
    if (pattern[0] == '{' && pattern[1] >= '0' && pattern[1] <= '2' && pattern[2] == '}') {
      int64_t number = numbers[pattern[1] - '0'];
      uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
      size_t count = 0;
      if (number < 0) text[length++] = '-';
      do digits[count++] = (char)('0' + rest % 10); while ((rest /= 10) != 0);
      while (count > 0) text[length++] = digits[--count];
      pattern += 2;
    } else {
      if ((pattern[0] == '{' || pattern[0] == '}') && pattern[1] == pattern[0]) ++pattern;
      text[length++] = *pattern;
    }
  }
  text[length] = 0;
  __TVMAPISetLastError(text);
  return -1;
}""",
}


FORMATS = {
    "f8_e4m3fn": "3, 7, 0x7e, 0x7f, 0x7f, 0x80, 1",
    "f8_e4m3fnuz": "3, 8, 0x7f, 0x80, 0x80, 0x80, 0",
    "f8_e5m2": "2, 15, 0x7b, 0x7c, 0x7e, 0x80, 1",
    "f8_e5m2fnuz": "2, 16, 0x7f, 0x80, 0x80, 0x80, 0",
    "f4_e2m1fn": "1, 1, 7, 7, -1, 8, 1",
}
"""Small floats: bits of the mantissa, bias, greatest code, the code above it, that of NaN, the sign, whether -0 is."""


@cache
def helper_text(name: str) -> tuple[str, tuple[str, ...]]:
    """The definition of a helper function, and the helpers it calls."""
    text = _definition(name)
    needs = dict.fromkeys(found for found in re.findall(r"\bbaton_(\w+)\(", text) if found != name)
    return f"static inline {text}", tuple(needs)


def _definition(name: str) -> str:
    if name in _SINGLES:
        return _SINGLES[name]
    base, _, end = name.rpartition("_")
    if name.startswith("bits_"):
        return _reinterpreted(name)
    if base in ("load", "store"):
        return _punned(base, end)
    if end in _WHOLE:
        sign, bits = _WHOLE[end]
        known = {
            "T": f"{'u' if sign == 'u' else ''}int{bits}_t",
            "U": f"uint{max(32, bits)}_t",
            "W": f"uint{bits}_t",
            "B": str(bits),
            "L": str(bits - 1),
        }
        pattern = _INTEGERS["ushr" if base == "shr" and sign == "u" else base]
        pattern = re.sub(r"^\$S(.*\n)", r"\1" if sign == "i" else "", pattern, flags=re.MULTILINE)
    else:
        kind, letter = _REALS[end]
        known = {"T": kind, "F": letter, "M": "FLT_MIN" if letter else "DBL_MIN", "X": end}
        pattern = _FLOATS[base]
    return re.sub(r"\$([A-Z])", lambda found: known.get(found[1], name), pattern)


_STORED = {
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
    "bool": "bool",
}


def stored_suffix(kind: str) -> str:
    """What ends the names of helpers for a C type; "ptr" for pointers."""
    return next((end for end, known in _STORED.items() if known == kind), "ptr")


def _punned(base: str, end: str) -> str:
    """Reads and writes of memory that a kernel uses as several types. A pointer takes 64 bits on every machine."""
    kind = _STORED.get(end, "void*")
    if base == "load" and end == "ptr":
        return """void* baton_load_ptr(const void* data, int64_t place) {
  uint64_t bits;
  memcpy(&bits, (const char*)data + place * 8, 8);
  return (void*)(uintptr_t)bits;
}"""
    if base == "load":
        return f"""{kind} baton_load_{end}(const void* data, int64_t place) {{
  {kind} found;
  memcpy(&found, (const char*)data + place * (int64_t)sizeof found, sizeof found);
  return found;
}}"""
    if end == "ptr":
        return """void baton_store_ptr(void* data, int64_t place, void* value) {
  uint64_t bits = (uint64_t)(uintptr_t)value;
  memcpy((char*)data + place * 8, &bits, 8);
}"""
    return f"""void baton_store_{end}(void* data, int64_t place, {kind} value) {{
  memcpy((char*)data + place * (int64_t)sizeof value, &value, sizeof value);
}}"""


def _reinterpreted(name: str) -> str:
    """`bits_f32_to_i32`: the same bits as another type."""
    source, target = (_STORED[end] for end in name.removeprefix("bits_").split("_to_"))
    return f"""{target} baton_{name}({source} x) {{
  {target} found;
  memcpy(&found, &x, sizeof found);
  return found;
}}"""
