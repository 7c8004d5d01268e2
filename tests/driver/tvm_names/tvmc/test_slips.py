"""What users of tvmc get wrong, and what baton leaves out: a `TVMCException` with a way out, status 4 in shells."""

from __future__ import annotations

import argparse
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.driver.tvm_names.tvmc.model import add_bytes
from baton.driver import tvmc
from baton.driver.tvmc.frontends import get_frontend_by_name, get_frontend_names, guess_frontend
from baton.driver.tvmc.main import _main as main
from baton.driver.tvmc.pass_config import parse_configs
from baton.driver.tvmc.shape_parser import parse_shape_string
from baton.driver.tvmc.target import target_from_cli
from baton.error import TVMError

SUM = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 4), float32], %y: Tensor[(4), float32]) { add(%x, %y) }'


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sum.relay"
    path.write_text(SUM)
    return path


@pytest.fixture
def package(text: Path, tmp_path: Path) -> Any:
    return tvmc.compile(tvmc.load(text, shape_dict={"x": [2, 4]}), "llvm", package_path=tmp_path / "sum.tar")


def test_shapes_as_texts() -> None:
    found = parse_shape_string("data:[1, 3,224] a/b.c:0:[-1,2] scalar:[]")
    assert found["data"] == [1, 3, 224]
    assert found["scalar"] == []
    assert isinstance(found["a/b.c:0"][0], relay.Any)
    assert found["a/b.c:0"][1] == 2
    for wrong in ("", "data", "data:[1,q]", "data:[1] rest", "x:[1] x:[2]", "x:[1,,2]"):
        with pytest.raises(argparse.ArgumentTypeError, match="must be of the form"):
            parse_shape_string(wrong)


def test_formats() -> None:
    assert get_frontend_names() == ["onnx", "pytorch", "tflite", "relay"]
    assert guess_frontend("model.pth").name() == "pytorch"
    assert get_frontend_by_name("relay").suffixes()[0] == "relay"
    for name in ("model.h5", "model.pb", "model.pdmodel"):
        with pytest.raises(tvmc.TVMCException, match="does not read models of the format"):
            guess_frontend(name)
    with pytest.raises(tvmc.TVMCException, match="Please specify --model-format"):
        guess_frontend("model.bin")


def test_texts_of_relay(text: Path) -> None:
    """Guards shapes against the text, and that parameters stay inputs."""
    model = tvmc.load(text, shape_dict={"x": [3, 4]})
    result = tvmc.run(
        tvmc.compile(model, "llvm"), inputs={"x": np.full((3, 4), 2, np.float32)}, fill_mode="ones"
    ).get_output("output_0")
    assert result.tolist() == [[3.0] * 4] * 3
    for shapes, why in (
        ({"x": [3, 5]}, "not of shape"),
        ({"x": [3]}, "has no shape"),
        ({"z": [3]}, "no input 'z'"),
    ):
        with pytest.raises(tvmc.TVMCException, match=why):
            tvmc.load(text, shape_dict=shapes)


