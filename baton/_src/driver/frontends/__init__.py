"""What frameworks call to compile: `nn.Module.jit`, ONNX's `Backend`, `torch.compile`."""
