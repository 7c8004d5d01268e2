"""`NativeFunction`: a native entry as a function of tensors, by one foreign call; everything else is precomputed.

Shapes are checked and output shapes computed once for each combination of input shapes, and remembered. Inputs and
outputs are not copied. Any number of threads may call: each call has an arena of its own, taken from a pool.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton._src.runtime.dim_expr import DimExpr, compile_dim, compile_dims
from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.native.array_call import OTHER, array_caller, recipe
from baton._src.runtime.native.counted_outputs import CountedOutputs
from baton._src.runtime.native.faults import forget_fault
from baton._src.runtime.native.interrupts import raise_noted
from baton._src.runtime.native.native_plan import NativePlan, written_inputs
from baton._src.runtime.native.negative_sizes import Check, check_of_sizes
from baton._src.runtime.native.output_memory import allocator
from baton._src.runtime.native.step_by_step import KernelHook, run_step_by_step
from baton._src.runtime.quick_checks import Plain, are_plain, plain_values
from baton._src.runtime.tensor_sizes import size_fault
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.runtime.value_checks import Matcher, check_condition, check_signature
from baton._src.runtime.value_errors import argument_count
from baton._src.support.diagnostics import fail
from baton._src.values.aligned import aligned, aligned_bytes
from baton._src.values.convert import contiguous
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray

_REMEMBERED = 4096
"""Most combinations of shapes that are cached; beyond it the cache is cleared."""

CHEAP_TO_COPY = 1 << 16
"""Most bytes of a constant that is copied to a cache-line-aligned address; packed weights are aligned already."""


class Sizes(NamedTuple):
    """The values that depend on one combination of input shapes."""

    variables: tuple[int, ...]
    """Those that kernels count are as large as they can be."""
    outputs: tuple[Callable[[], AnyArray], ...]
    """Allocates the arrays to write into."""
    arena_bytes: int
    tail: bytes
    """The words of the entry's table after the tensors: variables and constants."""
    recipe: Any
    """What `array_call` needs for these shapes, or None."""
    recipe_address: int
    scalars: tuple[int, ...]