def test_open_sizes(text: Path) -> None:
    """Guards that the graph executor's refusal names the option, and that no sizes are made up."""
    model = tvmc.load(text)
    with pytest.raises(tvmc.TVMCException, match="use_vm=True"):
        tvmc.compile(model, "llvm")
    package = tvmc.compile(model, "llvm", use_vm=True)
    with pytest.raises(tvmc.TVMCException, match="sizes that are open"):
        tvmc.run(package)
    for rows in (1, 3):
        found = tvmc.run(package, inputs={"x": np.ones((rows, 4), np.float32)}, fill_mode="zeros")
        assert found.get_output("output_0").tolist() == [[1.0] * 4] * rows


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"target": "cuda"}, "cannot compile for cuda"),
        ({"target": "dnnl, llvm"}, "names several targets"),
        ({"output_format": "mlf"}, "no Model Library Format"),
        ({"output_format": "zip"}, "in the format 'zip'"),
        ({"cross": "aarch64-linux-gnu-gcc"}, "without a compiler"),
        ({"dump_offloads": "-"}, "nothing is offloaded"),
        ({"dump_code": "cu"}, "no code of format 'cu'"),
        ({"tuning_records": "missing.log"}, "no file of tuning records"),
        ({"tuning_records": __file__}, "holds no tuning records of baton"),
        ({"executor": "quick"}, "unknown executor"),
        ({"desired_layout": ["NHWC"] * 2}, "Expected 1 or 3 layouts"),
        ({"desired_layout": "NHWC", "desired_layout_ops": ["nn.conv9d"]}, "nn.conv9d"),
        ({"pass_context_configs": ["relay.FuseOps.max_depth"]}, "use <config>=<value>"),
        ({"additional_target_options": {"cuda": {"arch": "sm_80"}}}, "options for the target 'cuda'"),
    ],
    ids=lambda o: next(iter(o)) if isinstance(o, dict) else "",
)
def test_what_compile_refuses(options: dict[str, Any], why: str, text: Path) -> None:
    model = tvmc.load(text, shape_dict={"x": [2, 4]})
    with pytest.raises(tvmc.TVMCException, match=why):
        tvmc.compile(model, **{"target": "llvm", **options})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"device": "cuda"}, "does not run on the device 'cuda'"),
        ({"hostname": "127.0.0.1", "port": 1}, "cannot connect to 127.0.0.1:1"),
        ({"rpc_key": "board"}, "without a tracker"),
        ({"inputs": {"q": np.ones(1)}}, "'q' is not in the graph"),
        ({"inputs": {"x": np.ones((3, 3), np.float32)}}, "input 'x' has shape"),
        ({"fill_mode": "sevens"}, "unknown fill-mode"),
        ({"benchmark": True, "repeat": 0}, "repeat is 0"),
    ],
    ids=lambda o: next(iter(o)) if isinstance(o, dict) else "",
)
def test_what_run_refuses(options: dict[str, Any], why: str, package: Any) -> None:
    with pytest.raises(tvmc.TVMCException, match=why):
        tvmc.run(package, **options)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["metadata.json", "mod.so"], "Model Library Format"),
        (["mod.json"], "no library"),
        (["mod.so", "mod.json"], "no mod.params"),
        (["../mod.so"], "not an archive"),
    ],
)
def test_what_is_no_package(names: list[str], why: str, tmp_path: Path) -> None:
    """Guards files outside of the package, too: members that lead there are refused."""
    path = tmp_path / "made.tar"
    with tarfile.open(path, "w") as made:
        for name in names:
            add_bytes(made, name, b"{}")
    with pytest.raises(tvmc.TVMCException, match=why):
        tvmc.TVMCPackage(path)


def test_what_is_taken_for_something_else(text: Path, package: Any) -> None:
    model = tvmc.load(text)
    for wrong, why in (
        (lambda: tvmc.run(model), "been compiled yet"),
        (lambda: tvmc.compile(package, "llvm"), "cannot compile a TVMCPackage"),
        (lambda: tvmc.tune(package, "llvm"), "cannot tune a TVMCPackage"),
        (lambda: tvmc.tune(model, "llvm", hostname="board"), "measured on this machine"),
        (lambda: tvmc.TVMCPackage(text), "not an archive"),
        (lambda: tvmc.TVMCModel(model_path=package.package_path), "not a saved TVMCModel"),
        (tvmc.TVMCModel, "Either mod and params"),
        (lambda: tvmc.load(text.with_name("missing.onnx")), "doesn't exist"),
        (lambda: tvmc.run(package).get_output("output_7"), "there are: output_0"),
    ):
        with pytest.raises(tvmc.TVMCException, match=why) as caught:
            wrong()
        assert isinstance(caught.value, TVMError)


