"""Functions that TVM's runtimes call: `int32_t name(args, type codes, count, result, code of the result, resource)`.

`args` is an array of 64-bit unions; a tensor is a pointer to a `DLTensor` (type codes 3, 7 and 13), integers are int64
(0, and bools 15), floats doubles (2). A function checks what it is given, calls its kernel with bare pointers, and
returns 0, or -1 after an error. Source: `c_runtime_api.h` of TVM v0.19 and DLPack, which describe these structures.
"""

from __future__ import annotations

from baton._src.codegen.c.arithmetic import cast, widened
from baton._src.codegen.c.expr import ExprWriter
from baton._src.codegen.c.intrinsics import HANDLERS
from baton._src.codegen.c.text import CFile, Lines, string
from baton._src.codegen.c.types import c_type
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.kernel_abi import KernelABI, kernel_abi
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

STRUCTURES = """/* A value and a tensor as TVM and DLPack lay them out (TVMValue, DLTensor). */
typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
} baton_value;

typedef struct {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} baton_tensor;

static inline const baton_tensor* baton_tensor_of(const baton_value* args, const int32_t* codes, int32_t place) {
  int32_t code = codes[place];
  return code == 3 || code == 7 || code == 13 ? (const baton_tensor*)args[place].v_handle : NULL;
}

static inline void* baton_data_of(const baton_tensor* tensor) {
  return tensor->data == NULL ? NULL : (char*)tensor->data + tensor->byte_offset;
}

static inline bool baton_is_compact(const baton_tensor* tensor) {
  int64_t size = 1;
  if (tensor->strides == NULL) return true;
  for (int32_t axis = tensor->ndim - 1; axis >= 0; --axis) {
    if (tensor->shape[axis] != 1 && tensor->strides[axis] != size) return false;
    size *= tensor->shape[axis];
  }
  return true;
}"""
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
"""DLPack's numbers of kinds of elements."""
FLOAT64 = DataType("float64")


def write_packed_function(
    file: CFile, symbol: str, called: str, linked: str, func: PrimFunc, result: DataType | None = None
) -> None:
    """Add the function `called` that checks its arguments and calls `linked`; the last buffer of a kernel that returns
    a `result` is what it returns."""
    text = Lines()
    abi = kernel_abi(func)
    writer = _Writer(file, text, symbol, abi, result)
    writer.arguments()
    writer.call(linked)
    head = (
        f"TVM_DLL int32_t {called}(void* args, int32_t* codes, int32_t count, void* result, int32_t* code, "
        "void* resource)"
    )
    file.functions.append("\n".join([f"{head};", f"{head} {{", *text.lines, "}"]))


