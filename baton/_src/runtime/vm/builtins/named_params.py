"""Parameters by name, of the whole process: TVM v0.19's `vm.builtin.ndarray_cache.*` and `param_array_from_cache*`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count, takewhile
from typing import Any

from baton._src.runtime.param_shards import load_ndarray_cache
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.device import Device
from baton._src.values.tensor import NDArray

_held: dict[str, NDArray] = {}


def get(name: str) -> NDArray | None:
    """The parameter, or None."""
    return _held.get(name)


def update(name: str, value: Any, override: bool = False) -> None:
    """Hold a parameter; one that is held already only with `override`."""
    if name in _held and not override:
        raise fail("api", f"there is a parameter {name!r} already", help="pass override=True to replace it")
    _held[name] = from_host(value)


def remove(name: str) -> None:
    """Forget a parameter, if there is one."""
    _held.pop(name, None)


def load(cache_path: str, device_type: int, device_id: int) -> None:
    """Hold what a folder has that `tvm.contrib.tvmjs.dump_ndarray_cache` or an LLM project wrote."""
    params, _ = load_ndarray_cache(cache_path, Device(int(device_type), int(device_id)))
    _held.update(params)


def numbered(prefix: str, num_params: int) -> tuple[NDArray, ...]:
    """The parameters `<prefix>_0`, `<prefix>_1`, ...: so many, or with -1 as many as there are."""
    names = (f"{prefix}_{number}" for number in (count() if num_params == -1 else range(num_params)))
    return named(takewhile(_held.__contains__, names) if num_params == -1 else names)


def named(names: Iterable[str]) -> tuple[NDArray, ...]:
    """The parameters of these names, all of which are held."""
    wanted = list(names)
    missing = [name for name in wanted if name not in _held]
    if missing:
        help = f"vm.builtin.ndarray_cache.load and .update add them; there are {len(_held)}"
        raise fail("api", f"there are no parameters {', '.join(missing)}", help=help, kind=ValueError)
    return tuple([_held[name] for name in wanted])


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.ndarray_cache.get": get,
    "vm.builtin.ndarray_cache.update": update,
    "vm.builtin.ndarray_cache.remove": remove,
    "vm.builtin.ndarray_cache.clear": _held.clear,
    "vm.builtin.ndarray_cache.load": load,
    "vm.builtin.param_array_from_cache": numbered,
    "vm.builtin.param_array_from_cache_by_name": named,
    "vm.builtin.param_array_from_cache_by_name_unpacked": lambda *names: named(names),
}
