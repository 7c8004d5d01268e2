"""Train the small CNN that `make run` compiles, and write it beside this file.

    make train

Writes `digits.onnx` (input `image`: float32 (n, 1, 8, 8) in 0…1; output `probability`: float32 (n, 10)) and
`digits_test.npz` (`image`: uint8 (360, 8, 8) in 0…16; `label`: uint8 (360,)), the images it was not trained on.
The data are scikit-learn's handwritten digits. Seeds are fixed: on one machine the result is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from torch import nn

HERE = Path(__file__).parent
HELD_BACK = 360
BRIGHTEST = 16  # scikit-learn's grey levels are 0…16
SEED = 20

Arrays = tuple[np.ndarray, np.ndarray]


class DigitsNet(nn.Module):
    """Three convolutions with batch norm, two of them followed by pooling, then two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.conv3, self.norm3 = nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.dense1, self.dense2 = nn.Linear(64 * 2 * 2, 64), nn.Linear(64, 10)
        self.drop = nn.Dropout(0.3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Logits (n, 10) of images (n, 1, 8, 8)."""
        x = torch.relu(self.norm1(self.conv1(image)))
        x = torch.relu(self.norm2(self.conv2(x)))
        x = torch.max_pool2d(x, 2)
        x = torch.relu(self.norm3(self.conv3(x)))
        x = torch.max_pool2d(x, 2)
        x = torch.relu(self.dense1(self.drop(torch.flatten(x, 1))))
        return self.dense2(self.drop(x))


def load() -> tuple[Arrays, Arrays]:
    """Images (uint8, 0…16) and labels, split into training and held-back data."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.images))
    images, labels = digits.images[order].astype(np.uint8), digits.target[order].astype(np.uint8)
    return (images[HELD_BACK:], labels[HELD_BACK:]), (images[:HELD_BACK], labels[:HELD_BACK])


def as_input(images: np.ndarray) -> np.ndarray:
    """What the network takes: float32 (n, 1, 8, 8) in 0…1."""
    return images[:, None].astype(np.float32) / BRIGHTEST


def batches(x: torch.Tensor, y: torch.Tensor, size: int = 64) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """One epoch in random order, each batch moved by up to a pixel: the digits are not centred exactly."""
    for rows in torch.randperm(len(x)).split(size):
        down, right = torch.randint(-1, 2, (2,)).tolist()
        yield torch.roll(x[rows], (down, right), dims=(2, 3)), y[rows]


def train(images: np.ndarray, labels: np.ndarray, epochs: int = 60) -> DigitsNet:
    """Train with AdamW and a one-cycle learning rate; about twenty seconds on one core."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    x, y = torch.from_numpy(as_input(images)), torch.from_numpy(labels.astype(np.int64))
    net = DigitsNet()
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=1e-2)
    steps = epochs * len(list(batches(x, y)))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    for epoch in range(epochs):
        total = 0.0
        for image, label in batches(x, y):
            loss = nn.functional.cross_entropy(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(image)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:2d}: loss {total / len(x):.4f}")
    return net.eval()


def to_onnx(net: DigitsNet) -> onnx.ModelProto:
    """The network as an ONNX graph with a symbolic batch `n`, and a softmax at its end."""
    weights = {name: value.numpy() for name, value in net.state_dict().items() if value.is_floating_point()}

    def conv(number: int, source: str) -> list[onnx.NodeProto]:
        norm = [f"norm{number}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        return [
            helper.make_node("Conv", [source, f"conv{number}.weight"], [f"c{number}"], f"conv{number}", pads=[1] * 4),
            helper.make_node("BatchNormalization", [f"c{number}", *norm], [f"b{number}"], f"norm{number}"),
            helper.make_node("Relu", [f"b{number}"], [f"r{number}"], f"relu{number}"),
        ]

    def pool(source: str, target: str) -> onnx.NodeProto:
        return helper.make_node("MaxPool", [source], [target], target, kernel_shape=[2, 2], strides=[2, 2])

    def dense(number: int, source: str, target: str) -> onnx.NodeProto:
        inputs = [source, f"dense{number}.weight", f"dense{number}.bias"]
        return helper.make_node("Gemm", inputs, [target], f"dense{number}", transB=1)

    nodes = [
        *conv(1, "image"),
        *conv(2, "r1"),
        pool("r2", "pool2"),
        *conv(3, "pool2"),
        pool("r3", "pool3"),
        helper.make_node("Flatten", ["pool3"], ["flat"], "flatten", axis=1),
        dense(1, "flat", "d1"),
        helper.make_node("Relu", ["d1"], ["r4"], "relu4"),
        dense(2, "r4", "logits"),
        helper.make_node("Softmax", ["logits"], ["probability"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
        doc_string="Handwritten digits, 8×8 grey levels divided by 16; trained by examples/digits/train.py.",
    )
    model = helper.make_model(graph, producer_name="baton", opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def accuracy(model: onnx.ModelProto, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images onnxruntime labels rightly with this model."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (probability,) = session.run(None, {"image": as_input(images)})
    return float((probability.argmax(axis=1) == labels).mean())


def main() -> None:
    trained_on, held_back = load()
    model = to_onnx(train(*trained_on))
    print(f"accuracy on the {HELD_BACK} held-back images: {accuracy(model, *held_back):.2%}")
    onnx.save(model, HERE / "digits.onnx")
    np.savez_compressed(HERE / "digits_test.npz", image=held_back[0], label=held_back[1])


if __name__ == "__main__":
    main()
