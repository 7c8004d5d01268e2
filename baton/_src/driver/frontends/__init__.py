"""What frameworks call to compile: `nn_jit` for `nn.Module.jit` (bound by `nn_wiring`), `onnx_backend` for ONNX's
`Backend`, `torch_dynamo` for `torch.compile`.

`torch_pieces` is a graph of `torch.compile` of which PyTorch runs a part. `torch_graph` is one graph, compiled:
`torch_draws` its random numbers, `torch_complex` its complex inputs, `torch_sizes` what is compiled for each size,
`torch_views` how its results lie in memory.
"""
