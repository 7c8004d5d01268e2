"""`Model`: a compiled model as a session object. Arrays in, arrays out.

model = baton.compile("model.onnx")
(probabilities,) = model.run({"image": batch})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from baton._src.driver.model.border import border_of
from baton._src.driver.model.given_array import given_array
from baton._src.driver.model.memory_report import memory_report
from baton._src.driver.model.tensor_spec import TensorSpec, specs_from_facts
from baton._src.driver.stages import Stages
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.native.native_function import NativeFunction
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.runtime.timing import Record
from baton._src.runtime.vm.packed_functions import packed_by
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values.prim import prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.string_table import StringTable, using_strings
from baton._src.values.tensor import AnyArray, NDArray


@dataclass(frozen=True)
class KernelFacts:
    """One kernel: how often a run calls it, and what it computes."""

    name: str
    calls: int
    summary: str


def _threads(given: Any) -> int | None:
    """The requested number of threads, None for all cores."""
    if given is None or (isinstance(given, (int, np.integer)) and given >= 1):
        return None if given is None else int(given)
    hint = f"target={given!r}" if isinstance(given, str) else "None takes all cores"
    raise fail("api", f"num_threads must be an integer of at least 1, got {given!r}", help=hint)


class Model:
    """A compiled model. Safe to call from several threads at once.

    `inputs` and `outputs` give names, dtypes and shapes (symbolic dims by name); `num_threads` limits the threads of
    each call (None: as many as there are cores).
    """

    def __init__(
        self,
        executable: Executable,
        function: str = "main",
        num_threads: int | None = None,
        stages: Stages | None = None,
    ) -> None:
        executable.entry(function)
        self.executable = executable
        self.function = function
        self.num_threads = _threads(num_threads)
        self.inputs: tuple[TensorSpec, ...] = specs_from_facts(executable.facts, function, "inputs")
        self.outputs: tuple[TensorSpec, ...] = specs_from_facts(executable.facts, function, "outputs")
        self._border = border_of(executable.facts, function, self.inputs, self.outputs)
        self._stages = stages or Stages()
        self._names = tuple(spec.name for spec in self.inputs)
        self._expected = frozenset(self._names)
        executable.entry(function)

    @cached_property
    def _machine(self) -> VirtualMachine:
        return VirtualMachine(self.executable)

    @cached_property
    def _native(self) -> NativeFunction | None:
        """The entry itself, where the model is one native function.

        Code is linked at the first run, so a model compiled for another processor can still be saved here.
        """
        if self.executable.entry(self.function).kind != "native":
            return None
        plan = self.executable.natives[self.function]
        library = self.executable.library
        if library is None:
            return None
        library.find_packed(packed_by(self.executable.attached))
        return NativeFunction(plan, library.address(plan.symbol), self.executable.constants, library)

    @cached_property
    def _is_flat(self) -> bool:
        """Whether what the native function writes is what the model returns."""
        plan = self.executable.natives[self.function]
        return plan.is_single or plan.is_flat

    # --------------------------------------------------------------------------------------------- running

    def run(self, feed: Mapping[str, Any], num_threads: int | None = None) -> list[Any]:
        """The outputs for the inputs given by name: arrays, anything that NumPy or DLPack reads as one, lists of
        numbers.

        Outputs are arrays with memory of their own; of an ONNX model also lists of arrays (sequences) or of
        dictionaries (ZipMap). Strings are arrays or lists of strings.

        Raises `DiagnosticError`: `input-names` (no mapping), `input-missing`, `input-unknown`, `value-mismatch` (wrong
        dtype or shape).
        """
        try:
            arrays = [feed[name] for name in self._names]
            is_whole = len(feed) == len(arrays)
        except (KeyError, IndexError, TypeError):
            is_whole = False
        if not is_whole:
            self._refuse_names(feed)
        return self._run(arrays, num_threads)

    def __call__(self, *arrays: Any, num_threads: int | None = None) -> list[Any]:
        """The outputs for the inputs in order."""
        self._check_count(arrays)
        return self._run(arrays, num_threads)

    def run_arrays(self, arrays: Sequence[AnyArray]) -> list[Any]:
        """The outputs for NumPy arrays in order: the fastest way to call a model."""
        self._check_count(arrays)
        return self._run(arrays, None)

    def _check_count(self, arrays: Sequence[Any]) -> None:
        if len(arrays) != len(self._names):
            names = ", ".join(self._names)
            raise fail("argument-count", f"the model takes {len(self._names)} inputs ({names}); {len(arrays)} given")

    def _run(self, arrays: Sequence[Any], num_threads: int | None) -> list[Any]:
        if self._border is None:
            return self._run_tensors(arrays, num_threads)
        inside, strings = self._border.enter(arrays)
        with using_strings(strings):
            found = self._run_tensors(inside, num_threads)
        return self._border.leave(found, strings)

    def _run_tensors(self, arrays: Sequence[Any], num_threads: int | None) -> list[AnyArray]:
        wanted = (self.num_threads if num_threads is None else _threads(num_threads)) or 0
        if wanted > 1:
            thread_pool().have(wanted)
        native = self._native
        if native is not None:
            found = native.run_like_before(arrays, (), wanted)
            if found is not None:
                return found if self._is_flat else _apart(_flat(native.structured(found, arrays)), arrays)
        with self._limited(wanted):
            return self._evaluate(arrays)

    def _limited(self, threads: int | None) -> AbstractContextManager[None]:
        return thread_pool().limited(threads) if threads else nullcontext()

    def _evaluate(self, arrays: Sequence[Any]) -> list[AnyArray]:
        native = self._native
        if native is not None:
            usable = [self._as_array(a, i) for i, a in enumerate(arrays)]
            outputs = native.run(usable)
            return outputs if self._is_flat else _apart(_flat(native.structured(outputs, usable)), usable)
        values = [NDArray(self._as_array(a, i)) for i, a in enumerate(arrays)]
        return _apart(_flat(self._machine[self.function](*values)), [v.data for v in values])

    def _as_array(self, given: Any, index: int) -> AnyArray:
        return given_array(given, self._names[index], self.inputs[index].dtype)

    def _refuse_names(self, feed: Any) -> NoReturn:
        if not isinstance(feed, Mapping):
            example = ", ".join(f"{name!r}: ..." for name in self._names)
            help = f"give {{{example}}}, or call the model itself with the arrays in order: model(...)"
            raise fail("input-names", f"run takes arrays by name, not a {type(feed).__name__}", help=help)
        unknown = [str(n) for n in feed if n not in self._expected]
        known = f"the inputs are: {', '.join(self._names)}" if self._names else "it takes none"
        if unknown:
            hint = did_you_mean(unknown[0], self._names, known)
            raise fail("input-unknown", f"the model has no input {unknown[0]!r}", help=hint)
        for name in self._names:
            if name not in feed:
                raise fail("input-missing", f"input {name!r} is missing", help=known)
        twice = next(n for n in self._names if self._names.count(n) > 1)
        help = "call the model itself with the arrays in order: model(...)"
        raise fail("input-names", f"the model has several inputs {twice!r}", help=help)

    # ------------------------------------------------------------------------------------------ looking in

    def profile(self, feed: Mapping[str, Any] | Sequence[Any], num_threads: int | None = None) -> list[Record]:
        """Time by kernel of one run, the longest first: name, calls, seconds, tensors."""
        if isinstance(feed, Mapping):
            if set(feed) != self._expected or len(feed) != len(self._names):
                self._refuse_names(feed)
            feed = [feed[name] for name in self._names]
        with self.entered(feed) as values, self._limited(_threads(num_threads) or self.num_threads):
            return self._machine.profile(self.function, *values).records

    @contextmanager
    def entered(self, given: Sequence[Any]) -> Iterator[tuple[NDArray, ...]]:
        """The inputs in order as the executable's function takes them; within the block it may be called on them."""
        self._check_count(given)
        inside, strings = (given, StringTable({})) if self._border is None else self._border.enter(given)
        with using_strings(strings):
            yield tuple(NDArray(self._as_array(a, i)) for i, a in enumerate(inside))

    @property
    def stages(self) -> list[str]:
        """The names of the stages whose programs were kept; the last one, `final`, always is."""
        return [*self._stages.modules, "final", "bytecode"]

    def stage(self, name: str) -> str:
        """The text of the program at a compilation stage."""
        if name == "final":
            return self.executable.ir_text
        if name == "bytecode":
            return self.executable.as_text()
        if name not in self._stages.modules:
            raise fail("stage-unknown", f"there is no stage {name!r}", help=f"there are: {', '.join(self.stages)}")
        return repr(self._stages.modules[name])

    @cached_property
    def kernels(self) -> list[KernelFacts]:
        """The kernels in order of their first call."""
        counts: dict[str, int] = {}
        shapes: dict[str, str] = {}
        for plan in self.executable.natives.values():
            for step in plan.steps:
                counts[step.kernel] = counts.get(step.kernel, 0) + 1
                shapes.setdefault(step.kernel, _step_text(step))
        for name in self.executable.kernels:
            counts.setdefault(name, 0)
        rules = self._stages.rules
        return [
            KernelFacts(n, c, "; ".join(t for t in (shapes.get(n, ""), rules.get(n, "")) if t))
            for n, c in counts.items()
        ]

    @property
    def memory_plan(self) -> str:
        """A report on memory planning: place and lifetime of every intermediate tensor."""
        return memory_report(self.executable)

    def save(self, path: str | Path) -> None:
        """Write an artifact that loads without the compiler: `baton.load(path)`."""
        self.executable.save(path)

    def __copy__(self) -> Model:
        return Model(self.executable, self.function, self.num_threads, self._stages)

    def __deepcopy__(self, memo: Any) -> Model:
        return self.__copy__()  # running a model changes nothing in it

    def __reduce__(self) -> NoReturn:
        help = "model.save(path) here and baton.load(path) there: an artifact is never a pickle"
        raise fail("model-pickle", "a model cannot be pickled", help=help)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, s)) for s in (self.inputs, self.outputs))
        return f"<Model ({inputs}) -> ({outputs})>"


