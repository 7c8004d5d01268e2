"""Options that several commands take: the model, its target, and what is changed before it is built."""

from __future__ import annotations

import argparse
from typing import Any

from baton._src.driver.tvm_names.tvmc.frontends import load_model
from baton._src.driver.tvm_names.tvmc.model import TVMCModel
from baton._src.driver.tvm_names.tvmc.shape_parser import parse_shape_string
from baton._src.driver.tvm_names.tvmc.transform import LAYOUT_OPS, PRECISION_OPS
from baton._src.ir.target import Target

_PREFIX = "target_llvm_"
_DTYPES = ("float16", "float32")


def add_model(parser: argparse.ArgumentParser) -> None:
    """The file and how to read it."""
    parser.add_argument("FILE", help="path to the input model file")
    parser.add_argument("--model-format", help="specify input model format: onnx, pytorch or relay")
    parser.add_argument(
        "--input-shapes",
        type=parse_shape_string,
        metavar="SHAPES",
        help='shapes of inputs, as "input_name:[dim1,dim2,...,dimn] input_name2:[dim1,dim2]"',
    )


def model_of(options: argparse.Namespace) -> TVMCModel:
    """The model that the options name."""
    return load_model(options.FILE, options.model_format, options.input_shapes)


def add_target(parser: argparse.ArgumentParser) -> None:
    """The target and its attributes one by one."""
    parser.add_argument("--target", required=True, help="e.g. 'llvm -mcpu=haswell', JSON, or a file with either")
    for name, kind in Target("llvm").kind.options.items():
        parser.add_argument(
            f"--target-llvm-{name}", dest=_PREFIX + name, type=int if kind == "IntImm" else str,
            metavar="VALUE", help=f"attribute {name} of the target",
        )  # fmt: skip


def target_options(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The attributes that were given, as `compile` and `tune` take them."""
    lists = {name for name, kind in Target("llvm").kind.options.items() if kind == "Array"}
    found = {n.removeprefix(_PREFIX): v for n, v in vars(options).items() if n.startswith(_PREFIX) and v is not None}
    return {"llvm": {n: v.split(",") if n in lists else v for n, v in found.items()}} if found else {}


def add_transforms(parser: argparse.ArgumentParser) -> None:
    """Layouts and precision."""
    parser.add_argument("--desired-layout", nargs="+", help="layouts of data (and kernel): NCHW, NHWC:HWIO")
    parser.add_argument("--desired-layout-ops", nargs="+", default=list(LAYOUT_OPS), help="operators to convert")
    parser.add_argument("--mixed-precision", action="store_true", help="compute in a narrow floating dtype")
    parser.add_argument("--mixed-precision-ops", nargs="+", default=list(PRECISION_OPS), help="operators to convert")
    for what in ("calculation", "acc"):
        parser.add_argument(f"--mixed-precision-{what}-type", choices=_DTYPES, default=_DTYPES[0], help="its dtype")


def transforms_of(options: argparse.Namespace) -> dict[str, Any]:
    """What `compile` and `tune` are told of them."""
    return {n: v for n, v in vars(options).items() if n.startswith(("desired_layout", "mixed_precision"))}