def test_settings_as_texts() -> None:
    given = ["relay.FuseOps.max_depth = 3", "tir.disable_vectorize=True", "relay.backend.tir_converter=default"]
    assert list(parse_configs(given).values()) == [3, True, "default"]
    for wrong, why in (("nope=1", "no configuration"), ("tir.disable_vectorize=7", "type bool"), ("=1", "format")):
        with pytest.raises(tvmc.TVMCException, match=why):
            parse_configs([wrong])


def test_targets_as_texts(tmp_path: Path) -> None:
    file = tmp_path / "target.json"
    file.write_text('{"kind": "llvm", "mcpu": "haswell"}')
    for said in (str(file), file.read_text(), "llvm -mcpu=haswell"):
        found = target_from_cli(said, {"llvm": {"num-cores": 3}})
        assert (found.mcpu, found.num_cores) == ("haswell", 3)
    with pytest.raises(tvmc.TVMCException, match="not JSON"):
        target_from_cli("{kind}")
    assert target_from_cli(f'{{"kind": "llvm", "model": "{"x" * 300}"}}').model == "x" * 300, (
        "too long for a file's name"
    )


def test_statuses(text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(text.parent)
    shapes = ["--input-shapes", "x:[2,4]"]
    assert main(["compile", "--target", "llvm", *shapes, "--target-llvm-mattr", "+avx,+fma", str(text)]) == 0
    assert main(["run", "--fill-mode", "ones", "--print-top", "1", "module.tar"]) == 0
    assert capsys.readouterr().out.split() == ["[[3.]", "[2.]]"]
    for arguments, why in (
        (["micro", "create", "project", "--force"], "not for bare devices"),
        (["run", "--rpc-tracker", "127.0.0.1:1", "module.tar"], "cannot connect to 127.0.0.1:1"),
        (["run", "--rpc-tracker", "board:one", "module.tar"], "'board:one' is not HOST:PORT"),
        (["run", "--inputs", str(text), "module.tar"], "Error loading inputs file"),
        (["tune", "--target", "llvm", "-o", "r", "--tasks", "0", str(text)], "TVM's tuners"),
        (["compile", "--target", "llvm", "-o", "no/such/folder.tar", *shapes, str(text)], "No such file"),
    ):
        assert main(arguments) == 4
        assert why in capsys.readouterr().err
    assert main([]) == 1
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "0.19.0\n"
    monkeypatch.setitem(sys.modules, "torch", None)
    (text.parent / "m.pt2").write_bytes(b"")
    assert main(["compile", "--target", "llvm", "m.pt2"]) == 5
    assert "which is not installed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compile", str(text)])


def test_programs_of_pytorch(tmp_path: Path) -> None:
    """Guards TorchScript from files, whose parameters are plain tensors, and that pickles are not read."""
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU()).eval()
    data = torch.arange(8.0).reshape(2, 4)
    torch.jit.save(torch.jit.trace(net, data), tmp_path / "net.pth")
    torch.export.save(torch.export.export(net, (data,)), tmp_path / "net.pt2")
    torch.save(net.state_dict(), tmp_path / "state.pth")
    for name, shapes in (("net.pth", {"input": [2, 4]}), ("net.pt2", None)):
        model = tvmc.load(tmp_path / name, shape_dict=shapes)
        model.save(tmp_path / "saved.tar")
        for one in (model, tvmc.TVMCModel(model_path=tmp_path / "saved.tar")):
            found = tvmc.run(tvmc.compile(one, "llvm"), inputs={"input": data.numpy()}).get_output("output_0")
            np.testing.assert_allclose(found, net(data).detach().numpy(), rtol=1e-5, atol=1e-6)
    for name, shapes, why in (
        ("net.pth", None, "--input-shapes must be specified"),
        ("net.pt2", {"input": [2, 4]}, "fixed when exporting"),
        ("state.pth", {"input": [2, 4]}, "reads no pickles"),
    ):
        with pytest.raises(tvmc.TVMCException, match=why):
            tvmc.load(tmp_path / name, shape_dict=shapes)
