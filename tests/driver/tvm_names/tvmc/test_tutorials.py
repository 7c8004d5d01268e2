"""The flows of TVM's two tutorials on tvmc, from Python and from the command line, as users write them."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton.driver import tvmc
from baton.driver.tvmc.result_utils import get_top_results

DIGITS = Path(__file__).parents[4] / "examples" / "digits" / "digits.onnx"
SHAPES = {"image": [1, 1, 8, 8]}


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(3).random((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def expected(image: np.ndarray) -> np.ndarray:
    onnxruntime = pytest.importorskip("onnxruntime")
    (found,) = onnxruntime.InferenceSession(DIGITS).run(None, {"image": image})
    return np.asarray(found)


def test_load_compile_run(tmp_path: Path, image: np.ndarray, expected: np.ndarray) -> None:
    model = tvmc.load(str(DIGITS), shape_dict=SHAPES)
    shown = io.StringIO()
    model.summary(file=shown)
    assert "nn.conv2d" in shown.getvalue()

    path = tmp_path / "package"
    package = tvmc.compile(model, target="llvm", package_path=str(path))
    assert package.package_path == str(path)
    result = tvmc.run(tvmc.TVMCPackage(package_path=str(path)), device="cpu", inputs={"image": image})
    np.testing.assert_allclose(result.get_output("output_0"), expected, rtol=1e-4, atol=1e-6)
    assert "output_0" in str(result)
    assert "nothing was measured" in str(result)

    places, values = get_top_results(result, 3)
    assert places.tolist() == np.argsort(expected[0])[::-1][:3].tolist()
    np.testing.assert_array_equal(values, result.outputs["output_0"][0][places.astype(int)])


def test_measuring_and_profiling(capsys: pytest.CaptureFixture[str]) -> None:
    package = tvmc.compile(tvmc.load(DIGITS, shape_dict=SHAPES), "llvm")
    for end_to_end in (False, True):
        result = tvmc.run(package, benchmark=True, repeat=3, number=2, end_to_end=end_to_end, profile=True)
        assert result.times is not None
        assert len(result.times.results) == 3
        assert result.format_times().startswith("Execution time summary:")
        assert "conv2d" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        {"desired_layout": "NHWC"},
        {"desired_layout": ["NHWC:HWIO"], "desired_layout_ops": ["nn.conv2d"], "opt_level": 0},
        {"use_vm": True},
        {"executor": "aot", "output_format": "tar", "disabled_pass": "FuseOps"},
        {"pass_context_configs": ["relay.FuseOps.max_depth=1", "tir.disable_vectorize=true"]},
    ],
    ids=lambda o: next(iter(o)),
)
def test_options_change_the_way_and_not_the_result(
    options: dict[str, Any], image: np.ndarray, expected: np.ndarray
) -> None:
    package = tvmc.compile(tvmc.load(DIGITS, shape_dict=SHAPES), "llvm", **options)
    found = tvmc.run(package, inputs={"image": image}).get_output("output_0")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("accumulated", ["float16", "float32"])
def test_mixed_precision(accumulated: str, tmp_path: Path, image: np.ndarray, expected: np.ndarray) -> None:
    """Guards that operators compute in the narrow dtype, that results keep theirs, and that the rule ends with the
    call."""
    model = tvmc.load(DIGITS, shape_dict=SHAPES)
    path = tmp_path / "mixed.tar"
    package = tvmc.compile(
        model, "llvm", mixed_precision=True, mixed_precision_acc_type=accumulated, package_path=path, dump_code="relay"
    )
    text = (tmp_path / "mixed.tar.relay").read_text()
    assert "float16" in text
    assert f'out_dtype="{accumulated}"' in text
    found = tvmc.run(package, inputs={"image": image}).get_output("output_0")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=0.02)
    plain = tvmc.compile(model, "llvm", package_path=path, dump_code=["relay"])
    assert "float16" not in (tmp_path / "mixed.tar.relay").read_text()
    np.testing.assert_allclose(tvmc.run(plain, inputs={"image": image}).get_output("output_0"), expected, atol=1e-5)


def test_saved_models(tmp_path: Path, image: np.ndarray, expected: np.ndarray) -> None:
    """Guards parameters under their names, and the package that lies beside the model."""
    model = tvmc.load(DIGITS, shape_dict=SHAPES, freeze_params=False)
    tvmc.compile(model, "llvm")
    model.save(tmp_path / "model.tar")
    again = tvmc.TVMCModel(model_path=str(tmp_path / "model.tar"))
    assert list(again.params) == list(model.params) != []
    for package in (tvmc.compile(again, "llvm"), tvmc.TVMCPackage(again.default_package_path())):
        found = tvmc.run(package, inputs={"image": image}).get_output("output_0")
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_tuning(tmp_path: Path, image: np.ndarray, expected: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards that there are records to compile with, whatever the search found, and that others may start from them."""
    model = tvmc.load(DIGITS, shape_dict=SHAPES)
    records = tvmc.tune(model, target="llvm", trials=1)
    assert Path(records).is_file()
    assert "whole model" in capsys.readouterr().out
    package = tvmc.compile(model, target="llvm", tuning_records=records)
    found = tvmc.run(package, inputs={"image": image}).get_output("output_0")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    model.save(tmp_path / "model.tar")
    again = tvmc.TVMCModel(model_path=tmp_path / "model.tar")
    assert Path(again.default_tuning_records_path()).read_bytes() == Path(records).read_bytes()


def shell(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "baton.alias", "-m", "tvm.driver.tvmc", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)


def test_the_command_line(tmp_path: Path, image: np.ndarray, expected: np.ndarray) -> None:
    done = shell(
        tmp_path, "compile", "--target", "llvm", "--input-shapes", "image:[1,1,8,8]", "--output", "digits.tar",
        "--dump-code", "relay,tir,ll,asm", DIGITS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    beside = {form: (tmp_path / f"digits.tar.{form}").read_text() for form in ("relay", "tir", "ll", "asm")}
    assert "nn.conv2d" in beside["relay"]
    assert "T.prim_func" in beside["tir"]
    assert "define" in beside["ll"]
    assert "define" not in beside["asm"]
    assert "ret" in beside["asm"]

    np.savez(tmp_path / "in.npz", image=image)
    done = shell(
        tmp_path, "run", "--inputs", "in.npz", "--outputs", "out.npz", "--print-time", "--repeat", "2", "--print-top",
        "2", "digits.tar",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean (ms)" in done.stdout
    assert "[[" in done.stdout
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["output_0"], expected, rtol=1e-4, atol=1e-6)


def test_errors_of_the_command_line_are_no_tracebacks(tmp_path: Path) -> None:
    done = shell(tmp_path, "run", "missing.tar")
    assert done.returncode == 4
    assert "there is no package 'missing.tar'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
