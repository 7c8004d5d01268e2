"""Read PyTorch programs from their sources, and bring them into a plain form.

`archive` reads files, `tracing` exports `fx.GraphModule`s and TorchScript (which `torchscript` runs node by node);
`program` removes side effects from exported programs, with the `decompositions` that PyTorch lacks.
"""