def _step_text(step: Any) -> str:
    """The operands of a kernel's call: their dtypes, with the shape where it is static."""
    return " ".join(f"{p.dtype}[{', '.join(map(str, p.dims))}]" if _static(p.dims) else p.dtype for p in step.tensors)


def _static(dims: Sequence[Any]) -> bool:
    return all(isinstance(d, int) for d in dims)


def _flat(result: Any) -> list[AnyArray]:
    """The tensors of a result, tuples opened."""
    found: list[AnyArray] = []
    work = [result]
    while work:
        item = work.pop()
        if isinstance(item, tuple) and not isinstance(item, ShapeTuple):
            work.extend(reversed(item))
        else:
            found.append(item.data if isinstance(item, NDArray) else np.asarray(item, _dtype_of(item)))
    return found


def _apart(outputs: list[AnyArray], inputs: Sequence[AnyArray]) -> list[AnyArray]:
    """The outputs with copies of those that are an input or another output: callers go on to write into both."""
    taken = {data_address(array) for array in inputs}
    for number, output in enumerate(outputs):
        if output.size and data_address(output) in taken:
            outputs[number] = output.copy()
        taken.add(data_address(outputs[number]))
    return outputs


def _dtype_of(value: Any) -> Any:
    """That of a scalar; None for NumPy to choose."""
    own = prim_dtype(value)
    return None if own is None else own.numpy