class NativeFunction:
    """Callable with `NDArray`s (then ints for the plan's scalars); returns what the plan's `result` says."""

    def __init__(
        self, plan: NativePlan, address: int, constants: Sequence[Any], library: Any = None, public_name: str = ""
    ) -> None:
        self.plan = plan
        self.name = public_name or plan.name
        self.library = library
        self._raise_fault: Callable[[str], None] = getattr(library, "raise_fault", lambda name: None)
        self._has_loops: bool = getattr(library, "has_loops", False)
        self._calls_packed = getattr(library, "packed_calls", None) is not None
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(address)
        self._constants = [_begins_on_a_line(constants[index].data) for index in plan.constants]
        self._constant_words = struct.pack(f"={len(self._constants)}Q", *[data_address(c) for c in self._constants])
        self._dtypes = [DataType(i.info.dtype).numpy for i in plan.inputs]
        self._input_count = len(plan.inputs)
        self._dims = [compile_dims(o.dims, plan.variables) for o in plan.outputs]
        self._check_sizes: Check | None = None
        self._plain: tuple[Plain, ...] | None = None
        """The inputs as the quick check takes them, once the full one has been passed."""
        names = plan.variables
        self._conditions = [(compile_dim(c.found, names), compile_dim(c.expected, names)) for c in plan.conditions]
        self._output_dtypes = [DataType(o.dtype).numpy for o in plan.outputs]
        self._arena_size = compile_dim(plan.arena_bytes, plan.variables)
        self._has_arena = plan.arena_bytes != 0
        self._arenas: list[AnyArray] = []
        self._remembered: dict[Any, Sizes] = {}
        self._pack = struct.Struct(f"={len(plan.inputs) + len(plan.outputs) + self._has_arena}Q").pack
        self._counted = CountedOutputs(plan) if plan.counts else None
        self._result = None if plan.is_single else plan.result
        self._is_flat = plan.is_flat
        self._shared = _mentioned_twice(plan.result)
        self._call_arrays = array_caller() if hasattr(library, "raise_fault") else None
        self._address = address
        self._recent: Sizes | None = None
        """The sizes of the last call: most calls have the same shapes as the previous one."""
        self._pool = thread_pool() if getattr(library, "uses_threads", False) else None
        self.kernel_address: Callable[[str], int] | None = getattr(library, "address", None)

    # ------------------------------------------------------------------------------------------- calls

    def __call__(self, *values: Any, hook: KernelHook | None = None) -> Any:
        """Run on run-time values. Errors: `argument-count`, `value-mismatch`."""
        count = self._input_count
        arrays = [v.data if type(v) is NDArray else self._refuse(values) for v in values[:count]]
        outputs = self.run(arrays, values[count:], hook)
        if self._result is None:
            return NDArray(outputs[0])
        if self._is_flat:
            return tuple([NDArray(o) for o in outputs])
        return self._structure(self._result, [NDArray(o) for o in outputs], values)

    def run(
        self, arrays: Sequence[AnyArray], scalars: tuple[int, ...] = (), hook: KernelHook | None = None
    ) -> list[AnyArray]:
        """Run on NumPy arrays; returns the plan's outputs, fresh arrays. Nothing else may be passed for arrays."""
        found = self.run_like_before(arrays, scalars) if hook is None else None
        if found is not None:
            return found
        sizes = self._sizes_of(arrays, scalars)
        for array, dtype in zip(arrays, self._dtypes):
            if array.dtype is not dtype or not array.flags.carray:
                return self._run(self._usable(arrays, scalars), sizes, hook)
        self._recent = sizes
        found = self.run_like_before(arrays, scalars) if hook is None else None
        return self._run(arrays, sizes, hook) if found is None else found

    def run_like_before(
        self, arrays: Sequence[Any], scalars: tuple[int, ...] = (), threads: int = 0
    ) -> list[AnyArray] | None:
        """`run`, if `arrays` are usable as they are and have the shapes of the last call; else None, nothing ran.

        `threads` limits the threads of this call; 0 leaves it to the pool.
        """
        sizes, call = self._recent, self._call_arrays
        if sizes is None or call is None or sizes.scalars != scalars or len(arrays) != self._input_count:
            return None
        if self._pool is not None:
            self._pool.start_once()
        if self._calls_packed:
            forget_fault()  # an exception, too, which machine code does not know of
        outputs = [sizes.outputs[0]()] if len(sizes.outputs) == 1 else [make() for make in sizes.outputs]
        if self._has_arena:
            arena = self._take_arena(sizes.arena_bytes)
            answer = call(sizes.recipe_address, (*arrays, *outputs, arena), threads)
            self._arenas.append(arena)
        else:
            answer = call(sizes.recipe_address, (*arrays, *outputs), threads)
        if self._has_loops:
            raise_noted()
        if answer:
            if answer == OTHER:
                return None
            self._raise_fault(self.name)
        return outputs if self._counted is None else self._counted.used(outputs, sizes.variables)

    def _run(self, arrays: Sequence[AnyArray], sizes: Sizes, hook: KernelHook | None) -> list[AnyArray]:
        if self._pool is not None:
            self._pool.start_once()
        outputs = [make() for make in sizes.outputs]
        arena = self._take_arena(sizes.arena_bytes) if self._has_arena else None
        forget_fault()
        try:
            if hook is not None:
                spaces = {"input": arrays, "output": outputs, "constant": self._constants}
                run_step_by_step(self.plan, self._address_of(), spaces, arena, sizes.variables, hook)
            else:
                tensors = (*arrays, *outputs) if arena is None else (*arrays, *outputs, arena)
                # The table is a bytes object: ctypes passes its address, and keeps it alive during the call.
                self._entry(self._pack(*[data_address(t) for t in tensors]) + sizes.tail)
        finally:
            if arena is not None:
                self._arenas.append(arena)
        self._raise_fault(self.name)
        return outputs if self._counted is None else self._counted.used(outputs, sizes.variables)

    def _take_arena(self, count: int) -> AnyArray:
        try:
            arena = self._arenas.pop()
            if arena.nbytes >= count:
                return arena
        except IndexError:
            pass
        return aligned_bytes(max(count, 1))

    # -------------------------------------------------------------------------------- the slower cases

    def _sizes_of(self, arrays: Sequence[AnyArray], scalars: tuple[int, ...]) -> Sizes:
        """What is remembered of these shapes; other threads may clear that at any time."""
        return self._remembered.get((*[a.shape for a in arrays], scalars)) or self._measure(arrays, scalars)

    def _measure(self, arrays: Sequence[AnyArray], scalars: tuple[int, ...]) -> Sizes:
        """Check the arguments against the signature and compute what follows from their shapes."""
        heap = self._checked_quickly(arrays, scalars)
        if heap is None:
            heap = self._checked(arrays, scalars)
        if self._counted is not None:
            self._counted.expect_most(heap)
        self._check_sizes = self._check_sizes or check_of_sizes(self.plan)
        self._check_sizes(heap)
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        shapes = [dims(heap) for dims in self._dims]
        for shape in shapes:
            fault = size_fault(shape)
            if fault:
                raise fail("value-mismatch", f"{self.name}: these inputs give an output {fault}, {shape}")
        tail = struct.pack(f"={len(heap)}q", *heap) + self._constant_words
        words, address = self._recipe([a.shape for a in arrays], tail)
        arena = int(self._arena_size(heap))
        outputs = tuple(allocator(shape, dtype) for shape, dtype in zip(shapes, self._output_dtypes))
        sizes = Sizes(tuple(heap), outputs, arena, tail, words, address, scalars)
        self._remembered[(*[a.shape for a in arrays], scalars)] = sizes
        return sizes

    def _checked_quickly(self, arrays: Sequence[AnyArray], scalars: tuple[int, ...]) -> list[Any] | None:
        """The variables, if the arguments are as they should be; None only means that the full check is needed."""
        if self._plain is None or len(scalars) != self.plan.scalars or len(arrays) != self._input_count:
            return None
        heap = [*scalars, *[None] * (len(self.plan.variables) - len(scalars))]
        fit = are_plain([NDArray(a) for a in arrays], self._plain, heap)
        return heap if fit and all(found(heap) == expected(heap) for found, expected in self._conditions) else None

    def _checked(self, arrays: Sequence[AnyArray], scalars: tuple[int, ...]) -> list[Any]:
        """The variables. Errors: `argument-count`, `value-mismatch`."""
        if len(scalars) != self.plan.scalars:
            names = [*(i.name for i in self.plan.inputs), *self.plan.variables[: self.plan.scalars]]
            argument_count(self.name, len(names), len(arrays) + len(scalars), names)
        heap: list[Any] = list(scalars) + [None] * (len(self.plan.variables) - len(scalars))
        inputs = self.plan.inputs
        values = [NDArray(contiguous(a)) for a in arrays]
        matcher = Matcher(heap, self.plan.variables)
        check_signature(values, [i.info for i in inputs], [i.name for i in inputs], matcher, self.name)
        for condition in self.plan.conditions:
            check_condition(condition.found, condition.expected, condition.place, heap, self.plan.variables)
        self._plain = plain_values([i.info for i in inputs], self.plan.variables)
        return heap

    def _recipe(self, shapes: Sequence[tuple[int, ...]], tail: bytes) -> tuple[Any, int]:
        """The recipe of `array_call` for these shapes, and its address."""
        if self._call_arrays is None:
            return None, 0
        content = recipe(
            self._address,
            list(zip(self._dtypes, shapes)),
            len(self.plan.outputs) + self._has_arena,
            tail,
        )
        words = ctypes.create_string_buffer(content, len(content))
        return words, ctypes.addressof(words)

    def _usable(self, arrays: Sequence[AnyArray], scalars: tuple[int, ...]) -> list[AnyArray]:
        """Arrays of the wrong dtype are refused; read-only, strided or misaligned ones are copied if necessary, or
        refused where they are written to: the caller would not see it."""
        self._measure(arrays, scalars)
        for number in written_inputs(self.plan):
            if not arrays[number].flags.carray:
                unfit = "is not contiguous" if arrays[number].flags.writeable else "may only be read"
                message = f"{self.name}: argument {self.plan.inputs[number].name} is written to, and its memory {unfit}"
                raise fail("tensor-read-only", message, help="give a copy of it")
        return [contiguous(a) for a in arrays]

    def _refuse(self, values: tuple[Any, ...]) -> AnyArray:
        inputs = self.plan.inputs
        heap: list[Any] = [None] * len(self.plan.variables)
        found = values[: self._input_count]
        names = [i.name for i in inputs]
        check_signature(found, [i.info for i in inputs], names, Matcher(heap, self.plan.variables), self.name)
        raise fail("value-mismatch", f"{self.name}: expected tensors")

    def _view_dims(self, dims: Sequence[DimExpr], values: tuple[Any, ...]) -> tuple[int, ...]:
        if all(isinstance(d, int) for d in dims):
            return tuple(dims)
        arrays, scalars = [v.data for v in values[: self._input_count]], values[self._input_count :]
        return compile_dims(dims, self.plan.variables)(self._sizes_of(arrays, scalars).variables)

    def structured(self, outputs: Sequence[AnyArray], arrays: Sequence[AnyArray]) -> Any:
        """The plan's result from the outputs of a `run` on `arrays`: tensors and tuples of them."""
        return self._structure(self.plan.result, [NDArray(o) for o in outputs], tuple([NDArray(a) for a in arrays]))

    def _structure(self, result: Any, outputs: list[NDArray], values: tuple[Any, ...]) -> Any:
        """The result structure of the plan."""
        if isinstance(result, int):
            return outputs[result]
        match result:
            case ["input", int() as index]:
                return values[index]
            case ["const", int() as index]:
                return NDArray(self._constants[index].copy())
            case ["tuple", fields]:
                return tuple([self._structure(f, outputs, values) for f in fields])
            case ["view", source, dims]:
                is_shared = not isinstance(source, int) or source in self._shared
                tensor = self._structure(source, outputs, values)
                array = tensor.data.reshape(self._view_dims(dims, values))
                return NDArray(array.copy() if is_shared else array)
            case _:
                pass
        raise fail("executable-corrupt", f"{self.name}: {result!r} is not a result of a native function")

    def _address_of(self) -> Callable[[str], int]:
        if self.kernel_address is None:
            raise fail("native-steps", f"{self.name} cannot run step by step: its library is not at hand")
        return self.kernel_address


def _begins_on_a_line(constant: AnyArray) -> AnyArray:
    return aligned(constant) if constant.nbytes <= CHEAP_TO_COPY else constant


def _mentioned_twice(result: Any) -> frozenset[int]:
    """The outputs that occur more than once in a result: views of those must be copies."""
    counts: dict[int, int] = {}
    work = [result]
    while work:
        item = work.pop()
        if isinstance(item, int):
            counts[item] = counts.get(item, 0) + 1
        elif item[0] == "tuple":
            work.extend(item[1])
        elif item[0] == "view":
            work.append(item[1])
    return frozenset(number for number, count in counts.items() if count > 1)
