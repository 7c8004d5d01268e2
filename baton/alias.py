"""Run programs written for Apache TVM v0.19: `import tvm` finds baton.

    python -m baton.alias script.py [arguments]

or, from Python, before the first `import tvm`: `baton.alias.install("tvm")`. `tvm.x.y` is then the *same module object*
as `baton.x.y`; only the root `tvm` is a module of its own, since scripts compare its `__version__`, the version of TVM
whose API this is. Importing what TVM has and baton does not, in whatever spelling, is an `ImportError` with the reason.
An installed TVM is never shadowed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from baton._src.driver.tvm_names.absent import reason
from baton._src.driver.tvm_names.split_modules import NAMED_LIKE_A_FUNCTION, SERVED_BY

_TARGET = "baton"
API_VERSION = "0.19.0"
"""The version of TVM whose API is served; `tvm.__version__` under the alias. `baton.__version__` is baton's own."""


class _SameModule(importlib.abc.Loader):
    """Loads `alias.x` by giving out the module `baton.x` itself."""

    def __init__(self, real: str, name: str) -> None:
        self.real = real
        self.name = name
        self.spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        """What `python -m` runs."""
        spec = importlib.util.find_spec(self.real)
        loader = spec.loader if spec is not None else None
        return loader.get_code(self.real) if isinstance(loader, importlib.abc.InspectLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system put the alias's there
        for child in NAMED_LIKE_A_FUNCTION.get(self.name.partition(".")[2], ()):
            # Found here, it is not loaded: loading would bind it in the package, in place of the function.
            sys.modules[f"{self.name}.{child}"] = module


_OF_THE_ROOT = {"compile": "baton._src.driver.tvm_names.compile_module:compile_module"}
"""Functions of `tvm` whose names mean something else in `baton`."""


class _Root(ModuleType):
    """`tvm`: everything of `baton`, under the version of the API."""

    def __getattr__(self, name: str) -> Any:
        if name in _OF_THE_ROOT:
            module, _, attribute = _OF_THE_ROOT[name].partition(":")
            return getattr(importlib.import_module(module), attribute)
        return getattr(importlib.import_module(_TARGET), name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(_TARGET))


class _RootLoader(importlib.abc.Loader):
    """Makes the root module of an alias."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        importlib.import_module(_TARGET)
        return _Root(spec.name, f"baton, with the API of TVM {API_VERSION}.")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__version__"] = API_VERSION


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for one alias and everything below it."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.alias and not fullname.startswith(f"{self.alias}."):
            return None
        if fullname == self.alias:
            return importlib.machinery.ModuleSpec(fullname, _RootLoader(), is_package=True)
        below = fullname[len(self.alias) + 1 :]
        real = f"{_TARGET}.{SERVED_BY.get(below, below)}"
        if importlib.util.find_spec(real) is None:
            return None
        # Modules may have others below them that they do not split off, but `python -m` runs no packages.
        is_package = not fullname.endswith(".__main__") and not below.startswith("exec.")
        return importlib.machinery.ModuleSpec(fullname, _SameModule(real, fullname), is_package=is_package)


class _Missing(importlib.abc.MetaPathFinder):
    """Says why a name below baton is missing, after all other finders.

    `from tvm.x import y` looks for a module `baton.x.y` when `baton.x` has no attribute `y`: `tvm.x` is the module
    `baton.x`, which goes by that name. Python would drop both the reason and the name that was meant.
    """

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, below = fullname.partition(".")
        why = reason(below) if root == _TARGET else None
        if why is not None:
            asked = f"{self.alias}.{below}"
            raise ImportError(f"baton leaves out {asked}: {why}", name=asked)
        return None


def install(alias: str = "tvm") -> None:
    """Make `import <alias>` give baton from now on. Installing twice does nothing.

    Raises `ImportError` if a package of that name is installed or already imported: it is never shadowed.
    """
    if any(isinstance(f, _Finder) and f.alias == alias for f in sys.meta_path):
        return
    if alias in sys.modules or importlib.util.find_spec(alias) is not None:
        raise ImportError(f"{alias!r} is installed here; baton does not shadow it (run in an environment without it)")
    sys.meta_path.insert(0, _Finder(alias))
    sys.meta_path.append(_Missing(alias))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a script (or `-m module`) with the alias installed, as `python` would."""
    parser = argparse.ArgumentParser(prog="python -m baton.alias", description="Run a TVM program on baton.")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    install()
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return
    sys.path[0:0] = [str(Path(options.script).resolve().parent)]
    runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
