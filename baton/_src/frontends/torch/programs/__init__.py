"""What programs of PyTorch may come from, and how they are made plain.

`archive` reads files, `tracing` exports `fx.GraphModule`s and TorchScript (which `torchscript` runs node by node);
`program` takes side effects out of exported programs, with the `decompositions` that PyTorch lacks.
"""
