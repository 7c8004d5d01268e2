"""`Target`: the machine code is made for. Names and spellings follow `tvm.target`.

    Target("llvm")                                   # this machine, with all it offers
    Target("llvm -mcpu=skylake-avx512 -num-cores=4")
    Target({"kind": "llvm", "mcpu": "znver4"})
    with Target("llvm"): Target.current()

Unlike TVM's, a plain "llvm" means this machine rather than a generic one. "c" is C code for any CPU. Other kinds can be
named, so that scripts that mention them still load, but not compiled for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from baton._src.ir.cpu import NAMED, PLAIN, Cpu, host_cpu, least_cpu, with_features
from baton._src.ir.target_description import TARGET_KINDS, Description, TargetKind, read_target
from baton._src.ir.target_tags import tag_names
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.device import KINDS

T = TypeVar("T")


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: list[Target] = []


_stack = _Stack()


class _Host:
    """`Target.host` as a function of the class, `target.host` as a value of a target."""

    def __get__(self, target: Target | None, owner: type[Target]) -> Any:
        return (lambda: owner("llvm")) if target is None else target.host_target


@dataclass(frozen=True, init=False)
class Target:
    """What code is generated for. Equal by kind, attributes and host; `cpu` has the facts that schedule rules use."""

    kind: TargetKind
    keys: tuple[str, ...]
    attributes: tuple[tuple[str, object], ...]
    host_target: Target | None
    cpu: Cpu = field(compare=True, repr=False)

    def __init__(self, target: object = "llvm", host: object = None) -> None:
        if isinstance(target, Target):
            kind, keys, attributes, own_host = target.kind, target.keys, target.attributes, target.host_target
        else:
            kind, keys, attributes, described = read_target(target)
            own_host = None if described is None else Target(described)
        found = own_host if host is None else Target(host)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "host_target", found)
        object.__setattr__(self, "cpu", PLAIN if kind.name == "c" else _describe(dict(attributes)))

    host: ClassVar[Any] = _Host()
    """`Target.host()` is this machine; `target.host` the host that was given, or None."""

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target entered with `with` in this thread; None (or an error) if there is none."""
        if _stack.entered:
            return _stack.entered[-1]
        if allow_none:
            return None
        raise fail("target-missing", "no target was entered", help="with Target('llvm'): ...", kind=ValueError)

    @staticmethod
    def list_kinds() -> list[str]:
        """The kinds of targets that there are in TVM."""
        return list(TARGET_KINDS)

    @property
    def attrs(self) -> dict[str, Any]:
        """What the target was described with, e.g. {"mcpu": "znver4"}."""
        return dict(self.attributes)

    @property
    def tag(self) -> str:
        """The name that a dict gave it (`"tag"`), or an empty string."""
        return str(self.attrs.get("tag", ""))

    @property
    def mcpu(self) -> str:
        """LLVM's name of the CPU; empty or `native` means this machine's, or any of another `mtriple`."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def mtriple(self) -> str:
        """LLVM's target triple; empty means this machine's."""
        return str(self.attrs.get("mtriple", ""))

    @property
    def mattr(self) -> list[str]:
        """Features switched on (`+name`) or off (`-name`)."""
        return list(self.attrs.get("mattr", ()))

    @property
    def libs(self) -> list[str]:
        """`-libs`, which has no effect."""
        return list(self.attrs.get("libs", ()))

    @property
    def model(self) -> str:
        """`-model`, or unknown."""
        return str(self.attrs.get("model", "unknown"))

    @property
    def is_host(self) -> bool:
        """Whether code for this target is code for this machine's CPU, with or without some of its features."""
        return self.mcpu in ("", "native") and not self.mtriple

    @property
    def features(self) -> frozenset[str]:
        return self.cpu.features

    @property
    def vector_bits(self) -> int:
        return self.cpu.vector_bits

    @property
    def num_cores(self) -> int:
        """Cores to use: `-num-cores`, or what the machine has."""
        return int(self.attrs.get("num-cores", self.cpu.num_cores))

    def lanes(self, bits: int) -> int:
        """How many elements of `bits` bits one vector register holds."""
        return max(1, self.vector_bits // max(bits, 8))

    @property
    def device_name(self) -> str:
        """`-device`, or an empty string."""
        return str(self.attrs.get("device", ""))

    @property
    def arch(self) -> str:
        """`-arch`, or an empty string."""
        return str(self.attrs.get("arch", ""))

    @property
    def max_num_threads(self) -> int:
        """`-max_num_threads`; of GPUs 1024, of CPUs 1."""
        return int(self.attrs.get("max_num_threads", 1024 if "gpu" in self.keys else 1))

    @property
    def max_block_size_x(self) -> int:
        """`-max_block_size_x`; by default `max_num_threads`."""
        return int(self.attrs.get("max_block_size_x", self.max_num_threads))

    @property
    def max_block_size_y(self) -> int:
        """`-max_block_size_y`; by default `max_num_threads`."""
        return int(self.attrs.get("max_block_size_y", self.max_num_threads))

    @property
    def supports_integer_dot_product(self) -> bool:
        """The option `-supports_integer_dot_product`, which describes GPUs."""
        return bool(self.attrs.get("supports_integer_dot_product", False))

    @property
    def thread_warp_size(self) -> int:
        """`-thread_warp_size`; of CUDA 32, else 1."""
        return int(self.attrs.get("thread_warp_size", 32 if self.kind.name == "cuda" else 1))

    @property
    def max_shared_memory_per_block(self) -> int:
        """`-max_shared_memory_per_block`, in bytes; of CPUs 0."""
        return int(self.attrs.get("max_shared_memory_per_block", 0))

    @property
    def max_function_args(self) -> int:
        """`-max_function_args`; -1 for any number."""
        return int(self.attrs.get("max_function_args", -1))

    @property
    def vtcm_capacity(self) -> int:
        """`-vtcm-capacity`, of Hexagon; else 0."""
        return int(self.attrs.get("vtcm-capacity", 0))

    @staticmethod
    def target_or_current(target: Target | Description | None) -> Target:
        """The target of a description, or without one the innermost entered. Error `target-missing`: there is none."""
        found = Target.current(allow_none=False) if target is None else Target.canon_target(target)
        assert found is not None
        return found

    @staticmethod
    def from_device(device: object) -> Target:
        """The target of a device (`tvm.cpu()`, "cpu")."""
        described = str(device).partition(":")[0].partition("(")[0]
        return Target("llvm" if described == "cpu" else described)

    def get_target_device_type(self) -> int:
        """DLPack's number of the devices it is for."""
        return next((number for number, kind in KINDS.items() if kind == self.kind.name), 1)

    def get_kind_attr(self, attr_name: str) -> None:
        """The value in a column of the target kind's registry; here always None."""
        del attr_name

    @staticmethod
    def canon_target(target: Target | Description | None) -> Target | None:
        """A target from its description; None is None."""
        return None if target is None else target if isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(
        target: Target | Description | None,
        target_host: Target | Description | None = None,
        target_is_dict_key: bool = True,
    ) -> tuple[Target | None, Target | None]:
        """A target with its host, and that host."""
        del target_is_dict_key
        found = Target.canon_target(target)
        if found is None:
            return None, Target.canon_target(target_host)
        if target_host is not None:
            found = found.with_host(target_host)
        return found, found.host_target

    @staticmethod
    def canon_multi_target(multi_targets: object) -> list[Target]:
        """One target or several, as a list."""
        if isinstance(multi_targets, Mapping) and "kind" not in multi_targets:
            return [Target(t) for t in multi_targets.values()]
        several = multi_targets if isinstance(multi_targets, (list, tuple)) else [multi_targets]
        return [Target(t) for t in several if t is not None]

    @staticmethod
    def canon_multi_target_and_host(target: object, target_host: Target | Description | None = None) -> list[Target]:
        """One target or several, each with the host."""
        found = Target.canon_multi_target(target)
        return [t.with_host(target_host) for t in found] if target_host is not None else found

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[Any, T], target_host: Target | Description | None = None
    ) -> tuple[dict[Target, T], Target | None]:
        """What is compiled for each target, the targets with one host, and that host."""
        host, found = Target.canon_target(target_host), {}
        for described, content in target_map.items():
            target, host = Target.canon_target_and_host(described, host)
            if target is not None:
                found[target] = content
        return found, host

    @staticmethod
    def list_tags() -> dict[str, Target]:
        """The targets that have a name (`target.tag.register_tag`)."""
        return {name: Target(name) for name in tag_names()}

    def with_host(self, host: Target | Description | None) -> Target:
        """This target with another host."""
        return Target(self, host)

    def export(self) -> dict[str, object]:
        """The description as a dict that `Target` reads."""
        found: dict[str, object] = {"kind": self.kind.name, "keys": list(self.keys), **self.attrs}
        if self.host_target is not None:
            found["host"] = self.host_target.export()
        return found

    def __enter__(self) -> Target:
        _stack.entered.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stack.entered.pop()

    def __str__(self) -> str:
        return self._text(self.keys)

    def short_text(self) -> str:
        """As `str`, without the keys that every target of the kind has."""
        return self._text(self.keys if self.keys != self.kind.default_keys else ())

    def _text(self, keys: tuple[str, ...]) -> str:
        words = [self.kind.name]
        if keys:
            words.append(f"-keys={','.join(keys)}")
        for name, content in self.attributes:
            shown = ",".join(content) if isinstance(content, tuple) else str(content)
            words.append(f"-{name}={shown}")
        return " ".join(words)

    def __repr__(self) -> str:
        return str(self)


def _describe(attributes: Mapping[str, object]) -> Cpu:
    """The CPU meant by -mcpu, -mtriple and -mattr."""
    name = str(attributes.get("mcpu", ""))
    triple = str(attributes.get("mtriple", ""))
    arch = arch_of(triple) if triple else host_cpu().arch
    if name in ("", "native"):
        cpu = least_cpu(arch) if triple else host_cpu()
    else:
        cpu = NAMED.get(name, least_cpu(arch))
    mattr = attributes.get("mattr")
    return with_features(cpu, mattr) if isinstance(mattr, tuple) and mattr else cpu


def arch_of(triple: str) -> str:
    """The architecture that a target triple begins with, under Linux's name."""
    name = triple.partition("-")[0]
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(name, name)
