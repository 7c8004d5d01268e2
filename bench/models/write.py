"""Write a model of the zoo to a file.

    python -m bench.models.write --list
    python -m bench.models.write NAME -o FILE [--small] [OPTION=VALUE ...]

Options are those of the builder: `layers=2 hidden=128 batch=n`. Without `-o` the file goes to build/models.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import onnx

from bench.models.zoo import ZOO

FOLDER = Path(__file__).resolve().parents[2] / "build" / "models"


def write(model: onnx.ModelProto, path: Path) -> None:
    """Write the model, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(model.SerializeToString())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def cached(name: str, small: bool = False, **options: Any) -> Path:
    """The file of a model in build/models, written if it is not there or the builders have changed since."""
    digest = hashlib.sha256(repr((name, small, sorted(options.items()))).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    path = FOLDER / f"{name}-{digest.hexdigest()[:12]}.onnx"
    if not path.exists():
        entry = ZOO[name]
        write(entry.small_model(**options) if small else entry.model(**options), path)
    return path


def option(text: str) -> tuple[str, Any]:
    """`layers=2` as a name and a value; what is no Python literal is a string, such as `batch=n`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not OPTION=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=ZOO, metavar="NAME")
    parser.add_argument("options", nargs="*", type=option, metavar="OPTION=VALUE")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument("--small", action="store_true", help="the size the tests use")
    parser.add_argument("--list", action="store_true", help="list the models")
    arguments = parser.parse_args()
    if arguments.list or not arguments.name:
        for name, entry in ZOO.items():
            print(f"{name:20} {entry.about}")
        return
    entry, options = ZOO[arguments.name], dict(arguments.options)
    model = entry.small_model(**options) if arguments.small else entry.model(**options)
    path = arguments.output or FOLDER / f"{arguments.name}.onnx"
    write(model, path)
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