class _Writer:
    def __init__(self, file: CFile, text: Lines, symbol: str, abi: KernelABI, result: DataType | None) -> None:
        self.t, self.symbol, self.abi, self.result = text, symbol, abi, result
        self.fault = file.helper("fault")
        self.file = file
        self.e = ExprWriter(file, text, HANDLERS)
        self.tensors: dict[Buffer, str] = {}
        self.given = [p for p in abi.params if not p.is_shape]
        if result is not None:
            self.given.pop()

    def arguments(self) -> None:
        """Read and check all arguments; scalars first, whose values sizes are compared with."""
        t = self.t
        t.line("const baton_value* const values = (const baton_value*)args;")
        self.require(f"count != {len(self.given)}", f"takes {len(self.given)} arguments, {{0}} are given", "count")
        for place, param in enumerate(self.given):
            if param.buffer is None:
                self.scalar(place, param.var)
        buffers = [(place, p.buffer) for place, p in enumerate(self.given) if p.buffer is not None]
        for place, buffer in buffers:
            self.tensor(place, buffer)
        for _, buffer in buffers:
            for axis, dim in enumerate(buffer.shape):
                self.size(buffer, axis, dim)
        for _, buffer in buffers:
            for axis, dim in enumerate(buffer.shape):
                self.check_size(buffer, axis, dim)
        t.line("(void)resource;" if self.result is not None else "(void)result, (void)code, (void)resource;")

    def require(self, wrong: str, message: str, *numbers: str) -> None:
        given = ", ".join([*(f"(int64_t)({number})" for number in numbers), "0", "0", "0"][:3])
        self.t.line(f"if ({wrong}) return {self.fault}({string(f'{self.symbol}: {message}')}, {given});")

    def scalar(self, place: int, var: Var) -> None:
        dtype, name = var.dtype, self.t.name(var.name)
        what = f"argument {var.name}"
        self.e.env[var] = name
        if dtype.kind == "handle":
            self.t.line(f"void* const {name} = values[{place}].v_handle;")
            return
        if dtype.is_float:
            self.require(f"codes[{place}] != 2 && codes[{place}] != 0", f"{what} must be a number")
            number = f"codes[{place}] == 2 ? values[{place}].v_float64 : (double)values[{place}].v_int64"
            self.t.line(f"const {c_type(dtype)} {name} = {cast(self.file, FLOAT64, dtype, f'({number})')};")
            return
        self.require(f"codes[{place}] != 0 && codes[{place}] != 15", f"{what} must be an integer")
        word = f"values[{place}].v_int64"
        low, high = (0, 1) if dtype.is_bool else dtype.int_range
        if dtype.bits < 64:
            outside = f"{word} < {low if low > -(1 << 31) else 'INT32_MIN'} || {word} > {high}"
            self.require(outside, f"{what} must be between {low} and {high}, it is {{0}}", word)
        self.t.line(f"const {c_type(dtype)} {name} = ({c_type(dtype)}){word};")

    def tensor(self, place: int, buffer: Buffer) -> None:
        name = self.tensors[buffer] = self.t.name(buffer.name)
        what, dtype, ndim = f"argument {buffer.name}", buffer.dtype, len(buffer.shape)
        self.t.line(f"const baton_tensor* const {name} = baton_tensor_of(values, codes, {place});")
        self.require(f"{name} == NULL", f"{what} must be a tensor")
        self.require(f"{name}->ndim != {ndim}", f"{what} must have {ndim} dims, it has {{0}}", f"{name}->ndim")
        wrong = (
            f"{name}->code != {_CODES[dtype.kind]} || {name}->bits != {dtype.bits} || {name}->lanes != {dtype.lanes}"
        )
        if dtype.is_bool:  # integers of one bit, bytes, or a kind of their own
            wrong = f"({name}->code != 1 && {name}->code != 6) || {name}->bits > 8 || {name}->lanes != {dtype.lanes}"
        elif dtype.bits < 16 and dtype.is_float:  # whose numbers differ between DLPack and TVM v0.19
            wrong = f"{name}->code < 6 || {name}->bits > 8 || {name}->lanes != {dtype.lanes}"
        message = f"{what} must be of dtype {dtype}, its kind is {{0}}, of {{1}} bits"
        self.require(wrong, message, f"{name}->code", f"{name}->bits")
        self.require(f"{name}->device_type != 1", f"{what} must be in the memory of a CPU")
        self.require(f"!baton_is_compact({name})", f"{what} must be contiguous")

    def size(self, buffer: Buffer, axis: int, dim: PrimExpr) -> None:
        """A size that is a variable which nothing has given a value yet."""
        if isinstance(dim, Var) and dim not in self.e.env:
            self.e.env[dim] = self.t.name(dim.name)
            self.t.line(f"const int64_t {self.e.env[dim]} = {self.tensors[buffer]}->shape[{axis}];")

    def check_size(self, buffer: Buffer, axis: int, dim: PrimExpr) -> None:
        actual = f"{self.tensors[buffer]}->shape[{axis}]"
        if isinstance(dim, Var) and f" {self.e.env[dim]} = {actual};" in "\n".join(self.t.lines):
            return
        wanted = str(dim.value) if isinstance(dim, IntImm) else self.e.fresh(dim)[0]
        message = f"argument {buffer.name}: dim {axis} must be {{1}}, it is {{0}}"
        self.require(f"{actual} != {wanted}", message, actual, wanted)

    def call(self, linked: str) -> None:
        """Call the kernel, and say what it returned."""
        given: list[str] = []
        for param, kind in zip(self.abi.params, self.file.parameters[linked], strict=True):
            if param.buffer in self.tensors:
                given.append(f"({kind})baton_data_of({self.tensors[param.buffer]})")
            elif param.buffer is not None:
                given.append("&returned")
            elif param.var in self.e.env:
                given.append(self.e.env[param.var])
            else:
                says = f"{self.symbol}: the size {param.var.name} cannot be read off its arguments"
                raise fail("kernel-argument", says, help="pass it as an argument of its own")
        if self.result is None:
            self.t.line(f"return {linked}({', '.join(given)});")
            return
        self.t.line(f"{c_type(self.result)} returned;")
        self.t.line(f"if ({linked}({', '.join(given)}) != 0) return -1;")
        field, kind, code = ("v_float64", "double", 2) if self.result.is_float else ("v_int64", "int64_t", 0)
        self.t.line(f"((baton_value*)result)->{field} = ({kind}){widened(self.file, self.result, 'returned')};")
        self.t.line(f"*code = {code};")
        self.t.line("return 0;")
