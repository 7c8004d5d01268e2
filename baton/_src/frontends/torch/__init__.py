"""PyTorch to Relax or Relay: one table of aten operators serves both languages through `frontends/graph_builder`.

Every source becomes one kind of program, a `torch.export.ExportedProgram` without side effects: `programs` reads them.
`importer` walks it, `node` is what a converter sees, `table` lists the converters: those of tensors by subject in
`operators`, those of neural networks in `layers`, of complex tensors in `complex`, of choices and loops in `control`.
`relax_graph` and `relay_graph` are the entrances; `symbols`, `sizes` and `tensors` translate sizes, what is computed
with them, dtypes and arrays.
"""
