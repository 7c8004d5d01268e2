"""`c_source`: PrimFuncs as one file of C99, which needs no other files.

    source = c_source({"add": func}, Target("c"), scheduler, packed={"add": None})
    source.text                 "... TVM_DLL int32_t add(void* args, int32_t* codes, ..."

Each function becomes a `static` function of bare pointers; those that are `packed` get one more, which TVM's runtimes
and `runtime.load_module` call, and those that are `exported` can be called from other files as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from baton._src.codegen.c.function import IMPORT, imported_sources, write_function
from baton._src.codegen.c.packed_functions import STRUCTURES, write_packed_function
from baton._src.codegen.c.single_loops import without_single_loops
from baton._src.codegen.c.text import CFile
from baton._src.codegen.kernels import Scheduler, callees_first, calls_of
from baton._src.ir.target import Target
from baton._src.passes.tir.lowering.lower_prim_func import lower_prim_func
from baton._src.runtime.native.c_names import bare_name, packed_name
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class CSource:
    """The text of a file, and the rule that scheduled each kernel."""

    text: str
    rules: dict[str, str]


def c_source(
    functions: Mapping[str, PrimFunc],
    target: Target,
    scheduler: Scheduler | None = None,
    as_they_stand: Collection[str] = (),
    packed: Mapping[str, DataType | None] | None = None,
    called: Mapping[str, str] | None = None,
    exported: Collection[str] = (),
) -> CSource:
    """Schedule (all but `as_they_stand`) and write `functions`, given by symbol.

    `packed` are those that TVM's runtimes are to call, with what they return, `called` their names, if others than the
    symbols. Errors `codegen-...`: what C has not, or kernels that call each other in circles.
    """
    file = CFile()
    rules: dict[str, str] = {}
    for text in dict.fromkeys(_content(given) for func in functions.values() for given in imported_sources(func)):
        file.imported[text] = None
    if packed:
        file.imported[STRUCTURES] = None
    names = {symbol: bare_name(symbol) for symbol in functions}
    for symbol in callees_first({name: calls_of(func) for name, func in functions.items()}):
        function, unscheduled = functions[symbol], None
        if scheduler is not None and symbol not in as_they_stand:
            scheduler.choices(symbol, function)
            unscheduled = function
            function, rules[symbol] = scheduler.run(function)
        lowered = lower_prim_func(function, target, unscheduled)
        lowered = lowered.with_fields(body=without_single_loops(lowered.body))
        write_function(file, symbol, names[symbol], lowered, names, symbol in exported)
    outside = {symbol: packed_name((called or {}).get(symbol, symbol)) for symbol in packed or ()}
    for symbol, result in (packed or {}).items():
        write_packed_function(file, symbol, outside[symbol], names[symbol], functions[symbol], result)
    if entry := outside.get("main") or (next(iter(outside.values())) if len(outside) == 1 else ""):
        declared = "extern TVM_DLL BATON_WEAK const char __tvm_main__[];"
        file.functions.append(f'{declared}\nconst char __tvm_main__[] = "{entry}";')
    return CSource(file.render(f"Target {target}"), rules)


def _content(given: object) -> str:
    """C that a kernel brings along; the name of a file stands for what it contains. Error `import-c`."""
    text = given.value if isinstance(given, tir.StringImm) else given
    if not isinstance(text, str):
        raise fail("import-c", f"{IMPORT} takes C or a file of it, not a {type(text).__name__}")
    if not text.endswith((".c", ".cc", ".h")):
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except OSError as error:
        raise fail("import-c", f"the C file {text} cannot be read: {error}") from error
