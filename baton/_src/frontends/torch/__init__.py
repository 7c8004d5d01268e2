"""PyTorch to Relax or Relay: one table of aten operators serves both languages through `frontends/graph_builder`.

Three sources become one kind of program, a `torch.export.ExportedProgram` without side effects: `program` makes it
of an exported program, `tracing` of an `fx.GraphModule` and of TorchScript. `importer` walks it, `node` is what a
converter sees, `table` lists the converters, which live by subject in `elementwise`, `activation`, `matrix`, `shape`,
... `relax_graph` and `relay_graph` are the entrances; `symbols` and `tensors` translate sizes, dtypes and arrays.
"""
