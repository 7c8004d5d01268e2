"""An ONNX model as a module of straight-line PyTorch code, for measuring eager mode and torch.compile."""
